import base64

from hypothesis import example, given
from hypothesis import strategies as st

from actum.providers.anthropic.redacted import bytes_of, data_of


@given(st.text(st.characters(codec="utf-8")))
@example("")
@example("b3BhcXVl")
@example("b3BhcXVl\n")
@example("AP9=")
@example(base64.b64encode(b"text:abc").decode())
@example("text:abc")
def test_any_text_comes_back_as_it_was(data: str) -> None:
    assert data_of(bytes_of(data)) == data


@given(st.binary())
@example(b"text:\xff")
def test_any_bytes_have_a_text(given_bytes: bytes) -> None:
    assert isinstance(data_of(given_bytes), str)


def test_base64_is_read_as_other_providers_give_it() -> None:
    assert bytes_of("b3BhcXVlLXJlYXNvbmluZy1ieXRlcy0AAf7/") == b"opaque-reasoning-bytes-\x00\x01\xfe\xff"
