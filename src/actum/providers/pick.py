"""A model by name: `openai-chat:gpt-4.1` -> a client. A provider's code is loaded when it is first asked for."""

from collections.abc import Callable
from typing import Any

from actum.base.checks import refuse
from actum.model.client import ModelClient
from actum.model.wrap import RetryingModel


def pick(name: str, **options: Any) -> ModelClient:  # noqa: ANN401 - each provider's client says what it takes
    """The client for `provider:model`, which tries again what may pass. `options` are the client's own.

    Raises InvalidValue for a name without a provider that is known here, MissingExtra when its extra is not installed,
    ProviderError when its key is missing.
    """
    provider, colon, model = name.partition(":")
    make = _PROVIDERS.get(provider)
    if make is None or not colon or not model.strip():
        known = ", ".join(f"{each}:MODEL" for each in sorted(_PROVIDERS))
        raise refuse("model", name, f"is a provider and a model; this version knows {known}")
    return RetryingModel(make(model, **options))


def _openai_chat(model: str, **options: Any) -> ModelClient:  # noqa: ANN401 - see pick
    from actum.providers.openai.client import OpenAIChat

    return OpenAIChat(model, **options)


_PROVIDERS: dict[str, Callable[..., ModelClient]] = {"openai-chat": _openai_chat}
