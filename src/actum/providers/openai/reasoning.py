"""Reasoning items of Responses as thinking, and back, byte for byte.

A part's text is what the item shows (its summaries, then its open reasoning, a blank line between two); its signature
is what only OpenAI reads, and how the text was cut, as JSON.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Final

from actum.base.errors import InvalidValue
from actum.base.value import Json, dump_json, load_json
from actum.messages.parts import ThinkingPart

FAMILY: Final = "openai"
BETWEEN: Final = "\n\n"

_FIELDS: Final = {"id", "encrypted_content", "summary", "content"}
# Where the texts of an item stand, and what each of them is called, in the order in which they are joined.
_TEXTS: Final = (("summary", "summary_text"), ("content", "reasoning_text"))


def shown(item: Mapping[str, Json]) -> str:
    """The text of a reasoning item."""
    return BETWEEN.join(text for texts in _texts_of(item).values() for text in texts)


def signature_of(item: Mapping[str, Json]) -> str:
    """What is needed beside its text to make the item again."""
    kept = {name: item[name] for name in ("id", "encrypted_content") if item.get(name) is not None}
    lengths = {name: [len(text) for text in texts] for name, texts in _texts_of(item).items() if texts}
    return dump_json(kept | lengths).decode()


def item_of(part: ThinkingPart) -> dict[str, Json] | None:
    """The reasoning item that this part was; None when OpenAI did not make it."""
    if part.provider not in (None, FAMILY) or part.text is None or part.signature is None:
        return None
    try:
        kept = load_json(part.signature.encode())
    except InvalidValue:
        return None
    if not isinstance(kept, dict) or not isinstance(kept.get("id"), str) or not kept.keys() <= _FIELDS:
        return None
    lengths = [kept.get(name, []) for name, _ in _TEXTS]
    if not all(isinstance(each, list) and all(type(size) is int for size in each) for each in lengths):
        return None
    texts = _cut(part.text, [size for each in lengths for size in each])
    if texts is None:
        return None
    item: dict[str, Json] = {"type": "reasoning", "id": kept["id"], "summary": []}
    for (name, kind), sizes in zip(_TEXTS, lengths, strict=True):
        if sizes:
            item[name] = [{"type": kind, "text": text} for text in texts[: len(sizes)]]
            texts = texts[len(sizes) :]
    if "encrypted_content" in kept:
        item["encrypted_content"] = kept["encrypted_content"]
    return item


def _texts_of(item: Mapping[str, Json]) -> dict[str, list[str]]:
    return {name: [block["text"] for block in item.get(name) or ()] for name, _ in _TEXTS}


def _cut(text: str, sizes: Sequence[int]) -> list[str] | None:
    """The texts of these lengths with blank lines between them; None when they are not that."""
    starts = [0, *accumulate(size + len(BETWEEN) for size in sizes)]
    texts = [text[start : start + size] for start, size in zip(starts, sizes, strict=False)]
    fits = [len(each) for each in texts] == list(sizes) and BETWEEN.join(texts) == text
    return texts if fits else None
