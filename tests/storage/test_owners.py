import asyncio
import fcntl
import hashlib
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import pytest

from actum.base.errors import StoreUnavailable
from actum.storage.owners import FileOwners, Owners, ProcessOwners
from tests.support.programs import end_of, line_of, program

HOLDER = """
import asyncio, sys
from pathlib import Path
from actum.storage.owners import FileOwners

async def main(folder):
    async with FileOwners(Path(folder)).hold() as owner:
        print(owner, flush=True)
        await asyncio.to_thread(sys.stdin.readline)

asyncio.run(main(sys.argv[1]))
"""

# The parent dies at once; its child, which was forked while the owner was held, lives on.
ORPHAN = """
import asyncio, os, sys
from pathlib import Path
from actum.storage.owners import FileOwners

async def main(folder):
    async with FileOwners(Path(folder)).hold() as owner:
        print(owner, flush=True)
        heard, told = os.pipe()
        if os.fork():
            os.read(heard, 1)  # the child lives, and has given back what it inherited
            os._exit(0)
        os.write(told, b"!")
        sys.stdin.readline()
        os._exit(0)

asyncio.run(main(sys.argv[1]))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store.db-owners"


def files_in(folder: Path) -> int:
    return len(list(folder.iterdir()))


def is_there(place: Path) -> bool:
    return place.exists()


@contextmanager
def taken_away(folder: Path) -> Iterator[None]:
    """A file stands in the folder's place meanwhile."""
    aside = folder.with_name("aside")
    shutil.move(folder, aside)
    folder.touch()
    yield
    folder.unlink()
    shutil.move(aside, folder)


@pytest.fixture(params=["memory", "file"])
def owners(request: pytest.FixtureRequest, folder: Path) -> Owners:
    return ProcessOwners() if request.param == "memory" else FileOwners(folder)


class TestAnyOwners:
    async def test_an_owner_is_alive_as_long_as_it_is_held(self, owners: Owners) -> None:
        async with owners.hold() as one, owners.hold() as two:
            assert one != two
            assert await owners.alive(one)
            assert await owners.alive(two)
        assert not await owners.alive(one)
        assert not await owners.alive(two)

    async def test_it_is_given_back_when_its_holder_fails(self, owners: Owners) -> None:
        held: list[str] = []

        async def fail() -> None:
            async with owners.hold() as owner:
                held.append(owner)
                raise LookupError

        with pytest.raises(LookupError):
            await fail()
        assert not await owners.alive(held[0])

    @pytest.mark.parametrize("owner", ["owner-1", "../../etc/passwd", "a/b", "ж" * 256, "."])
    async def test_an_id_that_nobody_made_is_not_alive(self, owners: Owners, owner: str) -> None:
        assert not await owners.alive(owner)


class Closed(Exception):
    """What a closed store says."""


def refuse() -> None:
    raise Closed


class TestAClosedStore:
    @pytest.mark.parametrize("kind", ["memory", "file"])
    async def test_it_neither_gives_owners_nor_knows_any(self, folder: Path, kind: str) -> None:
        owners: Owners = (
            ProcessOwners(require_open=refuse) if kind == "memory" else FileOwners(folder, require_open=refuse)
        )
        with pytest.raises(Closed):
            await owners.alive("owner-1")
        with pytest.raises(Closed):
            async with owners.hold():
                pass
        assert not is_there(folder)


class TestWhoAsks:
    """A dead owner is dead for everybody who asks, and for those who ask in the same moment."""

    @pytest.fixture
    def left(self, folder: Path) -> Path:
        """The file of a dead owner, `owner-dead`."""
        folder.mkdir()
        file = folder / hashlib.sha256(b"owner-dead").hexdigest()
        file.touch()
        return file

    @pytest.fixture
    def asker(self, left: Path) -> Iterator[int]:
        """Another who asks for it and has not finished."""
        descriptor = os.open(left, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        yield descriptor
        os.close(descriptor)

    @pytest.mark.usefixtures("asker")
    async def test_a_dead_owner_is_dead_while_another_asks(self, folder: Path, left: Path) -> None:
        assert not await FileOwners(folder).alive("owner-dead")
        assert not is_there(left)

    @pytest.mark.usefixtures("asker")
    async def test_an_owner_comes_while_another_asks_for_a_dead_one(self, folder: Path, left: Path) -> None:
        async with FileOwners(folder).hold() as owner:
            assert not is_there(left)
            assert await FileOwners(folder).alive(owner)

    async def test_whoever_asks_late_leaves_the_file_that_came_after(
        self, folder: Path, left: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It has opened a file that is removed, and made anew, before it asks."""
        lock = fcntl.flock

        def late(descriptor: int, how: int) -> None:
            left.unlink()
            left.touch()
            lock(descriptor, how)

        monkeypatch.setattr(fcntl, "flock", late)
        assert not await FileOwners(folder).alive("owner-dead")
        assert is_there(left)

    async def test_a_file_that_went_meanwhile_is_a_dead_owners(
        self, folder: Path, left: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        opening = os.open

        def gone(file: Path, *how: int) -> int:
            left.unlink()
            return opening(file, *how)

        monkeypatch.setattr(os, "open", gone)
        assert not await FileOwners(folder).alive("owner-dead")
        assert files_in(folder) == 0


class TestWhatElseLiesThere:
    @pytest.fixture
    def strange(self, folder: Path) -> list[Path]:
        """What no owner has made."""
        places = [folder / name for name in ("lost+found", ".DS_Store", "A1", "a" * 64, "b" * 64)]
        folder.mkdir()
        places[0].mkdir()
        places[1].touch()
        places[2].touch()
        places[3].mkdir()
        os.mkfifo(places[4])
        return places

    async def test_it_is_left_alone(self, folder: Path, strange: list[Path]) -> None:
        async with FileOwners(folder).hold() as owner:
            assert await FileOwners(folder).alive(owner)
        assert files_in(folder) == len(strange)
        assert all(map(is_there, strange))

    @pytest.fixture
    def theirs(self, folder: Path) -> Path:
        """The file of an owner `theirs`."""
        folder.mkdir()
        file = folder / hashlib.sha256(b"theirs").hexdigest()
        file.touch()
        return file

    async def test_the_file_of_another_user_is_passed_by(
        self, folder: Path, theirs: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        opening = os.open

        def guarded(path: Path, *how: int) -> int:
            if path == theirs:
                raise PermissionError(13, "Permission denied")
            return opening(path, *how)

        monkeypatch.setattr(os, "open", guarded)
        owners = FileOwners(folder)
        async with owners.hold() as owner:
            assert await owners.alive(owner)
            with pytest.raises(StoreUnavailable, match="Permission denied"):
                await owners.alive("theirs")
        assert is_there(theirs)


class TestFiles:
    async def test_another_process_is_alive_until_it_ends(self, folder: Path) -> None:
        holder = program(HOLDER, folder)
        owner = await asyncio.to_thread(line_of, holder)
        assert await FileOwners(folder).alive(owner)
        await asyncio.to_thread(end_of, holder, "go")
        assert not await FileOwners(folder).alive(owner)
        assert files_in(folder) == 0

    @pytest.mark.crash
    async def test_a_killed_process_is_not_alive_and_its_file_goes(self, folder: Path) -> None:
        owners = FileOwners(folder)
        holders = [program(HOLDER, folder) for _ in range(2)]
        names = [await asyncio.to_thread(line_of, holder) for holder in holders]
        for holder in holders:
            os.kill(holder.pid, signal.SIGKILL)
            await asyncio.to_thread(holder.communicate)
        assert files_in(folder) == 2
        assert not await owners.alive(names[0])
        assert files_in(folder) == 1
        # The next owner clears away what the dead have left.
        async with owners.hold() as owner:
            assert files_in(folder) == 1
            assert await owners.alive(owner)
        assert not await owners.alive(names[1])

    async def test_a_forked_child_does_not_keep_its_dead_parent_alive(self, folder: Path) -> None:
        parent = program(ORPHAN, folder)
        owner = await asyncio.to_thread(line_of, parent)
        await asyncio.to_thread(parent.wait, 60)
        alive = await FileOwners(folder).alive(owner)
        await asyncio.to_thread(parent.communicate, "go\n")
        assert not alive

    async def test_a_forked_child_holds_nothing_itself(self, folder: Path) -> None:
        owners = FileOwners(folder)
        async with owners.hold() as owner:
            assert await owners.alive(owner)
            child = program(f"import asyncio\nfrom pathlib import Path\n{CHILD}", folder, owner)
            assert await asyncio.to_thread(end_of, child) == "True\n"

    async def test_a_place_that_takes_no_folder(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(StoreUnavailable, match="Not a directory"):
            async with FileOwners(tmp_path / "file" / "owners").hold():
                pass

    async def test_a_place_whose_name_is_too_long(self, tmp_path: Path) -> None:
        owners = FileOwners(tmp_path / ("x" * 300))
        with pytest.raises(StoreUnavailable, match="File name too long"):
            async with owners.hold():
                pass
        with pytest.raises(StoreUnavailable, match="File name too long"):
            await owners.alive("owner-1")

    async def test_an_owner_is_given_back_where_its_file_cannot_be_removed(self, folder: Path) -> None:
        owners = FileOwners(folder)
        async with AsyncExitStack() as held:
            owner = await held.enter_async_context(owners.hold())
            with taken_away(folder):
                await held.aclose()
        assert files_in(folder) == 1
        assert not await owners.alive(owner)
        assert files_in(folder) == 0

    async def test_many_come_at_once(self, folder: Path) -> None:
        """Each clears away dead files while others are about to lock theirs."""
        held = asyncio.Barrier(4)

        async def hold() -> bool:
            owners = FileOwners(folder)
            async with owners.hold() as owner:
                await held.wait()
                return await owners.alive(owner)

        def run(count: int) -> list[bool]:
            async def main() -> list[bool]:
                nonlocal held
                return [await one() for _ in range(count)]

            async def one() -> bool:
                owners = FileOwners(folder)
                async with owners.hold() as owner:
                    return await owners.alive(owner)

            return asyncio.run(main())

        assert await asyncio.gather(*(hold() for _ in range(4))) == [True] * 4
        assert await asyncio.gather(*(asyncio.to_thread(run, 100) for _ in range(4))) == [[True] * 100] * 4
        assert files_in(folder) == 0


CHILD = """
import sys
from actum.storage.owners import FileOwners
print(asyncio.run(FileOwners(Path(sys.argv[1])).alive(sys.argv[2])))
"""
