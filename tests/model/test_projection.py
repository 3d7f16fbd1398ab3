import pytest

from actum.base.errors import ProviderError
from actum.base.value import dump, load
from actum.model.projection import Fate, Projecting, ProjectionReport, refusal_of


def collected() -> ProjectionReport:
    projecting = Projecting()
    projecting.refused("the whole is wrong")
    projecting.aliased("c", 2, 1)
    projecting.left_out("b", 2)
    projecting.mapped("a", 0, 3)
    projecting.refused("d", 2, 1)
    return projecting.report("acme", "m")


def test_a_report_is_in_the_order_of_the_transcript() -> None:
    report = collected()
    assert [each.rule for each in report.projections] == ["a", "b", "c", "d", "the whole is wrong"]
    assert [each.told for each in report.projections] == [
        "message 0: part 3: a",
        "message 2: b",
        "message 2: part 1: c",
        "message 2: part 1: d",
        "the whole is wrong",
    ]
    assert load(ProjectionReport, dump(report)) == report


def test_what_is_refused_decides() -> None:
    report = collected()
    assert not report.accepted
    assert [each.rule for each in report.of(Fate.REFUSED)] == ["d", "the whole is wrong"]
    assert ProjectionReport(provider="acme", projections=report.of(Fate.LEFT_OUT)).accepted
    assert ProjectionReport(provider="acme").accepted


def test_a_refusal_names_everything_that_is_wrong() -> None:
    error = refusal_of(collected())
    assert isinstance(error, ProviderError)
    assert error.message == "message 2: part 1: d; the whole is wrong"
    assert (error.kind, error.provider, error.operation, error.retryable) == ("model_request", "acme", "encode", False)


@pytest.mark.parametrize("fate", Fate)
def test_every_fate_has_its_word(fate: Fate) -> None:
    projecting = Projecting()
    getattr(projecting, str(fate))("why", 1, 2)
    assert projecting.report("acme", None).projections[0].fate is fate
