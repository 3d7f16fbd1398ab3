"""The only reader of the process's environment."""

import os
from collections.abc import Mapping


def environment() -> Mapping[str, str]:
    """The process's environment variables, as they are now."""
    return dict(os.environ)


def setting(name: str) -> str | None:
    """The variable `name`; None when it is absent or blank, so that an empty variable switches nothing on."""
    value = os.environ.get(name, "")
    return value if value.strip() else None
