import asyncio

from actum.base.limits import STREAM_DELTAS
from actum.stream.events import AssistantDelta
from actum.stream.hub import Hub

SCOPE = "0123456789abcdef"


def delta(offset: int, *, run_id: str = "r", session_id: str | None = "s", after: int = 3) -> AssistantDelta:
    return AssistantDelta(
        run_id=run_id,
        agent_id="a",
        session_id=session_id,
        attempt="x",
        part=0,
        offset=offset,
        text="t",
        after=f"{SCOPE}-{after}",
    )


def test_a_watch_gets_the_deltas_of_its_run_or_session() -> None:
    hub = Hub()
    with hub.watch(run_id="r") as one, hub.watch(session_id="s") as all_of_it, hub.watch(run_id="other") as other:
        hub.push(delta(0))
        hub.push(delta(0, run_id="r2"))
        assert one.take(f"{SCOPE}-3") == (delta(0),)
        assert all_of_it.take(f"{SCOPE}-3") == (delta(0), delta(0, run_id="r2"))
        assert other.take(f"{SCOPE}-3") == ()


def test_a_slow_watcher_keeps_the_newest_deltas() -> None:
    hub = Hub()
    with hub.watch(run_id="r") as watch:
        for offset in range(STREAM_DELTAS + 5):
            hub.push(delta(offset))
        taken = watch.take(f"{SCOPE}-3")
    assert len(taken) == STREAM_DELTAS
    assert taken[-1].offset == STREAM_DELTAS + 4


def test_a_delta_waits_until_what_was_before_it_is_read() -> None:
    hub = Hub()
    with hub.watch(run_id="r") as watch:
        watch.stale = False
        hub.push(delta(0, after=2))
        hub.push(delta(0, after=5))
        assert watch.take(None) == ()
        watch.stale = False
        assert watch.take(f"{SCOPE}-4") == (delta(0, after=2),)
        assert watch.stale
        assert watch.take(f"{SCOPE}-5") == (delta(0, after=5),)


def test_nobody_watches_after_the_last_one_left() -> None:
    hub = Hub()
    assert not hub.watched("r", "s")
    with hub.watch(run_id="r"):
        assert hub.watched("r", None)
        with hub.watch(session_id="s"):
            assert hub.watched("r2", "s")
        assert not hub.watched("r2", "s")
    assert not hub.watched("r", "s")
    hub.push(delta(0))
    hub.wake("r", "s")


async def test_a_watcher_is_woken_by_a_record_of_its_run() -> None:
    hub = Hub()
    with hub.watch(run_id="r") as watch:
        watch.stale = False
        waiting = asyncio.ensure_future(watch.wait(None))
        await asyncio.sleep(0)
        hub.wake("other", None)
        await asyncio.sleep(0)
        assert not waiting.done()
        hub.wake("r", None)
        await waiting
        assert watch.stale


async def test_a_pause_ends_with_a_look() -> None:
    hub = Hub()

    async def pause() -> None:
        pass

    with hub.watch(run_id="r") as watch:
        watch.stale = False
        await watch.wait(pause)
        assert watch.stale


async def test_a_delta_ends_a_wait_without_a_look() -> None:
    hub = Hub()
    with hub.watch(run_id="r") as watch:
        watch.stale = False
        waiting = asyncio.ensure_future(watch.wait(None))
        await asyncio.sleep(0)
        hub.push(delta(0))
        await waiting
        assert not watch.stale


async def test_what_happened_before_the_wait_is_not_waited_for() -> None:
    hub = Hub()
    with hub.watch(session_id="s") as watch:
        watch.stale = False
        hub.push(delta(0))
        await watch.wait(None)
        watch.take(f"{SCOPE}-3")
        hub.wake_session("s")
        await watch.wait(None)
        assert watch.stale


async def test_a_closed_hub_tells_everybody_the_first_reason() -> None:
    hub = Hub()
    first = ValueError("first")
    with hub.watch(run_id="r") as watch:
        hub.close(first)
        hub.close(ValueError("second"))
        await watch.wait(None)
        assert watch.error is first
