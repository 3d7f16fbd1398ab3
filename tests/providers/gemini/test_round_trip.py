"""What Gemini said goes back as it came: an assistant message in a request is the very answer that was read."""

import base64

from hypothesis import given
from hypothesis import strategies as st

from actum.base.value import Json, Verbatim, dump_json, spelled
from actum.messages.message import Message, assistant, user
from actum.messages.parts import Part, TextPart, ThinkingPart, ToolResultPart, ToolUsePart
from actum.model.request import ModelRequest
from actum.providers.gemini.decode import decode_gemini
from actum.providers.gemini.encode import encode_gemini
from tests.support.strategies import json_objects, texts

WORDS = texts().filter(str.strip)
SIGNATURES = st.binary(min_size=1, max_size=9).map(lambda data: base64.b64encode(data).decode())
THOUGHTS = st.builds(ThinkingPart, text=WORDS, signature=SIGNATURES, provider=st.just("gemini"))
# A text with its signature is two parts here and one there.
SIGNED = st.tuples(
    st.builds(TextPart, text=WORDS),
    st.builds(ThinkingPart, text=st.just(""), signature=SIGNATURES, provider=st.just("gemini")),
)
SAID = st.lists(THOUGHTS.map(lambda part: (part,)) | SIGNED, max_size=4)


@given(SAID, st.lists(st.tuples(json_objects(), st.none() | SIGNATURES), min_size=1, max_size=3))
def test_decode_of_encode_is_the_message(
    said: list[tuple[Part, ...]], calls: list[tuple[dict[str, Json], str | None]]
) -> None:
    uses = [
        ToolUsePart(
            id=f"c{i}",
            name="wx.get",
            input=Verbatim(dump_json(arguments)),
            signature=signature,
            provider=None if signature is None else "gemini",
        )
        for i, (arguments, signature) in enumerate(calls)
    ]
    message = assistant(*(part for parts in said for part in parts), *uses)
    assert answered(message) == message


def answered(message: Message) -> Message:
    """The message, sent as history and read again as if it were an answer."""
    results = [ToolResultPart(tool_use_id=use.id) for use in message.tool_uses]
    encoded = encode_gemini(ModelRequest(model="gemini-2.5", messages=(user("go"), message, user(*results))))
    candidate = {"content": encoded.body["contents"][1], "finishReason": "STOP"}
    return decode_gemini(spelled({"candidates": [candidate]}), encoded).message
