"""Google ADK: `DatabaseSessionService` over aiosqlite."""

import logging
import warnings
from typing import Any

from bench import content
from bench.peers.driver import Peer, main

_APP, _USER = "bench", "user"


class Adk(Peer):
    """Sessions of Google's ADK. It has no policy that shows only the newest turns, so a window changes nothing."""

    variants = ("database",)

    def load(self) -> None:
        """Imports the ADK, without its warnings."""
        warnings.filterwarnings("ignore")
        logging.disable(logging.WARNING)
        from google.adk.agents import LlmAgent
        from google.adk.events import Event
        from google.adk.models import BaseLlm, LlmResponse
        from google.adk.runners import Runner
        from google.adk.sessions import DatabaseSessionService
        from google.genai import types

        self.agent_of, self.event_of, self.llm, self.response_of = LlmAgent, Event, BaseLlm, LlmResponse
        self.runner_of, self.service_of, self.types = Runner, DatabaseSessionService, types

    def open(self) -> None:
        """Makes the service, the agent and its runner."""
        self.service = self.service_of(f"sqlite+aiosqlite:///{self.path}")
        made, response_of, asked = self._content, self.response_of, iter(range(10**9))

        class Fake(self.llm):  # type: ignore[misc,name-defined]  # a class of the peer
            async def generate_content_async(self, *_: object, **__: object) -> Any:  # noqa: ANN401 - the peer's own
                turn, last = divmod(next(asked), 2)
                yield response_of(content=made(4 * turn + (3 if last else 1)))

        def search(query: str, limit: int) -> dict[str, str]:  # noqa: ARG001 - the conversation says what it answers
            """Search the records."""
            return {"result": content.result(self.now)}

        agent = self.agent_of(name="bench_agent", model=Fake(model="fake"), instruction="Be brief.", tools=[search])
        self.runner = self.runner_of(app_name=_APP, agent=agent, session_service=self.service)

    async def close(self) -> None:
        """Closes the service's engine."""
        await self.service.db_engine.dispose()

    async def conversation(self, name: str) -> Any:  # noqa: ANN401 - the peer's own
        """A session."""
        return await self.service.create_session(app_name=_APP, user_id=_USER, session_id=name)

    async def append(self, conversation: Any, i: int) -> None:  # noqa: ANN401 - the peer's own
        """Appends one event."""
        author = "user" if content.message(i)["kind"] == "user" else "bench_agent"
        event = self.event_of(author=author, invocation_id="invocation", content=self._content(i))
        await self.service.append_event(conversation, event)

    async def turn(self, conversation: Any, turn: int) -> None:  # noqa: ANN401 - the peer's own
        """Runs the agent on the session."""
        self.now = turn
        async for _ in self.runner.run_async(
            user_id=_USER, session_id=conversation.id, new_message=self._content(4 * turn)
        ):
            pass

    def _content(self, i: int) -> Any:  # noqa: ANN401 - the peer's own
        plain, types = content.message(i), self.types
        if plain["kind"] == "user":
            return types.Content(role="user", parts=[types.Part(text=plain["text"])])
        if plain["kind"] == "result":
            answer = types.FunctionResponse(id=plain["call_id"], name="search", response={"result": plain["result"]})
            return types.Content(role="user", parts=[types.Part(function_response=answer)])
        parts = [types.Part(text=plain["text"])]
        if plain["kind"] == "call":
            call = types.FunctionCall(id=plain["call_id"], name="search", args=plain["arguments"])
            parts.append(types.Part(function_call=call))
        return types.Content(role="model", parts=parts)


if __name__ == "__main__":
    main(Adk)
