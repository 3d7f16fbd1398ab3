"""OpenAI Agents SDK: `SQLiteSession`, or `SQLAlchemySession` over aiosqlite. Tracing is off."""

import json
from typing import Any

from bench import content
from bench.peers.driver import Peer, main


class OpenAIAgents(Peer):
    """Sessions of the OpenAI Agents SDK; a window is the session's own limit of items, five for each turn."""

    variants = ("sqlite", "sqlalchemy")

    def load(self) -> None:
        """Imports the SDK."""
        import agents
        from openai.types import responses

        agents.set_tracing_disabled(disabled=True)
        self.sdk, self.types = agents, responses
        if self.variant == "sqlalchemy":
            from agents.extensions.memory import SQLAlchemySession
            from sqlalchemy.ext.asyncio import create_async_engine

            self.session_of, self.engine_of = SQLAlchemySession, create_async_engine

    def open(self) -> None:
        """Makes the agent, and the engine where there is one."""
        if self.variant == "sqlalchemy":
            self.engine = self.engine_of(f"sqlite+aiosqlite:///{self.path}")
        sdk, output, asked = self.sdk, self._output, iter(range(10**9))

        class Fake(sdk.Model):  # type: ignore[misc]  # a class of the peer
            async def get_response(self, *_: object, **__: object) -> Any:  # noqa: ANN401 - the peer's own
                turn, answers = divmod(next(asked), 2)
                items = output(4 * turn + (3 if answers else 1))
                return sdk.ModelResponse(output=items, usage=sdk.Usage(), response_id=None)

            def stream_response(self, *_: object, **__: object) -> Any:  # noqa: ANN401 - the peer's own
                raise NotImplementedError

        @sdk.function_tool(strict_mode=False)  # type: ignore[untyped-decorator]  # of the peer
        def search(query: str, limit: int) -> str:  # noqa: ARG001 - the conversation says what it answers
            """Search the records."""
            return content.result(self.now)

        self.agent = sdk.Agent(name="bench", instructions="Be brief.", model=Fake(), tools=[search])

    async def close(self) -> None:
        """Closes the engine where there is one."""
        if self.variant == "sqlalchemy":
            await self.engine.dispose()

    def conversation(self, name: str) -> Any:  # noqa: ANN401 - the peer's own
        """A session."""
        if self.variant == "sqlalchemy":
            return self.session_of(name, engine=self.engine, create_tables=True)
        return self.sdk.SQLiteSession(name, str(self.path))

    async def append(self, conversation: Any, i: int) -> None:  # noqa: ANN401 - the peer's own
        """Adds the items of one message."""
        await conversation.add_items(self._items(i))

    async def turn(self, conversation: Any, turn: int) -> None:  # noqa: ANN401 - the peer's own
        """Runs the agent on the session."""
        self.now = turn
        limit = None if self.window is None else self.sdk.SessionSettings(limit=5 * self.window)
        config = None if limit is None else self.sdk.RunConfig(session_settings=limit)
        await self.sdk.Runner.run(self.agent, content.user_text(turn), session=conversation, run_config=config)

    def _output(self, i: int) -> list[Any]:
        plain = content.message(i)
        text = self.types.ResponseOutputText(type="output_text", text=plain["text"], annotations=[])
        items: list[Any] = [
            self.types.ResponseOutputMessage(
                id=f"msg_{i}", type="message", role="assistant", status="completed", content=[text]
            )
        ]
        if plain["kind"] == "call":
            call = self.types.ResponseFunctionToolCall(
                type="function_call",
                id=f"fc_{i}",
                call_id=plain["call_id"],
                name="search",
                arguments=json.dumps(plain["arguments"]),
                status="completed",
            )
            items.append(call)
        return items

    def _items(self, i: int) -> list[Any]:
        plain = content.message(i)
        if plain["kind"] == "user":
            return [{"role": "user", "content": plain["text"]}]
        if plain["kind"] == "result":
            return [{"type": "function_call_output", "call_id": plain["call_id"], "output": plain["result"]}]
        return [each.model_dump(exclude_unset=True) for each in self._output(i)]


if __name__ == "__main__":
    main(OpenAIAgents)
