"""The command tree. Each command imports what it needs when it runs, so that `actum --help` is quick."""

from typing import Annotated, Literal

import typer

from actum.cli.exits import EXITS, run
from actum.cli.options import (
    AfterOption,
    JsonOption,
    LabelOption,
    LimitOption,
    RunArgument,
    SessionArgument,
    StoreOption,
    TypeOption,
    pairs,
)
from actum.cli.program import Program

_EXITS = "Exit codes: " + ", ".join(f"{code} {says}" for code, says in EXITS.items()) + "."

app = typer.Typer(
    name="actum",
    cls=Program,
    help="Actum keeps and runs the durable state of AI agents.",
    epilog=_EXITS,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """The program `actum`."""
    app()


def _version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it with the flag's value
    if wanted:
        from importlib.metadata import version

        typer.echo(f"actum {version('actum')}")
        raise typer.Exit


@app.callback()
def _everywhere(
    *, version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it.")] = False
) -> None:
    """Options that stand before the command."""


@app.command()
def demo(
    *,
    root: Annotated[str | None, typer.Option(help="The folder that the demo's agent reads; this checkout.")] = None,
    keep: Annotated[
        str | None, typer.Option(help="Leave the store in this new file, with a session to look at.")
    ] = None,
) -> None:
    """Show Actum at work, in under a minute.

    Turns with tools, a killed process, retries, verification, erasure; every claim is checked.
    """
    from actum.cli.demo import show_demo

    run(lambda: show_demo(root, keep))


@app.command()
def sessions(
    *,
    store: StoreOption = None,
    status: Annotated[Literal["active", "ended"] | None, typer.Option(help="Only sessions of this status.")] = None,
    metadata: Annotated[list[str] | None, typer.Option(help="Only with this metadata, as key=value.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Only of this tenant.")] = None,
    limit: LimitOption = 100,
    as_json: JsonOption = False,
) -> None:
    """List sessions, oldest first."""
    from actum.cli.lists import show_sessions

    run(
        lambda: show_sessions(store, status, pairs("--metadata", metadata), tenant, limit, as_json=as_json),
        as_json=as_json,
    )


@app.command()
def runs(
    session_id: Annotated[
        str | None, typer.Argument(metavar="SESSION_ID", help="A session's id; without it, the runs of all.")
    ] = None,
    *,
    store: StoreOption = None,
    status: Annotated[
        Literal["running", "suspended", "completed", "failed", "canceled"] | None,
        typer.Option(help="Only runs of this status."),
    ] = None,
    agent: Annotated[str | None, typer.Option(help="Only runs of this agent.")] = None,
    label: LabelOption = None,
    limit: LimitOption = 100,
    as_json: JsonOption = False,
) -> None:
    """List runs, oldest first: of a session, or all."""
    from actum.cli.lists import show_runs

    run(
        lambda: show_runs(store, session_id, status, agent, pairs("--label", label), limit, as_json=as_json),
        as_json=as_json,
    )


@app.command()
def records(
    run_id: Annotated[str | None, typer.Argument(metavar="RUN_ID", help="A run's id.")] = None,
    *,
    store: StoreOption = None,
    session: Annotated[str | None, typer.Option(help="The records of this session instead of one run's.")] = None,
    type: TypeOption = None,
    after: AfterOption = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Stop after so many; all of them without it.")] = None,
    payload: Annotated[bool, typer.Option("--payload", help="Show payloads too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List the records of a run or a session.

    In the order in which they were stored; with --json, one document a line.
    """
    from actum.cli.watch import show_records

    run(
        lambda: show_records(store, run_id, session, type, after, limit, payload=payload, as_json=as_json),
        as_json=as_json,
    )


@app.command()
def transcript(
    run_id: Annotated[str | None, typer.Argument(metavar="RUN_ID", help="A run's id.")] = None,
    *,
    store: StoreOption = None,
    session: Annotated[str | None, typer.Option(help="The conversation of this session, up to its head.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Print a conversation from its records.

    The transcript of a run with all that it goes on from.
    """
    from actum.cli.show import show_transcript

    run(lambda: show_transcript(store, run_id, session, as_json=as_json), as_json=as_json)


@app.command()
def tail(
    run_id: Annotated[str | None, typer.Argument(metavar="RUN_ID", help="A run's id.")] = None,
    *,
    store: StoreOption = None,
    session: Annotated[str | None, typer.Option(help="Follow this session instead of one run.")] = None,
    type: TypeOption = None,
    lines: Annotated[
        int, typer.Option("--lines", "-n", min=0, help="How many of the newest records to begin with.")
    ] = 10,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the run or the session has ended.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the newest records, and follow.

    With --follow also those that are still to come, until the run or the session has ended.
    """
    from actum.cli.watch import show_tail

    run(lambda: show_tail(store, run_id, session, type, lines, follow=follow, as_json=as_json), as_json=as_json)


@app.command()
def cancel(
    run_id: RunArgument,
    *,
    store: StoreOption = None,
    reason: Annotated[str, typer.Option(help="Why; the first reason stays for ever.")] = "user_requested",
    by: Annotated[str | None, typer.Option(help="Who asks.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Ask for a run's cancellation.

    The reason is stored first. The process that drives the run hears of it from the store; where that is gone, the
    run ends here and now.
    """
    from actum.cli.change import cancel_run

    run(lambda: cancel_run(store, run_id, reason, by, as_json=as_json), as_json=as_json)


@app.command()
def end(session_id: SessionArgument, *, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """End a session.

    It takes no new work. What runs in it is ended by its process; where that is gone, here and now.
    """
    from actum.cli.change import end_session

    run(lambda: end_session(store, session_id, as_json=as_json), as_json=as_json)


@app.command()
def purge(
    session_id: Annotated[str | None, typer.Argument(metavar="SESSION_ID", help="An ended session's id.")] = None,
    *,
    store: StoreOption = None,
    one_shot: Annotated[str | None, typer.Option(help="Instead, the tree of this run without a session.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Erase an ended session for ever.

    Or the tree of a run without a session. A digest of the session's id stays, or of each id of the tree, so that
    these are never used again; ids of a session's runs are free.
    """
    from actum.cli.purge import purge_data

    run(lambda: purge_data(store, session_id, one_shot, yes=yes, as_json=as_json), as_json=as_json)


@app.command()
def verify(*, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Re-check a store and name what is wrong.

    Every state is held against the records that must prove it.
    """
    from actum.cli.verify import show_verification

    run(lambda: show_verification(store, as_json=as_json), as_json=as_json)


@app.command()
def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A transcript as JSON; - is standard input.")],
    *,
    provider: Annotated[
        str, typer.Option(help="Whose rules: anthropic, bedrock, gemini, openai or openai-chat.", metavar="P")
    ],
    model: Annotated[str | None, typer.Option(help="The model, where a provider treats models differently.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Say whether a provider would take a transcript.

    Offline, and with all that would be said otherwise, left out or refused.
    """
    from actum.cli.check import check_transcript

    run(lambda: check_transcript(file, provider, model, as_json=as_json), as_json=as_json)


if __name__ == "__main__":
    main()
