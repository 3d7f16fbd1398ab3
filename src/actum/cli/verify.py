"""`actum verify`: the report of a verification, and its progress while it goes on."""

from dataclasses import asdict

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from actum.base.value import Json
from actum.cli.documents import say
from actum.cli.exits import FOUND
from actum.cli.store import opened
from actum.cli.text import cell, console, many
from actum.host import verify as host
from actum.storage.contract import OwnedStore


async def show_verification(url: str | None, *, as_json: bool) -> int | None:
    """Verifies a store and prints what is wrong; the exit code when anything is."""
    async with opened(url) as store:
        report = await _watched(store)
    if as_json:
        say(_document(report))
    else:
        print_report(console(), report)
    return None if report.ok else FOUND


def print_report(out: Console, report: host.Report) -> None:
    """The damages one by one, then the verdict."""
    for damage in report.damages:
        out.print(cell(f"{damage.check}: ", "bold red") + cell(damage.says), soft_wrap=True)
        for name in ("session_id", "run_id", "record_id", "event_key"):
            value = getattr(damage, name)
            if value is not None:
                out.print(cell(f"  {name.removesuffix('_id').replace('_', ' ')} ", "dim") + cell(value), soft_wrap=True)
    if report.found > len(report.damages):
        out.print(Text(f"… and {report.found - len(report.damages)} more", style="red"))
    looked = f"{many(report.sessions, 'session')}, {many(report.runs, 'run')}, {many(report.records, 'record')}"
    if report.ok:
        out.print(Text(f"sound: {looked}", style="green"))
    else:
        out.print(Text(f"{many(report.found, 'problem')} in {looked}", style="bold red"))


async def _watched(store: OwnedStore) -> host.Report:
    """The verification, with a bar on a terminal."""
    err = console(stderr=True)
    columns = (
        TextColumn("verifying"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("runs, {task.fields[records]} records"),
    )
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("verify", total=None, records=0)

        def told(progress: host.Progress) -> None:
            bar.update(task, total=progress.expected_runs, completed=progress.runs, records=progress.records)

        return await host.verify(store, told)


def _document(report: host.Report) -> Json:
    return {
        "ok": report.ok,
        "sessions": report.sessions,
        "runs": report.runs,
        "records": report.records,
        "found": report.found,
        "damages": [{name: value and str(value) for name, value in asdict(each).items()} for each in report.damages],
    }
