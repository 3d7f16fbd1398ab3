"""Names and ids in the form that this provider takes: the same for the same request, never two things under one alias.

A name that is fine stays as it is. Another one keeps its letters, with `_` for what is not allowed, when nobody else in
the request is called so; otherwise a digest tells it apart.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

from actum.base.errors import ProviderError

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,40}", re.ASCII)
_NAME_CHARS: Final = 64


class Aliases:
    """The aliases of one request: `name` and `id` on the way out, `original` for a name on the way back.

    The ids of an answer are the provider's own and stay as they are.
    """

    def __init__(self, names: Iterable[str], ids: Iterable[str]) -> None:
        distinct = sorted(set(names))
        plain = Counter(_plain(each) for each in distinct)
        self._names = {each: each if _NAME.fullmatch(each) else _name_alias(each, plain) for each in distinct}
        self._ids = {each: each if _ID.fullmatch(each) else f"call_{_digest(each)[:32]}" for each in sorted(set(ids))}
        for kind, aliases in (("tool names", self._names), ("tool use ids", self._ids)):
            if len(set(aliases.values())) != len(aliases):
                raise ProviderError(
                    kind="model_request",
                    message=f"two {kind} would be one for the provider",
                    provider="openai-chat",
                    operation="encode",
                )
        self._originals = {alias: name for name, alias in self._names.items()}

    def name(self, original: str) -> str:
        """The provider's name for a tool."""
        return self._names[original]

    def id(self, original: str) -> str:
        """The provider's id for a tool use."""
        return self._ids[original]

    def original(self, alias: str) -> str:
        """The tool that the provider calls so; a name that nobody has comes back unchanged."""
        return self._originals.get(alias, alias)


def _name_alias(name: str, plain: Counter[str]) -> str:
    alone = _plain(name)
    if len(name) <= _NAME_CHARS and name and plain[alone] == 1:
        return alone
    return f"{alone[:43]}_{_digest(name)[:20]}"


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
