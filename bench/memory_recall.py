"""How well the memory recalls: labelled questions over one user's facts, by words, by vectors, and both fused.

    python bench/memory_recall.py

Prints one JSON line. `memory_recall.tsv` holds a fact a line with two questions: one that shares words with it, one
that says it in other words. recall@5 is the part of all questions whose fact is among the first five that are found.
The vectors are those of the offline embedder (extra `embeddings`); without it those of the deterministic one for tests.
"""

import asyncio
import json
from pathlib import Path

from actum.base.errors import MissingExtra
from actum.memory.embedding import MiniLMEmbedder
from actum.memory.entries import MemoryEntry, MemoryScope
from actum.memory.opening import open_memory
from actum.memory.search import Embedder, HashEmbedder, nearest, unit_vectors
from actum.memory.terms import entry_text

DATA = Path(__file__).with_name("memory_recall.tsv")
FIRST = 5


def facts() -> list[tuple[str, str, list[str]]]:
    """Key, fact and questions of each line."""
    lines = DATA.read_text(encoding="utf-8").splitlines()
    return [(key, fact, questions) for key, fact, *questions in (line.split("\t") for line in lines)]


def embedder() -> Embedder:
    """The offline embedder where it is installed."""
    try:
        return MiniLMEmbedder()
    except MissingExtra:
        return HashEmbedder(384)


async def found(url_embedder: Embedder | None) -> dict[str, list[str]]:
    """The keys that a memory finds for each question."""
    async with open_memory("memory:", embedder=url_embedder) as memory:
        for key, fact, _ in facts():
            await memory.entries.store(MemoryEntry.for_user("kasia", key=key, value=fact))
        return {
            question: [
                each.entry.key for each in await memory.entries.search(MemoryScope.USER, "kasia", question, limit=FIRST)
            ]
            for _, _, questions in facts()
            for question in questions
        }


async def by_vectors(model: Embedder) -> dict[str, list[str]]:
    """The keys of the nearest vectors alone."""
    vectors = await unit_vectors(model, [entry_text(key, fact) for key, fact, _ in facts()])
    keyed = list(zip((key for key, _, _ in facts()), vectors, strict=True))
    answers = {}
    for _, _, questions in facts():
        for question, asked in zip(questions, await unit_vectors(model, questions), strict=True):
            answers[question] = nearest(asked, keyed, FIRST)
    return answers


def recall(answers: dict[str, list[str]], which: slice = slice(None), first: int = FIRST) -> float:
    """The part of the questions whose fact is among the first."""
    hits = [key in answers[question][:first] for key, _, questions in facts() for question in questions[which]]
    return round(sum(hits) / len(hits), 4)


async def main() -> None:
    """Measures the three ways over the same questions."""
    model = embedder()
    ways = {"words": await found(None), "vectors": await by_vectors(model), "fused": await found(model)}
    result: dict[str, object] = {"bench": "memory_recall", "questions": 2 * len(facts()), "embedder": model.name}
    for way, answers in ways.items():
        result[f"recall_at_5_{way}"] = recall(answers)
        result[f"recall_at_1_{way}"] = recall(answers, first=1)
        result[f"recall_at_5_{way}_same_words"] = recall(answers, slice(0, 1))
        result[f"recall_at_5_{way}_other_words"] = recall(answers, slice(1, 2))
    print(json.dumps(result))


if __name__ == "__main__":
    asyncio.run(main())
