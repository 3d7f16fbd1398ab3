"""Words as a search compares them: without case, accents and plural endings; the same for every backend.

Scripts that write no spaces between words are cut into overlapping pairs of characters. English plurals are folded by
Harman's S stemmer ("How effective is suffixing?", Journal of the American Society for Information Science 42, 1991).
"""

import functools
import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from actum.base.value import Json

_UNSPACED: Final = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_ACCENTS: Final = re.compile("[\u0300-\u036f]")
_RUN: Final = re.compile(f"[{_UNSPACED}]+|[^\\W_{_UNSPACED}]+")
_ASCII_RUN: Final = re.compile("[a-z0-9]+")
_IS_UNSPACED: Final = re.compile(f"[{_UNSPACED}]")
_STEMMED_CHARS: Final = 4

# Words that stand in most English sentences: they find everything, and tell nothing.
_COMMON: Final = """
a about am an and are as at be been but by can did do does for from had has have he her his how i if in is it its me my
of on or our she so that the their them they this to us was we were what when where which who why will with would you
your
"""


def terms(text: str) -> list[str]:
    """The words of a text in order, in the form in which they are compared."""
    if text.isascii():
        # What the long way comes to where there is neither accent nor unspaced script, in a fraction of its time.
        return [_stem(run) for run in _ASCII_RUN.findall(text.lower())]
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    folded = unicodedata.normalize("NFKC", plain).casefold()
    return [term for run in _RUN.findall(folded) for term in _terms_of(run)]


def asked_terms(text: str) -> list[str]:
    """The different words of a text, in order."""
    return list(dict.fromkeys(terms(text)))


def telling_terms(text: str) -> list[str]:
    """The different words of a question that tell something; all of them when none does."""
    asked = asked_terms(text)
    return [term for term in asked if term not in _common()] or asked


def entry_text(key: str, value: Json) -> str:
    """What an entry says: its key, then every text, number and name inside its value."""
    return "\n".join((key, *_texts(value)))


@functools.cache
def _common() -> frozenset[str]:
    return frozenset(terms(_COMMON))


def _terms_of(run: str) -> Iterator[str]:
    if not _IS_UNSPACED.match(run):
        yield _stem(run)
    elif len(run) == 1:
        yield run
    else:
        yield from (first + second for first, second in pairwise(run))


def _stem(word: str) -> str:
    if len(word) < _STEMMED_CHARS or not word.isascii() or not word.endswith("s"):
        return word
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if word.endswith("es") and not word.endswith(("aes", "ees", "oes")):
        return word[:-1]
    return word if word.endswith(("us", "ss", "aes", "ees", "oes")) else word[:-1]


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _texts(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield repr(value)
