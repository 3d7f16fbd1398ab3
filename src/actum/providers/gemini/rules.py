"""What Gemini does with each form of a part."""

from typing import Final

from actum.model.projection import Fate
from actum.model.rules import PartForm, PartRule, PartRules

GEMINI_RULES: Final[PartRules] = {
    PartForm.SYSTEM: PartRule("a part of `systemInstruction`"),
    PartForm.TEXT: PartRule("a `text` part"),
    PartForm.BLANK_TEXT: PartRule("nothing", Fate.LEFT_OUT),
    PartForm.THINKING: PartRule("a `text` part with `thought`, its signature with it; alone, on the text before it"),
    PartForm.REDACTED_THINKING: PartRule("nothing: Gemini makes none", Fate.LEFT_OUT),
    PartForm.FOREIGN_THINKING: PartRule("nothing", Fate.LEFT_OUT),
    PartForm.IMAGE_BYTES: PartRule("`inlineData`"),
    PartForm.IMAGE_URI: PartRule("`fileData` (https, gs)"),
    PartForm.PDF_BYTES: PartRule("`inlineData`; its name and context as text before it", Fate.MAPPED),
    PartForm.PDF_URI: PartRule("`fileData` (https, gs)"),
    PartForm.TEXT_DOCUMENT: PartRule("`text` parts: its name and context, then its text", Fate.MAPPED),
    PartForm.CHUNKED_DOCUMENT: PartRule("`text` parts: its name and context, then one a chunk", Fate.MAPPED),
    PartForm.TEXT_FILE: PartRule("`inlineData`; its name and context as text before it", Fate.MAPPED),
    PartForm.OFFICE_FILE: PartRule("not at all", Fate.REFUSED),
    PartForm.CITATIONS: PartRule("its text, without the citations", Fate.LEFT_OUT),
    PartForm.TOOL_USE: PartRule("`functionCall` with its id and signature, its `args` as the model spelled them"),
    PartForm.DOTTED_NAME: PartRule("the same, `.` as `_`, led back in the answer", Fate.ALIASED),
    PartForm.FOREIGN_ID: PartRule("the same, under a digest of the id", Fate.ALIASED),
    PartForm.MALFORMED_INPUT: PartRule('the same: `args` is `{"input_text": ...}` with the text', Fate.MAPPED),
    PartForm.RESULT_TEXT: PartRule('`functionResponse` under the name of its call, `{"output": ...}`'),
    PartForm.RESULT_JSON: PartRule(
        'an object itself, other JSON as `{"output": ...}`; with integers beyond 2**53 as JSON text', Fate.MAPPED
    ),
    PartForm.RESULT_EMPTY: PartRule('`{"output": ""}`'),
    PartForm.RESULT_ERROR: PartRule('`{"error": ...}`, which is how Gemini says it'),
    PartForm.RESULT_IMAGE: PartRule("one of the `parts` of the `functionResponse`"),
    PartForm.RESULT_PDF: PartRule("the same; its name in the response", Fate.MAPPED),
    PartForm.CACHE_CHECKPOINT: PartRule("nothing: Gemini caches by itself", Fate.LEFT_OUT),
}
