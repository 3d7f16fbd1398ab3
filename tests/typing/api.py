"""Public names used as a user would write them. Nothing runs this file: mypy reads it, as a user's mypy would.

A name whose type a user will lean on gets a line here: what it takes, what it gives back. When a line stops
type-checking, a user's code has stopped type-checking too, and the changelog says so.
"""

from typing import assert_type

import actum
from actum import (
    ActumError,
    Agent,
    CompressHistory,
    Host,
    ModelClient,
    PolicyInput,
    PromptRegistry,
    PromptUse,
    RunOutput,
    RunPolicy,
    Tightening,
    ToolRestriction,
)


def version() -> None:
    assert_type(actum.__version__, str)


def every_error_has_a_stable_code(error: ActumError) -> None:
    assert_type(error.code, str)


def a_hook_is_a_function_and_may_wait(given: PolicyInput) -> None:
    def tightens(given: PolicyInput) -> Tightening | None:
        return Tightening(policy=RunPolicy(max_tool_calls=1), reason=given.labels["team"])

    async def waits(given: PolicyInput) -> Tightening | None:
        return tightens(given)

    Host.open("memory:", policy_hook=tightens)
    Host.open("memory:", policy_hook=waits, policy=RunPolicy(time_budget=60))


def an_agent_takes_a_policy_a_history_and_a_prompt(model: ModelClient) -> None:
    Agent("a", model=model, instructions=PromptUse("hello", {"name": "Ada"}), history=CompressHistory(model))
    assert_type(PromptRegistry({"hello": "{name}"}).get("hello").version, str)


async def a_run_may_be_bounded(host: Host) -> None:
    out = await host.run("a", "hi", policy=RunPolicy(max_tool_calls=0), restrict=ToolRestriction(tools=()))
    assert_type(out, RunOutput)
