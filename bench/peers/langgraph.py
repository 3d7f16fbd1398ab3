"""LangGraph: a graph over messages with `SqliteSaver`, or with `AsyncPostgresSaver` on `$BENCH_POSTGRES`."""

import os
from typing import Any

from bench import content
from bench.peers.driver import Peer, main


class LangGraph(Peer):
    """LangGraph's checkpoints. A turn is written step by step (`durability="sync"`)."""

    variants = ("sqlite", "postgres")

    def load(self) -> None:
        """Imports LangGraph."""
        from langchain_core.language_models.chat_models import BaseChatModel
        from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
        from langchain_core.outputs import ChatGeneration, ChatResult
        from langchain_core.tools import tool
        from langgraph.graph import END, START, MessagesState, StateGraph
        from langgraph.prebuilt import ToolNode

        self.chat, self.ai, self.human, self.tool_message = BaseChatModel, AIMessage, HumanMessage, ToolMessage
        self.generation, self.result_of, self.tool, self.tools = ChatGeneration, ChatResult, tool, ToolNode
        self.graph_of, self.state, self.ends = StateGraph, MessagesState, (START, END)

    async def open(self) -> None:
        """Opens the saver and compiles the graph."""
        if self.variant == "postgres":
            from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

            self.held = AsyncPostgresSaver.from_conn_string(os.environ["BENCH_POSTGRES"])
        else:
            from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

            self.held = AsyncSqliteSaver.from_conn_string(str(self.path))
        saver = await self.held.__aenter__()
        await saver.setup()
        self.graph = self._graph().compile(checkpointer=saver)

    async def close(self) -> None:
        """Closes the saver."""
        await self.held.__aexit__(None, None, None)

    def conversation(self, name: str) -> dict[str, Any]:
        """A thread, new also in a database that outlives this command."""
        return {"configurable": {"thread_id": f"{self.path.parent.name}-{name}", "checkpoint_ns": ""}}

    async def append(self, conversation: dict[str, Any], i: int) -> None:
        """Adds one message to the state: one checkpoint."""
        await self.graph.aupdate_state(conversation, {"messages": [self._message(i)]}, as_node="tools")

    async def turn(self, conversation: dict[str, Any], turn: int) -> None:
        """Invokes the graph on the thread."""
        self.now = turn
        await self.graph.ainvoke({"messages": [self._message(4 * turn)]}, conversation, durability="sync")

    def _graph(self) -> Any:  # noqa: ANN401 - the peer's own
        made, generation, result_of, asked = self._message, self.generation, self.result_of, iter(range(10**9))

        class Fake(self.chat):  # type: ignore[misc,name-defined]  # a class of the peer
            @property
            def _llm_type(self) -> str:
                return "fake"

            def _generate(self, *_: object, **__: object) -> Any:  # noqa: ANN401 - the peer's own
                turn, last = divmod(next(asked), 2)
                return result_of(generations=[generation(message=made(4 * turn + (3 if last else 1)))])

        @self.tool  # type: ignore[untyped-decorator]  # of the peer
        def search(query: str, limit: int) -> str:  # noqa: ARG001 - the conversation says what it answers
            """Search the records."""
            return content.result(self.now)

        model, (start, end) = Fake(), self.ends

        def shown(state: Any) -> list[Any]:  # noqa: ANN401 - the peer's own
            messages: list[Any] = state["messages"]
            return messages if self.window is None else messages[-4 * self.window :]

        graph = self.graph_of(self.state)
        graph.add_node("agent", lambda state: {"messages": [model.invoke(shown(state))]})
        graph.add_node("tools", self.tools([search]))
        graph.add_edge(start, "agent")
        graph.add_conditional_edges("agent", lambda state: "tools" if state["messages"][-1].tool_calls else end)
        graph.add_edge("tools", "agent")
        return graph

    def _message(self, i: int) -> Any:  # noqa: ANN401 - the peer's own
        plain = content.message(i)
        if plain["kind"] == "user":
            return self.human(plain["text"], id=f"m{i}")
        if plain["kind"] == "result":
            return self.tool_message(plain["result"], tool_call_id=plain["call_id"], name="search", id=f"m{i}")
        calls = []
        if plain["kind"] == "call":
            calls = [{"name": "search", "args": plain["arguments"], "id": plain["call_id"]}]
        return self.ai(plain["text"], tool_calls=calls, id=f"m{i}")


if __name__ == "__main__":
    main(LangGraph)
