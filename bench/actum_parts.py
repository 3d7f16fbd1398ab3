"""What the workloads of Actum share: the fake model, the conversation as messages, runs and records made by hand."""

import json
from collections.abc import AsyncGenerator
from typing import Any

from actum import (
    Cancellation,
    Follows,
    HistoryRef,
    Message,
    ModelRequest,
    ModelResponse,
    NewRecord,
    OwnedStore,
    RootRunStart,
    RunStart,
    StopReason,
    assistant,
    now,
    run_completed,
    run_started,
    tool_results,
    tool_use,
    transcript_messages_appended,
    user,
)
from actum.base.value import replace
from actum.messages.parts import TextPart, ToolResultPart
from actum.model.fold import chunks_of
from actum.model.response import Chunk
from bench.content import answer_text, arguments, call_text, message

SESSION = "session-1"


class FakeModel:
    """Answers at once: a call of the tool, then the answer, turn after turn."""

    model = "fake"

    def __init__(self) -> None:
        self._asked = 0

    async def complete(self, request: ModelRequest) -> ModelResponse:  # noqa: ARG002 - it answers by heart
        """The next answer."""
        turn, answers = divmod(self._asked, 2)
        self._asked += 1
        if answers:
            return ModelResponse(message=assistant(answer_text(turn)), stop=StopReason.END_TURN)
        use = tool_use(f"call_{turn}", "search", arguments(turn))
        return ModelResponse(message=assistant(call_text(turn), use), stop=StopReason.TOOL_USE)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """The next answer in pieces."""
        for chunk in chunks_of(await self.complete(request)):
            yield chunk


def typed(i: int) -> Message:
    """The message `i` of the conversation as Actum has it."""
    plain: dict[str, Any] = message(i)
    if plain["kind"] == "user":
        return user(plain["text"])
    if plain["kind"] == "result":
        return tool_results(ToolResultPart(tool_use_id=plain["call_id"], content=json.loads(plain["result"])))
    parts = [TextPart(text=plain["text"])]
    if plain["kind"] == "call":
        return assistant(*parts, tool_use(plain["call_id"], "search", plain["arguments"]))
    return assistant(*parts)


def payload(i: int) -> bytes:
    """The message `i` as the payload of a transcript record."""
    return transcript_messages_appended(messages=(typed(i),))


def record(run_id: str, key: str, kind: str, data: bytes) -> NewRecord:
    """A record of a run in the session."""
    return NewRecord(
        event_key=key, run_id=run_id, agent_id="agent", session_id=SESSION, type=kind, payload=data, timestamp=now()
    )


async def started(
    store: OwnedStore, run_id: str, *, history: HistoryRef | None = None, follows: Follows | None = None
) -> None:
    """Starts a run in the session, by hand."""
    end = run_completed(status="canceled", cancellation=Cancellation(reason="session_ended"))
    begins = record(run_id, "start", "run_started", run_started(history=history, follows=follows))
    ends = replace(record(run_id, "end", "run_completed", end), timestamp=begins.timestamp)
    run = RunStart(
        run_id=run_id,
        agent_id="agent",
        session_id=SESSION,
        started_at=begins.timestamp,
        history=history,
        follows=follows,
    )
    await store.start_root_run(RootRunStart(run=run, started=begins, canceled=ends))
