import io

from rich.console import Console

from actum.cli.demo_story import Story


def test_a_claim_that_does_not_hold_is_counted_and_marked() -> None:
    out = io.StringIO()
    story = Story(Console(file=out, width=80))
    story.step("A step", "What it shows.")
    story.claim(True, "this holds")  # noqa: FBT003 - the claim's truth
    story.claim(False, "this does not")  # noqa: FBT003 - the claim's truth
    assert (story.claims, story.failed) == (2, 1)
    assert "1. A step" in out.getvalue()


def test_an_old_terminal_gets_words_for_marks() -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    story = Story(Console(file=out, width=80))
    story.claim(False, "this does not")  # noqa: FBT003 - the claim's truth
    out.flush()
    out.seek(0)
    assert out.read() == "   NO this does not\n"
