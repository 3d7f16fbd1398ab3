from pathlib import Path

from actum.cli.demo_agent import guide
from actum.cli.demo_clerk import ASK, CLERK, KEEP, clerk
from actum.host.host import Host
from actum.lifecycle.states import RunStatus


async def test_the_clerk_asks_the_guide_and_keeps_what_a_person_agreed_to(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("hello\n", encoding="utf-8")
    guiding, kept = guide(tmp_path), list[str]()
    async with Host.open("memory:", agents=[guiding, clerk(guiding, kept)]) as host:
        session = await host.create_session()
        first = await host.run(CLERK, "Look into README.md", session_id=session.session_id)
        assert (first.status, kept) == (RunStatus.SUSPENDED, [])
        (item,) = await host.pending(session.session_id)
        assert item.tool_name == KEEP
        assert [child.agent_id for child in (await host.runtime.snapshot(first.run_id)).children] == [guiding.agent_id]
        second = await host.continue_run(first.run_id, {item.item_id: True}, by="ada")
    assert second.text.startswith("kept: There are 1 text files")
    assert len(kept) == 1


async def test_what_is_denied_is_not_kept(tmp_path: Path) -> None:
    guiding, kept = guide(tmp_path), list[str]()
    async with Host.open("memory:", agents=[guiding, clerk(guiding, kept)]) as host:
        session = await host.create_session()
        await host.run(CLERK, "Anything?", session_id=session.session_id)
        (item,) = await host.pending(session.session_id)
        out = await host.continue_run(item.run_id, {item.item_id: False}, by="ada")
    assert (out.status, kept) == (RunStatus.COMPLETED, [])
    assert "denied" in out.text
    assert ASK in [spec.name for spec in clerk(guiding, kept).tools]
