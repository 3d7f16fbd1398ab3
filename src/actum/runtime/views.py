"""What a planner is shown of its run: the transcript as the history policy views it, and summaries that are records."""

from collections.abc import Callable
from dataclasses import dataclass

from actum.base.errors import RecordConflict
from actum.base.value import dump
from actum.loop import keys
from actum.messages.message import Message, Role
from actum.model.client import ModelClient
from actum.planning.history import HistoryPolicy, Past, Summary
from actum.planning.planner import ModelUsage
from actum.records.kinds import HistoryCompressed, payload_of
from actum.records.record import NewRecord
from actum.records.types import RecordType
from actum.runtime.ledger import Ledger, OpenRun
from actum.runtime.transcripts import Histories, Placed
from actum.transcript.turns import is_newest_part, leading
from actum.transcript.validate import refuse_findings, scan, validate_planner_transcript


@dataclass(frozen=True)
class Views:
    """What a view is made with."""

    ledger: Ledger
    histories: Histories
    models: Callable[[str], ModelClient]

    async def view(self, policy: HistoryPolicy | None, here: OpenRun, step: int) -> tuple[Message, ...]:
        """The transcript of the run as the policy shows it; all of it without one.

        Raises TranscriptError, and what the policy and the store raise.
        """
        if policy is not None and policy.turns is None:
            return await self._over_all(policy, here, step)
        own = (*here.journal.seeded, *here.journal.messages)
        lead, before = await self.histories.read(here.run.history, None if policy is None else policy.turns)
        messages = (*lead, *before.messages, *own)
        # What is over was judged when it was read. Behind it a group could begin, unless its last one is open.
        judged = before.lawful == len(before.messages) and _begins_group(own)
        refuse_findings(scan(messages, len(messages) - len(own) if judged else 0))
        if policy is None:
            return messages
        view = (await policy.view(messages, Past(models=self.models, lawful=True))).messages
        return view if is_newest_part(view, messages) else _lawful(view)

    async def _over_all(self, policy: HistoryPolicy, here: OpenRun, step: int) -> tuple[Message, ...]:
        """A view that may need all turns, and the newest summary of them."""
        placed = await self._before(here)
        placed.add(here.journal.placed, (*here.journal.seeded, *here.journal.messages))
        messages = tuple(placed.messages)
        validate_planner_transcript(messages)
        made = here.summaries.get(step)
        if made is None:
            view = await policy.view(messages, await self._past(here, placed))
            if view.made is None:
                return _lawful(view.messages)
            made = here.summaries[step] = view.made
        await self._record(here, step, made, placed)
        # Shown from what is recorded, the first time too: so a repeated plan cannot be shown anything else.
        return _lawful((await policy.view(messages, await self._past(here, placed))).messages)

    async def _before(self, here: OpenRun) -> Placed:
        """What the run goes on from, with its places; read once, for what is over does not change."""
        if here.placed_before is None:
            here.placed_before = await self.histories.placed(here.run.history)
        return here.placed_before.copied()

    async def _past(self, here: OpenRun, placed: Placed) -> Past:
        found = here.journal.compressed or await self._inherited(here)
        if found is None:
            return Past(models=self.models)
        covered = placed.count_through(found.through) - len(leading(placed.messages))
        summary = Summary(messages=covered, text=found.summary, tokens=found.tokens) if covered > 0 else None
        return Past(summary=summary, models=self.models)

    async def _inherited(self, here: OpenRun) -> HistoryCompressed | None:
        """The newest summary that the run goes on from; looked for once, for what is over does not change."""
        if not here.looked_back:
            here.summary_before = await self.histories.summary(here.run.history)
            here.looked_back = True
        return here.summary_before

    async def _record(self, here: OpenRun, step: int, made: Summary, placed: Placed) -> None:
        through = placed.through(made.messages + len(leading(placed.messages)))
        compressed = HistoryCompressed(through=through, summary=made.text, tokens=made.tokens)
        key = keys.compressed(step)
        records = [self.ledger.record(here, key, RecordType.HISTORY_COMPRESSED, dump(compressed))]
        if made.usage is not None:
            records.append(self._usage(here, step, made.usage))
        try:
            await self.ledger.append(here, records)
        except RecordConflict:
            # Another worker was quicker; its summary is the one that everybody is shown.
            stored = payload_of(await self.ledger.store.load_run_record(here.run.run_id, key))
            compressed = stored if isinstance(stored, HistoryCompressed) else compressed
        here.journal.compressed = compressed

    def _usage(self, here: OpenRun, step: int, used: ModelUsage) -> NewRecord:
        return self.ledger.record(here, keys.compression_usage(step), RecordType.USAGE, dump(used.counted(step)))


def _lawful(view: tuple[Message, ...]) -> tuple[Message, ...]:
    """A view as a planner may be shown it: a policy of the product's own may have broken the law."""
    validate_planner_transcript(view)
    return view


def _begins_group(own: tuple[Message, ...]) -> bool:
    return bool(own) and own[0].role is Role.USER
