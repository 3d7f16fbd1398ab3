import builtins
import subprocess
import sys
from typing import Any

import pytest

from actum.base.errors import InvalidValue, MissingExtra, ProviderError
from actum.model.wrap import RetryingModel
from actum.providers.pick import pick


def test_a_name_becomes_a_client_that_tries_again() -> None:
    for provider in ("openai-chat", "openai", "anthropic", "gemini"):
        client = pick(f"{provider}:ft:gpt-4.1:acme", api_key="k", base_url="http://localhost:1/v1")
        assert isinstance(client, RetryingModel)
        assert client.model == "ft:gpt-4.1:acme"
    bedrock = pick("bedrock:eu.anthropic.claude-x-v1:0", region="eu-central-1")
    assert isinstance(bedrock, RetryingModel)
    assert bedrock.model == "eu.anthropic.claude-x-v1:0"


@pytest.mark.parametrize("name", ["acme:gpt-4.1", "gpt-4.1", "openai-chat", "openai-chat:", "openai-chat: ", ":x"])
def test_an_unknown_name_is_told_which_there_are(name: str) -> None:
    with pytest.raises(InvalidValue, match="openai-chat:MODEL"):
        pick(name)


@pytest.mark.parametrize(
    "name, variable",
    [
        ("openai-chat", "OPENAI_API_KEY"),
        ("openai", "OPENAI_API_KEY"),
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("gemini", "GEMINI_API_KEY"),
        ("bedrock", "AWS_REGION"),
    ],
)
def test_a_missing_key_is_said(name: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for each in (variable, "GOOGLE_API_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(each, raising=False)
    with pytest.raises(ProviderError, match=variable):
        pick(f"{name}:some-model")


@pytest.mark.parametrize(
    "name, extra, package",
    [
        ("openai-chat", "openai", "openai"),
        ("openai", "openai", "openai"),
        ("anthropic", "anthropic", "anthropic"),
        ("bedrock", "bedrock", "aiobotocore.config"),
        ("gemini", "gemini", "google"),
    ],
)
def test_a_missing_extra_is_named(name: str, extra: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(wanted: str, *args: Any, **kwargs: Any) -> Any:
        if wanted == package:
            raise ImportError(wanted)
        return real(wanted, *args, **kwargs)

    monkeypatch.delitem(sys.modules, f"actum.providers.{extra}.client", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra) as missing:
        pick(f"{name}:some-model", api_key="k")
    assert missing.value.extra == extra


def test_nothing_is_loaded_before_it_is_asked_for() -> None:
    vendors = {"openai", "anthropic", "google.genai", "botocore"}
    script = f"import sys, actum.providers.pick, actum.providers.accept; print({vendors!r} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "set()"
