"""docs/suspending.md names every field of what is pending."""

import re

from actum import PendingInput
from actum.records.kinds import PendingKind
from tests.support.project import ROOT, text_of

PART = text_of(ROOT / "docs" / "suspending.md").partition("## What is pending")[2].partition("\n## ")[0]
ROWS = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", PART, re.MULTILINE))


def test_every_field_of_a_pending_input_is_in_the_table() -> None:
    assert tuple(ROWS) == PendingInput.__struct_fields__


def test_every_kind_of_pending_input_is_in_the_table() -> None:
    assert re.findall(r"`(\w+)`", ROWS["kind"]) == [str(kind) for kind in PendingKind]
