"""`actum check` as a user types it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from actum.base.value import dump
from actum.cli.documents import transcript_document
from actum.cli.main import app
from actum.messages.message import Message, assistant, user
from actum.messages.parts import CacheCheckpointPart, DocumentPart, tool_use

TALK = (user("hi", CacheCheckpointPart()), assistant("hello"), user("on"))
WORD = (user(DocumentPart(format="docx", bytes=b"PK", name="plan.docx")),)


def spelled(messages: tuple[Message, ...]) -> str:
    return "[" + ",".join(dump(each).decode() for each in messages) + "]"


def check(tmp_path: Path, text: str, *options: str) -> Result:
    file = tmp_path / "talk.json"
    file.write_text(text, encoding="utf-8")
    return CliRunner().invoke(app, ["check", str(file), *options], env={"COLUMNS": "80", "TERM": "dumb"})


def test_a_transcript_that_is_taken_says_what_becomes_of_it(tmp_path: Path) -> None:
    result = check(tmp_path, spelled(TALK), "--provider", "openai")
    assert result.exit_code == 0
    assert "left out: message 0: part 1: a cache checkpoint" in result.stdout
    assert result.stdout.endswith("accepted by openai\n")


def test_a_transcript_that_is_refused_ends_with_its_exit_code(tmp_path: Path) -> None:
    result = check(tmp_path, spelled(WORD), "--provider", "anthropic", "--model", "claude-sonnet-4-5")
    assert result.exit_code == 4
    assert "refused: message 0: part 0: " in result.stdout
    assert "not accepted by anthropic:claude-sonnet-4-5: " in result.stdout


def test_json_has_every_field(tmp_path: Path) -> None:
    result = check(tmp_path, spelled(TALK), "--provider", "gemini", "--json")
    told = json.loads(result.stdout)
    assert (told["provider"], told["model"], told["accepted"]) == ("gemini", None, True)
    assert told["projections"] == [
        {
            "fate": "left_out",
            "rule": "a cache checkpoint left out: Gemini caches by itself",
            "message_index": 0,
            "part_index": 1,
        }
    ]


def test_what_the_transcript_command_prints_is_taken(tmp_path: Path) -> None:
    text = transcript_document("run-1", TALK, ()).decode()
    assert check(tmp_path, text, "--provider", "bedrock").exit_code == 0


def test_a_transcript_against_the_law_is_refused(tmp_path: Path) -> None:
    unanswered = (user("hi"), assistant(tool_use("t1", "look", {})), user("on"))
    result = check(tmp_path, spelled(unanswered), "--provider", "openai-chat")
    assert result.exit_code == 4


def test_standard_input_is_read() -> None:
    result = CliRunner().invoke(app, ["check", "-", "--provider", "openai"], input=spelled(TALK))
    assert result.exit_code == 0


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", '{"messages":[]}', "[1]", '[{"role":"user","parts":[{"type":"text","text":"x","more":1}]}]'],
)
def test_a_file_without_messages_is_a_wrong_value(tmp_path: Path, text: str) -> None:
    result = check(tmp_path, text, "--provider", "openai")
    assert result.exit_code == 2
    assert "written" not in result.stderr


def test_a_provider_that_nobody_knows_and_a_file_that_is_not_there_are_wrong_values(tmp_path: Path) -> None:
    assert check(tmp_path, spelled(TALK), "--provider", "nobody").exit_code == 2
    missing = CliRunner().invoke(app, ["check", str(tmp_path / "no"), "--provider", "openai"])
    assert missing.exit_code == 2
    assert "No such file" in missing.stderr
