import pickle

import pytest

from actum.tools.failures import Issue, ToolError


def test_an_error_carries_its_failure() -> None:
    error = ToolError("unavailable", "x" * 5000, "finish", [Issue(path="a", rule="is b")])
    assert (error.failure.kind, error.failure.recovery, error.failure.issues) == (
        "unavailable",
        "finish",
        (Issue(path="a", rule="is b"),),
    )
    assert error.failure.message.endswith("[cut]")
    assert str(error).startswith("unavailable: xxx")
    assert pickle.loads(pickle.dumps(error)).failure == error.failure  # noqa: S301 - our own bytes


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="sad"):
        ToolError("sad", "x")
