"""How the demo is told: steps with a few words, and claims that are checked before they are made."""

from rich.console import Console
from rich.text import Text

from actum.cli.text import cell, show

_INDENT = 3


class Story:
    """A story in numbered steps. Every `claim` is counted; the demo succeeds when all of them hold."""

    def __init__(self, out: Console) -> None:
        self.out = out
        self.claims = 0
        self.failed = 0
        self._steps = 0
        unicode = (out.encoding or "").lower().startswith("utf")
        self._marks = ("✓", "✗") if unicode else ("ok", "NO")

    def step(self, title: str, says: str) -> None:
        """A new step, and what it is about."""
        self._steps += 1
        self.out.print()
        self.out.print(Text(f"{self._steps}. {title}", style="bold cyan"))
        show(self.out, Text(says), _INDENT)

    def show(self, says: str, style: str = "dim") -> None:
        """Something that happened, as it is."""
        show(self.out, cell(says, style), _INDENT)

    def claim(self, holds: bool, says: str) -> None:  # noqa: FBT001 - a claim begins with whether it is true
        """Says what was checked, and whether it holds."""
        self.claims += 1
        self.failed += not holds
        mark = Text(self._marks[0] if holds else self._marks[1], style="bold green" if holds else "bold red")
        show(self.out, mark + " " + cell(says), _INDENT)
