"""Real processes that are killed in the middle of a run, and others that go on with it."""

from pathlib import Path

import pytest

from actum.base.errors import SessionPurged
from actum.host.host import Host
from actum.lifecycle.states import RunStatus
from actum.storage.opening import open_store
from tests.support.programs import end_of, line_of
from tests.support.run_process import killed, process, ran, taken
from tests.support.runlogs import RunLog, proven
from tests.support.scenario import RUN, SESSION

pytestmark = [pytest.mark.crash, pytest.mark.slow]

# At which of its store calls each process of a story dies, before or after the commit; the last one lives.
STORIES = {
    "after its start": [(4, True)],
    "before its plan is stored": [(9, False)],
    "again and again": [(11, True), (6, False), (9, True)],
    "when it has just recovered": [(14, False), (3, True), (3, False)],
}


async def _log(folder: Path) -> RunLog:
    async with open_store(f"sqlite:///{folder}/actum.db") as store:
        return await proven(store, RUN)


def _once_each(folder: Path) -> None:
    done = ran(folder)
    assert done.count("a") <= 1
    assert done.count("b") <= 1
    assert done.count("c") >= 1


@pytest.mark.parametrize("deaths", STORIES.values(), ids=STORIES)
async def test_a_run_survives_its_processes(tmp_path: Path, deaths: list[tuple[int, bool]]) -> None:
    for verb, (dies_at, after) in zip(["start", *["recover"] * len(deaths)], deaths, strict=False):
        victim = process(tmp_path, verb, dies_at=dies_at, after=after)
        assert line_of(victim) == "died"
        killed(victim)
    survivor = process(tmp_path, "recover")
    assert taken(survivor) == [RUN]
    end_of(survivor)
    log = await _log(tmp_path)
    assert log.run.status is RunStatus.COMPLETED
    assert log.messages[-1].text == "done"
    _once_each(tmp_path)


async def test_a_process_that_dies_inside_a_tool_leaves_its_outcome_unknown(tmp_path: Path) -> None:
    victim = process(tmp_path, "hang")
    assert line_of(victim) == "tool"
    # While it lives, nobody takes its run.
    patient = process(tmp_path, "recover")
    assert taken(patient) == []
    end_of(patient)
    killed(victim)
    survivor = process(tmp_path, "recover")
    assert taken(survivor) == [RUN]
    end_of(survivor)
    log = await _log(tmp_path)
    assert log.results["b"].content["error"] == "outcome_unknown"
    assert ran(tmp_path).count("b") == 1
    assert log.messages[-1].text == "done"


async def test_of_two_processes_that_recover_at_once_one_takes_the_run(tmp_path: Path) -> None:
    victim = process(tmp_path, "hang")
    assert line_of(victim) == "tool"
    killed(victim)
    racers = [process(tmp_path, "race") for _ in range(2)]
    for racer in racers:
        assert line_of(racer) == "ready"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    said = [taken(racer) for racer in racers]
    for racer in racers:
        end_of(racer)
    assert sorted(said) == [[], [RUN]]
    log = await _log(tmp_path)
    assert log.run.status is RunStatus.COMPLETED
    _once_each(tmp_path)


async def test_a_killed_process_whose_agent_is_gone_leaves_a_run_that_is_given_up_and_erased(tmp_path: Path) -> None:
    victim = process(tmp_path, "hang")
    assert line_of(victim) == "tool"
    url = f"sqlite:///{tmp_path}/actum.db"
    async with Host.open(url) as host:
        # While it lives, nobody gives its run up.
        assert await host.runtime.recover("fail") == ()
        killed(victim)
        (out,) = await host.runtime.settle(SESSION, recovery="fail")
        assert out.failure is not None
        assert out.failure.kind == "recovery"
    log = await _log(tmp_path)
    assert log.results["b"].content["error"] == "outcome_unknown"
    assert sorted(ran(tmp_path)) == ["a", "b"]
    async with Host.open(url) as host:
        await host.end_session(SESSION)
        await host.purge_session(SESSION)
        with pytest.raises(SessionPurged):
            await host.session(SESSION)
