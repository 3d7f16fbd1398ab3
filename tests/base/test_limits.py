import ast
from pathlib import Path

from actum.base import limits

CONTRACT = {
    "IDENTIFIER_BYTES": 512,
    "REASON_BYTES": 4096,
    "LABEL_ENTRIES": 64,
    "LABEL_KEY_BYTES": 256,
    "LABEL_VALUE_BYTES": 2048,
    "FAILURE_MESSAGE_BYTES": 4096,
    "PAYLOAD_BYTES": 16 * 2**20,
    "COMMAND_RECORDS": 1000,
    "COMMAND_BYTES": 32 * 2**20,
    "JSON_DEPTH": 128,
    "INTEGER_DIGITS": 4300,
    "PAGE_ITEMS": 1000,
    "PAGE_ITEMS_DEFAULT": 100,
    "PAGE_BYTES": 8 * 2**20,
}


def test_the_bounds_are_those_of_the_contract() -> None:
    assert {name: getattr(limits, name) for name in CONTRACT} == CONTRACT


def test_every_name_in_the_table_is_a_number() -> None:
    tree = ast.parse(Path(limits.__file__).read_text(encoding="utf-8"))
    named = [
        node.target.id for node in tree.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]
    assert len(named) > len(CONTRACT)
    assert all(isinstance(getattr(limits, name), int) for name in named)
