"""What becomes of a transcript on its way to a provider, as values: said otherwise, aliased, left out, or refused.

A part that no report names goes as it is. Whoever encodes collects here and goes on, so that one report names all
that is wrong; nothing is sent while anything in it is refused.
"""

from enum import StrEnum

from actum.base.errors import ProviderError
from actum.base.value import Value


class Fate(StrEnum):
    """What becomes of a part.

    `mapped`: said in other words, or joined with its neighbour; nothing is lost. `aliased`: under another name for
    this request, led back in the answer. `left_out`: the rest is sent without it. `refused`: the request is not sent.
    """

    MAPPED = "mapped"
    ALIASED = "aliased"
    LEFT_OUT = "left_out"
    REFUSED = "refused"


class Projection(Value):
    """One difference between a transcript and its request: which rule, and where; no index means the whole."""

    fate: Fate
    rule: str
    message_index: int | None = None
    part_index: int | None = None

    @property
    def told(self) -> str:
        """Where and why, in one line."""
        where = "" if self.message_index is None else f"message {self.message_index}: "
        where += "" if self.part_index is None else f"part {self.part_index}: "
        return where + self.rule


class ProjectionReport(Value):
    """Everything that becomes of one request at one provider, in the order of the transcript."""

    provider: str
    model: str | None = None
    projections: tuple[Projection, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether the request would be sent."""
        return not self.of(Fate.REFUSED)

    def of(self, fate: Fate) -> tuple[Projection, ...]:
        """The projections with this fate."""
        return tuple(each for each in self.projections if each.fate is fate)


class Projecting:
    """Collects the projections of one request while it is encoded."""

    def __init__(self) -> None:
        self._found: list[Projection] = []

    def mapped(self, rule: str, message_index: int | None = None, part_index: int | None = None) -> None:
        """This is sent in other words."""
        self._add(Fate.MAPPED, rule, message_index, part_index)

    def aliased(self, rule: str, message_index: int | None = None, part_index: int | None = None) -> None:
        """This is sent under another name."""
        self._add(Fate.ALIASED, rule, message_index, part_index)

    def left_out(self, rule: str, message_index: int | None = None, part_index: int | None = None) -> None:
        """This is not sent."""
        self._add(Fate.LEFT_OUT, rule, message_index, part_index)

    def refused(self, rule: str, message_index: int | None = None, part_index: int | None = None) -> None:
        """With this the request cannot be sent; the caller goes on without it, to find what else is wrong."""
        self._add(Fate.REFUSED, rule, message_index, part_index)

    def report(self, provider: str, model: str | None) -> ProjectionReport:
        """All of it, in the order of the transcript; what concerns no message comes last."""
        end = 1 << 62
        at = sorted(
            self._found,
            key=lambda each: (
                end if each.message_index is None else each.message_index,
                -1 if each.part_index is None else each.part_index,
            ),
        )
        return ProjectionReport(provider=provider, model=model, projections=tuple(at))

    def _add(self, fate: Fate, rule: str, message_index: int | None, part_index: int | None) -> None:
        self._found.append(Projection(fate=fate, rule=rule, message_index=message_index, part_index=part_index))


def refusal_of(report: ProjectionReport) -> ProviderError:
    """The error for a request that its provider cannot express; raised before any network call."""
    return ProviderError(
        kind="model_request",
        message="; ".join(each.told for each in report.of(Fate.REFUSED)),
        provider=report.provider,
        operation="encode",
    )
