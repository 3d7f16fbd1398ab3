"""What each provider is sent for each form of a part, byte for byte, and what the report says about it.

A change here changes what a provider reads in a conversation that has begun, and breaks its cache.
`ACTUM_GOLDEN=write pytest tests/golden` writes the files anew.
"""

import os
from pathlib import Path

import pytest

from actum.base.value import dump
from actum.model.request import ModelRequest
from actum.model.rules import PartForm
from actum.providers.accept import PROVIDERS, words_of
from actum.testing.provider_samples import TOOLS, form_samples, standard_conversation
from tests.support.own_thinking import OWN_THINKING

HERE = Path(__file__).parent / "providers"
CONVERSATION = "conversation"
NAMES = [CONVERSATION, *(form.name.lower() for form in PartForm)]


def encoded(provider: str, name: str) -> bytes:
    """The body, and the report on a line of its own."""
    own = OWN_THINKING[provider]
    conversation = name == CONVERSATION
    messages = standard_conversation(own) if conversation else form_samples(own)[PartForm[name.upper()]].messages
    made = words_of(provider).project(ModelRequest(model="some-model", messages=messages, tools=TOOLS))
    return made.data + b"\n" + dump(made.report) + b"\n"


@pytest.mark.parametrize("provider", sorted(PROVIDERS))
@pytest.mark.parametrize("name", NAMES)
def test_what_is_sent_never_changes(provider: str, name: str) -> None:
    path, made = HERE / provider / f"{name}.json", encoded(provider, name)
    if os.environ.get("ACTUM_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(made)
    assert made == path.read_bytes()


def test_every_file_belongs_to_a_form_and_a_provider() -> None:
    files = {path.relative_to(HERE).as_posix() for path in HERE.glob("**/*.json")}
    assert files == {f"{provider}/{name}.json" for provider in PROVIDERS for name in NAMES}
