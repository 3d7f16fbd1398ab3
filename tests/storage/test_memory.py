"""What only the backend in memory is asked. What it shares with the others stands in test_backend.py."""

import asyncio
import threading
from operator import methodcaller

import pytest

from actum.lifecycle.change import Change, Keys, Placed, Scope
from actum.storage.backend import RecordQuery
from actum.storage.memory import MemoryBackend
from tests.support.rows import appended, new_record, run_row, session_row, started


@pytest.fixture
async def backend() -> MemoryBackend:
    backend = MemoryBackend()
    await backend.write(methodcaller("apply", started(session_row(), run_row())), 0)
    return backend


async def test_two_backends_share_nothing(backend: MemoryBackend) -> None:
    seen = await MemoryBackend().read(lambda view: view.see(Keys(scope_of="r1")))
    assert seen.scope is None


async def test_a_position_that_does_not_follow_is_a_defect_and_leaves_nothing(backend: MemoryBackend) -> None:
    change = Change(None, scope=Scope("s1"), records=(Placed(1, new_record(key="a")), Placed(3, new_record(key="b"))))
    with pytest.raises(ValueError, match="position 3 does not follow 1"):
        await backend.write(methodcaller("apply", change), 0)
    query = RecordQuery(scope=Scope("s1"), limit=9)
    assert (await backend.read(lambda view: view.records(query))).last == 0


async def test_threads_write_one_after_the_other(backend: MemoryBackend) -> None:
    def run(name: str) -> None:
        async def main() -> None:
            for i in range(200):
                await backend.write(lambda tx, key=f"{name}{i}": step(tx, key), 0)  # type: ignore[misc] # mypy cannot infer a lambda with a default

        asyncio.run(main())

    def step(tx: object, key: str) -> None:
        see = methodcaller("see", Keys(scope_of="r1"))
        methodcaller("apply", appended([new_record(key=key)], after=see(tx).position))(tx)

    threads = [threading.Thread(target=run, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    query = RecordQuery(scope=Scope("s1"), limit=1000)
    found = await backend.read(lambda view: view.records(query))
    assert len({each.event_key for each in found.records}) == found.last == 600


async def test_scopes_keep_their_order_when_a_purge_is_undone(backend: MemoryBackend) -> None:
    for i in range(2, 4):
        scope = Scope(f"s{i}")
        await backend.write(
            methodcaller("apply", started(session_row(f"s{i}"), run_row(f"r{i}", session_id=f"s{i}"))), 0
        )
        record = new_record(f"r{i}", session_id=f"s{i}")
        await backend.write(methodcaller("apply", appended([record], scope=scope)), 0)

    def fail(tx: object) -> None:
        methodcaller("apply", Change(None, purge=Scope("s2")))(tx)
        raise LookupError

    with pytest.raises(LookupError):
        await backend.write(fail, 0)
    behind = await backend.read(lambda view: view.behind("c", 9, None))
    assert [each.session_id for each in behind] == ["s2", "s3"]
