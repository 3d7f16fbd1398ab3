import pytest

from actum.model.projection import Fate
from actum.model.rules import PartForm, PartRule, table_of


def test_a_table_has_a_line_for_every_form() -> None:
    rules = dict.fromkeys(PartForm, PartRule("a block"))
    rules[PartForm.BLANK_TEXT] = PartRule("nothing", Fate.LEFT_OUT)
    lines = table_of(rules).splitlines()
    assert len(lines) == 2 + len(PartForm)
    assert "| text | a block |  |" in lines
    assert "| blank text | nothing | `left_out` |" in lines


def test_a_form_without_a_rule_is_missed() -> None:
    with pytest.raises(KeyError):
        table_of({PartForm.TEXT: PartRule("a block")})
