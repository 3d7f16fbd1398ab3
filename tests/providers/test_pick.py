import builtins
import subprocess
import sys
from typing import Any

import pytest

from actum.base.errors import InvalidValue, MissingExtra, ProviderError
from actum.model.wrap import RetryingModel
from actum.providers.pick import pick


def test_a_name_becomes_a_client_that_tries_again() -> None:
    client = pick("openai-chat:ft:gpt-4.1:acme", api_key="k", base_url="http://localhost:1/v1")
    assert isinstance(client, RetryingModel)
    assert client.model == "ft:gpt-4.1:acme"


@pytest.mark.parametrize("name", ["openai:gpt-4.1", "gpt-4.1", "openai-chat", "openai-chat:", "openai-chat: ", ":x"])
def test_an_unknown_name_is_told_which_there_are(name: str) -> None:
    with pytest.raises(InvalidValue, match="openai-chat:MODEL"):
        pick(name)


def test_a_missing_key_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ProviderError, match="OPENAI_API_KEY"):
        pick("openai-chat:gpt-4.1")


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "openai":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "actum.providers.openai.client", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra) as missing:
        pick("openai-chat:gpt-4.1", api_key="k")
    assert missing.value.extra == "openai"


def test_nothing_is_loaded_before_it_is_asked_for() -> None:
    script = "import sys, actum.providers.pick; print('openai' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"
