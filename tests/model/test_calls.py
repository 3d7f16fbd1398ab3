import asyncio
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import pytest

from actum.base.errors import InvalidValue, ModelError, ProviderError
from actum.messages.message import assistant, user
from actum.model.aliases import AliasRule
from actum.model.calls import PerLoop, Wire, complete, stream
from actum.model.encoded import Encoded, draft_of
from actum.model.fold import fold
from actum.model.request import ModelRequest
from actum.model.response import Chunk, ModelResponse, ResponseStarted, StopChunk, StopReason, TextDelta

REQUEST = ModelRequest(model="m", messages=(user("hi"),))


def encode(request: ModelRequest, *, stream: bool = False) -> Encoded:
    return draft_of(request, AliasRule()).encoded("acme", {"stream": stream})


def decode(answer: bytes, _: Encoded) -> ModelResponse:
    if answer == b"odd":
        raise ModelError(kind="malformed_response", message="odd")
    if answer == b"invalid":
        raise InvalidValue(field="x", value="y", rule="is z")
    if answer == b"failed":
        raise ProviderError(kind="unavailable", message="m", provider="acme", operation="answer", retryable=True)
    return ModelResponse(message=assistant(answer.decode()), stop=StopReason.END_TURN)


class Decoder:
    def __init__(self, encoded: Encoded) -> None:
        self.encoded = encoded

    def begin(self) -> Iterator[Chunk]:
        yield ResponseStarted(provider="acme")

    def event(self, event: Any) -> Iterator[Chunk]:
        if event == "end":
            yield StopChunk(stop=StopReason.END_TURN)
        else:
            yield TextDelta(index=0, text=decode(event.encode(), self.encoded).message.text)


WIRE = Wire(provider="acme", encode=encode, decode=decode, decoder=Decoder)


class Line:
    """A network that answers with these texts and writes down what it was sent."""

    def __init__(self, *answers: str) -> None:
        self.answers = answers
        self.sent: list[bytes] = []
        self.closed = False

    async def whole(self, body: bytes) -> bytes:
        self.sent.append(body)
        return "".join(self.answers).encode()

    async def events(self, body: bytes) -> AsyncGenerator[Any, None]:
        self.sent.append(body)
        try:
            for answer in self.answers:
                yield answer
        finally:
            self.closed = True


async def test_a_call_is_encoded_sent_and_decoded() -> None:
    line = Line("hello")
    assert (await complete(WIRE, line, REQUEST)).message == assistant("hello")
    line = Line("hel", "lo", "end")
    found = fold([chunk async for chunk in stream(WIRE, line, REQUEST)])
    assert (found.message, found.stop, found.provider) == (assistant("hello"), StopReason.END_TURN, "acme")
    assert line.sent == [b'{"stream":true}']


@pytest.mark.parametrize(
    "answer, kind, retryable",
    [("odd", "malformed_response", False), ("invalid", "malformed_response", False), ("failed", "unavailable", True)],
)
async def test_an_answer_without_sense_is_a_providers_error(answer: str, kind: str, *, retryable: bool) -> None:
    with pytest.raises(ProviderError) as whole:
        await complete(WIRE, Line(answer), REQUEST)
    with pytest.raises(ProviderError) as streamed:
        assert [chunk async for chunk in stream(WIRE, Line(answer), REQUEST)] == []
    for error in (whole.value, streamed.value):
        assert (error.kind, error.retryable, error.provider) == (kind, retryable, "acme")


async def test_a_failure_before_the_first_word_passes_nothing_on() -> None:
    """So that it may be tried again."""
    found = []
    with pytest.raises(ProviderError):  # noqa: PT012 - what came before the error is the question
        async for chunk in stream(WIRE, Line("failed"), REQUEST):
            found.append(chunk)  # noqa: PERF401 - the same
    assert found == []


async def test_a_stream_of_nothing_still_says_who_was_asked() -> None:
    found = fold([chunk async for chunk in stream(WIRE, Line(), REQUEST)])
    assert (found.stop, found.provider) == (StopReason.INTERRUPTED, "acme")


async def test_leaving_a_stream_ends_the_call() -> None:
    line = Line("hel", "lo", "end")
    chunks = stream(WIRE, line, REQUEST)
    await anext(chunks)
    assert not line.closed
    await chunks.aclose()
    assert line.closed


def test_each_loop_has_its_own() -> None:
    made: list[object] = []

    def make() -> object:
        made.append(object())
        return made[-1]

    own = PerLoop(make)

    async def twice() -> None:
        assert own.get() is own.get()

    asyncio.run(twice())
    asyncio.run(twice())
    assert len(made) == 2

    async def taken() -> tuple[object, object]:
        foreign = own.take()
        mine = own.get()
        return foreign, (own.take() is mine, own.take())

    assert asyncio.run(taken()) == (None, (True, None))
