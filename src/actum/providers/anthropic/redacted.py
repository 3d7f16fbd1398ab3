"""Redacted thinking: a text of Anthropic's there, bytes in a part, and the very same text again.

As a rule the text is base64, and the part has the bytes behind it, which is what other providers give for the same.
"""

import base64
import binascii
from typing import Final

# Begins the bytes of a text that no bytes would be spelled as.
_VERBATIM: Final = b"text:"


def bytes_of(data: str) -> bytes:
    """The part's bytes for Anthropic's text."""
    try:
        given = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return _VERBATIM + data.encode()
    if base64.b64encode(given).decode() != data or given.startswith(_VERBATIM):
        return _VERBATIM + data.encode()
    return given


def data_of(redacted: bytes) -> str:
    """Anthropic's text for the part's bytes."""
    if redacted.startswith(_VERBATIM):
        try:
            return redacted.removeprefix(_VERBATIM).decode()
        except UnicodeDecodeError:
            pass
    return base64.b64encode(redacted).decode()
