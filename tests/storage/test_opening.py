import asyncio
import os
import pwd
from collections.abc import Iterator
from pathlib import Path

import pytest

from actum.base.errors import InvalidValue, StoreUnavailable
from actum.storage.opening import open_store
from actum.testing import samples
from tests.support.programs import end_of, program


@pytest.mark.parametrize("url", ["", "memory", "memory:x", "sqlite:///", "sqlite:///a\0b", "sqlite:///\ud800", 5, None])
async def test_what_is_no_url_of_a_store_is_refused(url: str) -> None:
    with pytest.raises(InvalidValue, match="url"):
        async with open_store(url):
            pass


@pytest.fixture(params=["memory", "file"])
def url(request: pytest.FixtureRequest, path: Path) -> str:
    return "memory:" if request.param == "memory" else f"sqlite:///{path}"


async def test_a_closed_store_refuses_every_call(url: str) -> None:
    async with open_store(url) as store, store.hold_owner() as owner:
        assert await store.owner_alive(owner)
        await store.close()
        for call in (store.load_run("r1"), store.purge_session("s1"), store.owner_alive(owner)):
            with pytest.raises(StoreUnavailable, match="the store is closed"):
                await call
        with pytest.raises(StoreUnavailable, match="the store is closed"):
            async with store.hold_owner():
                pass


async def test_a_store_is_one_whichever_links_lead_to_it(tmp_path: Path, links: list[Path]) -> None:
    async with open_store(f"sqlite:///{tmp_path}/real/store.db") as store, store.hold_owner() as owner:
        for link in links:
            async with open_store(f"sqlite:///{link}") as other, other.hold_owner() as theirs:
                assert await other.owner_alive(owner)
                assert await store.owner_alive(theirs)
    assert _names_in(tmp_path / "real") == {"store.db", "store.db-lock", "store.db-owners"}
    assert _names_in(tmp_path / "links") == {"file.db", "again.db", "folder"}


async def test_a_link_to_a_store_that_is_not_there_yet_makes_it_in_its_place(tmp_path: Path, links: list[Path]) -> None:
    async with open_store(f"sqlite:///{links[1]}") as store, store.hold_owner():
        pass
    assert _names_in(tmp_path / "real") == {"store.db", "store.db-lock", "store.db-owners"}
    assert _names_in(tmp_path / "links") == {"file.db", "again.db", "folder"}


@pytest.fixture
def links(tmp_path: Path) -> list[Path]:
    """Ways to `real/store.db`: a link, a link to that link, and a link among the folders."""
    real, folder = tmp_path / "real", tmp_path / "links"
    real.mkdir()
    folder.mkdir()
    (folder / "file.db").symlink_to(Path("..", "real", "store.db"))
    (folder / "again.db").symlink_to(folder / "file.db")
    (folder / "folder").symlink_to(real)
    return [folder / "file.db", folder / "again.db", folder / "folder" / "store.db"]


GUEST = """
import asyncio, sys
from actum.storage.opening import open_store

async def main(url):
    async with open_store(url) as store:
        print((await store.list_sessions()).items[-1].session_id)

asyncio.run(main(*sys.argv[1:]))
"""


async def test_a_file_that_is_opened_again_here_stays_locked_to_other_processes(path: Path) -> None:
    """Otherwise the next process to leave would take the log away, and the commits after that with it."""
    url = f"sqlite:///{path}"
    async with open_store(url) as store:
        for name in ("s1", "s2"):
            await store.create_session(name, samples.T0)
            async with open_store(url) as again:
                assert (await again.load_session(name)).session_id == name
            assert await asyncio.to_thread(end_of, program(GUEST, url)) == f"{name}\n"


@pytest.mark.parametrize(
    "name", ["x" * 300, "x" * 300 + "/store.db", "x" * 253, "round", "round/store.db", "file/store.db", "nowhere/s.db"]
)
async def test_a_place_that_takes_no_store(tmp_path: Path, name: str) -> None:
    _place(tmp_path)
    with pytest.raises(StoreUnavailable):
        async with open_store(f"sqlite:///{tmp_path}/{name}"):
            pass
    assert _names_in(tmp_path) == {"round", "file"}


async def test_a_folder_that_may_not_be_entered(guarded: Path) -> None:
    with pytest.raises(StoreUnavailable):
        async with open_store(f"sqlite:///{guarded}/store.db"):
            pass


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Path]:
    """A folder without the permission to search it, and nobody to whom that does not apply."""
    folder = tmp_path / "guarded"
    (folder / "inner").mkdir(parents=True)
    folder.chmod(0)
    privileged = os.geteuid() == 0
    if privileged:
        os.seteuid(pwd.getpwnam("nobody").pw_uid)
    yield folder / "inner"
    if privileged:
        os.seteuid(0)
    folder.chmod(0o700)


def _place(folder: Path) -> None:
    """A link that leads to itself, and a file."""
    (folder / "round").symlink_to(folder / "round")
    (folder / "file").touch()


def _names_in(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}
