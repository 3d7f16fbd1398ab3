"""History chains out of SQLite, and what a reading connection keeps of them from one read to the next.

A long conversation is a chain of many runs, read in many pages, and every page goes the chain from its newest run. Its
links are read with one statement the first time; after that they are known, until anybody has written to the file.
"""

import sqlite3
from collections.abc import Iterator
from typing import Final, TypeAlias

# What a run's records need besides their rows: the integers of the run and of its scope, and its agent.
Names: TypeAlias = tuple[int, int, str]
# A run, the run of its history, the position of its end record, its names.
Link: TypeAlias = tuple[str, str | None, int, Names]

# The end of a run that has not ended.
_NO_END: Final = 2**63 - 1
# So many links are about two megabytes. Of a longer chain the older part is read from the file each time.
_KEPT: Final = 4096
_CHAIN: Final = f"""
WITH RECURSIVE chain (run_id, earlier, ends, run, scope, agent_id) AS (
    SELECT run_id, history_run_id, end_position, run, scope, agent_id FROM runs
    WHERE run_id = ?1 AND (?2 IS NULL OR end_position < ?2)
    UNION ALL
    SELECT r.run_id, r.history_run_id, r.end_position, r.run, r.scope, r.agent_id
    FROM chain CROSS JOIN runs AS r WHERE r.run_id = chain.earlier
        -- A history ended before its follower did. On a damaged file this ends what would go round in a circle.
        AND r.end_position < ifnull(chain.ends, {_NO_END})
)
SELECT run_id, earlier, ifnull(ends, {_NO_END}), run, scope, agent_id FROM chain
"""  # noqa: S608 - a constant of ours


class Chains:
    """The links of history chains, as one connection reads them.

    They are kept while no other connection has committed; whoever writes on this one says so with `forget`.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._version: int | None = None
        self._links: dict[str, Link] = {}

    def forget(self) -> None:
        """The rows may have changed: nothing is known any more."""
        self._links.clear()

    def walk(self, run_id: str) -> Iterator[Link]:
        """The run and the runs of its history chain, newest first. No link is read before it is asked for."""
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        if version != self._version:
            self._links.clear()
            self._version = version
        name: str | None = run_id
        follower_ends: int | None = None
        while name is not None:
            link = self._links.get(name)
            if link is None:
                yield from self._read(name, follower_ends)
                return
            if follower_ends is not None and link[2] >= follower_ends:
                return
            yield link
            name, follower_ends = link[1], link[2]

    def _read(self, run_id: str, follower_ends: int | None) -> Iterator[Link]:
        # Row by row, as it is walked: a recursion gives its rows in the order in which it finds them.
        for name, earlier, ends, run, scope, agent_id in self._connection.execute(_CHAIN, (run_id, follower_ends)):
            link = name, earlier, ends, (run, scope, agent_id)
            if len(self._links) < _KEPT:
                self._links[name] = link
            yield link
