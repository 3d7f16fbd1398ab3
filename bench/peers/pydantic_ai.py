"""Pydantic AI: typed message history. Its slim package keeps nothing, so each message is a row of our own."""

import sqlite3
from typing import Any

from bench import content
from bench.peers.driver import Peer, main


class PydanticAI(Peer):
    """Pydantic AI's messages, dumped by its own adapter into rows of SQLite (WAL, FULL)."""

    variants = ("rows",)

    def load(self) -> None:
        """Imports Pydantic AI."""
        from pydantic_ai import Agent, messages
        from pydantic_ai.models.function import FunctionModel

        self.agent_of, self.types, self.model_of = Agent, messages, FunctionModel

    def open(self) -> None:
        """Makes the table and the agent."""
        self.connection = sqlite3.connect(self.path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA synchronous = FULL")
        self.connection.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, run TEXT, body BLOB)")
        self.connection.execute("CREATE INDEX messages_by_run ON messages (run)")
        asked = iter(range(10**9))

        def answers(_: object, __: object) -> Any:  # noqa: ANN401 - the peer's own
            turn, last = divmod(next(asked), 2)
            return self._message(4 * turn + (3 if last else 1))

        self.agent = self.agent_of(self.model_of(answers), instructions="Be brief.")

        @self.agent.tool_plain  # type: ignore[untyped-decorator]  # of the peer
        def search(query: str, limit: int) -> str:  # noqa: ARG001 - the conversation says what it answers
            """Search the records."""
            return content.result(self.now)

    def close(self) -> None:
        """Closes the file."""
        self.connection.close()

    async def append(self, conversation: str, i: int) -> None:
        """Stores one message as a row."""
        self._store(conversation, self._message(i))

    async def turn(self, conversation: str, turn: int) -> None:
        """Reads the history, runs the agent, stores what is new."""
        self.now = turn
        bodies = self.connection.execute("SELECT body FROM messages WHERE run = ? ORDER BY id", (conversation,))
        history = [each for (body,) in bodies for each in self.types.ModelMessagesTypeAdapter.validate_json(body)]
        if self.window is not None:
            history = history[-4 * self.window :]
        out = await self.agent.run(content.user_text(turn), message_history=history)
        for each in out.new_messages():
            self._store(conversation, each)

    def _store(self, conversation: str, message: Any) -> None:  # noqa: ANN401 - the peer's own
        body = self.types.ModelMessagesTypeAdapter.dump_json([message])
        self.connection.execute("INSERT INTO messages (run, body) VALUES (?, ?)", (conversation, body))

    def _message(self, i: int) -> Any:  # noqa: ANN401 - the peer's own
        plain, types = content.message(i), self.types
        if plain["kind"] == "user":
            return types.ModelRequest(parts=[types.UserPromptPart(plain["text"])])
        if plain["kind"] == "result":
            part = types.ToolReturnPart(tool_name="search", content=plain["result"], tool_call_id=plain["call_id"])
            return types.ModelRequest(parts=[part])
        parts = [types.TextPart(plain["text"])]
        if plain["kind"] == "call":
            parts.append(types.ToolCallPart("search", plain["arguments"], tool_call_id=plain["call_id"]))
        return types.ModelResponse(parts=parts, model_name="fake")


if __name__ == "__main__":
    main(PydanticAI)
