import os
from pathlib import Path

import pytest

from actum.base.open_files import first_bytes, inherited, inode_of, note_closed, note_open


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "file.db"
    path.write_bytes(b"SQLite format 3")
    return path


def test_a_file_is_read_while_it_is_open_nowhere_here(path: Path) -> None:
    assert first_bytes(path, 6) == b"SQLite"
    one, two = note_open(path), note_open(path)
    assert one == two == inode_of(path)
    note_closed(one)
    assert first_bytes(path, 6) is None
    note_closed(two)
    assert first_bytes(path, 100) == b"SQLite format 3"


def test_it_is_the_same_file_by_every_name(path: Path, tmp_path: Path) -> None:
    link, copy = tmp_path / "link.db", tmp_path / "copy.db"
    link.symlink_to(path)
    copy.write_bytes(path.read_bytes())
    inode = note_open(link)
    assert first_bytes(path, 6) is None
    assert first_bytes(copy, 6) == b"SQLite"
    note_closed(inode)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for ask in (inode_of, inherited, note_open, lambda path: first_bytes(path, 1)):
        with pytest.raises(FileNotFoundError):
            ask(tmp_path / "nowhere.db")


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")  # forking is the point
def test_a_forked_child_knows_what_its_parent_had_open(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    other.touch()
    inode = note_open(path)
    child = os.fork()
    if child == 0:
        os._exit(0 if inherited(path) and not inherited(other) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not inherited(path)
    note_closed(inode)
