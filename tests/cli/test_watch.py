import json
from pathlib import Path

import pytest

from actum.cli.watch import show_tail
from actum.storage.contract import OwnedStore
from actum.storage.opening import open_store
from actum.testing import samples


async def tailed(
    store: OwnedStore,
    url: str,
    capsys: pytest.CaptureFixture[str],
    *steps: str,
    run_id: str | None = None,
    session_id: str | None = None,
) -> list[str]:
    """The keys that a following tail shows, while at each of its waits one more thing happens."""
    waiting = list(steps)

    async def wait(_: float) -> None:
        step = waiting.pop(0)
        run = await store.load_run("live")
        match step:
            case "note":
                await store.append_run_record(samples.note(run, f"note-{len(waiting)}"))
            case "end":
                await store.record_run_terminal(samples.completed(run))
            case "session":
                await store.end_session("s1", samples.at(60))
            case _:
                pass

    await show_tail(url, run_id, session_id, None, 10, follow=True, as_json=True, wait=wait)
    assert waiting == [], "it ended before everything had happened"
    return [json.loads(line)["event_key"] for line in capsys.readouterr().out.splitlines()]


async def test_a_run_is_followed_to_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:///{tmp_path}/chat.db"
    async with open_store(url) as store:
        await store.create_session("s1", samples.T0)
        await store.start_root_run(samples.root("live"))
        shown = await tailed(store, url, capsys, "note", "nothing", "note", "end", run_id="live")
    assert shown == ["start", "note-3", "note-1", "end"]


async def test_a_session_is_followed_until_nothing_can_come(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:///{tmp_path}/chat.db"
    async with open_store(url) as store:
        await store.create_session("s1", samples.T0)
        await store.start_root_run(samples.root("live"))
        shown = await tailed(store, url, capsys, "note", "session", "note", "end", session_id="s1")
    assert shown == ["start", "note-3", "note-1", "end"]
