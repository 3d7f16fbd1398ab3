"""What a step adds to a transcript, and the promise that no prefix is ever poisoned.

At every prefix of a run's log the transcript, with its history, obeys the law, or ends in one open group. `extends`
says so of one record's messages after another, which verification asks of everything that is stored; `check_prefix` of
a transcript as a whole. The runtime keeps the promise by what it writes together.
"""

from collections.abc import Sequence
from dataclasses import replace

from actum.messages.message import Message
from actum.transcript.validate import last_group, refuse_findings, scan


def check_prefix(messages: Sequence[Message]) -> None:
    """Raise TranscriptError, with all findings, unless the transcript obeys the law or ends in one open group."""
    refuse_findings(scan(messages, may_end_open=True))


def extends(transcript: Sequence[Message], delta: Sequence[Message]) -> None:
    """Raise TranscriptError unless `transcript` with `delta` behind it obeys the law or ends in one open group.

    `transcript` is known to do so: only its last group and the delta are looked at, so a long run stays linear. The
    findings count messages from the beginning of the transcript.
    """
    start = last_group(transcript)
    # One message before the group tells whether system messages may still come.
    before = transcript[max(start - 1, 0) : start]
    findings = scan([*before, *transcript[start:], *delta], len(before), may_end_open=True)
    refuse_findings(replace(found, message_index=found.message_index + start - len(before)) for found in findings)
