"""The promise of a model client: one request, one response, or the same as a stream."""

from collections.abc import AsyncGenerator
from typing import Protocol, runtime_checkable

from actum.base.errors import ModelError, ProviderError
from actum.model.request import ModelRequest
from actum.model.response import Chunk, ModelResponse

__all__ = ["ModelClient", "ModelError", "ProviderError", "is_retryable"]


@runtime_checkable
class ModelClient(Protocol):
    """Asks one model. Both verbs refuse what the provider cannot express before any network call.

    Errors: ModelError for an answer that cannot be used, ProviderError for a call that was refused or failed; its
    `retryable` says whether the same call may succeed later, its `retry_after` (seconds) when.
    """

    @property
    def model(self) -> str:
        """The provider's name of the model that a request through this client should name."""
        ...

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The whole answer. A refusal, a filter, a cut answer are responses with that stop, not errors."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """The answer in pieces, which `fold` makes the very response that `complete` gives.

        Errors come from the iteration. An iteration that ends without a StopChunk was interrupted. Whoever stops early
        closes the generator (`contextlib.aclosing`), which ends the network call.
        """
        ...


def is_retryable(error: BaseException) -> bool:
    """Whether the same call may succeed later."""
    return isinstance(error, ProviderError) and error.retryable
