"""What a suspended run waits for, as a terminal shows it."""

import asyncio
import json
import sqlite3
from typing import Any

from actum.host.host import Host
from actum.messages.message import assistant
from actum.messages.parts import tool_use
from actum.planning.planner import AwaitInput, PlanInput, PlanResult, Question
from actum.runtime.agent import Agent
from actum.tools.define import tool
from tests.cli.test_commands import actum, url

__all__ = ["url"]


class Says:
    """Plans this, and after it an answer."""

    def __init__(self, plan: PlanResult) -> None:
        self._plan = plan

    async def plan_start(self, _: PlanInput) -> PlanResult:
        return self._plan

    async def plan_resume(self, _: PlanInput) -> PlanResult:
        return PlanResult.final("done")


@tool(confirm=True)
async def erase(path: str) -> str:
    """Erases a file."""
    return path


@tool(external=True)
async def sign(text: str) -> str:
    """Signed by somebody."""
    return text


def calls(*uses: tuple[str, str, dict[str, Any]]) -> PlanResult:
    return PlanResult.calls(assistant(*[tool_use(call_id, name, given) for call_id, name, given in uses]))


def played(url: str, plan: PlanResult, *agents: Agent, answers: dict[str, object] | None = None) -> str:
    """The id of the run `r1`'s newest successor, once the story is in the store."""

    async def play() -> str:
        tools = [erase, sign, *[agent.as_tool() for agent in agents]]
        boss = Agent("boss", planner=Says(plan), tools=tools)
        async with Host.open(url, agents=[boss, *agents]) as host:
            await host.create_session("s1")
            await host.run("boss", "go", session_id="s1", run_id="r1")
            if answers is None:
                return "r1"
            by_tool = {item.tool_name or "": item.item_id for item in await host.pending("s1")}
            after = await host.continue_run("r1", {by_tool[name]: said for name, said in answers.items()}, by="ada")
            return after.run_id

    return asyncio.run(play())


def test_a_question_is_shown_with_its_text_and_the_id_that_answers_it(url: str) -> None:
    played(url, PlanResult.awaiting(AwaitInput.clarification("Which colour?")))
    (item,) = json.loads(actum("transcript", "r1", "--json", "--store", url).stdout)["pending"]
    assert (item["kind"], item["prompt"]) == ("clarification", "Which colour?")
    shown = actum("transcript", "r1", "--store", url).stdout
    assert shown.endswith(f"waits for\n  a clarification: Which colour?  [{item['item_id']}]\n")
    assert "waits for" in actum("transcript", "--session", "s1", "--store", url).stdout


def test_a_form_is_shown_with_its_questions_and_options(url: str) -> None:
    colour = Question(id="colour", text="Which?", options=("red", "white"))
    extras = Question(id="extras", text="What else?", options=("card", "vase"), multiple=True)
    played(url, PlanResult.awaiting(AwaitInput.questions(colour, extras)))
    shown = actum("transcript", "r1", "--store", url).stdout
    assert "    colour: Which? (red | white)\n" in shown
    assert "    extras: What else? (card | vase, as many as you like)\n" in shown


def test_open_calls_say_what_they_wait_for(url: str) -> None:
    played(url, calls(("c1", "erase", {"path": "a"}), ("c2", "sign", {"text": "b"})))
    shown = actum("transcript", "r1", "--store", url).stdout
    assert '→ erase {"path":"a"}  [c1]  waits for a confirmation (erase)\n' in shown
    assert '→ sign {"text":"b"}  [c2]  waits for the result of an external tool (sign)\n' in shown
    assert '  a confirmation: erase {"path":"a"}' in shown
    row = actum("runs", "s1", "--store", url).stdout.splitlines()[1]
    assert row.endswith("  a confirmation (erase), the result of an external tool (sign)")


def test_what_was_answered_is_not_waited_for_and_the_rest_is_waited_for_by_the_next_run(url: str) -> None:
    plan = calls(("c1", "erase", {"path": "a"}), ("c2", "sign", {"text": "b"}))
    after = played(url, plan, answers={"erase": True})
    assert "waits for" not in actum("transcript", "r1", "--store", url).stdout
    shown = actum("transcript", after, "--store", url).stdout
    assert "[c2]  waits for the result of an external tool (sign)\n" in shown
    assert "a confirmation" not in shown
    first, second = actum("runs", "s1", "--store", url).stdout.splitlines()[1:3]
    assert first.split()[-1] == "-"
    assert second.endswith("the result of an external tool (sign)")


def test_a_call_whose_agent_asks_waits_for_what_that_one_asks(url: str) -> None:
    clerk = Agent("clerk", planner=Says(calls(("k1", "erase", {"path": "a"}))), tools=[erase])
    played(url, calls(("c1", "clerk", {"message": "do"})), clerk)
    shown = actum("transcript", "r1", "--store", url).stdout
    assert "[c1]  waits for a confirmation (erase)\n" in shown
    runs = json.loads(actum("runs", "s1", "--json", "--store", url).stdout)["runs"]
    child = next(each["run_id"] for each in runs if each["parent_run_id"] == "r1")
    assert f", asked by {child}]\n" in shown
    below = actum("transcript", child, "--store", url).stdout
    assert '→ erase {"path":"a"}  [k1]  waits for a confirmation (erase)\n' in below
    assert "asked by" not in below


def test_a_run_that_waits_for_nothing_says_nothing(url: str) -> None:
    played(url, PlanResult.final("at once"))
    assert "waits" not in actum("transcript", "r1", "--store", url).stdout
    assert json.loads(actum("transcript", "r1", "--json", "--store", url).stdout)["pending"] == []
    assert actum("runs", "s1", "--store", url).stdout.splitlines()[1].split()[-1] == "-"


def test_a_run_whose_records_are_damaged_hides_no_other(url: str) -> None:
    played(url, PlanResult.awaiting(AwaitInput.clarification("Which colour?")))
    connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    connection.execute("UPDATE records SET payload = X'7B' WHERE event_key LIKE 'input:asked:%'")
    connection.close()
    listed = actum("runs", "s1", "--store", url)
    assert listed.exit_code == 0
    assert listed.stdout.splitlines()[1].endswith("something that cannot be read")
    assert actum("transcript", "r1", "--store", url).exit_code == 1
