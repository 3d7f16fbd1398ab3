"""Agno: `SqliteDb`, which keeps a row of JSON for each run. Telemetry is off.

A run holds one turn, so an append writes the row of its turn again. In a turn the run is saved after its tool batch and
at its end (`checkpoint="tool-batch"`); Agno's default saves only at the end, and so loses more in a crash.
"""

import dataclasses
import json
from typing import Any

from bench import content
from bench.peers.driver import Peer, main


class Agno(Peer):
    """Runs of Agno in SQLite."""

    variants = ("step", "end")
    sync = True

    def load(self) -> None:
        """Imports Agno."""
        from agno.agent import Agent
        from agno.db.sqlite import SqliteDb
        from agno.models.base import Model
        from agno.models.message import Message
        from agno.models.response import ModelResponse
        from agno.run.agent import RunOutput
        from agno.run.base import RunStatus
        from agno.session.agent import AgentSession

        self.agent_of, self.db_of, self.model, self.message_of = Agent, SqliteDb, Model, Message
        self.response_of, self.run_of, self.status, self.session_of = ModelResponse, RunOutput, RunStatus, AgentSession

    def open(self) -> None:
        """Makes the database and the agent."""
        self.db = self.db_of(db_file=str(self.path))
        response_of, asked = self.response_of, iter(range(10**9))

        @dataclasses.dataclass
        class Fake(self.model):  # type: ignore[misc,name-defined]  # a class of the peer
            id: str = "fake"
            name: str = "fake"
            provider: str = "fake"

            def invoke(self, *_: object, **__: object) -> Any:  # noqa: ANN401 - the peer's own
                turn, answers = divmod(next(asked), 2)
                if answers:
                    return response_of(role="assistant", content=content.answer_text(turn), tool_calls=[])
                return response_of(role="assistant", content=content.call_text(turn), tool_calls=_calls(turn))

            async def ainvoke(self, *_: object, **__: object) -> Any:  # noqa: ANN401 - the peer's own
                return self.invoke()

            def invoke_stream(self, *_: object, **__: object) -> Any:  # noqa: ANN401 - the peer's own
                raise NotImplementedError

            ainvoke_stream = invoke_stream

            def _parse_provider_response(self, response: Any, **_: object) -> Any:  # noqa: ANN401 - the peer's own
                return response

            _parse_provider_response_delta = _parse_provider_response

        def search(query: str, limit: int) -> str:  # noqa: ARG001 - the conversation says what it answers
            """Search the records."""
            return content.result(self.now)

        more = {"checkpoint": "tool-batch"} if self.variant == "step" else {}
        self.agent = self.agent_of(
            id="bench",
            model=Fake(),
            db=self.db,
            tools=[search],
            instructions="Be brief.",
            add_history_to_context=True,
            num_history_runs=self.window or 100_000,
            telemetry=False,
            **more,
        )

    def close(self) -> None:
        """Closes the database."""
        self.db.Session.remove()
        self.db.db_engine.dispose()

    def conversation(self, name: str) -> dict[str, Any]:
        """A session, and the run that its next message belongs to."""
        self.db.upsert_session(self.session_of(session_id=name, agent_id="bench", user_id="user"))
        return {"name": name, "run": None}

    def append(self, conversation: dict[str, Any], i: int) -> None:
        """Writes the row of the message's run."""
        turn, name = i // 4, conversation["name"]
        if i % 4 == 0:
            conversation["run"] = self.run_of(
                run_id=f"{name}-{turn}",
                agent_id="bench",
                session_id=name,
                user_id="user",
                messages=[],
                status=self.status.completed,
            )
        conversation["run"].messages.append(self._message(i))
        self.db.upsert_run(conversation["run"], session_id=name, user_id="user", run_index=turn)

    def turn(self, conversation: dict[str, Any], turn: int) -> None:
        """Runs the agent on the session."""
        self.now = turn
        out = self.agent.run(content.user_text(turn), session_id=conversation["name"], user_id="user")
        assert out.status == self.status.completed, out.status

    def _message(self, i: int) -> Any:  # noqa: ANN401 - the peer's own
        plain = content.message(i)
        if plain["kind"] == "result":
            return self.message_of(
                role="tool", content=plain["result"], tool_call_id=plain["call_id"], tool_name="search"
            )
        calls = {"tool_calls": _calls(i // 4)} if plain["kind"] == "call" else {}
        return self.message_of(role="user" if plain["kind"] == "user" else "assistant", content=plain["text"], **calls)


def _calls(turn: int) -> list[dict[str, Any]]:
    function = {"name": "search", "arguments": json.dumps(content.arguments(turn))}
    return [{"id": f"call_{turn}", "type": "function", "function": function}]


if __name__ == "__main__":
    main(Agno)
