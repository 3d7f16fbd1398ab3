"""The door of the testing kit: it names what it has, and asks for pytest only where tests are."""

import subprocess
import sys

import pytest

import actum.testing as kit


@pytest.mark.parametrize("name", kit.__all__)
def test_a_name_is_where_the_kit_says(name: str) -> None:
    assert getattr(kit, name).__name__ == name
    assert getattr(kit, name).__doc__


def test_a_name_that_is_not_there_says_so() -> None:
    with pytest.raises(AttributeError, match="no attribute 'StoreContrast'"):
        getattr(kit, "StoreContrast")  # noqa: B009 - a plain attribute would not type-check


def test_the_kit_lists_all_its_names() -> None:
    assert set(kit.__all__) <= set(dir(kit))
    assert set(vars(kit)["_EXPORTS"]) == set(kit.__all__)


def test_only_the_contracts_need_pytest() -> None:
    names = [name for name in kit.__all__ if not name.endswith("Contract")]
    program = f"import sys; sys.modules['pytest'] = None; from actum.testing import {', '.join(names)}"
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
