"""What is read together is what is read alone, and what is refused alone is refused together."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.base.clock import EPOCH, from_millis, to_millis
from actum.base.errors import InvalidValue
from actum.base.limits import JSON_DEPTH
from actum.base.value import conform, dump, instants, load, load_all
from actum.messages.message import Message, user
from actum.records.kinds import MessagesAppended, RunStarted
from tests.support.strategies import messages


class TestLoadingMany:
    @given(st.lists(messages(), max_size=8))
    def test_each_is_what_it_is_alone(self, several: list[Message]) -> None:
        assert load_all(Message, [dump(message) for message in several]) == [conform(message) for message in several]

    def test_more_than_are_read_in_one_go(self) -> None:
        spelled = [dump(user(str(i))) for i in range(200)]
        assert [message.text for message in load_all(Message, spelled)] == [str(i) for i in range(200)]

    @pytest.mark.parametrize("among", [0, 70, 99])
    @pytest.mark.parametrize(
        "foreign",
        [
            b'{"parts":[{"text":"\\u0061","type":"text"}],"role":"user"}',
            b'{"role":"user","parts":[{"type":"text","text":"a"}]}\n',
            b'{"role": "user", "parts": [{"type": "text", "text": "a"}]}',
        ],
    )
    def test_a_foreign_spelling_among_them_is_read(self, foreign: bytes, among: int) -> None:
        spelled = [dump(user("a"))] * 100
        spelled[among] = foreign
        assert load_all(Message, spelled) == [user("a")] * 100

    @pytest.mark.parametrize("among", [0, 70, 99])
    @pytest.mark.parametrize(
        "wrong",
        [
            b"",
            b"{}",
            b"null",
            bytearray(b'{"role":"user","parts":[]}'),
            '{"role":"user","parts":[]}',
            None,
            b'{"role":"user","parts":[]}{"role":"user","parts":[]}',
            b'{"role":"user","role":"user","parts":[]}',
            b'{"role":"user","parts":[],"meta":null}',
            b'{"role":"user","parts":[{"type":"text","text":"\xff"}]}',
            b'{"role":"user","parts":[{"type":"tool_use","id":"t","name":"n","input":{"a":"\xff"}}]}',
            b'{"role":"user","parts":[{"type":"image","bytes":"QR==","format":"png"}]}',
            b'{"role":"user","parts":[],"meta":{"a":%s}}' % (b"[" * JSON_DEPTH + b"]" * JSON_DEPTH),
            b'{"role":"user","parts":[],"meta":{"a":%s}}' % (b"[" * 800 + b"]" * 800),
            b'{"role":"user","parts":[],"meta":{"a":%s}}' % (b"[" * 5000 + b"]" * 5000),
        ],
    )
    def test_what_does_not_fit_is_refused_in_the_words_of_a_lone_look(self, wrong: Any, among: int) -> None:
        spelled = [dump(user("a"))] * 100
        spelled[among] = wrong
        with pytest.raises(InvalidValue) as alone:
            load(Message, wrong)
        with pytest.raises(InvalidValue) as together:
            load_all(Message, spelled)
        assert together.value.fields() == alone.value.fields()

    @pytest.mark.parametrize("among", [0, 70, 99])
    def test_a_field_that_few_have_is_looked_at_where_it_stands(self, among: int) -> None:
        spelled = [dump(MessagesAppended(messages=(user("a"),)))] * 100
        spelled[among] = dump(MessagesAppended(messages=(user("a"),), response_id="r"))
        ids = [each.response_id for each in load_all(MessagesAppended, spelled)]
        assert (ids[among], ids.count(None)) == ("r", 99)
        spelled[among] = spelled[among].replace(b'"r"', b'""')
        with pytest.raises(InvalidValue, match="response_id"):
            load_all(MessagesAppended, spelled)

    def test_the_first_that_does_not_fit_is_told(self) -> None:
        with pytest.raises(InvalidValue) as told:
            load_all(RunStarted, [b"{}", b'{"parent_run_id":""}', b'{"colour":"red"}'])
        assert told.value.field == "parent_run_id"


YEARS = st.integers(to_millis(datetime.min.replace(tzinfo=UTC)), to_millis(datetime.max.replace(tzinfo=UTC)))
# Where seconds as a float begin to lose milliseconds.
EDGE = 2**32 * 1000
NEAR = st.integers(-10_000, 10_000)


class TestInstants:
    @given(st.lists(YEARS | NEAR | NEAR.map(lambda each: EDGE + each) | NEAR.map(lambda each: each - EDGE)))
    def test_each_is_exact_in_any_company(self, millis: list[int]) -> None:
        made = instants(millis)
        assert made == [from_millis(each) for each in millis]
        assert all(each.tzinfo is UTC for each in made)

    @given(st.lists(st.integers(1 - EDGE, EDGE - 1), min_size=1))
    def test_each_is_exact_where_they_are_made_together(self, millis: list[int]) -> None:
        assert instants(millis) == [from_millis(each) for each in millis]

    def test_none_of_none(self) -> None:
        assert instants([]) == []
        assert instants([0]) == [EPOCH]
