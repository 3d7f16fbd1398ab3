"""Stopping work from a terminal, whose process lives or not."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from actum.base.clock import SystemClock
from actum.cli.change import cancel_run, end_session
from actum.host.host import Host
from actum.lifecycle.states import RunStatus
from actum.messages.parts import tool_use
from actum.runtime.agent import Agent
from actum.storage.opening import open_store
from actum.testing.script import ScriptedModel
from tests.cli.test_commands import actum, filled, lines, url
from tests.support.agents import Errand

__all__ = ["filled", "url"]


@asynccontextmanager
async def under_way(url: str, *, below: bool = False) -> AsyncIterator[Host]:
    """A host in the middle of run `r1` of session `s1`: inside its tool, or with `below` inside that of a child."""
    errand = Errand()
    asks = ScriptedModel([tool_use("c1", "runner", {"message": "go"}), "done"])
    boss = Agent("boss", model=asks, tools=[errand.agent.as_tool()])
    agents = [boss, errand.agent] if below else [errand.agent]
    async with Host.open(url, agents=agents) as host:
        await host.create_session("s1")
        asking = asyncio.ensure_future(host.run(agents[0], "go", session_id="s1", run_id="r1"))
        await errand.begun.wait()
        yield host
        asking.cancel()


def interrupted(url: str, *, below: bool = False) -> None:
    async def begin() -> None:
        async with under_way(url, below=below):
            pass

    asyncio.run(begin())


def statuses(url: str) -> set[str]:
    runs = json.loads(actum("runs", "s1", "--json", "--store", url).stdout)["runs"]
    return {f"{run['status']} {run['cancellation_reason']}" for run in runs}


async def test_a_run_whose_process_lives_is_left_to_it(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    async with under_way(url) as host:
        await cancel_run(url, "r1", "enough", None, as_json=False)
        assert capsys.readouterr().out == "run r1: cancellation stored (enough); its process ends it\n"
        assert (await host.output("r1")).status is RunStatus.CANCELED


async def test_the_end_of_a_session_is_left_to_the_processes_that_live(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with under_way(url) as host:
        await end_session(url, "s1", as_json=False)
        assert capsys.readouterr().out == "session s1 has ended\nrun r1 still runs; its process ends it\n"
        assert (await host.output("r1")).status is RunStatus.CANCELED


@pytest.mark.parametrize("below", [False, True])
def test_a_run_whose_process_is_gone_ends_at_once(url: str, *, below: bool) -> None:
    interrupted(url, below=below)
    told = actum("cancel", "r1", "--reason", "enough", "--store", url)
    assert told.stdout == "run r1 is canceled (enough)\n"
    assert told.stderr == ""
    assert {each.partition(" ")[0] for each in statuses(url)} == {"canceled"}
    again = actum("cancel", "r1", "--reason", "enough", "--store", url)
    assert again.stdout == "run r1 is canceled; its cancellation was stored before (enough)\n"
    assert actum("verify", "--store", url).exit_code == 0


def test_a_canceled_run_whose_process_is_gone_is_told_as_json(url: str) -> None:
    interrupted(url)
    run = json.loads(actum("cancel", "r1", "--json", "--store", url).stdout)
    assert (run["status"], run["cancellation_reason"]) == ("canceled", "user_requested")


@pytest.mark.parametrize("below", [False, True])
def test_a_session_ends_with_its_runs_whose_process_is_gone(url: str, *, below: bool) -> None:
    interrupted(url, below=below)
    told = actum("end", "s1", "--store", url)
    assert told.stdout.startswith("session s1 has ended\nrun r1 is canceled\n")
    assert "canceled session_ended" in statuses(url)
    assert {each.partition(" ")[0] for each in statuses(url)} == {"canceled"}
    assert actum("purge", "s1", "--yes", "--store", url).exit_code == 0


def test_what_dead_processes_left_running_in_an_ended_session_keeps_nobody_from_erasing_it(url: str) -> None:
    async def end() -> None:
        async with open_store(url) as store:
            await store.end_session("s1", SystemClock().now())

    interrupted(url)
    asyncio.run(end())
    told = actum("purge", "s1", "--store", url, answer="y\n")
    assert told.stdout == "session s1 is erased; its id is never used again\n"
    assert told.stderr.startswith("Erase session s1 with 1 run and ")


def test_a_refused_purge_ends_no_run(url: str) -> None:
    interrupted(url)
    assert actum("purge", "s1", "--yes", "--store", url).exit_code == 4
    assert statuses(url) == {"running None"}


def test_nothing_is_said_of_other_runs_of_the_store(url: str) -> None:
    interrupted(url)
    assert actum("purge", "--one-shot", "nothing", "--yes", "--store", url).stderr.count("\n") == 1
    assert json.loads(actum("runs", "--json", "--store", url).stdout)["runs"][0]["status"] == "running"


def test_a_run_that_no_runtime_started_is_left_to_its_program(filled: str) -> None:
    told = actum("cancel", "side", "--store", filled).stdout
    assert told.endswith("no runtime started it, so it ends when the program that did ends it\n")
    ended = actum("end", "talk", "--store", filled).stdout
    assert "run side still runs; no runtime started it" in ended
    assert lines("records", "side", "--store", filled)[-1]["type"] == "runtime.cancellation_intent"
