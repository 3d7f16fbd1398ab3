"""Single-field changes: every one differs from what it came from, in the named field and nowhere else."""

from actum.base.value import Value, conform
from actum.lifecycle import commands as c
from actum.testing import samples
from actum.testing.changes import changed_in_one_field, under_key

START = samples.root("r1", labels={"kind": "chat"})


def flat(value: object, path: str = "") -> dict[str, object]:
    if isinstance(value, Value):
        fields = {f"{path}.{name}".lstrip("."): getattr(value, name) for name in value.__struct_fields__}
        return {deeper: leaf for where, each in fields.items() for deeper, leaf in flat(each, where).items()}
    if isinstance(value, tuple):
        return {deeper: leaf for n, each in enumerate(value) for deeper, leaf in flat(each, f"{path}[{n}]").items()}
    return {path: value}


def test_a_change_is_in_one_field() -> None:
    command = samples.suspension(START, records=samples.notes(START, "a"))
    before = flat(command)
    for path, changed in changed_in_one_field(command):
        after = flat(changed)
        assert {name for name in before if before[name] != after[name]} == {path}


def test_every_field_is_changed() -> None:
    paths = {path for path, _ in changed_in_one_field(samples.completed(START, records=samples.notes(START, "a")))}
    own = {"event_key", "run_id", "agent_id", "session_id", "turn_id", "type", "payload", "timestamp"}
    records = {f"{place}.{name}" for place in ("record", "records[0]") for name in own}
    assert paths == {"run_id", "status", *records}


def test_a_changed_command_still_has_the_form_of_one() -> None:
    for _, changed in changed_in_one_field(START):
        assert conform(changed) == changed


def test_another_key_is_the_only_difference() -> None:
    for command in (samples.completed(START), c.AppendRunRecords(records=samples.notes(START, "a", "b"))):
        before, after = flat(command), flat(under_key(command, "other"))
        assert [after[name] for name in before if before[name] != after[name]] == ["other"]
