import pytest

from actum.base.errors import InvalidValue
from actum.base.value import dump
from actum.messages.message import user
from actum.records import makers
from actum.records.kinds import PAYLOADS
from tests.support.samples import PAYLOADS as EXAMPLES
from tests.support.samples import type_of


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_maker_gives_the_bytes_of_its_payload(name: str) -> None:
    payload = EXAMPLES[name]
    make = getattr(makers, type_of(name).removeprefix("runtime."))
    assert make(**{field: getattr(payload, field) for field in payload.__struct_fields__}) == dump(payload)


def test_there_is_a_maker_for_every_payload() -> None:
    for name, kind in PAYLOADS.items():
        maker = getattr(makers, str(name).removeprefix("runtime."))
        assert maker.__name__ == str(name).removeprefix("runtime.")
        assert (kind.__doc__ or "").splitlines()[0] in (maker.__doc__ or "")


def test_a_maker_refuses_what_its_payload_does_not_allow() -> None:
    with pytest.raises(InvalidValue) as refused:
        makers.transcript_messages_appended(messages=(user("a"), user("\ud800")))
    assert refused.value.field == "messages[1].parts[0].text"
    with pytest.raises(InvalidValue) as refused:
        makers.run_started(parent_run_id="")
    assert refused.value.field == "parent_run_id"
    with pytest.raises(TypeError):
        makers.run_started(colour="red")  # type: ignore[call-arg]  # the unknown field is the point
