"""What a run came to, read from its records alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from actum.base.limits import PAGE_ITEMS
from actum.lifecycle.states import RunStatus
from actum.loop.journal import Journal
from actum.messages.message import Message, Role
from actum.model.response import Usage
from actum.records.failures import Failure
from actum.records.kinds import UsageCounted
from actum.storage.contract import Store


@dataclass(frozen=True, kw_only=True)
class RunOutput:
    """A run's end: its status, its answer, and why it failed or was canceled.

    `message` is the assistant message that ended the run (beside a failure: what was answered until then), `text` its
    answer text, `cancellation` the reason, `suspension` the id of a suspended run's checkpoint, `usage` the tokens of
    all its model calls; a count that one of them does not know is unknown.
    """

    run_id: str
    status: RunStatus
    text: str = ""
    message: Message | None = None
    failure: Failure | None = None
    cancellation: str | None = None
    suspension: str | None = None
    usage: Usage = Usage()  # noqa: RUF009 - a frozen value


async def read_journal(store: Store, run_id: str) -> Journal:
    """A run's own facts, from its records."""
    journal = Journal(run_id)
    while True:
        page = await store.list_run_records(run_id, cursor=journal.cursor, limit=PAGE_ITEMS)
        journal.read(page.items, page.cursor)
        if not page.more:
            return journal


def output_of(run_id: str, status: RunStatus, journal: Journal) -> RunOutput:
    """What a run that has ended came to."""
    ended = journal.ended
    last = journal.messages[-1] if journal.messages else None
    message = last if last is not None and last.role is Role.ASSISTANT else None
    return RunOutput(
        run_id=run_id,
        status=status,
        text=message.text if message is not None else "",
        message=message,
        failure=ended.failure if ended is not None else None,
        cancellation=ended.cancellation.reason if ended is not None and ended.cancellation is not None else None,
        suspension=journal.suspended.suspension_id if journal.suspended is not None else None,
        usage=usage_of(journal.usage),
    )


def usage_of(counted: Sequence[UsageCounted]) -> Usage:
    """The tokens of these model calls together; a count that one of them does not know is unknown."""
    names = ("input", "output", "cache_read", "cache_write")

    def total(name: str) -> int | None:
        counts = [getattr(each, name) for each in counted]
        return sum(counts) if counts and None not in counts else None

    return Usage(**{name: total(name) for name in names})
