import os
import threading
from pathlib import Path

import pytest

from actum.base.errors import StoreUnavailable
from actum.base.locks import FileLock
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
from actum.base.locks import FileLock

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


class TestAHolderThatStandsStill:
    def test_it_is_waited_for_so_long_and_no_longer(self, path: Path) -> None:
        holder, waiter = FileLock(path), FileLock(path, within_s=0)
        holder.acquire()
        threads = threading.active_count()
        for _ in range(3):
            with pytest.raises(StoreUnavailable, match=r"lock was locked by somebody else for 0 s.*stopped"):
                waiter.acquire()
            # However often it is tried again, one thread waits.
            assert threading.active_count() == threads + 1
        assert not waiter.attempt()
        holder.close()

    def test_what_comes_after_giving_up_is_given_back(self, path: Path) -> None:
        holder, gone = FileLock(path), FileLock(path, within_s=0)
        holder.acquire()
        with pytest.raises(StoreUnavailable):
            gone.acquire()
        holder.release()
        holder.acquire()
        holder.close()
        again = FileLock(path)
        again.acquire()
        assert not holder.attempt()
        again.close()

    def test_the_place_is_kept_for_whoever_tries_again(self, path: Path) -> None:
        holder, waiter = FileLock(path), FileLock(path, within_s=0)
        holder.acquire()
        with pytest.raises(StoreUnavailable):
            waiter.acquire()
        patient = FileLock(path)
        thread = threading.Thread(target=patient.acquire)
        thread.start()
        holder.release()
        thread.join()
        assert not holder.attempt()
        patient.close()

    def test_one_that_takes_it_without_pause_lets_others_have_it(self, path: Path) -> None:
        greedy, waiter = FileLock(path), FileLock(path)
        ended = threading.Event()

        def take() -> None:
            while not ended.is_set():
                greedy.acquire()
                greedy.release()

        thread = threading.Thread(target=take)
        thread.start()
        try:
            for _ in range(20):
                waiter.acquire()
                waiter.release()
        finally:
            ended.set()
            thread.join()
            greedy.close()
            waiter.close()

    @pytest.mark.parametrize("pauses_s", [(), (0.0,)])
    def test_it_comes_by_asking_again_or_by_waiting(
        self, path: Path, monkeypatch: pytest.MonkeyPatch, pauses_s: tuple[float, ...]
    ) -> None:
        monkeypatch.setattr("actum.base.locks._PAUSES_S", pauses_s)
        holder, waiter = FileLock(path), FileLock(path)
        for _ in range(20):
            holder.acquire()
            thread = threading.Thread(target=waiter.acquire)
            thread.start()
            holder.release()
            thread.join()
            assert not holder.attempt()
            waiter.release()
        holder.close()
        waiter.close()

    def test_no_file_stays_open_after_waiting(self, path: Path) -> None:
        holder, waiter = FileLock(path), FileLock(path)
        holder.acquire()
        thread = threading.Thread(target=waiter.acquire)
        thread.start()
        holder.close()
        thread.join()
        waiter.close()
        assert not [each for each in Path("/proc/self/fd").glob("*") if os.path.realpath(each) == str(path)]
