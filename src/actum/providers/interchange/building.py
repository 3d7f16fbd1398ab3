"""Messages as they come together: pieces of the same side belong to one message only where the format says so."""

from dataclasses import dataclass, field

from actum.base.value import Json
from actum.messages.message import Message, Role, tool_results
from actum.messages.parts import Part, ToolResultPart


@dataclass
class Building:
    """Messages that come item by item. Results that follow each other are one message, as the law wants it."""

    messages: list[Message] = field(default_factory=list)
    _results: list[ToolResultPart] = field(default_factory=list)
    _spoken: list[Part] = field(default_factory=list)

    def result(self, part: ToolResultPart) -> None:
        """One more result."""
        self._end_spoken()
        self._results.append(part)

    def spoken(self, *parts: Part) -> None:
        """Parts of an assistant's message that may go on with the next item."""
        self._end_results()
        self._spoken += parts

    def message(self, role: Role, parts: list[Part], meta: dict[str, Json] | None = None) -> None:
        """A whole message."""
        self.finished()
        self.messages.append(Message(role=role, parts=tuple(parts), meta=meta))

    def finished(self) -> list[Message]:
        """All messages; what is open ends here."""
        self._end_results()
        self._end_spoken()
        return self.messages

    def _end_results(self) -> None:
        if self._results:
            self.messages.append(tool_results(*self._results))
            self._results = []

    def _end_spoken(self) -> None:
        if self._spoken:
            self.messages.append(Message(role=Role.ASSISTANT, parts=tuple(self._spoken)))
            self._spoken = []
