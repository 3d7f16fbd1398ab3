import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.base.errors import InvalidValue, ModelError
from actum.base.value import dump, load
from actum.messages.message import assistant
from actum.messages.parts import (
    CharRange,
    Citation,
    CitationsPart,
    ImagePart,
    TextPart,
    ThinkingPart,
    tool_use,
)
from actum.model.fold import ResponseFold, chunks_of, fold, remainder_of, tool_use_of
from actum.model.projection import Fate, Projection
from actum.model.response import (
    Chunk,
    CitationDelta,
    ModelResponse,
    RefusalDelta,
    ResponseStarted,
    StopChunk,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ToolUseDelta,
    Usage,
    UsageChunk,
)

CALL: list[Chunk] = [
    TextDelta(index=0, text="Let me "),
    TextDelta(index=0, text="check"),
    ToolUseDelta(index=1, id="t1", name="wx.get", input='{"city":'),
    ToolUseDelta(index=1, input='  "Ulm"}'),
]
STOP = StopChunk(stop=StopReason.TOOL_USE, provider_stop="tool_calls")

counts = st.none() | st.integers(0, 10**6)
texts = st.text(st.characters(codec="utf-8"), max_size=8)
parts = st.one_of(
    st.builds(TextPart, text=texts),
    st.builds(ThinkingPart, text=texts, signature=st.none() | texts, provider=st.just("p")),
    st.builds(ThinkingPart, redacted=st.binary(max_size=4)),
    st.builds(CitationsPart, text=texts, citations=st.tuples(st.builds(Citation, title=texts))),
    st.builds(tool_use, st.just("t"), st.just("a.b"), st.dictionaries(texts, st.integers(), max_size=2)),
    st.builds(tool_use_of, st.just("t"), st.just("a.b"), texts, signature=st.none() | texts),
)
responses = st.builds(
    ModelResponse,
    message=st.lists(parts, max_size=5).map(lambda given_parts: assistant(*given_parts)),
    stop=st.sampled_from(sorted(set(StopReason) - {StopReason.INTERRUPTED})),
    provider_stop=st.none() | texts,
    usage=st.builds(Usage, input=counts, output=counts, cache_read=counts, cache_write=counts),
    response_id=st.none() | texts,
    refusal=st.none() | texts,
    projections=st.lists(
        st.builds(Projection, fate=st.sampled_from(Fate), rule=texts, message_index=st.just(1)), max_size=2
    ).map(tuple),
)


@given(responses)
def test_a_streamed_answer_is_the_whole_one(response: ModelResponse) -> None:
    assert fold(chunks_of(response)) == response
    assert load(ModelResponse, dump(response)) == response


@given(responses, st.data())
def test_a_stream_cut_anywhere_never_holds_a_tool_use(response: ModelResponse, data: st.DataObject) -> None:
    chunks = list(chunks_of(response))
    cut = fold(chunks[: data.draw(st.integers(0, len(chunks) - 1))])
    assert cut.stop is StopReason.INTERRUPTED
    assert cut.message.tool_uses == ()
    assert not cut.message.parts or cut.message.meta == {"partial": True}
    assert fold(chunks_of(cut)) == cut


def test_the_bytes_of_an_input_are_the_models_own() -> None:
    part = fold([*CALL, STOP]).message.tool_uses[0]
    assert bytes(part.input) == b'{"city":  "Ulm"}'
    assert part.arguments == {"city": "Ulm"}


@pytest.mark.parametrize(
    "text", ["", "{", '{"city":"Ber', "[1]", '"x"', "null", "{}{}", '{"a":1,}', "{" * 500 + "}" * 500]
)
def test_an_input_that_is_no_object_is_kept_and_never_runs(text: str) -> None:
    part = tool_use_of("t1", "wx.get", text)
    assert part.input_text == text
    assert bytes(part.input) == b""


@pytest.mark.parametrize("length", range(len(CALL) + 1))
def test_an_interrupted_stream_keeps_its_text_alone(length: int) -> None:
    response = fold([UsageChunk(usage=Usage(input=25)), *CALL[:length]])
    assert response.stop is StopReason.INTERRUPTED
    assert response.message.tool_uses == ()
    assert response.message.text == "".join(each.text for each in CALL[:length] if isinstance(each, TextDelta))
    assert response.usage == Usage(input=25)
    whole = ResponseFold()
    for chunk in (*CALL, STOP):
        whole.add(chunk)
    assert whole.partial().message == assistant("Let me check", meta={"partial": True})


def test_repeated_counts_replace_each_other() -> None:
    begun = Usage(input=25, output=1, cache_read=10, cache_write=5)
    right = Usage(input=25, output=15, cache_read=10, cache_write=5)
    once = [begun, Usage(output=15)]
    again = [begun, Usage(input=25, output=9, cache_read=10, cache_write=5), right]
    for counts_given in (once, again):
        assert fold([*(UsageChunk(usage=each) for each in counts_given), STOP]).usage == right
    assert fold([UsageChunk(usage=begun), UsageChunk(usage=Usage(output=0)), STOP]).usage.output == 0
    assert fold([STOP]).usage == Usage()


def test_parts_stand_in_the_order_of_their_index() -> None:
    chunks: list[Chunk] = [ToolUseDelta(index=2, id="t", name="a", input="{}"), TextDelta(index=1, text="x"), STOP]
    assert [type(part).__name__ for part in fold(chunks).message.parts] == ["TextPart", "ToolUsePart"]


def test_citations_make_a_citations_part() -> None:
    citation = Citation(title="T", location=CharRange(start=0, end=2))
    response = fold([TextDelta(index=0, text="x"), CitationDelta(index=0, citation=citation), STOP])
    assert response.message == assistant(CitationsPart(text="x", citations=(citation,)))


def test_thinking_keeps_its_signature_and_redacted_bytes() -> None:
    response = fold(
        [
            ThinkingDelta(index=0, text="a", provider="p"),
            ThinkingDelta(index=0, text="b"),
            ThinkingDelta(index=0, signature="si"),
            ThinkingDelta(index=0, signature="gn"),
            ThinkingDelta(index=1, redacted=b"\x00"),
            STOP,
        ]
    )
    assert response.message.parts == (
        ThinkingPart(text="ab", signature="sign", provider="p"),
        ThinkingPart(redacted=b"\x00"),
    )


def test_a_refusal_is_kept() -> None:
    response = fold([RefusalDelta(text="I can't "), RefusalDelta(text="help."), StopChunk(stop=StopReason.REFUSAL)])
    assert (response.refusal, response.message.parts) == ("I can't help.", ())


def test_later_facts_add_to_earlier_ones() -> None:
    response = fold([ResponseStarted(response_id="r", model="m"), ResponseStarted(provider="p"), STOP])
    assert (response.response_id, response.model, response.provider) == ("r", "m", "p")


def test_the_halves_of_a_character_become_whole() -> None:
    halves = [TextDelta(index=0, text="\ud83d"), TextDelta(index=0, text="\ude00")]
    assert fold([*halves, STOP]).message.text == "😀"
    assert fold([TextDelta(index=0, text="x"), halves[0]]).message.text == "x"
    with pytest.raises(ModelError, match="half a character"):
        fold([halves[0], STOP])


@pytest.mark.parametrize(
    "chunks",
    [
        [ToolUseDelta(index=0, name="a", input="{}"), STOP],
        [ToolUseDelta(index=0, id="t", input="{}"), STOP],
        [ToolUseDelta(index=0, id="t", name="a"), ToolUseDelta(index=0, id="u"), STOP],
        [ToolUseDelta(index=0, id="t", name="a"), TextDelta(index=0, text="x"), STOP],
    ],
)
def test_chunks_that_do_not_belong_together_are_malformed(chunks: list[Chunk]) -> None:
    with pytest.raises(ModelError) as refused:
        fold(chunks)
    assert refused.value.kind == "malformed_response"


def test_what_no_stream_carries_is_refused() -> None:
    response = ModelResponse(message=assistant(ImagePart(uri="https://x/y.png")), stop=StopReason.END_TURN)
    with pytest.raises(InvalidValue, match=r"message\.parts\[0\]"):
        list(chunks_of(response))


def test_a_remainder_is_text_that_says_something() -> None:
    assert remainder_of(assistant(" \n", tool_use("t", "a", {}))) is None
    assert remainder_of(assistant(ThinkingPart(text="hm"), "x", "")) == assistant("x", meta={"partial": True})
