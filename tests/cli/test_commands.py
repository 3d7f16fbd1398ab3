"""The commands as a user types them, over a real file."""

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from actum import __version__
from actum.base.errors import RunPurged, SessionPurged
from actum.cli.main import app
from actum.memory.entries import MemoryEntry, MemoryScope
from actum.memory.events import EventType, MemoryEvent
from actum.memory.opening import open_memory
from actum.messages.message import assistant
from actum.storage.opening import open_store
from actum.testing import samples

ESCAPE = "\x1b[2J"
LONG = "run-" + "0123456789" * 12


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/chat.db"


@pytest.fixture
def filled(url: str) -> str:
    """A session with a completed turn, a running side run, a long id and hostile text; a one-shot run."""
    # The commands bring an event loop of their own, so the tests here have none.
    asyncio.run(fill(url))
    return url


async def fill(url: str) -> None:
    async with open_store(url) as store:
        await store.create_session("talk", samples.T0, metadata={"user_id": "u-1"})
        await store.create_session("quiet", samples.at(1))
        await store.end_session("quiet", samples.at(2))
        head = (await store.start_root_run(samples.following("turn-1", None, "talk", seconds=0))).run
        said = (
            samples.said(head, "input", f"hello {ESCAPE} [bold]you[/bold]"),
            samples.said(head, "answer", assistant("hi")),
        )
        await store.record_run_terminal(samples.completed(head, records=said))
        await store.start_root_run(samples.root("side", "talk", labels={"kind": "check"}, seconds=3))
        await store.start_root_run(samples.root(LONG, "talk", seconds=4))
        lone = (await store.start_one_shot_run(samples.one_shot("lone"))).run
        await store.record_run_terminal(samples.completed(lone))


async def remember(url: str) -> None:
    note = MemoryEvent(event_id="n", type=EventType.PLANNER_NOTE, at=samples.at(3), note="noted")
    async with open_memory(url) as memory:
        await memory.entries.store(MemoryEntry.for_session("quiet", key="k", value=1))
        await memory.events.append_events(None, "agent", "lone", [note])


async def start_lone(url: str) -> None:
    async with open_store(url) as store:
        await store.start_one_shot_run(samples.one_shot("going"))


async def finish(url: str, *run_ids: str) -> None:
    async with open_store(url) as store:
        for run_id in run_ids:
            await store.record_run_terminal(samples.completed(await store.load_run(run_id)))


async def reuse(url: str) -> None:
    """An id of a purged session's run is free; the session's own is not, nor that of a purged run without a session."""
    async with open_store(url) as store:
        await store.create_session("new", samples.T0)
        assert (await store.start_root_run(samples.root("side", "new"))).run.session_id == "new"
        with pytest.raises(SessionPurged):
            await store.create_session("talk", samples.T0)
        with pytest.raises(RunPurged):
            await store.start_one_shot_run(samples.one_shot("lone"))


async def remembered(url: str) -> int:
    async with open_memory(url) as memory:
        entry = await memory.entries.get(MemoryScope.SESSION, "quiet", "k")
        return (entry is not None) + len((await memory.events.load_run("agent", "lone")).events)


def actum(*arguments: str, answer: str | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=answer, env={"COLUMNS": "80", "TERM": "dumb"})


def document(*arguments: str) -> Any:
    result = actum(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def lines(*arguments: str) -> list[Any]:
    result = actum(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


class TestReading:
    def test_version(self) -> None:
        assert actum("--version").stdout == f"actum {__version__}\n"

    def test_help_names_the_exit_codes(self) -> None:
        assert "Exit codes: 0 it is done" in actum("--help").stdout

    def test_sessions(self, filled: str) -> None:
        shown = actum("sessions", "--store", filled).stdout
        assert "talk" in shown
        assert "2025-01-01T00:00:00.000Z" in shown
        assert shown.endswith("2 sessions\n")

    def test_sessions_by_filter(self, filled: str) -> None:
        by_status = document("sessions", "--store", filled, "--status", "ended")
        by_metadata = document("sessions", "--store", filled, "--metadata", "user_id=u-1")
        assert [each["session_id"] for each in by_status["sessions"]] == ["quiet"]
        assert [each["session_id"] for each in by_metadata["sessions"]] == ["talk"]
        assert document("sessions", "--store", filled, "--limit", "1")["more"] is True

    def test_a_session_as_json_has_every_field(self, filled: str) -> None:
        talk = document("sessions", "--store", filled)["sessions"][0]
        assert talk == {
            "session_id": "talk",
            "tenant": None,
            "status": "active",
            "created_at": "2025-01-01T00:00:00.000Z",
            "ended_at": None,
            "metadata": {"user_id": "u-1"},
            "head_run_id": "turn-1",
        }

    def test_runs_of_a_session_and_of_all(self, filled: str) -> None:
        of_session = document("runs", "talk", "--store", filled)["runs"]
        of_all = document("runs", "--store", filled)["runs"]
        assert [each["run_id"] for each in of_session] == ["turn-1", "side", LONG]
        assert {each["run_id"] for each in of_all} == {"turn-1", "side", LONG, "lone"}

    def test_runs_by_filter(self, filled: str) -> None:
        for place in ([], ["talk"]):
            found = document("runs", *place, "--store", filled, "--label", "kind=check", "--agent", samples.AGENT)
            assert [each["run_id"] for each in found["runs"]] == ["side"]
        completed = document("runs", "talk", "--store", filled, "--status", "completed")
        assert [each["run_id"] for each in completed["runs"]] == ["turn-1"]

    def test_a_list_in_a_pipe_has_one_line_a_row_and_no_blanks_behind_it(self, filled: str) -> None:
        heading, *rows, tail = actum("runs", "talk", "--store", filled).stdout.splitlines()
        assert heading.split() == ["RUN", "STATUS", "AGENT", "STARTED", "WAITS", "FOR"]
        assert [row.split()[:2] for row in rows] == [["turn-1", "completed"], ["side", "running"], [LONG, "running"]]
        assert tail == "3 runs"
        assert [line for line in (heading, *rows, tail) if line != line.rstrip()] == []

    def test_a_session_in_a_pipe_has_its_head_in_its_row(self, filled: str) -> None:
        heading, talk, quiet, _ = actum("sessions", "--store", filled).stdout.splitlines()
        assert heading.split() == ["SESSION", "STATUS", "CREATED", "HEAD"]
        assert talk.split() == ["talk", "active", "2025-01-01T00:00:00.000Z", "turn-1"]
        assert quiet.split() == ["quiet", "ended", "2025-01-01T00:00:01.000Z", "-"]

    def test_records_of_a_run(self, filled: str) -> None:
        found = lines("records", "turn-1", "--store", filled)
        assert [each["event_key"] for each in found] == ["start", "input", "answer", "end"]
        assert found[1]["payload"]["messages"][0]["parts"][0]["text"] == f"hello {ESCAPE} [bold]you[/bold]"
        rest = lines("records", "turn-1", "--store", filled, "--after", found[1]["id"])
        assert rest == found[2:]

    def test_records_of_a_session(self, filled: str) -> None:
        found = lines("records", "--session", "talk", "--store", filled, "--type", "run_started", "--limit", "2")
        assert [each["run_id"] for each in found] == ["turn-1", "side"]

    def test_records_for_people(self, filled: str) -> None:
        shown = actum("records", "turn-1", "--payload", "--store", filled).stdout
        assert "run_completed" in shown
        assert '{"status":"completed"}' in shown

    def test_a_transcript_for_people_cannot_move_the_cursor(self, filled: str) -> None:
        shown = actum("transcript", "turn-1", "--store", filled).stdout
        assert "\x1b" not in shown
        assert "hello \\x1b[2J [bold]you[/bold]" in shown
        assert shown.endswith("assistant\n  hi\n")

    def test_a_transcript_as_json_is_verbatim(self, filled: str) -> None:
        told = document("transcript", "--session", "talk", "--store", filled)
        assert told["run_id"] == "turn-1"
        assert [each["role"] for each in told["messages"]] == ["user", "assistant"]
        assert told["messages"][0]["parts"][0]["text"] == f"hello {ESCAPE} [bold]you[/bold]"

    def test_the_newest_records(self, filled: str) -> None:
        assert [each["event_key"] for each in lines("tail", "turn-1", "-n", "2", "--store", filled)] == [
            "answer",
            "end",
        ]
        assert lines("tail", "turn-1", "-n", "0", "--store", filled) == []

    def test_following_a_run_that_has_ended_ends(self, filled: str) -> None:
        assert len(lines("tail", "turn-1", "--follow", "--store", filled)) == 4

    def test_verify(self, filled: str) -> None:
        told = document("verify", "--store", filled)
        assert told == {"ok": True, "sessions": 2, "runs": 4, "records": 8, "found": 0, "damages": []}
        assert actum("verify", "--store", filled).stdout == "sound: 2 sessions, 4 runs, 8 records\n"


class TestChanging:
    def test_cancel_stores_the_reason(self, filled: str) -> None:
        told = document("cancel", "side", "--reason", "enough", "--by", "me", "--store", filled)
        assert (told["cancellation_reason"], told["status"]) == ("enough", "running")
        stored = lines("records", "side", "--store", filled)[-1]
        assert stored["payload"] == {"reason": "enough", "by": "me"}

    def test_the_same_reason_again_is_a_success_and_another_is_refused(self, filled: str) -> None:
        assert actum("cancel", "side", "--reason", "enough", "--store", filled).exit_code == 0
        assert actum("cancel", "side", "--reason", "enough", "--store", filled).exit_code == 0
        assert actum("cancel", "side", "--reason", "other", "--store", filled).exit_code == 4

    def test_end_and_purge(self, filled: str) -> None:
        assert actum("purge", "talk", "--yes", "--store", filled).exit_code == 4
        assert document("end", "quiet", "--store", filled)["status"] == "ended"
        purged = document("purge", "quiet", "--yes", "--store", filled)
        assert purged == {"purged": {"session_id": "quiet", "run_id": None}}
        assert actum("runs", "quiet", "--store", filled).exit_code == 3

    def test_purge_takes_along_what_the_product_remembers(self, filled: str) -> None:
        asyncio.run(remember(filled))
        assert asyncio.run(remembered(filled)) == 2
        assert actum("purge", "quiet", "--yes", "--store", filled).exit_code == 0
        assert actum("purge", "--one-shot", "lone", "--yes", "--store", filled).exit_code == 0
        assert asyncio.run(remembered(filled)) == 0

    def test_a_session_with_a_running_run_is_not_purged(self, filled: str) -> None:
        assert actum("end", "talk", "--store", filled).exit_code == 0
        assert actum("purge", "talk", "--yes", "--store", filled).exit_code == 4

    def test_purge_asks_first(self, filled: str) -> None:
        for answer in ("n\n", "", "\n", "what\n"):
            refused = actum("purge", "quiet", "--store", filled, answer=answer)
            assert refused.exit_code == 4
            assert refused.stderr.splitlines() == [
                "Erase session quiet with 0 runs and 0 records for ever? [y/N] ",
                "nothing was purged",
            ]
        agreed = actum("purge", "quiet", "--store", filled, answer="y\n")
        assert agreed.exit_code == 0
        assert agreed.stdout == "session quiet is erased; its id is never used again\n"

    def test_purge_tells_how_much_would_go(self, filled: str) -> None:
        told = actum("purge", "--one-shot", "lone", "--store", filled, answer="n\n").stderr
        assert told.startswith("Erase the tree of run lone with 1 run and 2 records for ever?")

    @pytest.mark.parametrize(
        "arguments, code",
        [(["nowhere"], 3), (["--one-shot", "nowhere"], 3), (["talk"], 4), (["--one-shot", "side"], 2)],
    )
    def test_nobody_is_asked_about_what_cannot_be_erased(self, filled: str, arguments: list[str], code: int) -> None:
        refused = actum("purge", *arguments, "--store", filled, answer="y\n")
        assert refused.exit_code == code
        assert "Erase" not in refused.stderr

    def test_nobody_is_asked_about_runs_that_still_run(self, filled: str) -> None:
        asyncio.run(start_lone(filled))
        assert actum("end", "talk", "--store", filled).exit_code == 0
        for arguments in (["talk"], ["--one-shot", "going"]):
            refused = actum("purge", *arguments, "--store", filled, answer="y\n")
            assert refused.exit_code == 4
            assert "Erase" not in refused.stderr

    def test_nobody_is_asked_again_about_what_is_gone(self, filled: str) -> None:
        for arguments in (["quiet"], ["--one-shot", "lone"]):
            for answer in ("y\n", "n\n"):
                assert actum("purge", *arguments, "--store", filled, answer=answer).exit_code == 0

    def test_which_ids_are_never_used_again(self, filled: str) -> None:
        assert actum("end", "talk", "--store", filled).exit_code == 0
        asyncio.run(finish(filled, "side", LONG))
        for arguments in (["talk"], ["--one-shot", "lone"]):
            assert actum("purge", *arguments, "--yes", "--store", filled).exit_code == 0
        asyncio.run(reuse(filled))

    def test_a_tree_without_a_session_is_purged_by_its_root(self, filled: str) -> None:
        assert actum("purge", "--one-shot", "lone", "--yes", "--store", filled).exit_code == 0
        assert actum("records", "lone", "--store", filled).exit_code == 3


class TestRefusing:
    @pytest.mark.parametrize(
        "arguments, code",
        [
            (["runs", "nowhere"], 3),
            (["records", "nothing"], 3),
            (["transcript", "nothing"], 3),
            (["transcript", "--session", "quiet"], 3),
            (["tail", "nothing"], 3),
            (["cancel", "nothing"], 3),
            (["end", "nowhere"], 3),
            (["purge", "nowhere", "--yes"], 3),
            (["cancel", "turn-1"], 4),
            (["cancel", "side", "--reason", "session_ended"], 2),
            (["cancel", "side", "--reason", " "], 2),
            (["records"], 2),
            (["records", "turn-1", "--session", "talk"], 2),
            (["records", "turn-1", "--type", "odd"], 2),
            (["records", "turn-1", "--after", "odd"], 2),
            (["records", "turn-1", "--limit", "0"], 2),
            (["transcript"], 2),
            (["tail"], 2),
            (["tail", "turn-1", "-n", "-1"], 2),
            (["purge", "--yes"], 2),
            (["runs", " "], 2),
            (["runs", "--status", "odd"], 2),
            (["runs", "--label", "odd"], 2),
            (["sessions", "--metadata", "=x"], 2),
            (["sessions", "--limit", "0"], 2),
            (["odd"], 2),
        ],
    )
    def test_the_exit_code_tells_why(self, filled: str, arguments: list[str], code: int) -> None:
        result = actum(*arguments, "--store", filled)
        assert result.exit_code == code, result.output
        assert result.stdout == ""
        assert result.stderr

    def test_an_error_as_json(self, filled: str) -> None:
        result = actum("end", "nowhere", "--json", "--store", filled)
        assert json.loads(result.stderr)["error"]["code"] == "session_not_found"

    @pytest.mark.parametrize("command", ["sessions", "runs", "verify", "records x", "cancel x", "end x", "purge x -y"])
    def test_no_command_makes_a_store(self, tmp_path: Path, command: str) -> None:
        missing = tmp_path / "missing.db"
        result = actum(*command.split(), "--store", f"sqlite:///{missing}")
        assert result.exit_code == 5
        assert "no such file" in result.stderr
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("content", [b"", b"words", b"SQLite format 3\0"])
    def test_a_file_that_is_no_store(self, tmp_path: Path, content: bytes) -> None:
        file = tmp_path / "other.db"
        file.write_bytes(content)
        assert actum("sessions", "--store", f"sqlite:///{file}").exit_code == 5
        assert file.read_bytes() == content

    def test_another_url(self) -> None:
        assert actum("sessions", "--store", "ftp://somewhere").exit_code == 2

    def test_a_file_that_is_missing_or_wrong_is_named_by_its_whole_path(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        Path("empty.db").write_bytes(b"")
        Path("wrong.db").write_bytes(b"words")
        for name in ("missing.db", "empty.db", "wrong.db"):
            assert f"location='{tmp_path.resolve()}/{name}'" in actum("runs", "--store", f"sqlite:///{name}").stderr

    @pytest.mark.parametrize("command", ["sessions", "runs", "verify", "records x", "cancel x", "end x", "purge x -y"])
    def test_a_store_in_memory_holds_nothing_for_a_command(self, command: str) -> None:
        result = actum(*command.split(), "--store", "memory:")
        assert result.exit_code == 2
        assert "belongs to the process that made it" in result.stderr

    @pytest.mark.parametrize("command", ["runs --status odd", "runs --odd", "odd", "cancel", "records", "check -"])
    def test_wrong_words_are_told_as_json_where_json_is_asked_for(self, command: str) -> None:
        result = actum(*command.split(), "--json")
        assert result.exit_code == 2
        assert result.stdout == ""
        told = json.loads(result.stderr)
        assert list(told) == ["error"]
        assert told["error"]["code"] == "usage_error"
        assert told["error"]["message"]

    def test_the_argument_that_only_looks_like_an_option_asks_for_no_json(self) -> None:
        assert actum("odd", "--", "--json").stderr.startswith("Usage: ")

    @pytest.mark.parametrize("command, name", [("cancel", "RUN_ID"), ("end", "SESSION_ID"), ("check", "FILE")])
    def test_usage_and_errors_name_an_argument_alike(self, command: str, name: str) -> None:
        shown = actum(command).stderr
        assert f"{{{name}}}" in shown
        assert f"'{name}'" in shown

    def test_an_argument_that_may_be_left_out_is_named_as_errors_name_it(self) -> None:
        for command in ("records", "transcript", "tail"):
            shown = actum(command).stderr
            assert "[RUN_ID]" in shown
            assert "give exactly one of RUN_ID or --session" in shown


def test_the_default_store_is_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert repr(f"{tmp_path.resolve()}/actum.db") in actum("sessions").stderr


@pytest.mark.parametrize(
    "damage, says",
    [
        ("UPDATE runs SET status = 'failed' WHERE run_id = 'turn-1'", "end: the run's status is failed"),
        ("DELETE FROM records WHERE event_key = 'answer'", "positions: record"),
        ("UPDATE records SET payload = X'7B' WHERE event_key = 'answer'", "payload: the payload of"),
    ],
)
def test_damage_is_named_and_is_exit_code_1(filled: str, damage: str, says: str) -> None:
    connection = sqlite3.connect(filled.removeprefix("sqlite:///"), isolation_level=None)
    assert connection.execute(damage).rowcount == 1
    connection.close()
    shown = actum("verify", "--store", filled)
    assert shown.exit_code == 1
    assert says in shown.stdout
    assert "  session talk\n" in shown.stdout
    told = actum("verify", "--json", "--store", filled)
    assert told.exit_code == 1
    report = json.loads(told.stdout)
    assert report["found"] == len(report["damages"]) == 1
    assert set(report["damages"][0]) == {"check", "says", "session_id", "run_id", "record_id", "event_key"}


def test_a_damaged_record_is_listed_and_its_transcript_is_not(filled: str) -> None:
    connection = sqlite3.connect(filled.removeprefix("sqlite:///"), isolation_level=None)
    connection.execute("UPDATE records SET payload = X'7B' WHERE event_key = 'answer'")
    connection.close()
    listed = lines("records", "turn-1", "--store", filled)
    assert listed[2]["payload"] is None
    assert listed[2]["payload_error"]
    assert actum("transcript", "turn-1", "--store", filled).exit_code == 1
