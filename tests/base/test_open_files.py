import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from actum.base.errors import NotAStore, StoreUnavailable
from actum.base.open_files import APPLICATION_ID, inode_of, judge, note_closed, note_open
from tests.support.programs import end_of, program


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database of ours, with a log, that nobody has open."""
    path = tmp_path / "file.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE notes (note)")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    return path


class TestWhatAFileIs:
    def test_a_database_of_ours(self, path: Path) -> None:
        assert judge(path) == APPLICATION_ID
        assert list(path.parent.iterdir()) == [path]

    def test_what_is_not_there_or_empty_may_become_one(self, tmp_path: Path) -> None:
        (tmp_path / "empty.db").touch()
        assert [judge(tmp_path / name) for name in ("nowhere.db", "empty.db")] == [0, 0]

    @pytest.mark.parametrize("content", [b"\0", b"a", b"hello", b"\0" * 5000, b"SQLite format 3\0" + b"\1" * 5000])
    def test_what_is_no_database(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "file.db"
        path.write_bytes(content)
        with pytest.raises(NotAStore, match="no SQLite database"):
            judge(path)
        assert path.read_bytes() == content

    def test_another_application_has_another_mark(self, path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA application_id = 7")
        with pytest.raises(NotAStore, match="another application"):
            judge(path)

    def test_what_is_no_regular_file_is_not_opened(self, tmp_path: Path) -> None:
        pipe, folder = tmp_path / "pipe.db", tmp_path / "folder.db"
        os.mkfifo(pipe)
        folder.mkdir()
        for path, reason in ((pipe, "no regular file"), (folder, "directory"), (Path("/dev/null"), "no regular file")):
            with pytest.raises(NotAStore, match=reason):
                judge(path)

    def test_one_name_is_enough(self, path: Path) -> None:
        other = path.with_name("other.db")
        other.hardlink_to(path)
        for name in (path, other):
            with pytest.raises(StoreUnavailable, match="hard links"):
                judge(name)
        other.unlink()
        path.with_name("link.db").symlink_to(path)
        assert judge(path.with_name("link.db")) == APPLICATION_ID

    def test_a_file_that_is_shorter_than_its_header_says(self, path: Path) -> None:
        """So it is while its log is folded in: the first page comes first, and tells the new length."""
        path.write_bytes(path.read_bytes()[:4096])
        assert judge(path) == APPLICATION_ID


GUEST = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
print(connection.execute("SELECT count(*) FROM notes").fetchone()[0])
connection.close()
"""


@pytest.mark.parametrize("before", [False, True])
def test_a_judged_file_stays_locked_by_whoever_in_this_process_has_it_open(path: Path, before: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Otherwise the next process to leave would take the log away, and the commits after that with it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as ours:
        if before:
            with closing(sqlite3.connect(path)) as another:
                another.execute("SELECT count(*) FROM notes").fetchone()
                judge(path)
        for count in range(1, 4):
            ours.execute("INSERT INTO notes VALUES ('kept')")
            judge(path)
            assert end_of(program(GUEST, path)) == f"{count}\n"
            assert path.with_name("file.db-wal").exists()


@pytest.fixture
def open_here(path: Path) -> Iterator[Path]:
    inode = note_open(path)
    yield path
    note_closed(inode)


def test_it_is_the_same_file_by_every_name(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(path)
    assert inode_of(link) == inode_of(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for ask in (inode_of, note_open):
        with pytest.raises(FileNotFoundError):
            ask(tmp_path / "nowhere.db")


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")  # forking is the point
def test_a_forked_child_is_refused_what_its_parent_had_open(open_here: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    other.touch()
    child = os.fork()
    if child == 0:
        try:
            judge(open_here)
        except StoreUnavailable:
            os._exit(judge(other))
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert judge(open_here) == APPLICATION_ID
