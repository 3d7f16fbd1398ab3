"""What Bedrock does with each form of a part."""

from typing import Final

from actum.model.projection import Fate
from actum.model.rules import PartForm, PartRule, PartRules

CONVERSE_RULES: Final[PartRules] = {
    PartForm.SYSTEM: PartRule("a block of `system`"),
    PartForm.TEXT: PartRule("a `text` block"),
    PartForm.BLANK_TEXT: PartRule("nothing: Bedrock refuses it", Fate.LEFT_OUT),
    PartForm.THINKING: PartRule("`reasoningContent.reasoningText` with its signature, in place"),
    PartForm.REDACTED_THINKING: PartRule("`reasoningContent.redactedContent`, byte for byte"),
    PartForm.FOREIGN_THINKING: PartRule("nothing", Fate.LEFT_OUT),
    PartForm.IMAGE_BYTES: PartRule("an `image` block"),
    PartForm.IMAGE_URI: PartRule("an `image` block for `s3://`; another address not at all", Fate.REFUSED),
    PartForm.PDF_BYTES: PartRule("a `document` block under a name that Bedrock takes", Fate.MAPPED),
    PartForm.PDF_URI: PartRule("a `document` block for `s3://`; another address not at all", Fate.REFUSED),
    PartForm.TEXT_DOCUMENT: PartRule("a `document` block with its `text`, the same name rule", Fate.MAPPED),
    PartForm.CHUNKED_DOCUMENT: PartRule("a `document` block, a `content` text for each chunk", Fate.MAPPED),
    PartForm.TEXT_FILE: PartRule("a `document` block with its bytes", Fate.MAPPED),
    PartForm.OFFICE_FILE: PartRule("a `document` block with its bytes", Fate.MAPPED),
    PartForm.CITATIONS: PartRule("a `citationsContent` block"),
    PartForm.TOOL_USE: PartRule("a `toolUse` block, its `input` as the model spelled it"),
    PartForm.DOTTED_NAME: PartRule("the same, `.` as `_`, led back in the answer", Fate.ALIASED),
    PartForm.FOREIGN_ID: PartRule("the same, under a digest of the id", Fate.ALIASED),
    PartForm.MALFORMED_INPUT: PartRule(
        'the same: `input` is `{"input_text": ...}` with the malformed text', Fate.MAPPED
    ),
    PartForm.RESULT_TEXT: PartRule("a `toolResult` block with `text`"),
    PartForm.RESULT_JSON: PartRule("a `toolResult` block with `json`; what is no object as its JSON text, reported"),
    PartForm.RESULT_EMPTY: PartRule("a `toolResult` block `(no content)`", Fate.MAPPED),
    PartForm.RESULT_ERROR: PartRule("a `toolResult` block with `status` `error`"),
    PartForm.RESULT_IMAGE: PartRule("an `image` inside the `toolResult` block"),
    PartForm.RESULT_PDF: PartRule("a `document` inside the `toolResult` block, the same name rule", Fate.MAPPED),
    PartForm.CACHE_CHECKPOINT: PartRule("a `cachePoint` block: the last four, behind what can be cached"),
}
