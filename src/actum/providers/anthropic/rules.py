"""What Anthropic does with each form of a part."""

from typing import Final

from actum.model.projection import Fate
from actum.model.rules import PartForm, PartRule, PartRules

RULES: Final[PartRules] = {
    PartForm.SYSTEM: PartRule("a `text` block of `system`"),
    PartForm.TEXT: PartRule("a `text` block"),
    PartForm.BLANK_TEXT: PartRule("nothing", Fate.LEFT_OUT),
    PartForm.THINKING: PartRule("a `thinking` block, text and signature byte for byte"),
    PartForm.REDACTED_THINKING: PartRule("a `redacted_thinking` block, its data byte for byte"),
    PartForm.FOREIGN_THINKING: PartRule("nothing", Fate.LEFT_OUT),
    PartForm.IMAGE_BYTES: PartRule("an `image` block, base64"),
    PartForm.IMAGE_URI: PartRule("an `image` block (http, https)"),
    PartForm.PDF_BYTES: PartRule("a `document` block, base64, with title and context"),
    PartForm.PDF_URI: PartRule("a `document` block (http, https)"),
    PartForm.TEXT_DOCUMENT: PartRule("a `document` block of plain text"),
    PartForm.CHUNKED_DOCUMENT: PartRule("a `document` block of `content`, a `text` block a chunk"),
    PartForm.TEXT_FILE: PartRule("a `document` block of plain text"),
    PartForm.OFFICE_FILE: PartRule("not at all", Fate.REFUSED),
    PartForm.CITATIONS: PartRule("a `text` block with `citations` of the request's documents"),
    PartForm.TOOL_USE: PartRule("a `tool_use` block, its `input` as the model spelled it"),
    PartForm.DOTTED_NAME: PartRule("the same, `.` as `_`, led back in the answer", Fate.ALIASED),
    PartForm.FOREIGN_ID: PartRule("the same, under a digest of the id", Fate.ALIASED),
    PartForm.MALFORMED_INPUT: PartRule(
        'the same: `input` is `{"input_text": ...}`, the malformed text in it', Fate.MAPPED
    ),
    PartForm.RESULT_TEXT: PartRule("a `tool_result` block"),
    PartForm.RESULT_JSON: PartRule("a `tool_result` block with its JSON text"),
    PartForm.RESULT_EMPTY: PartRule("a `tool_result` block without content"),
    PartForm.RESULT_ERROR: PartRule("a `tool_result` block with `is_error`"),
    PartForm.RESULT_IMAGE: PartRule("a `tool_result` block of a `text` and an `image` block"),
    PartForm.RESULT_PDF: PartRule("a `tool_result` block of a `text` and a `document` block"),
    PartForm.CACHE_CHECKPOINT: PartRule("`cache_control` on the block before it; only the last four"),
}
