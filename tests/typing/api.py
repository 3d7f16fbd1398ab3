"""Public names used as a user would write them. Nothing runs this file: mypy reads it, as a user's mypy would.

A name whose type a user will lean on gets a line here: what it takes, what it gives back. When a line stops
type-checking, a user's code has stopped type-checking too, and the changelog says so.
"""

from typing import assert_type

import actum
from actum import ActumError


def version() -> None:
    assert_type(actum.__version__, str)


def every_error_has_a_stable_code(error: ActumError) -> None:
    assert_type(error.code, str)
