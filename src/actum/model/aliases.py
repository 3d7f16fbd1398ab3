"""Names and ids in the form that a provider takes: the same for the same request, never two things under one alias.

A name that is fine stays as it is. Another one keeps its letters, with `_` for what is not allowed, when nobody else in
the request is called so; otherwise a digest tells it apart.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class AliasRule:
    """What a provider takes: `name` and `id` match a whole tool name and a whole tool use id.

    A name holds letters, digits, `_`, `-` and at least 64 of them wherever it is taken; `id_prefix` begins the aliases
    of ids, which are that and 32 hexadecimal digits.
    """

    name: re.Pattern[str] = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
    id: re.Pattern[str] = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
    id_prefix: str = "call_"


_SHORTEST: Final = 64


class Aliases:
    """The aliases of one request: `name` and `id` on the way out, `original` for a name on the way back.

    The ids of an answer are the provider's own and stay as they are.
    """

    def __init__(self, names: Iterable[str], ids: Iterable[str], rule: AliasRule) -> None:
        distinct = sorted(set(names))
        plain = Counter(_plain(each) for each in distinct)
        self._names = {each: each if rule.name.fullmatch(each) else _name_alias(each, plain, rule) for each in distinct}
        self._ids = {
            each: each if rule.id.fullmatch(each) else f"{rule.id_prefix}{_digest(each)[:32]}" for each in set(ids)
        }
        # Only somebody who computes digests can bring two together; then the request is refused, not guessed.
        self.told_apart = all(len(set(each.values())) == len(each) for each in (self._names, self._ids))
        self.any = any(name != alias for each in (self._names, self._ids) for name, alias in each.items())
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


def _name_alias(name: str, plain: Counter[str], rule: AliasRule) -> str:
    alone = _plain(name)
    if len(name) <= _SHORTEST and plain[alone] == 1 and rule.name.fullmatch(alone):
        return alone
    return f"t_{alone[:41]}_{_digest(name)[:20]}"


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
