import asyncio
from collections.abc import AsyncIterator
from operator import methodcaller
from pathlib import Path

import pytest

from actum.base.errors import StoreUnavailable
from actum.lifecycle.change import Change, Keys, RunRow, Scope
from actum.lifecycle.states import RunStatus
from actum.storage.sqlite.backend import SQLiteBackend
from tests.storage.sqlite.test_writer import appending, stored
from tests.support.faults_in_sqlite import Faults
from tests.support.rows import run_row, session_row, started


@pytest.fixture
async def backend(path: Path, faults: Faults) -> AsyncIterator[SQLiteBackend]:
    opened = await SQLiteBackend.open(path, connect=faults.connect)
    await opened.write(methodcaller("apply", started(session_row(), run_row())), 0)
    yield opened
    await opened.close()


class TestKnownRows:
    """What a commit has read is not read again by the next one, as long as nobody else has written."""

    async def test_rows_are_read_once(self, backend: SQLiteBackend, faults: Faults) -> None:
        await backend.write(appending("a"), 0)
        faults.fail("SELECT r.run")
        assert [await backend.write(appending(key), 0) for key in "bc"] == ["b", "c"]
        # Another change has rows in it; what follows reads them anew.
        await backend.write(methodcaller("apply", started(session_row("s2"))), 0)
        with pytest.raises(StoreUnavailable):
            await backend.write(appending("d"), 0)
        assert await stored(backend) == ["a", "b", "c"]

    async def test_a_commit_of_another_connection_is_noticed(self, backend: SQLiteBackend, path: Path) -> None:
        await backend.write(appending("a"), 0)
        other = await SQLiteBackend.open(path)
        assert await other.write(appending("b"), 0) == "b"
        assert await backend.write(appending("c"), 0) == "c"
        await other.write(methodcaller("apply", started(session_row(), run_row(status=RunStatus.FAILED))), 0)
        seen = await backend.write(methodcaller("see", Keys(scope_of="r1")), 0)
        row = seen.runs["r1"]
        assert isinstance(row, RunRow)
        assert (row.run.status, seen.position) == (RunStatus.FAILED, 3)
        await other.write(methodcaller("apply", Change(None, purge=Scope("s1"))), 0)
        assert (await backend.write(methodcaller("see", Keys(scope_of="r1")), 0)).runs == {}
        await other.close()

    async def test_what_was_undone_is_not_known(self, backend: SQLiteBackend, faults: Faults) -> None:
        await backend.write(appending("a"), 0)
        faults.fail("COMMIT")
        with pytest.raises(StoreUnavailable):
            await backend.write(appending("b"), 0)
        works = appending("c", then=ZeroDivisionError()), appending("d")
        answers = await asyncio.gather(*(backend.write(work, 0) for work in works), return_exceptions=True)
        assert [type(answer) for answer in answers] == [ZeroDivisionError, str]
        assert await stored(backend) == ["a", "d"]

    async def test_a_row_that_was_handed_out_may_be_changed_outside(self, backend: SQLiteBackend) -> None:
        await backend.write(appending("a"), 0)
        for _ in range(2):
            seen = await backend.write(methodcaller("see", Keys(scope_of="r1")), 0)
            row = seen.runs["r1"]
            assert isinstance(row, RunRow)
            assert row.run.labels == {}
            row.run.labels["own"] = "text"

    async def test_rows_of_many_runs_are_not_kept_for_ever(
        self, backend: SQLiteBackend, faults: Faults, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("actum.storage.sqlite.facts._KNOWN", 2)
        await backend.write(methodcaller("apply", started(session_row(), *map(run_row, ("r1", "r2", "r3")))), 0)
        for run_id in ("r1", "r2", "r3"):
            await backend.write(appending("a", run_id=run_id), 0)
        faults.fail("SELECT r.run")
        await backend.write(appending("b", run_id="r3"), 0)
        with pytest.raises(StoreUnavailable):
            await backend.write(appending("b", run_id="r1"), 0)


async def test_after_clearing_away_that_failed_the_writer_waits_for_others_again(
    backend: SQLiteBackend, faults: Faults
) -> None:
    await backend.write(methodcaller("apply", started(session_row(), run_row())), 0)
    faults.fail("PRAGMA wal_checkpoint")
    await backend.write(methodcaller("apply", Change(None, purge=Scope("s1"))), 0)
    waits = [sql for sql in faults.asked if sql.startswith("PRAGMA busy_timeout")]
    assert waits[-1] == "PRAGMA busy_timeout = 10000"
    await backend.write(methodcaller("apply", started(session_row("s2"))), 0)
