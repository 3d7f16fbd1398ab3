from pathlib import Path

import pytest

from actum.base.errors import StoreUnavailable
from actum.storage.locks import FileLock
from tests.support.programs import end_of, program


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lock"


def test_one_holds_it_at_a_time(path: Path) -> None:
    one, two = FileLock(path), FileLock(path)
    one.acquire()
    assert not two.attempt()
    one.release()
    assert two.attempt()
    assert not one.attempt()
    two.close()
    assert one.attempt()
    one.close()


def test_a_lock_on_a_deleted_file_is_taken_anew(path: Path) -> None:
    holder, waiter = FileLock(path), FileLock(path)
    holder.acquire()
    assert not waiter.attempt()
    holder.release(remove=True)
    assert not path.exists()
    waiter.acquire()
    assert path.exists()
    assert not FileLock(path).attempt()
    waiter.close()


def test_giving_back_what_is_not_held_does_nothing(path: Path) -> None:
    lock = FileLock(path)
    lock.release(remove=True)
    lock.close()
    assert not path.exists()


def test_a_lock_that_cannot_be_made(path: Path) -> None:
    for call in (FileLock(path / "nowhere").acquire, FileLock(path / "nowhere").attempt):
        with pytest.raises(StoreUnavailable, match="No such file"):
            call()


FORKS = """
import os, sys
from pathlib import Path
from actum.storage.locks import FileLock

lock = FileLock(Path(sys.argv[1]))
lock.acquire()
pid = os.fork()
if pid == 0:
    # What it inherited is forgotten: it neither holds the lock nor can give it back for its parent.
    lock.release(remove=True)
    lock.close()
    sys.exit(0 if not lock.attempt() else 1)
print(os.waitpid(pid, 0)[1], FileLock(Path(sys.argv[1])).attempt())
"""


def test_a_forked_child_neither_holds_nor_gives_back(path: Path) -> None:
    assert end_of(program(FORKS, path)) == "0 False\n"
    assert path.exists()


def test_no_file_stays_open(path: Path) -> None:
    before = set(Path("/proc/self/fd").iterdir()) if Path("/proc/self/fd").exists() else set()
    for _ in range(20):
        lock = FileLock(path)
        lock.acquire()
        assert not FileLock(path).attempt()
        lock.close()
    after = set(Path("/proc/self/fd").iterdir()) if Path("/proc/self/fd").exists() else set()
    assert len(after) <= len(before)
