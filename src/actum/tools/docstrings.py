"""What a function's docstring tells a model: the first paragraph, and the parameters of a Google-style Args section."""

import inspect
import re
from collections.abc import Iterator

_SECTION = re.compile(r"(Args|Arguments|Parameters):\s*")
_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)")


def described(docstring: str | None) -> tuple[str, dict[str, str]]:
    """The description, its lines joined, and the description of each parameter named in an Args section."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    first = []
    for line in lines:
        if not line.strip() or _SECTION.fullmatch(line):
            break
        first.append(line.strip())
    return " ".join(first), dict(_entries(lines))


def _entries(lines: list[str]) -> Iterator[tuple[str, str]]:
    start = next((at for at, line in enumerate(lines) if _SECTION.fullmatch(line)), None)
    if start is None:
        return
    section = []
    for line in lines[start + 1 :]:
        if line.strip() and not line[0].isspace():
            break
        section.append(line)
    name, words = "", list[str]()
    margin = min((len(line) - len(line.lstrip()) for line in section if line.strip()), default=0)
    for line in section:
        entry = _ENTRY.fullmatch(line.strip()) if len(line) - len(line.lstrip()) == margin else None
        if entry is not None:
            if name:
                yield name, " ".join(words)
            name, words = entry[1], [entry[2]] if entry[2] else []
        elif line.strip():
            words.append(line.strip())
    if name:
        yield name, " ".join(words)
