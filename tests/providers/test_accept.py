import subprocess
import sys

import pytest

from actum.base.errors import InvalidValue
from actum.messages.message import assistant, system, user
from actum.messages.parts import ThinkingPart, ToolResultPart, tool_use
from actum.model.projection import Fate
from actum.model.request import ModelSettings, ToolChoice
from actum.providers.accept import PROVIDERS, would_accept
from actum.testing.provider_samples import TOOLS, standard_conversation


@pytest.mark.parametrize("provider", sorted(PROVIDERS))
def test_the_answer_is_the_same_for_any_model_and_offline(provider: str) -> None:
    report = would_accept(standard_conversation(), provider, "some-model", TOOLS)
    assert report.accepted
    assert (report.provider, report.model) == (provider, "some-model")
    assert would_accept(standard_conversation(), provider, tools=TOOLS).model is None


def test_everything_that_is_wrong_is_named_at_once() -> None:
    report = would_accept(
        [user("hi"), assistant(ThinkingPart(text="t", provider="openai"), tool_use("t", "a", {})), user("x", RESULT)],
        "anthropic",
        tool_choice=ToolChoice(mode="any"),
        settings=ModelSettings(seed=1),
    )
    assert [(each.message_index, each.part_index) for each in report.of(Fate.REFUSED)] == [
        (2, 1),
        (None, None),
        (None, None),
    ]
    assert [(each.message_index, each.part_index) for each in report.of(Fate.LEFT_OUT)] == [(1, 0)]


RESULT = ToolResultPart(tool_use_id="t")


def test_a_breach_of_the_law_is_a_refusal() -> None:
    report = would_accept([user("hi"), system("late"), user(RESULT)], "openai", "m")
    assert [(each.message_index, each.part_index) for each in report.of(Fate.REFUSED)] == [(1, None), (2, 0)]
    assert (report.provider, report.model) == ("openai", "m")


def test_an_unknown_provider_and_a_malformed_message_are_errors() -> None:
    with pytest.raises(InvalidValue, match="anthropic"):
        would_accept([user("hi")], "acme")
    with pytest.raises(InvalidValue):
        would_accept([user("\ud800")], "openai")


@pytest.mark.parametrize("provider", sorted(PROVIDERS))
def test_no_sdk_is_needed(provider: str) -> None:
    script = (
        "import sys\n"
        "for name in ('openai', 'anthropic', 'httpx2', 'botocore', 'aiobotocore', 'google'): sys.modules[name] = None\n"
        "from actum import user\n"
        "from actum.providers.accept import would_accept\n"
        f"print(would_accept([user('hi')], {provider!r}).accepted)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "True"
