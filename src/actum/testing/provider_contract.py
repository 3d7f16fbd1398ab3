"""The provider's promise as tests: order kept, nothing lost unreported, a stream the same value as a whole answer.

An adapter's test is a class line and the few words that only it knows: what its answers look like.

    class TestMyProvider(ProviderContract):
        name = "my-provider"

        def answer(self, response, encoded): ...

It needs pytest. The names are those of `actum.providers.accept`.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar

import pytest

from actum.base.errors import ProviderError
from actum.base.value import Json, Verbatim, dump, replace
from actum.messages.message import Message, assistant, user
from actum.messages.parts import CacheCheckpointPart, ThinkingPart, ToolResultPart, ToolUsePart, tool_use
from actum.model.encoded import Encoded
from actum.model.fold import fold
from actum.model.projection import Fate, Projection
from actum.model.request import ModelRequest, OutputSchema, ToolChoice
from actum.model.response import Chunk, ModelResponse, StopReason, Usage
from actum.model.rules import PartForm
from actum.providers.accept import words_of, would_accept
from actum.testing.provider_samples import SPELLED, TOOLS, form_samples, standard_conversation

_MARKS = [f"mark-{number:02}" for number in range(1, 19)]
_STRICT = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


class ProviderContract(ABC):
    """What every provider's adapter promises. All of it is proved without a network."""

    name: ClassVar[str]
    model: ClassVar[str] = "some-model"
    # A tool's input as it must come back, byte for byte; its own spelling for a provider that gives away no bytes.
    spelled: ClassVar[Verbatim] = SPELLED
    # What is counted in an answer; a provider that counts more says so.
    usage: ClassVar[Usage] = Usage(input=25, output=15, cache_read=10)

    @abstractmethod
    def answer(self, response: ModelResponse, encoded: Encoded) -> Json:
        """The whole answer in the provider's own form that says what `response` says, tools under their aliases."""

    @abstractmethod
    def events(self, response: ModelResponse, encoded: Encoded, size: int) -> list[Json]:
        """The events of a stream that says the same, its texts and inputs in pieces of at most `size` characters."""

    @abstractmethod
    def decode(self, answer: Json, encoded: Encoded) -> ModelResponse:
        """The adapter's own reading of a whole answer."""

    @abstractmethod
    def streamed(self, events: Iterable[Json], encoded: Encoded) -> Iterable[Chunk]:
        """The adapter's own reading of a stream's events."""

    def thinking(self) -> tuple[ThinkingPart, ...]:
        """Thinking as this provider makes it, which it wants back; none when it wants none."""
        return ()

    def breaches(self, body: Json) -> list[str]:  # noqa: ARG002 - a judge of the subclass reads it
        """What an independent judge, such as the vendor's own schema, finds wrong with a body; none by default."""
        return []

    def request(self, *messages: Message) -> ModelRequest:
        """A request of these messages with the contract's tools."""
        return ModelRequest(model=self.model, messages=messages, tools=TOOLS)

    def projected(self, *messages: Message) -> Encoded:
        """The encoder's own answer, whether it would be sent or not."""
        return words_of(self.name).project(self.request(*messages))

    def responses(self) -> list[ModelResponse]:
        """Answers that a model may give."""
        uses = (
            ToolUsePart(id="call_1", name="weather.lookup", input=self.spelled),
            tool_use("call_2", "plain_tool", {}),
        )
        messages = [
            (assistant("Hello ☂ 🔥\n\u2028 there "), StopReason.END_TURN),
            (assistant("Let me look.", *uses), StopReason.TOOL_USE),
            (assistant(*uses), StopReason.TOOL_USE),
            (assistant("half of"), StopReason.LENGTH),
        ]
        if self.thinking():
            messages.append((assistant(*self.thinking(), "So.", *uses), StopReason.TOOL_USE))
        return [ModelResponse(message=message, stop=stop, usage=self.usage) for message, stop in messages]

    # What is sent.

    @pytest.mark.parametrize("form", PartForm)
    def test_the_table_says_what_becomes_of_each_form(self, form: PartForm) -> None:
        sample = form_samples(self.thinking())[form]
        made = self.projected(*sample.messages)
        found = {
            each.fate
            for each in made.report.projections
            if each.message_index == sample.message_index and each.part_index in {None, sample.part_index}
        }
        rule = words_of(self.name).rules[form]
        assert found == (set() if rule.fate is None else {rule.fate}), made.report
        assert made.report.accepted == (rule.fate is not Fate.REFUSED)
        if made.report.accepted:
            assert self.breaches(_plain(made)) == []
        else:
            with pytest.raises(ProviderError) as refused:
                made.or_refused()
            assert (refused.value.kind, refused.value.retryable) == ("model_request", False)

    def test_a_conversation_keeps_its_order(self) -> None:
        made = self.projected(*standard_conversation(self.thinking()))
        assert made.report.of(Fate.REFUSED) == ()
        text = made.data.decode()
        places = [text.index(mark) for mark in _MARKS]
        # A result names the call again, so only the first mention of each is in order.
        assert places == sorted(places)
        assert self.breaches(_plain(made)) == []

    def test_only_foreign_thinking_and_cache_marks_are_left_out(self) -> None:
        for ids in ("call_", "toolu_01", "tooluse_ж:", ""):
            foreign = (
                ThinkingPart(text="hm", signature="c2ln", provider="somebody-else"),
                ThinkingPart(redacted=b"\x00\xff", provider="somebody-else"),
            )
            messages = standard_conversation(foreign, ids=ids)
            made = self.projected(*messages)
            assert made.report.of(Fate.REFUSED) == ()
            kinds = {type(_part(messages, each)) for each in made.report.of(Fate.LEFT_OUT)}
            assert ThinkingPart in kinds
            assert kinds <= {ThinkingPart, CacheCheckpointPart}
            assert b"c2ln" not in made.data
            assert self.breaches(_plain(made)) == []

    def test_a_request_is_read_and_never_changed(self) -> None:
        request = self.request(*standard_conversation(self.thinking()))
        before = dump(request)
        project = words_of(self.name).project
        assert project(request).data == project(request).data
        assert dump(request) == before

    def test_results_split_by_other_content_are_refused_or_kept_in_place(self) -> None:
        asked = (user("two"), assistant(tool_use("t1", "plain_tool", {}), tool_use("t2", "plain_tool", {})))
        first, second = (ToolResultPart(tool_use_id=id, content=f"r-{id}") for id in ("t1", "t2"))
        for parts in ((first, "between", second), ("between", first, second)):
            made = self.projected(*asked, user(*parts))
            if made.report.accepted:
                text = made.data.decode()
                order = [text.index(part if isinstance(part, str) else f"r-{part.tool_use_id}") for part in parts]
                assert order == sorted(order)
            else:
                assert {each.message_index for each in made.report.of(Fate.REFUSED)} == {2}

    def test_choice_and_form_of_the_answer_are_lawful(self) -> None:
        for choice in (ToolChoice(mode="any"), ToolChoice(mode="tool", name="weather.lookup"), ToolChoice(mode="none")):
            made = words_of(self.name).project(replace(self.request(user("hi")), tool_choice=choice)).or_refused()
            assert self.breaches(_plain(made)) == []
        shaped = replace(self.request(user("hi")), output=OutputSchema(json_schema=_STRICT), tools=())
        made = words_of(self.name).project(shaped)
        assert self.breaches(_plain(made)) == []
        assert b"additionalProperties" in made.data
        report = words_of(self.name).project(replace(shaped, tool_choice=ToolChoice(mode="any"))).report
        assert not report.accepted

    def test_would_accept_is_the_encoders_own_answer(self) -> None:
        messages = standard_conversation(self.thinking())
        report = would_accept(messages, self.name, self.model, TOOLS)
        assert report == replace(self.projected(*messages).report, provider=self.name)
        orphan = would_accept([user(ToolResultPart(tool_use_id="t1"))], self.name)
        assert [(each.message_index, each.part_index) for each in orphan.of(Fate.REFUSED)] == [(0, 0)]

    # What comes back.

    def test_an_answer_is_the_same_whole_and_streamed(self) -> None:
        encoded = self.projected(user("hi"))
        for response in self.responses():
            whole = self.decode(self.answer(response, encoded), encoded)
            assert (whole.message, whole.stop, whole.usage) == (response.message, response.stop, response.usage)
            assert whole.provider is not None
            for size in (1, 3, 1000):
                assert fold(self.streamed(self.events(response, encoded, size), encoded)) == whole

    def test_a_stream_that_breaks_off_has_no_tool_use(self) -> None:
        encoded = self.projected(user("hi"))
        for response in self.responses():
            events = self.events(response, encoded, 5)
            for length in range(len(events)):
                found = fold(self.streamed(events[:length], encoded))
                if found.stop is StopReason.INTERRUPTED:
                    assert found.message.tool_uses == ()
                else:
                    assert found.message == response.message

    def test_an_answer_goes_back_as_it_came(self) -> None:
        encoded = self.projected(user("hi"))
        for response in self.responses():
            message = self.decode(self.answer(response, encoded), encoded).message
            results = [ToolResultPart(tool_use_id=use.id, content="ok") for use in message.tool_uses]
            made = self.projected(user("hi"), message, user(*results, "on"))
            assert made.report.of(Fate.REFUSED) == ()
            assert made.report.of(Fate.LEFT_OUT) == ()
            assert self.breaches(_plain(made)) == []


def _part(messages: tuple[Message, ...], projection: Projection) -> object:
    assert projection.message_index is not None
    assert projection.part_index is not None
    return messages[projection.message_index].parts[projection.part_index]


def _plain(encoded: Encoded) -> Json:
    return json.loads(encoded.data)
