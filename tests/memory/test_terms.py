"""Words as a search compares them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.memory.terms import asked_terms, entry_text, telling_terms, terms


@pytest.mark.parametrize(
    "text, words",
    [
        ("", []),
        ("  ...!?  ", []),
        ("Dark-mode, please", ["dark", "mode", "please"]),
        ("favourite_colour", ["favourite", "colour"]),
        ("Café CAFE\u0301 cafe", ["cafe", "cafe", "cafe"]),
        ("Straße", ["strasse"]),
        ("ｆｕｌｌ１２", ["full12"]),  # noqa: RUF001 - wide letters are the point
        ("cats ponies boxes glass bus is", ["cat", "pony", "boxe", "glass", "bus", "is"]),
        ("東京都", ["東京", "京都"]),
        ("猫", ["猫"]),
        ("v2の猫", ["v2", "の猫"]),
        ("สวัสดี", ["สว", "วั", "ัส", "สด", "ดี"]),
        ("a\0b", ["a", "b"]),
    ],
)
def test_a_text_is_cut_into_words(text: str, words: list[str]) -> None:
    assert terms(text) == words


@given(st.text(st.characters(max_codepoint=127)))
def test_a_plain_text_is_cut_as_it_is_beside_other_letters(text: str) -> None:
    # A dash is no part of any word, but it makes the text one that is not plain.
    assert terms(f"{text} \u2014") == terms(text)


def test_a_question_is_asked_by_what_tells_something() -> None:
    assert telling_terms("What is the colour of my car and the car?") == ["colour", "car"]
    assert telling_terms("What is this?") == ["what", "is", "thi"]
    assert asked_terms("the car, the car") == ["the", "car"]


def test_an_entry_says_its_key_and_everything_inside_its_value() -> None:
    value = {"name": "Rex", "age": 7, "tags": ["dog", None, True, 1.5]}
    assert entry_text("pet", value).split("\n") == ["pet", "name", "Rex", "age", "7", "tags", "dog", "1.5"]
    assert entry_text("k", None) == "k"
