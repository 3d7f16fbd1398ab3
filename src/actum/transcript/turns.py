"""Turns: one user input and all that answers it. A transcript is shortened by whole turns, or not at all."""

from collections.abc import Sequence

from actum.base.checks import refuse, several
from actum.base.errors import Finding, TranscriptError
from actum.messages.message import Message, Role
from actum.messages.parts import ToolResultPart
from actum.transcript.validate import validate_planner_transcript


def leading(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The system messages at the beginning; they belong to no turn, and stand in front of any choice of turns."""
    end = next((i for i, message in enumerate(messages) if message.role is not Role.SYSTEM), len(messages))
    return tuple(messages[:end])


def turns(messages: Sequence[Message]) -> tuple[tuple[Message, ...], ...]:
    """The transcript cut at its user messages without results; without the leading system messages.

    `leading(messages)` and the turns put together again are the transcript. What stands before the first such user
    message (an assistant's welcome) comes as a first turn of its own, though no input begins it: `keep_newest_turns`
    never counts or keeps it. A lawful transcript is cut into lawful turns.
    """
    messages = several("messages", messages, Message, "messages")
    cut: list[list[Message]] = []
    for message in messages[len(leading(messages)) :]:
        if not cut or begins_turn(message):
            cut.append([])
        cut[-1].append(message)
    return tuple(tuple(turn) for turn in cut)


def begins_turn(message: Message) -> bool:
    """Whether the message is an input: the user's, and no answer to tool uses."""
    if message.role is not Role.USER:
        return False
    for part in message.parts:  # noqa: SIM110 - a long conversation asks this of each message, and a generator costs twice
        if isinstance(part, ToolResultPart):
            return False
    return True


def keep_newest_turns(messages: Sequence[Message], count: int) -> tuple[Message, ...]:
    """The leading system messages and the newest `count` turns that an input begins; all of those if there are no more.

    The answer is lawful and, behind the system messages, begins with a user message without results; so a welcome
    before the first input is always left out. Raises TranscriptError for a transcript that breaks the law, or that
    holds no turn to keep and therefore cannot be trimmed; InvalidValue for a count below 1.
    """
    if type(count) is not int or count < 1:
        raise refuse("count", count, "is a whole number of turns from 1")
    messages = several("messages", messages, Message, "messages")
    validate_planner_transcript(messages)
    return newest_turns(messages, count)


def newest_turns(messages: Sequence[Message], count: int) -> tuple[Message, ...]:
    """As `keep_newest_turns`, of messages that are known to be lawful."""
    lead = leading(messages)
    begin, left = len(messages), count
    for i in range(len(messages) - 1, len(lead) - 1, -1):
        if begins_turn(messages[i]):
            begin, left = i, left - 1
            if not left:
                break
    if left == count and len(messages) > len(lead):
        rule = "cannot be trimmed: no user message without results begins a turn"
        raise TranscriptError(findings=(Finding(rule=rule, message_index=len(lead)),))
    return (*lead, *messages[begin:])


def is_newest_part(view: tuple[Message, ...], messages: tuple[Message, ...]) -> bool:
    """Whether `view` is what leads `messages` and its newest whole turns: where those are lawful, the view is too."""
    lead = len(leading(messages))
    begin = lead + len(messages) - len(view)
    if begin < lead or view[:lead] != messages[:lead] or view[lead:] != messages[begin:]:
        return False
    return begin in (lead, len(messages)) or begins_turn(messages[begin])
