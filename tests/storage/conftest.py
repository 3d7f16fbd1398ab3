"""What tests of a store in one file begin with."""

from pathlib import Path

import pytest

from tests.support.faults_in_sqlite import Faults


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def faults() -> Faults:
    return Faults()
