"""The law that a planner's transcript obeys. It says no, it never repairs.

System messages lead. Consecutive assistant messages are one group; a group with tool uses is followed at once by one
user message with exactly one result for each of their ids. No result stands anywhere else. `scan` finds every breach;
the other functions here and in `delta` only choose what they do with the findings.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, assert_never

from actum.base.checks import several
from actum.base.errors import Finding, TranscriptError
from actum.messages.message import Message, Role
from actum.messages.parts import ThinkingPart, ToolResultPart, ToolUsePart

# The parts that may stand only in messages of some role.
_PLACED: Final = frozenset({ToolUsePart, ToolResultPart, ThinkingPart})


def validate_planner_transcript(messages: Sequence[Message]) -> None:
    """Raise TranscriptError with every breach of the law, in the order of the messages; say nothing of a lawful one."""
    refuse_findings(scan(several("messages", messages, Message, "messages")))


def validate_bedrock(messages: Sequence[Message], thinking_enabled: bool) -> None:  # noqa: FBT001 - the contract's own signature
    """The planner's law; with thinking on, every assistant message with a tool use also begins with thinking.

    Redacted thinking counts. Raises TranscriptError with all findings.
    """
    messages = several("messages", messages, Message, "messages")
    findings = list(scan(messages))
    for index, message in enumerate(messages):
        if not thinking_enabled or message.role is not Role.ASSISTANT or not message.tool_uses:
            continue
        if not isinstance(message.parts[0], ThinkingPart):
            rule = "an assistant message with a tool use begins with thinking while thinking is on"
            findings.append(Finding(rule=rule, message_index=index, part_index=0, tool_use_id=message.tool_uses[0].id))
    refuse_findings(sorted(findings, key=lambda finding: finding.message_index))


def open_calls(messages: Sequence[Message]) -> tuple[ToolUsePart, ...]:
    """The tool uses of the group at the end of the transcript, which nothing has answered yet; usually none.

    A group with anything behind it is not open: it is answered, or broken, and then `validate_planner_transcript`
    names it.
    """
    messages = several("messages", messages, Message, "messages")
    start = last_group(messages)
    return tuple(use for message in messages[start:] for use in message.tool_uses)


def last_group(messages: Sequence[Message]) -> int:
    """The index at which the assistant messages at the end begin; `len(messages)` when the last one is another's."""
    start = len(messages)
    while start and messages[start - 1].role is Role.ASSISTANT:
        start -= 1
    return start


def refuse_findings(findings: Iterable[Finding]) -> None:
    """Raise TranscriptError when there are any."""
    found = tuple(findings)
    if found:
        raise TranscriptError(findings=found)


def scan(messages: Sequence[Message], start: int = 0, *, may_end_open: bool = False) -> list[Finding]:
    """Every breach of the law from message `start` on, which begins a group or stands where one could begin.

    With `may_end_open` the last group may wait for its results. A system message out of place is a finding of its own
    and does not part the messages around it, so that one fault is not told as three.
    """
    findings: list[Finding] = []
    group: list[tuple[int, Message]] = []
    leading = start == 0 or messages[start - 1].role is Role.SYSTEM
    # Long transcripts are judged before each model call: what has nothing to be judged is passed quickly.
    asked = False
    for index in range(start, len(messages)):
        message = messages[index]
        kinds = {type(part) for part in message.parts}
        if not kinds or not kinds.isdisjoint(_PLACED):
            findings += _misplaced_parts(index, message)
        match message.role:
            case Role.SYSTEM:
                if not leading:
                    findings.append(Finding(rule="a system message leads the transcript", message_index=index))
            case Role.ASSISTANT:
                leading = False
                group.append((index, message))
                asked = asked or ToolUsePart in kinds
            case Role.USER:
                leading = False
                if asked or ToolResultPart in kinds:
                    findings += _answered(group, index, message)
                group, asked = [], False
            case _:
                assert_never(message.role)
    findings += _group_flaws(group)
    if not may_end_open:
        findings += _unanswered(group, frozenset())
    return sorted(findings, key=lambda finding: (finding.message_index, finding.part_index or 0))


def _misplaced_parts(index: int, message: Message) -> Iterator[Finding]:
    """Find what is wrong in a message of this role, whatever stands around it."""
    if message.role is Role.ASSISTANT and not message.parts:
        yield Finding(rule="an assistant message has a part", message_index=index)
    for at, part in enumerate(message.parts):
        match part:
            case ToolUsePart() if message.role is not Role.ASSISTANT:
                yield Finding(
                    rule=f"a tool use stands in an assistant message, not in one of the {message.role}",
                    message_index=index,
                    part_index=at,
                    tool_use_id=part.id,
                )
            case ToolResultPart() if message.role is not Role.USER:
                yield Finding(
                    rule=f"a result stands in a user message, not in one of the {message.role}",
                    message_index=index,
                    part_index=at,
                    tool_use_id=part.tool_use_id,
                )
            case ThinkingPart() if message.role is not Role.ASSISTANT:
                yield Finding(
                    rule=f"thinking stands in an assistant message, not in one of the {message.role}",
                    message_index=index,
                    part_index=at,
                )
            case _:
                pass


def _uses(group: list[tuple[int, Message]]) -> Iterator[tuple[int, int, ToolUsePart]]:
    for index, message in group:
        for at, part in enumerate(message.parts):
            if isinstance(part, ToolUsePart):
                yield index, at, part


def _group_flaws(group: list[tuple[int, Message]]) -> Iterator[Finding]:
    """Find what is wrong with the ids of a group's tool uses."""
    seen: set[str] = set()
    for index, at, use in _uses(group):
        if not use.id:
            yield Finding(rule="a tool use has an id", message_index=index, part_index=at, tool_use_id="")
        elif use.id in seen:
            rule = "the id of a tool use is its own in its group"
            yield Finding(rule=rule, message_index=index, part_index=at, tool_use_id=use.id)
        seen.add(use.id)


def _unanswered(group: list[tuple[int, Message]], answered: frozenset[str]) -> Iterator[Finding]:
    seen: set[str] = set()
    for index, at, use in _uses(group):
        # An id without text, or given twice, is a finding already.
        if use.id and use.id not in answered and use.id not in seen:
            rule = "a tool use has its result in the one user message right after its group"
            yield Finding(rule=rule, message_index=index, part_index=at, tool_use_id=use.id)
        seen.add(use.id)


def _answered(group: list[tuple[int, Message]], index: int, message: Message) -> Iterator[Finding]:
    """Hold the results of a user message against the group before it, which may be empty."""
    yield from _group_flaws(group)
    asked = {use.id for _, _, use in _uses(group)}
    seen: set[str] = set()
    for at, part in enumerate(message.parts):
        if not isinstance(part, ToolResultPart):
            continue
        if part.tool_use_id not in asked:
            rule = "a result answers a tool use of the group right before its message"
        elif part.tool_use_id in seen:
            rule = "a tool use has one result, not two"
        else:
            seen.add(part.tool_use_id)
            continue
        yield Finding(rule=rule, message_index=index, part_index=at, tool_use_id=part.tool_use_id)
    yield from _unanswered(group, frozenset(seen))
