"""Keys stay out of logs: botocore writes session and bearer tokens into its own, where they are made fine to show.

It logs, for whoever looks for faults, the text that it signs and the headers that it sends.
"""

import logging
import re
from typing import Final

_LOGGERS: Final = ("botocore.auth", "botocore.endpoint", "aiobotocore.endpoint")
_TOKEN: Final = re.compile(
    r"""(?i)(x-amz-security-token['"]?\s*:\s*(?:b?['"])?|authorization['"]?\s*:\s*(?:b?['"])?bearer\s+)[^\s'",}]+"""
)


class _Struck(logging.Filter):
    """Lets every record through, without the tokens in it."""

    def filter(self, record: logging.LogRecord) -> bool:
        shown = record.getMessage()
        struck = _TOKEN.sub(r"\1***", shown)
        if struck != shown:
            record.msg, record.args = struck, ()
        return True


_STRUCK: Final = _Struck()


def strike_tokens() -> None:
    """From now on no log line of the SDK shows a token. Doing it again changes nothing."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_STRUCK)
