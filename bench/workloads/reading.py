"""Reading a transcript back, of one run or of many runs that go on from each other, and the size of the file.

Beside the reading stands the raw limit: fetching the same bytes with the standard library and decoding them into the
same types with msgspec. The two take turns, each from a clean start: what one leaves to the garbage collector is not
counted to the other. The size is that of the file after its log was folded in, over all payload bytes.
"""

import argparse
import asyncio
import gc
import sqlite3
from pathlib import Path

import msgspec

from actum import (
    Follows,
    HistoryRef,
    OwnedStore,
    RunStatus,
    RunTerminal,
    build_messages_from_run_log,
    open_store,
    run_completed,
)
from actum import now as instant
from actum.records.kinds import MessagesAppended
from bench import raw
from bench.actum_parts import SESSION, payload, record, started
from bench.measure import computed, median_ms, now, place, size_of, tell

_BATCH = 500


async def _filled(store: OwnedStore, runs: int, messages: int) -> str:
    """Stores the conversation, in `runs` runs that go on from each other; the last one's id."""
    await store.create_session(SESSION, instant())
    each = messages // runs
    history: HistoryRef | None = None
    name = ""
    for run in range(runs):
        name = f"run-{run:032x}"
        await started(store, name, history=history, follows=Follows(run_id=history.run_id if history else None))
        own = [
            record(name, f"step/{i}/message", "transcript_messages_appended", payload(run * each + i))
            for i in range(each)
        ]
        for start in range(0, each, _BATCH):
            await store.append_run_records(own[start : start + _BATCH])
        end = record(name, "end", "run_completed", run_completed(status="completed"))
        await store.record_run_terminal(RunTerminal(run_id=name, status=RunStatus.COMPLETED, record=end))
        history = HistoryRef(run_id=name, through=(await store.load_run(name)).end_record_id or "")
    return name


def _payload_bytes(path: Path) -> int:
    connection = sqlite3.connect(path)
    (total,) = connection.execute("SELECT sum(length(payload)) FROM records").fetchone()
    connection.close()
    return int(total)


async def _read(path: Path, run_id: str, messages: int, repeats: int) -> tuple[list[float], ...]:
    """The computed seconds of each plain reading and of each of ours, in turns; and how long ours took."""
    decode = msgspec.json.Decoder(MessagesAppended).decode
    statement = "SELECT payload FROM records WHERE type = 7 ORDER BY scope, position"
    plain, ours, waited = [], [], []
    async with open_store(f"sqlite:///{path}") as store:
        for _ in range(repeats):
            gc.collect()
            plain.append(raw.fetched(path, statement, decode))
            gc.collect()
            begun, since = computed(), now()
            read = await build_messages_from_run_log(store, run_id)
            ours.append(computed() - begun)
            waited.append(now() - since)
            assert len(read) == messages, len(read)
            del read
    return plain, ours, waited


async def _measured(folder: str | None, runs: int, messages: int, repeats: int) -> dict[str, float]:
    with place(folder) as here:
        path = here / "actum.db"
        async with open_store(f"sqlite:///{path}") as store:
            last = await _filled(store, runs, messages)
        size, payloads = size_of(path), _payload_bytes(path)
        plain, ours, waited = await _read(path, last, messages, repeats)
    return {
        "plain_ms": median_ms(plain),
        "actum_ms": median_ms(ours),
        "waited_ms": median_ms(waited),
        "file_bytes": size,
        "payload_bytes": payloads,
        "runs": runs,
        "messages": messages,
    }


def main() -> None:
    """Prints milliseconds a reading, and bytes."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=1)
    options.add_argument("--messages", type=int, default=10_000)
    options.add_argument("--repeats", type=int, default=7)
    options.add_argument("--folder")
    given = options.parse_args()
    tell(**asyncio.run(_measured(given.folder, given.runs, given.messages, given.repeats)))


if __name__ == "__main__":
    main()
