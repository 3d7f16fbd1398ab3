"""What every workload and every peer stores: the same conversation, about 600 characters a message. Standard library.

Four messages are a turn: the user asks, the assistant calls a tool, the tool answers, the assistant answers.
"""

import functools
import json
import random
from typing import Any

_WORDS = [
    *("the", "agent", "reads", "a", "record", "and", "writes", "its", "answer", "because", "every", "step", "must"),
    *("survive", "restarts", "while", "people", "watch", "latency", "of", "queues", "retries", "customers", "invoices"),
    *("orders", "refunds", "policies", "regional", "prices", "search", "results", "summary", "question", "meeting"),
    *("notes", "incident", "report", "index", "transaction", "schema", "café", "naïve", "“quoted”", "10%", "€45"),
    *("it's", "e.g.", "step-by-step"),
]
KINDS = ("user", "call", "result", "answer")


@functools.cache
def text(seed: int, size: int = 600) -> str:
    """About `size` characters of prose, the same for the same seed."""
    chance = random.Random(seed)
    sentences: list[str] = []
    length = 0
    while length < size:
        sentence = " ".join(chance.choice(_WORDS) for _ in range(chance.randint(7, 14))).capitalize()
        sentences.append(sentence + chance.choice((". ", ".\n", "? ")))
        length += len(sentences[-1])
    return "".join(sentences)[:size]


def arguments(turn: int) -> dict[str, Any]:
    """What the tool of a turn is called with."""
    return {"query": text(-turn - 1, 40), "limit": turn % 50}


def result(turn: int) -> str:
    """What the tool of a turn answers: JSON as text."""
    rows = [{"id": turn * 10 + i, "title": text(turn * 10 + i, 48)} for i in range(7)]
    return json.dumps({"rows": rows}, ensure_ascii=False)


def user_text(turn: int) -> str:
    """What the user asks in a turn."""
    return text(4 * turn)


def call_text(turn: int) -> str:
    """What the assistant says beside its call."""
    return text(4 * turn + 1)


def answer_text(turn: int) -> str:
    """What the assistant answers."""
    return text(4 * turn + 3)


@functools.cache
def message(i: int) -> dict[str, Any]:
    """The message `i` of the conversation, in a form of nobody's."""
    turn, kind = i // 4, KINDS[i % 4]
    if kind == "result":
        return {"kind": kind, "call_id": f"call_{turn}", "result": result(turn)}
    if kind == "call":
        return {"kind": kind, "text": text(i), "call_id": f"call_{turn}", "arguments": arguments(turn)}
    return {"kind": kind, "text": text(i)}
