"""`actum demo`: what Actum is for, shown on real files with a real process that is really killed.

Every line with a mark is a claim that the demo checked a moment before it printed it; it ends with exit code 0 only
when all of them hold.
"""

import asyncio
import signal
import tempfile
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from rich.text import Text

from actum.base.checks import refuse
from actum.base.clock import wait
from actum.base.errors import ActumError, HeadMoved, RunConflict, RunNotFound, SessionPurged
from actum.cli.demo_agent import AGENT, guide
from actum.cli.demo_clerk import clerk
from actum.cli.demo_reach import process, records_of, so_far
from actum.cli.demo_story import Story
from actum.cli.demo_waiting import Waiting
from actum.cli.exits import FOUND
from actum.cli.show import print_messages
from actum.cli.text import cell, console, show
from actum.cli.verify import print_report
from actum.host.host import Host
from actum.host.verify import verify
from actum.lifecycle.states import Run, RunStatus
from actum.records.kinds import ToolCallStarted, payload_of
from actum.records.record import Follows, Record
from actum.records.types import RecordType
from actum.runtime.output import RunOutput
from actum.storage.contract import OwnedStore

_PATIENCE_S: Final = 60.0
_LOOK_S: Final = 0.05
_FIRST: Final = "What is here? Look into README.md and pyproject.toml."
_SECOND: Final = 'Where do the files speak of "SIGKILL"? Look into README.md as well, and into NOTES.md.'
_THIRD: Final = 'And where of "exact repeat"?'


async def show_demo(root: str | None, keep: str | None) -> int | None:
    """Tells the whole story; the exit code when a claim did not hold."""
    folder = _folder(root)
    story = Story(console())
    story.out.print(Text("Actum keeps and runs the durable state of AI agents.", style="bold"))
    says = (
        f"This demo reads the files of {folder} with an agent whose planner is plain code, so it needs no model and no "
        "key. It works on a real SQLite file; each line with a mark was checked before it was printed."
    )
    show(story.out, cell(says))
    with tempfile.TemporaryDirectory(prefix="actum-demo-") as made:
        file = _file(keep, Path(made))
        guiding, kept = guide(folder), list[str]()
        async with Host.open(f"sqlite:///{file}", agents=[guiding, clerk(guiding, kept)]) as host:
            await Demo(story, host, folder, file, kept).tell()
        story.claim(not _left(file), "and not one byte of the conversation is left in the file")
        if keep is not None:
            await _kept(story, folder, file)
    story.out.print()
    verdict = f"{story.claims - story.failed} of {story.claims} claims hold."
    story.out.print(Text(verdict, style="bold red" if story.failed else "bold green"))
    return FOUND if story.failed else None


class Demo:
    """The steps, in their order, over one open host."""

    def __init__(self, story: Story, host: Host, root: Path, file: Path, kept: list[str]) -> None:
        self._story = story
        self._kept = kept
        self._host = host
        self._root = root
        self._url = f"sqlite:///{file}"
        self._session_id = ""

    async def tell(self) -> None:
        """From the first session to its erasure."""
        await self._session()
        first = await self._turn()
        await self._killed(first)
        third = await self._retried()
        await self._refused(first, third)
        await self._printed(third)
        waited = await Waiting(self._story, self._host, (self._url, self._root), self._kept).tell()
        await self._verified()
        await self._purged(third, waited)

    async def _session(self) -> None:
        story = self._story
        story.step("A session", "The frame of one conversation. It carries metadata of yours.")
        session = await self._host.create_session(metadata={"user_id": "newcomer"})
        self._session_id = session.session_id
        story.show(f"{session.session_id}  metadata {session.metadata}")
        found = await self._host.sessions(metadata={"user_id": "newcomer"})
        story.claim(session in found.items, "the session is stored, and found by its metadata")

    async def _turn(self) -> RunOutput:
        story = self._story
        story.step(
            "A turn",
            "One question and what answers it: three tool calls, slowed down a little, then an answer.",
        )
        output = await self._ask(_FIRST, "first-turn")
        records = await records_of(self.store, output.run_id)
        calls = [each for each in records if each.type == RecordType.TOOL_CALL_STARTED]
        results = [each for each in records if each.type == RecordType.TOOL_RESULT_RECEIVED]
        story.claim(output.status is RunStatus.COMPLETED, f"the run completed; its log holds {len(records)} records")
        story.claim(len(calls) == len(results) == 3, "three tools ran, each with its result on record")  # noqa: PLR2004 - one folder and two files
        parallel = _place(calls[-1]) < _place(results[0]) if calls and results else False
        story.claim(parallel, "in parallel: all three were started before the first result came")
        return output

    async def _killed(self, before: RunOutput) -> None:
        story = self._story
        story.step(
            "A process is killed in the middle of a turn",
            "Another process takes the second turn. Its search is made slow on purpose; while it searches, SIGKILL.",
        )
        run_id = "second-turn"
        story.show(f"you: {_SECOND}", "")
        child = await process("ask", self._url, self._root, self._session_id, run_id, _SECOND)
        try:
            cut = await self._in_the_middle(run_id)
        finally:
            if child.returncode is None:
                child.send_signal(signal.SIGKILL)
            code = await child.wait()
        dead = await self.store.load_run(run_id)
        story.claim(code == -signal.SIGKILL, f"process {child.pid} was killed by signal {-code}")
        story.claim(cut and dead.status is RunStatus.RUNNING, "its run stands in the store: running, one call open")
        alive = dead.owner is not None and await self.store.owner_alive(dead.owner)
        story.claim(not alive, "its owner's lock went with it, so another process may take the run")

        story.step("Another process finishes that very run", "It opens the store and goes on from the records.")
        other = await process("finish", self._url, self._root, run_id)
        code = await asyncio.wait_for(other.wait(), _PATIENCE_S)
        output = await self._host.output(run_id)
        story.claim(code == 0 and output.status is RunStatus.COMPLETED, f"process {other.pid} completed {run_id!r}")
        await self._nothing_twice(dead)
        story.show(output.text, "")
        told = before.text != output.text and _FIRST in output.text
        story.claim(told, "the answer knows the first question: the transcript was carried on by reference")

    async def _nothing_twice(self, run: Run) -> None:
        records = await records_of(self.store, run.run_id)
        started = [payload_of(each) for each in records if each.type == RecordType.TOOL_CALL_STARTED]
        tries = Counter(each.tool_call_id for each in started if isinstance(each, ToolCallStarted))
        shown = ", ".join(f"{call} {count}x" for call, count in sorted(tries.items()))
        twice = [call for call, count in tries.items() if count != 1]
        self._story.claim(twice == ["search-1"], f"only the call that was cut short ran again: {shown}")
        plans = [each for each in records if each.event_key == "plan:0"]
        ends = [each for each in records if each.type == RecordType.RUN_COMPLETED]
        self._story.claim(len(plans) == len(ends) == 1, "what was planned was not planned again; there is one end")

    async def _retried(self) -> RunOutput:
        story = self._story
        story.step("The same turn again", "A client that lost the answer sends the third turn a second time.")
        third = await self._ask(_THIRD, "third-turn")
        before = await self.store.list_session_run_records(self._session_id, limit=1000)
        again = await self._host.run(AGENT, _THIRD, session_id=self._session_id, run_id="third-turn")
        after = await self.store.list_session_run_records(self._session_id, limit=1000)
        story.claim(again == third, "the exact retry gets the first answer")
        story.claim(before == after, f"and nothing new is stored: {len(after.items)} records before and after")
        refused = await self._refusal(self._host.run(AGENT, _FIRST, session_id=self._session_id, run_id="third-turn"))
        story.claim(isinstance(refused, RunConflict), "another question under the same run id is a conflict")
        return third

    async def _refused(self, first: RunOutput, third: RunOutput) -> None:
        story = self._story
        story.step("A second tab", "It still shows the first turn, and asks on from there.")
        follows = Follows(run_id=first.run_id)
        refused = await self._refusal(self._host.run(AGENT, "And now?", session_id=self._session_id, follows=follows))
        story.claim(isinstance(refused, HeadMoved), "it is refused: the conversation has moved on")
        story.show(str(refused))
        head = (await self._host.session(self._session_id)).head_run_id
        story.claim(head == third.run_id, "the conversation still stands where it stood")

    async def _printed(self, third: RunOutput) -> None:
        story = self._story
        story.step("The transcript", "Read from the records of all three runs, as `actum transcript` prints it.")
        messages = await self._host.transcript(third.run_id)
        print_messages(story.out, messages, indent=3, longest=150)
        asked = [each.text for each in messages if each.role == "user" and not each.tool_results]
        story.claim(asked == [_FIRST, _SECOND, _THIRD], f"three questions, {len(messages)} messages, in order")

    async def _verified(self) -> None:
        story = self._story
        story.step("Verification", "Every state is held against the records that must prove it: `actum verify`.")
        report = await verify(self.store)
        print_report(story.out, report)
        story.claim(report.ok, "nothing is missing and nothing disagrees, killed process and all")

    async def _purged(self, third: RunOutput, waited: str) -> None:
        story = self._story
        story.step("Erasure", "The session ends, then everything of it is purged. Only a digest of its id stays.")
        await self._host.end_session(self._session_id)
        ended = await self._refusal(self._host.run(AGENT, "Still there?", session_id=self._session_id))
        story.claim(isinstance(ended, ActumError), "an ended session takes no new turn")
        await self._host.purge_session(self._session_id)
        await self._host.end_session(waited)
        await self._host.purge_session(waited)
        gone = await self._refusal(self.store.load_run(third.run_id))
        story.claim(isinstance(gone, RunNotFound), "its runs are gone")
        again = await self._refusal(self._host.create_session(self._session_id))
        story.claim(isinstance(again, SessionPurged), "its id is refused for ever, so no late retry brings it back")
        report = await verify(self.store)
        story.claim(report.ok and report.records == 0, "the store is sound, and empty")

    @property
    def store(self) -> OwnedStore:
        """The host's store."""
        return self._host.store

    async def _ask(self, question: str, run_id: str) -> RunOutput:
        self._story.show(f"you: {question}", "")
        output = await self._host.run(AGENT, question, session_id=self._session_id, run_id=run_id)
        self._story.show(output.text, "")
        return output

    async def _refusal(self, work: object) -> ActumError | None:
        """What the work was refused with; None when it was not."""
        try:
            await work  # type: ignore[misc]  # any awaitable of the host or the store
        except ActumError as error:
            return error
        return None

    async def _in_the_middle(self, run_id: str) -> bool:
        """Waits until every other call has its result and the search has only begun."""
        for _ in range(int(_PATIENCE_S / _LOOK_S)):
            records = await so_far(self.store, run_id)
            keys = {each.event_key for each in records}
            scheduled = {key.removeprefix("call:scheduled:") for key in keys if key.startswith("call:scheduled:")}
            done = {key.removeprefix("call:result:") for key in keys if key.startswith("call:result:")}
            if scheduled - done == {"search-1"} and "call:started:1:search-1" in keys:
                self._story.show(f"{len(records)} records are stored; {', '.join(sorted(done))} have their results")
                return True
            await wait(_LOOK_S)
        return False


def _place(record: Record) -> int:
    return int(record.id.rpartition("-")[2])


def _folder(root: str | None) -> Path:
    folder = Path(root).resolve() if root is not None else _checkout()
    if not folder.is_dir():
        raise refuse("--root", str(folder), "is a folder")
    return folder


def _checkout() -> Path:
    """The checkout that this code runs from; where it is installed without one, the package's own folder."""
    package = Path(__file__).resolve().parents[1]
    root = package.parent.parent
    return root if (root / "pyproject.toml").is_file() and (root / "README.md").is_file() else package


def _file(keep: str | None, made: Path) -> Path:
    if keep is None:
        return made / "demo.db"
    file = Path(keep).resolve()
    if file.exists():
        raise refuse("--keep", str(file), "is a file that does not exist yet")
    return file


def _left(file: Path) -> bool:
    """Whether a file of the store still holds words of the conversation."""
    files = [each for each in file.parent.glob(f"{file.name}*") if each.is_file()]
    return any(word.encode() in each.read_bytes() for each in files for word in ("What is here?", "SIGKILL"))


async def _kept(story: Story, folder: Path, file: Path) -> None:
    """One more session, left for the reader."""
    async with AsyncExitStack() as stack:
        host = await stack.enter_async_context(Host.open(f"sqlite:///{file}", agents=[guide(folder)]))
        session = await host.create_session(metadata={"user_id": "newcomer"})
        await host.run(AGENT, _FIRST, session_id=session.session_id)
    story.step("Yours to look at", f"A session was left in {file}. For instance:")
    for command in (f"transcript --session {session.session_id}", "runs"):
        story.out.print(cell(f"   actum {command} --store sqlite:///{file}", "bold"), soft_wrap=True)
