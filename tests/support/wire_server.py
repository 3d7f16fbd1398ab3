"""A server on the loopback that answers with bytes that a test chose, and the frames of event streams."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any


def frames(events: Iterable[Any], *, named: bool, end: bytes = b"") -> bytes:
    """Events as `text/event-stream`; `named` ones say their type in a line of its own."""
    written = b""
    for each in events:
        head = f"event: {each['type']}\n".encode() if named else b""
        written += head + b"data: " + json.dumps(each, ensure_ascii=False).encode() + b"\n\n"
    return written + end


@asynccontextmanager
async def served(
    pieces: list[bytes],
    *,
    whole: bool = True,
    kept_open: bool = False,
    port: int = 0,
    kind: str = "text/event-stream",
    asked: asyncio.Event | None = None,
    left: asyncio.Event | None = None,
) -> AsyncIterator[str]:
    """Answers every request with these pieces; not `whole`: then hangs up in the middle.

    `asked` is set when a request is there. `left` is set when the client hangs up; then nothing ends the answer but
    that.
    """

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(int(length.split(b":")[1]))
        if asked is not None:
            asked.set()
        writer.write(f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n".encode())
        for piece in pieces:
            writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await writer.drain()
            await asyncio.sleep(0)
        if left is not None:
            await reader.read()
            left.set()
        writer.write(b"0\r\n\r\n" if whole else b"")
        await writer.drain()
        if not kept_open:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", port)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
