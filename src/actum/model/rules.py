"""What a provider does with each form that a part may have: one table a provider, which its page shows and tests hold.

`PartForm` names what providers treat differently; `PartRule` says what one of them does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from actum.model.projection import Fate


class PartForm(StrEnum):
    """The forms of parts, in the words of the documentation."""

    SYSTEM = "system text"
    TEXT = "text"
    BLANK_TEXT = "blank text"
    THINKING = "thinking with its signature"
    REDACTED_THINKING = "redacted thinking"
    FOREIGN_THINKING = "thinking of another provider"
    IMAGE_BYTES = "image, as bytes"
    IMAGE_URI = "image, by address"
    PDF_BYTES = "PDF, as bytes"
    PDF_URI = "PDF, by address"
    TEXT_DOCUMENT = "document of text"
    CHUNKED_DOCUMENT = "document of chunks"
    TEXT_FILE = "text file, as bytes"
    OFFICE_FILE = "Word file, as bytes"
    CITATIONS = "citations"
    TOOL_USE = "tool use"
    DOTTED_NAME = "tool use, dotted name"
    FOREIGN_ID = "tool use, foreign id"
    MALFORMED_INPUT = "tool use, malformed input"
    RESULT_TEXT = "tool result, text"
    RESULT_JSON = "tool result, any JSON"
    RESULT_EMPTY = "tool result, empty"
    RESULT_ERROR = "tool result, failed"
    RESULT_IMAGE = "tool result with an image"
    RESULT_PDF = "tool result with a PDF"
    CACHE_CHECKPOINT = "cache checkpoint"


@dataclass(frozen=True)
class PartRule:
    """How a form is sent. `fate` is what the report says about it; None: nothing, it goes as it is."""

    sent_as: str
    fate: Fate | None = None


PartRules: TypeAlias = Mapping[PartForm, PartRule]


def table_of(rules: PartRules) -> str:
    """The rules as a Markdown table, in the order of the forms; KeyError when one has none."""
    lines = ["| Part | Sent as | Report |", "|---|---|---|"]
    for form in PartForm:
        rule = rules[form]
        lines.append(f"| {form} | {rule.sent_as} | {'' if rule.fate is None else f'`{rule.fate}`'} |")
    return "\n".join(lines) + "\n"
