"""History chains out of SQLite, and what a reading connection keeps of them from one read to the next.

A long conversation is a chain of many runs, read in many pages, and every page goes the chain from its newest run. Its
links are read with one statement the first time; after that they are known, until anybody has written to the file.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from actum.base.value import Fact
from actum.storage.backend import UNENDED

# A run, and the position of its end record.
Link: TypeAlias = tuple[str, int]

# So many links are about two megabytes. Of a longer chain the older part is read from the file each time.
_KEPT: Final = 4096
# Of the run `r`, in the order of a Span.
SPAN_COLUMNS: Final = f"r.run, r.scope, r.agent_id, r.first_position, ifnull(r.end_position, {UNENDED})"
_CHAIN: Final = f"""
WITH RECURSIVE chain (run_id, earlier, run, scope, agent_id, first_position, end_position) AS (
    SELECT r.run_id, r.history_run_id, {SPAN_COLUMNS} FROM runs AS r
    WHERE r.run_id = ?1 AND (?2 IS NULL OR r.end_position < ?2)
    UNION ALL
    SELECT r.run_id, r.history_run_id, {SPAN_COLUMNS}
    FROM chain CROSS JOIN runs AS r WHERE r.run_id = chain.earlier
        -- A history ended before its follower did. On a damaged file this ends what would go round in a circle.
        AND r.end_position < chain.end_position
)
SELECT run_id, earlier, run, scope, agent_id, first_position, end_position FROM chain
"""  # noqa: S608 - a constant of ours


class Span(Fact, frozen=True):
    """Where a run's records are found, and what they do not repeat.

    `run` and `scope` are integers of the database; all records of the run stand from the position `begins` on, up to
    `ends`, which is that of its end record.
    """

    run: int
    scope: int
    agent_id: str
    begins: int
    ends: int


class Chains:
    """The links of history chains, as one connection reads them.

    They are kept while no other connection has committed; whoever writes on this one says so with `forget`.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._version: int | None = None
        # Each run with the run of its history.
        self._kept: dict[str, tuple[str | None, Span]] = {}
        # The chain that was walked to its end last.
        self._whole: list[Link] = []

    def forget(self) -> None:
        """The rows may have changed: nothing is known any more."""
        self._kept.clear()
        self._whole = []

    def span(self, run_id: str) -> Span | None:
        """Where the records of a run are found, if it was walked to in this transaction and is still known."""
        kept = self._kept.get(run_id)
        return None if kept is None else kept[1]

    def walk(self, run_id: str) -> Iterable[Link]:
        """The run and the runs of its history chain, newest first. No link is read before it is asked for.

        A list when all of them are known.
        """
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        if version != self._version:
            self.forget()
            self._version = version
        if self._whole and self._whole[0][0] == run_id:
            return self._whole
        if run_id not in self._kept and len(self._kept) >= _KEPT:
            self.forget()
        return self._walked(run_id)

    def _walked(self, run_id: str) -> Iterator[Link]:
        walked: list[Link] = []
        for link in self._known_first(run_id):
            walked.append(link)
            yield link
        if len(walked) <= _KEPT:
            self._whole = walked

    def _known_first(self, run_id: str) -> Iterator[Link]:
        name: str | None = run_id
        follower_ends: int | None = None
        while name is not None:
            kept = self._kept.get(name)
            if kept is None:
                yield from self._read(name, follower_ends)
                return
            earlier, span = kept
            ends = span.ends
            if follower_ends is not None and ends >= follower_ends:
                return
            yield name, ends
            name, follower_ends = earlier, ends

    def _read(self, run_id: str, follower_ends: int | None) -> Iterator[Link]:
        # Row by row, as it is walked: a recursion gives its rows in the order in which it finds them.
        for name, earlier, *found in self._connection.execute(_CHAIN, (run_id, follower_ends)):
            span = Span(*found)
            if len(self._kept) < _KEPT:
                self._kept[name] = earlier, span
            yield name, span.ends
