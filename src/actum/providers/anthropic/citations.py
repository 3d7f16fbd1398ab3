"""Citations as Anthropic spells them, both ways. A document is named by its place among those of the request."""

import re
from collections.abc import Mapping
from typing import Final

from actum.base.errors import shortened
from actum.base.value import Json
from actum.messages.parts import CharRange, ChunkRange, Citation, PageRange
from actum.model.reading import malformed, text

_DOCUMENT: Final = re.compile(r"document:([0-9]{1,6})", re.ASCII)
_TITLE_CHARS: Final = 255
# Each kind of place: its name there, and the names of its two ends.
_PLACES: Final = (
    (CharRange, "char_location", "start_char_index", "end_char_index"),
    (ChunkRange, "content_block_location", "start_block_index", "end_block_index"),
    (PageRange, "page_location", "start_page_number", "end_page_number"),
)


def citation_of(given: Mapping[str, Json]) -> Citation:
    """A citation from an answer. Raises ModelError, or InvalidValue for a range that ends before it begins."""
    excerpt = text(given.get("cited_text"), "cited_text")
    kind = given.get("type")
    for make, name, start, end in _PLACES:
        if kind == name:
            location = make(start=given.get(start), end=given.get(end))  # type: ignore[arg-type]  # it looks itself
            title = text(given.get("document_title"), "document_title")
            return Citation(
                title=title, source=f"document:{given.get('document_index')}", location=location, excerpt=excerpt
            )
    title = text(given.get("title"), "title")
    if kind == "search_result_location":
        return Citation(title=title, source=text(given.get("source"), "source"), excerpt=excerpt)
    if kind == "web_search_result_location":
        return Citation(title=title, source=text(given.get("url"), "url"), excerpt=excerpt)
    raise malformed(f"a citation of type {shortened(kind)} is not known")


def spelled_citation(citation: Citation, documents: int) -> dict[str, Json] | None:
    """The citation of one of the first `documents` of the request; None for what Anthropic did not cite so."""
    found = _DOCUMENT.fullmatch(citation.source or "")
    title = citation.title
    if found is None or int(found[1]) >= documents or citation.excerpt is None:
        return None
    if title is not None and not 1 <= len(title) <= _TITLE_CHARS:
        return None
    for kind, name, start, end in _PLACES:
        if isinstance(citation.location, kind):
            return {
                "type": name,
                "cited_text": citation.excerpt,
                "document_index": int(found[1]),
                "document_title": title,
                start: citation.location.start,
                end: citation.location.end,
            }
    return None
