"""The durable JSON format, byte for byte. A change in one of these files is a migration of stored data.

`ACTUM_GOLDEN=write pytest tests/golden` writes the files anew, for a new part or record type.
"""

import os
from pathlib import Path

import pytest

from actum.base.value import Value, dump, load
from actum.messages.parts import Part
from actum.records.kinds import PAYLOADS
from actum.records.types import RecordType
from tests.support import samples

HERE = Path(__file__).parent
EXAMPLES: dict[str, Value] = {f"parts/{name}": part for name, part in samples.PARTS.items()} | {
    f"records/{name}": payload for name, payload in samples.PAYLOADS.items()
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_stored_form_never_changes(name: str) -> None:
    path, value = HERE / f"{name}.json", EXAMPLES[name]
    if os.environ.get("ACTUM_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(dump(value) + b"\n")
    stored = path.read_bytes().removesuffix(b"\n")
    assert dump(value) == stored
    assert load(type(value), stored) == value


def test_every_file_belongs_to_an_example() -> None:
    files = {path.relative_to(HERE).as_posix().removesuffix(".json") for path in HERE.glob("*/*.json")}
    assert files == set(EXAMPLES)


def test_every_record_type_has_an_example_of_its_own_kind() -> None:
    named = {samples.type_of(name): type(payload) for name, payload in samples.PAYLOADS.items()}
    assert named == {str(name): kind for name, kind in PAYLOADS.items()}
    assert set(PAYLOADS) == set(RecordType)


def test_every_part_has_an_example() -> None:
    assert {type(part) for part in samples.PARTS.values()} == set(Part.__args__)


@pytest.mark.parametrize("folder", ["parts", "records"])
def test_every_field_is_set_in_some_example(folder: str) -> None:
    """A field left at its default in every example would be a part of the format that nothing guards."""
    unset: dict[tuple[str, str], bool] = {}
    for name, value in EXAMPLES.items():
        if name.startswith(folder):
            for field in value.__struct_fields__:
                key = (type(value).__name__, field)
                unset[key] = unset.get(key, True) and f'"{field}":'.encode() not in dump(value)
    assert [key for key, never in unset.items() if never] == []
