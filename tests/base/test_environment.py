import pytest

from actum.base.environment import environment, setting


def test_a_setting_is_read_as_it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACTUM_EXAMPLE", raising=False)
    assert setting("ACTUM_EXAMPLE") is None
    monkeypatch.setenv("ACTUM_EXAMPLE", " on ")
    assert setting("ACTUM_EXAMPLE") == " on "
    assert environment()["ACTUM_EXAMPLE"] == " on "


@pytest.mark.parametrize("blank", ["", "  ", "\t"])
def test_a_blank_variable_switches_nothing_on(monkeypatch: pytest.MonkeyPatch, blank: str) -> None:
    monkeypatch.setenv("ACTUM_EXAMPLE", blank)
    assert setting("ACTUM_EXAMPLE") is None


def test_the_environment_is_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACTUM_EXAMPLE", "before")
    seen = environment()
    monkeypatch.setenv("ACTUM_EXAMPLE", "after")
    assert seen["ACTUM_EXAMPLE"] == "before"
