"""What is shipped is what is here: the wheel holds every file of the package, nothing else, and works on its own."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.project import ROOT, SRC


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    here = {f"actum/{path.relative_to(SRC).as_posix()}" for path in SRC.rglob("*") if path.is_file()}
    assert inside == {name for name in here if "__pycache__" not in name}


@pytest.mark.slow
def test_the_wheel_works_without_the_source_tree(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    script = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import actum; print(actum.__file__); from actum import *"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == str(tmp_path / "actum" / "__init__.py")
