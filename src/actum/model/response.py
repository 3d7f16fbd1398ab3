"""What a model answers: the response as one value, and the chunks that a stream of it is made of."""

from enum import StrEnum
from typing import TypeAlias

from actum.base.checks import Count
from actum.base.value import Value
from actum.messages.message import Message
from actum.messages.parts import Citation
from actum.model.projection import Projection


class StopReason(StrEnum):
    """Why the model stopped. `interrupted`: the stream broke off; `unknown`: a reason that nobody here knows."""

    END_TURN = "end_turn"
    TOOL_USE = "tool_use"
    STOP_SEQUENCE = "stop_sequence"
    LENGTH = "length"
    REFUSAL = "refusal"
    CONTENT_FILTER = "content_filter"
    INTERRUPTED = "interrupted"
    UNKNOWN = "unknown"


class Usage(Value):
    """Tokens as the provider counts them; None is unknown, never 0.

    Whether `cache_read` and `cache_write` stand inside `input` or beside it is the provider's habit.
    """

    input: Count | None = None
    output: Count | None = None
    cache_read: Count | None = None
    cache_write: Count | None = None


class ModelResponse(Value):
    """One answer of a model. `message` is verbatim and may have no parts; `provider_stop` is the provider's own word.

    `refusal` is the text with which the model declined; `projections` is what became of its request's parts.
    """

    message: Message
    stop: StopReason
    provider_stop: str | None = None
    usage: Usage = Usage()
    response_id: str | None = None
    model: str | None = None
    provider: str | None = None
    refusal: str | None = None
    projections: tuple[Projection, ...] = ()


class ResponseStarted(Value, tag_field="type", tag="started"):
    """Who answers. Comes first; a later one adds what was not known."""

    response_id: str | None = None
    model: str | None = None
    provider: str | None = None
    projections: tuple[Projection, ...] = ()


class TextDelta(Value, tag_field="type", tag="text"):
    """More text of the part at `index`."""

    index: int
    text: str


class CitationDelta(Value, tag_field="type", tag="citation"):
    """One more citation of the text at `index`, which is then a citations part."""

    index: int
    citation: Citation


class ThinkingDelta(Value, tag_field="type", tag="thinking"):
    """More thinking of the part at `index`: text, more of its signature, or all of its redacted bytes."""

    index: int
    text: str = ""
    signature: str | None = None
    redacted: bytes | None = None
    provider: str | None = None


class ToolUseDelta(Value, tag_field="type", tag="tool_use"):
    """More of the tool use at `index`: its id and name come once, its input as pieces of JSON text."""

    index: int
    id: str | None = None
    name: str | None = None
    input: str = ""
    signature: str | None = None
    provider: str | None = None


class RefusalDelta(Value, tag_field="type", tag="refusal"):
    """More of the text with which the model declines."""

    text: str


class UsageChunk(Value, tag_field="type", tag="usage"):
    """The counts so far, not an addition to earlier ones; a count that is None says nothing."""

    usage: Usage


class StopChunk(Value, tag_field="type", tag="stop"):
    """The answer is complete. Without one the stream was interrupted, whatever came before."""

    stop: StopReason
    provider_stop: str | None = None


# A piece of a streamed answer: ResponseStarted comes first, then what was said in its order, StopChunk at the end.
Chunk: TypeAlias = (
    ResponseStarted | TextDelta | CitationDelta | ThinkingDelta | ToolUseDelta | RefusalDelta | UsageChunk | StopChunk
)
