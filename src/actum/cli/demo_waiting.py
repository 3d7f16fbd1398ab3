"""The demo's steps about runs that wait, have children, and are stopped from elsewhere."""

import asyncio
from typing import Final

from actum.base.clock import wait
from actum.cli.demo_clerk import KEEP
from actum.cli.demo_reach import process, records_of, so_far
from actum.cli.demo_story import Story
from actum.host.host import Host
from actum.lifecycle.states import RunStatus
from actum.records.kinds import ToolCallStarted, payload_of
from actum.records.types import RecordType

_PATIENCE_S: Final = 60.0
_LOOK_S: Final = 0.05
_ASKED: Final = "Look into README.md and keep a note."
_LONG: Final = 'Where do the files speak of "durable"?'
_BY: Final = "newcomer"
_EVIDENCE: Final = RecordType.TOOL_AUTHORIZATION


class Waiting:
    """Two steps over one open host, in a session of their own. `kept` is what the clerk's tool kept in this process."""

    def __init__(self, story: Story, host: Host, where: tuple[object, object], kept: list[str]) -> None:
        self._story = story
        self._host = host
        self._url, self._root = where
        self._kept = kept

    async def tell(self) -> str:
        """The steps; the id of their session."""
        session = await self._host.create_session(metadata={"user_id": _BY})
        await self._approved(session.session_id)
        await self._stopped(session.session_id)
        return session.session_id

    async def _approved(self, session_id: str) -> None:
        story, host, run_id = self._story, self._host, "clerk-turn"
        story.step(
            "An agent asks an agent, then a person",
            "Another process runs a clerk. The clerk asks the guide, which is a child run, and then wants to keep a "
            "note: that needs a person. The process ends while the question is open.",
        )
        story.show(f"you: {_ASKED}", "")
        other = await process("clerk", self._url, self._root, session_id, run_id, _ASKED, "quick")
        code = await asyncio.wait_for(other.wait(), _PATIENCE_S)
        waiting = await host.runtime.snapshot(run_id)
        story.claim(code == 0 and waiting.status is RunStatus.SUSPENDED, f"process {other.pid} is gone; the run waits")
        child = waiting.children[0] if waiting.children else None
        done = child is not None and child.status is RunStatus.COMPLETED
        story.claim(done, "the guide answered in a child run with a log of its own")

        story.step("The approval, after the restart", "This process finds the question in the store, and agrees.")
        items = await host.pending(session_id)
        for item in items:
            story.show(f"{item.tool_name} {item.arguments}")
        story.claim([item.tool_name for item in items] == [KEEP], "one call waits for a person; it has not run")
        answers = {item.item_id: True for item in items}
        output = await host.continue_run(run_id, answers, by=_BY)
        story.show(output.text, "")
        story.claim(output.status is RunStatus.COMPLETED, "a new run went on where the old one stood")
        again = await host.continue_run(run_id, answers, by=_BY)
        once = again == output and len(self._kept) == 1
        story.claim(once, "agreed twice, the note is kept once: an approval is used up")
        evidence = [each for each in await records_of(host.store, output.run_id) if each.type == _EVIDENCE]
        story.claim(len(evidence) == 1, "who agreed to exactly which call stands on record, before the call ran")

    async def _stopped(self, session_id: str) -> None:
        story, host, run_id = self._story, self._host, "stopped-turn"
        story.step(
            "A run is canceled from another process",
            "Another process runs a clerk whose guide searches for ten minutes. This one cancels the clerk by its id.",
        )
        story.show(f"you: {_LONG}", "")
        other = await process("clerk", self._url, self._root, session_id, run_id, _LONG, "slow")
        try:
            searching = await self._searches(run_id)
            await host.cancel_run(run_id, "changed_my_mind", by=_BY)
            code = await asyncio.wait_for(other.wait(), _PATIENCE_S)
        finally:
            if other.returncode is None:
                other.kill()
                await other.wait()
        shot = await host.runtime.snapshot(run_id)
        ended = [each.cancellation for each in (shot, *shot.children)]
        story.claim(searching and code == 0, f"process {other.pid} heard of it in the middle of the search")
        story.claim(ended == ["changed_my_mind"] * 2, "the clerk and its child are canceled, for the same reason")
        open_calls = [call for run in (shot, *shot.children) for turn in run.turns for call in turn.calls]
        closed = all(call.result is not None for call in open_calls)
        story.claim(closed, "every call that was open has its result: the conversation can go on from here")

    async def _searches(self, run_id: str) -> bool:
        """Waits until the child's search has begun."""
        for _ in range(int(_PATIENCE_S / _LOOK_S)):
            if await so_far(self._host.store, run_id):
                for child in (await self._host.runtime.snapshot(run_id)).children:
                    records = await records_of(self._host.store, child.run_id)
                    started = [payload_of(each) for each in records if each.type == RecordType.TOOL_CALL_STARTED]
                    if any(isinstance(each, ToolCallStarted) and each.tool_call_id == "search-1" for each in started):
                        return True
            await wait(_LOOK_S)
        return False
