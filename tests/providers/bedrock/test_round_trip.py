"""What Bedrock said goes back as it came: an assistant message in a request is the very answer that was read."""

from hypothesis import given
from hypothesis import strategies as st

from actum.base.value import Verbatim, spelled
from actum.messages.message import Message, assistant, user
from actum.messages.parts import CitationsPart, Part, TextPart, ThinkingPart, ToolResultPart, ToolUsePart
from actum.model.request import ModelRequest
from actum.providers.bedrock.decode import decode_converse
from actum.providers.bedrock.encode import encode_converse
from tests.support.strategies import texts, values_of, verbatim_objects

WORDS = texts().filter(str.strip)
SAID: st.SearchStrategy[Part] = st.one_of(
    st.builds(TextPart, text=WORDS),
    st.builds(ThinkingPart, text=texts(), signature=st.none() | WORDS, provider=st.just("bedrock")),
    st.builds(ThinkingPart, redacted=st.binary(max_size=20), provider=st.just("bedrock")),
    values_of(CitationsPart).filter(
        lambda part: (
            bool(part.text.strip()) and all(each.excerpt is None or each.excerpt.strip() for each in part.citations)
        )
    ),
)


@given(st.lists(SAID, max_size=4), st.lists(verbatim_objects(), min_size=1, max_size=3))
def test_decode_of_encode_is_the_message(said: list[Part], inputs: list[Verbatim]) -> None:
    uses = [ToolUsePart(id=f"t{i}", name="wx.get", input=given) for i, given in enumerate(inputs)]
    # Citations that are none come back as the text that they are.
    spoken = [
        TextPart(text=part.text) if isinstance(part, CitationsPart) and not part.citations else part for part in said
    ]
    message = assistant(*spoken, *uses)
    assert answered(message) == message


def answered(message: Message) -> Message:
    """The message, sent as history and read again as if it were an answer."""
    results = [ToolResultPart(tool_use_id=use.id) for use in message.tool_uses]
    encoded = encode_converse(ModelRequest(model="m", messages=(user("go"), message, user(*results))))
    answer = {"output": {"message": encoded.body["messages"][1]}, "stopReason": "tool_use"}
    return decode_converse(spelled(answer), encoded).message
