import pytest

from actum.base.value import dump, load
from actum.messages.message import Message, Role, assistant, system, tool_results, user
from actum.messages.parts import (
    CacheCheckpointPart,
    CitationsPart,
    ImagePart,
    TextPart,
    ThinkingPart,
    ToolResultPart,
    tool_use,
)


@pytest.mark.parametrize("maker, role", [(user, Role.USER), (assistant, Role.ASSISTANT), (system, Role.SYSTEM)])
def test_makers_take_texts_and_parts_in_their_order(maker: object, role: Role) -> None:
    image = ImagePart(uri="u")
    message = maker("a", image, "b", meta={"k": 1})  # type: ignore[operator]  # the three have one signature
    assert message == Message(role=role, parts=(TextPart(text="a"), image, TextPart(text="b")), meta={"k": 1})


def test_results_are_one_user_message() -> None:
    results = (ToolResultPart(tool_use_id="t2"), ToolResultPart(tool_use_id="t1"))
    assert tool_results(*results) == user(*results)
    assert tool_results(*results).tool_results == results


def test_thinking_and_marks_are_no_answer_text() -> None:
    message = assistant(
        ThinkingPart(text="secret"),
        "It ",
        CacheCheckpointPart(),
        CitationsPart(text="is so."),
        ThinkingPart(redacted=b"secret"),
        tool_use("t", "n", {"text": "secret"}),
    )
    assert message.text == "It is so."
    assert [use.id for use in message.tool_uses] == ["t"]


def test_a_message_is_written_as_a_role_and_its_parts() -> None:
    assert dump(user("hi")) == b'{"role":"user","parts":[{"type":"text","text":"hi"}]}'
    assert dump(assistant()) == b'{"role":"assistant","parts":[]}'


def test_empty_meta_is_kept_and_none_is_left_out() -> None:
    assert load(Message, dump(user("a", meta={}))).meta == {}
    assert b"meta" not in dump(user("a"))
