"""A turn with one tool call in a long conversation: with the newest turns as history, or with all of it.

Beside the turns stands what nobody can save: fetching and decoding the messages that a planner is shown.
"""

import argparse
import asyncio
import json
from pathlib import Path

import msgspec

from actum import Agent, Host, KeepNewestTurns, tool
from actum.records.kinds import MessagesAppended
from bench.actum_parts import SESSION, FakeModel
from bench.content import result, user_text
from bench.measure import around, computed, now, place, tell
from bench.raw import fetched

_LIKE_PEERS = 100


class Answers:
    """The tool: it answers what the conversation says for the turn."""

    turn = 0

    @staticmethod
    @tool
    def search(query: str, limit: int) -> dict[str, object]:
        """Search the records."""
        assert query
        assert limit >= 0
        found: dict[str, object] = json.loads(result(Answers.turn))
        return found


async def turns(path: Path, count: int, window: int | None) -> tuple[list[float], list[float]]:
    """The seconds of each turn, and those of them that were computed."""
    history = KeepNewestTurns(window) if window else None
    agent = Agent("agent", model=FakeModel(), instructions="Be brief.", tools=[Answers.search], history=history)
    took, work = [], []
    async with Host.open(f"sqlite:///{path}", agents=[agent]) as host:
        await host.create_session(SESSION)
        for turn in range(count):
            Answers.turn = turn
            begun, since = now(), computed()
            out = await host.run(agent, user_text(turn), session_id=SESSION)
            took.append(now() - begun)
            work.append(computed() - since)
            assert out.status == "completed", out
    return took, work


def floor(path: Path, repeats: int = 7) -> float:
    """The seconds that it takes to fetch and decode every message of the file, at its best."""
    statement = "SELECT payload FROM records WHERE scope = 1 AND type IN (6, 7) ORDER BY position"
    decoder = msgspec.json.Decoder(MessagesAppended)
    return min(fetched(path, statement, decoder.decode) for _ in range(repeats))


def main() -> None:
    """Prints the milliseconds of an early and of a late turn."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--turns", type=int, default=1000)
    options.add_argument("--window", type=int, default=None)
    options.add_argument("--folder")
    given = options.parse_args()
    with place(given.folder) as folder:
        took, work = asyncio.run(turns(folder / "turns.db", given.turns, given.window))
        least = floor(folder / "turns.db")
    late = given.turns - 25
    tell(
        early_ms=round(around(took, 10, 5) * 1e3, 3),
        late_ms=round(around(took, late) * 1e3, 3),
        mean_ms=round(sum(took) / len(took) * 1e3, 3),
        # As many turns as the peers run, most of which grow with each.
        mean_of_100_ms=round(sum(took[:_LIKE_PEERS]) / len(took[:_LIKE_PEERS]) * 1e3, 3),
        at_75_ms=round(around(took, min(75, late)) * 1e3, 3),
        floor_ms=round(least * 1e3, 3),
        early_computed_ms=round(around(work, 10, 5) * 1e3, 3),
        late_computed_ms=round(around(work, late) * 1e3, 3),
        turns=given.turns,
    )


if __name__ == "__main__":
    main()
