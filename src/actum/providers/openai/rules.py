"""What OpenAI does with each form of a part: one table for Chat Completions, one for Responses."""

from typing import Final

from actum.model.projection import Fate
from actum.model.rules import PartForm, PartRule, PartRules

CHAT_RULES: Final[PartRules] = {
    PartForm.SYSTEM: PartRule("a `system` message"),
    PartForm.TEXT: PartRule("the message's `content`, or a `text` block of it"),
    PartForm.BLANK_TEXT: PartRule("nothing", Fate.LEFT_OUT),
    PartForm.THINKING: PartRule("nothing: Chat Completions has no place for it", Fate.LEFT_OUT),
    PartForm.REDACTED_THINKING: PartRule("nothing", Fate.LEFT_OUT),
    PartForm.FOREIGN_THINKING: PartRule("nothing", Fate.LEFT_OUT),
    PartForm.IMAGE_BYTES: PartRule("`image_url` with the bytes as a data address; `metadata.detail` as `detail`"),
    PartForm.IMAGE_URI: PartRule("`image_url` (http, https, data)"),
    PartForm.PDF_BYTES: PartRule("a `file` block with its name; its context as text before it"),
    PartForm.PDF_URI: PartRule("not at all", Fate.REFUSED),
    PartForm.TEXT_DOCUMENT: PartRule("`text` blocks: its name and context, then its text", Fate.MAPPED),
    PartForm.CHUNKED_DOCUMENT: PartRule("`text` blocks: its name and context, then one a chunk", Fate.MAPPED),
    PartForm.TEXT_FILE: PartRule("`text` blocks: its name and context, then its text", Fate.MAPPED),
    PartForm.OFFICE_FILE: PartRule("not at all", Fate.REFUSED),
    PartForm.CITATIONS: PartRule("its text, without the citations", Fate.LEFT_OUT),
    PartForm.TOOL_USE: PartRule("one of `tool_calls`, its `arguments` as the model spelled them"),
    PartForm.DOTTED_NAME: PartRule("the same, `.` as `_`, led back in the answer", Fate.ALIASED),
    PartForm.FOREIGN_ID: PartRule("the same, under a digest of the id", Fate.ALIASED),
    PartForm.MALFORMED_INPUT: PartRule("the same: `arguments` is the malformed text itself"),
    PartForm.RESULT_TEXT: PartRule("a `tool` message"),
    PartForm.RESULT_JSON: PartRule("a `tool` message with its JSON text"),
    PartForm.RESULT_EMPTY: PartRule("a `tool` message `(no content)`", Fate.MAPPED),
    PartForm.RESULT_ERROR: PartRule('a `tool` message `{"error": ...}`', Fate.MAPPED),
    PartForm.RESULT_IMAGE: PartRule(
        "a `tool` message; the image follows the last one in a user message that names its call", Fate.MAPPED
    ),
    PartForm.RESULT_PDF: PartRule("the same, the file in the user message", Fate.MAPPED),
    PartForm.CACHE_CHECKPOINT: PartRule("nothing: OpenAI caches by itself", Fate.LEFT_OUT),
}

RESPONSES_RULES: Final[PartRules] = {
    **CHAT_RULES,
    PartForm.SYSTEM: PartRule("a `system` message"),
    PartForm.TEXT: PartRule("a message of its own, or an `input_text` block of a user message"),
    PartForm.THINKING: PartRule("the `reasoning` item that it was: id, summaries, encrypted content"),
    PartForm.REDACTED_THINKING: PartRule("nothing: OpenAI makes none", Fate.LEFT_OUT),
    PartForm.FOREIGN_THINKING: PartRule("nothing", Fate.LEFT_OUT),
    PartForm.IMAGE_BYTES: PartRule("`input_image` with the bytes as a data address; `metadata.detail` as `detail`"),
    PartForm.IMAGE_URI: PartRule("`input_image` (http, https, data)"),
    PartForm.PDF_BYTES: PartRule("`input_file` with its name; its context as text before it"),
    PartForm.PDF_URI: PartRule("`input_file` with `file_url` (http, https)"),
    PartForm.TEXT_DOCUMENT: PartRule("`input_text` blocks: its name and context, then its text", Fate.MAPPED),
    PartForm.CHUNKED_DOCUMENT: PartRule("`input_text` blocks: its name and context, then one a chunk", Fate.MAPPED),
    PartForm.TEXT_FILE: PartRule("`input_text` blocks: its name and context, then its text", Fate.MAPPED),
    PartForm.TOOL_USE: PartRule("a `function_call` item, its `arguments` as the model spelled them"),
    PartForm.RESULT_TEXT: PartRule("a `function_call_output` item"),
    PartForm.RESULT_JSON: PartRule("a `function_call_output` item with its JSON text"),
    PartForm.RESULT_EMPTY: PartRule("a `function_call_output` item `(no content)`", Fate.MAPPED),
    PartForm.RESULT_ERROR: PartRule('a `function_call_output` item `{"error": ...}`', Fate.MAPPED),
    PartForm.RESULT_IMAGE: PartRule("a `function_call_output` item of its text and an `input_image`"),
    PartForm.RESULT_PDF: PartRule("a `function_call_output` item of its text and an `input_file`"),
}
