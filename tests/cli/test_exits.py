import pytest
import typer

from actum.base import errors
from actum.cli.exits import EXITS, exit_code, run


def every(kind: type[errors.ActumError]) -> list[type[errors.ActumError]]:
    return [kind, *(each for below in kind.__subclasses__() for each in every(below))]


@pytest.mark.parametrize("kind", every(errors.ActumError))
def test_every_error_has_a_documented_exit_code(kind: type[errors.ActumError]) -> None:
    code = exit_code(kind.__new__(kind))
    assert code in EXITS
    assert code != 0


@pytest.mark.parametrize(
    "error, code",
    [
        (errors.RunNotFound(run_id="r"), 3),
        (errors.RunPurged(run_id="r"), 3),
        (errors.TooLarge(field="f", size=2, limit=1), 2),
        (errors.SessionBusy(session_id="s", run_id="r"), 4),
        (errors.StoreUnavailable(reason="away"), 5),
        (errors.SchemaTooNew(found=2, supported=1), 5),
        (errors.DurableDataError(path="p", rule="r"), 1),
    ],
)
def test_an_error_ends_a_command_with_its_code(
    error: errors.ActumError, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    async def fails() -> None:
        raise error

    with pytest.raises(typer.Exit) as caught:
        run(fails)
    assert caught.value.exit_code == code
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("actum: ")


def test_an_interrupt_has_its_own_code() -> None:
    async def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(typer.Exit) as caught:
        run(interrupted)
    assert caught.value.exit_code == 130


def test_an_error_of_ours_is_not_hidden() -> None:
    async def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(broken)
