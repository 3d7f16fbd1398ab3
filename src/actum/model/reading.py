"""Reading a provider's JSON: what is there in its type, or an error that says what it is. None is absent."""

from collections.abc import Mapping

from actum.base.errors import ModelError, shortened
from actum.base.value import Json


def text(given: Json, what: str) -> str | None:
    """A text or nothing."""
    # By far the most often it is a text.
    return given if isinstance(given, str) or given is None else words(given, what)


def words(given: Json, what: str) -> str:
    """A text that must be there."""
    if isinstance(given, str):
        return given
    raise malformed(f"{what} is text, not {shortened(given)}")


def objects(given: Json, what: str) -> list[Mapping[str, Json]]:
    """A list of objects, empty when absent."""
    found: list[Mapping[str, Json]] = items(given, what)
    for each in found:
        if not isinstance(each, dict):
            raise malformed(f"one of {what} is an object, not {shortened(each)}")
    return found


def items(given: Json, what: str) -> list[Json]:
    """A list, empty when absent."""
    if given is None or isinstance(given, list):
        return given or []
    raise malformed(f"{what} is a list, not {shortened(given)}")


def mapping(given: Json, what: str) -> Mapping[str, Json]:
    """An object that must be there."""
    if isinstance(given, dict):
        return given
    raise malformed(f"{what} is an object, not {shortened(given)}")


def count(given: Json) -> int | None:
    """A number of tokens; None, which is unknown, for anything else."""
    return given if type(given) is int and given >= 0 else None


def malformed(says: str) -> ModelError:
    """The error for an answer without sense."""
    return ModelError(kind="malformed_response", message=says)
