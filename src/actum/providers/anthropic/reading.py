"""Reading Anthropic's JSON: what is there in its type, or an error that says what it is. None is absent."""

from collections.abc import Mapping

from actum.base.errors import ModelError, shortened
from actum.base.value import Json


def text(given: Json, what: str) -> str | None:
    """A text or nothing."""
    if given is None or isinstance(given, str):
        return given
    raise malformed(f"{what} is text, not {shortened(given)}")


def mapping(given: Json, what: str) -> Mapping[str, Json]:
    """An object."""
    if isinstance(given, dict):
        return given
    raise malformed(f"{what} is an object, not {shortened(given)}")


def count(given: Json) -> int | None:
    """A number of tokens; None, which is unknown, for anything else."""
    return given if type(given) is int and given >= 0 else None


def malformed(says: str) -> ModelError:
    """The error for an answer without sense."""
    return ModelError(kind="malformed_response", message=says)
