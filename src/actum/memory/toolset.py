"""The tools by which a model keeps and finds entries itself: `remember`, `recall`, `forget`.

An agent has them when they are given to it, never by default.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias

from actum.base.errors import ContractError
from actum.base.value import Json
from actum.memory.entries import MemoryScope
from actum.memory.view import MemoryView
from actum.tools.define import tool
from actum.tools.failures import Recovery, ToolError, ToolFailureKind
from actum.tools.spec import ToolContext, ToolSpec

# Whose memory a call may see and change. The application answers, for it knows the run's user and tenant; the view's
# `source` names the run of the context.
ViewOf: TypeAlias = Callable[[ToolContext], Awaitable[MemoryView]]

_RECALLED: Final = 5


def memory_tools(view_of: ViewOf, *, scope: MemoryScope = MemoryScope.USER) -> tuple[ToolSpec, ...]:
    """The three tools over the view that `view_of` gives for a call.

    They write and forget in the view's `scope` alone, by default the user's; they recall from all scopes of the view. A
    model names keys and values, never a scope, an owner or a tenant: it cannot reach what the view does not hold.
    """

    @tool(name="remember", title="Remember", tags=["memory"], idempotent=True)
    async def remember(key: str, value: Json, context: ToolContext) -> dict[str, Json]:
        """Keep a fact for later conversations. A value kept before under the same key is replaced.

        Args:
            key: a short name of the fact, such as favourite_colour
            value: the fact itself, as text or any other JSON
            context: the call
        """
        view = await view_of(context)
        with _refused():
            stored = await view.store(key, value, scope=scope)
        return {"remembered": stored.key}

    @tool(name="recall", title="Recall", tags=["memory"], idempotent=True)
    async def recall(query: str, context: ToolContext) -> list[dict[str, Json]]:
        """Find facts that were kept earlier, the most fitting first.

        Args:
            query: what to look for, in plain words
            context: the call
        """
        view = await view_of(context)
        with _refused():
            found = await view.search(query, limit=_RECALLED)
        return [{"key": each.entry.key, "value": each.entry.value, "scope": str(each.entry.scope)} for each in found]

    @tool(name="forget", title="Forget", tags=["memory"], idempotent=True)
    async def forget(key: str, context: ToolContext) -> dict[str, Json]:
        """Erase a fact that was kept, for good.

        Args:
            key: the exact key of the fact, as recall shows it
            context: the call
        """
        view = await view_of(context)
        with _refused():
            gone = await view.delete(key, scope=scope)
        return {"forgotten": gone}

    return remember, recall, forget


@contextmanager
def _refused() -> Iterator[None]:
    """What the memory refuses is the model's to correct: an empty key, a value beyond its bound."""
    try:
        yield
    except ContractError as error:
        raise ToolError(ToolFailureKind.DOMAIN_REJECTION, str(error), Recovery.CORRECT_CALL) from error
