"""Thinking as each provider makes it and wants it back; a provider that wants none has none."""

from typing import Any, Final

from actum.messages.parts import ThinkingPart
from actum.providers.openai.reasoning import shown, signature_of

_SUMMED: Final[dict[str, Any]] = {
    "id": "rs_1",
    "encrypted_content": "gAAAA_1==",
    "summary": [{"type": "summary_text", "text": "First ☂.\n\n"}, {"type": "summary_text", "text": "Then."}],
}
_SILENT: Final[dict[str, Any]] = {"id": "rs_2", "encrypted_content": "gAAAA_2==", "summary": []}

OWN_THINKING: Final[dict[str, tuple[ThinkingPart, ...]]] = {
    "anthropic": (
        ThinkingPart(text="plan ☂ \n", signature="c2ln", provider="anthropic"),
        ThinkingPart(text="", signature="ZW1wdHk=", provider="anthropic"),
        ThinkingPart(redacted=b"opaque-reasoning-bytes\x00\x01\xfe\xff", provider="anthropic"),
    ),
    "bedrock": (
        ThinkingPart(text="Let me ☂ see. \n", signature="EqQBCgIYAhIM", provider="bedrock"),
        ThinkingPart(redacted=b"opaque\x00\x01\xfe\xff", provider="bedrock"),
    ),
    "gemini": (ThinkingPart(text="Let me ☂ see. \n", signature="AdHtim9hYmM=", provider="gemini"),),
    "openai": tuple(
        ThinkingPart(text=shown(item), signature=signature_of(item), provider="openai") for item in (_SUMMED, _SILENT)
    ),
    "openai-chat": (),
}
