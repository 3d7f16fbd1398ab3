from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.messages.parts import ThinkingPart
from actum.providers.openai.reasoning import item_of, shown, signature_of

texts = st.text(st.characters(codec="utf-8"), max_size=6) | st.sampled_from(["", "\n\n", "a\n\n\n\nb"])


def blocks(kind: str) -> st.SearchStrategy[list[dict[str, str]]]:
    return st.lists(st.builds(lambda text: {"type": kind, "text": text}, texts), max_size=3)


@st.composite
def items(draw: st.DrawFn) -> dict[str, Any]:
    item: dict[str, Any] = {"type": "reasoning", "id": draw(texts), "summary": draw(blocks("summary_text"))}
    content = draw(blocks("reasoning_text"))
    if content:
        item["content"] = content
    if draw(st.booleans()):
        item["encrypted_content"] = draw(texts)
    return item


def thought(item: dict[str, Any]) -> ThinkingPart:
    return ThinkingPart(text=shown(item), signature=signature_of(item), provider="openai")


@given(items())
def test_an_item_comes_back_as_it_was(item: dict[str, Any]) -> None:
    assert item_of(thought(item)) == item


ITEM: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]}


@pytest.mark.parametrize(
    "part",
    [
        ThinkingPart(text="hm", signature=signature_of(ITEM), provider="anthropic"),
        ThinkingPart(text="hm, too long", signature=signature_of(ITEM)),
        ThinkingPart(text="h", signature=signature_of(ITEM)),
        ThinkingPart(text="hm"),
        ThinkingPart(redacted=b"hm"),
        ThinkingPart(text="hm", signature="c2ln"),
        ThinkingPart(text="hm", signature="[]"),
        ThinkingPart(text="hm", signature='{"id":7,"summary":[2]}'),
        ThinkingPart(text="hm", signature='{"id":"r","summary":["2"]}'),
        ThinkingPart(text="hm", signature='{"id":"r","summary":[-1,1]}'),
        ThinkingPart(text="hm", signature='{"id":"r","summary":2}'),
        ThinkingPart(text="hm", signature='{"id":"r","summary":[2],"more":1}'),
    ],
)
def test_what_was_no_item_of_openai_is_none(part: ThinkingPart) -> None:
    assert item_of(part) is None
