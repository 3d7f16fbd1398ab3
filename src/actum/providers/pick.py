"""A model by name: `openai:gpt-4.1` -> a client. A provider's code is loaded when it is first asked for."""

from collections.abc import Callable
from typing import Any

from actum.base.checks import refuse, text
from actum.model.client import ModelClient
from actum.model.pacing import PacedModel
from actum.model.wrap import RetryingModel


def pick(name: str, **options: Any) -> ModelClient:  # noqa: ANN401 - each provider's client says what it takes
    """The client for `provider:model`, which tries again what may pass and keeps to the rate that the provider bears.

    `options` are the client's own.

    Raises InvalidValue for a name without a provider that is known here, MissingExtra when its extra is not installed,
    ProviderError when its key is missing.
    """
    provider, model = named(name)
    return RetryingModel(PacedModel(_PROVIDERS[provider](model, **options)))


def named(name: str) -> tuple[str, str]:
    """The provider and the model in a name; nothing is loaded. Raises InvalidValue for one that `pick` would refuse."""
    text("model", name)
    provider, colon, model = name.partition(":")
    if provider not in _PROVIDERS or not colon or not model.strip():
        known = ", ".join(f"{each}:MODEL" for each in sorted(_PROVIDERS))
        raise refuse("model", name, f"is a provider and a model; this version knows {known}")
    return provider, model


def _openai_chat(model: str, **options: Any) -> ModelClient:  # noqa: ANN401 - see pick
    from actum.providers.openai.client import OpenAIChat

    return OpenAIChat(model, **options)


def _openai(model: str, **options: Any) -> ModelClient:  # noqa: ANN401 - see pick
    from actum.providers.openai.client import OpenAIResponses

    return OpenAIResponses(model, **options)


def _anthropic(model: str, **options: Any) -> ModelClient:  # noqa: ANN401 - see pick
    from actum.providers.anthropic.client import Anthropic

    return Anthropic(model, **options)


def _bedrock(model: str, **options: Any) -> ModelClient:  # noqa: ANN401 - see pick
    from actum.providers.bedrock.client import Bedrock

    return Bedrock(model, **options)


def _gemini(model: str, **options: Any) -> ModelClient:  # noqa: ANN401 - see pick
    from actum.providers.gemini.client import Gemini

    return Gemini(model, **options)


_PROVIDERS: dict[str, Callable[..., ModelClient]] = {
    "anthropic": _anthropic,
    "bedrock": _bedrock,
    "gemini": _gemini,
    "openai": _openai,
    "openai-chat": _openai_chat,
}
