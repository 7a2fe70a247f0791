"""`headway run`: start a run, or go on with the one that is there."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway.cli.figures_text import ended_document, ended_lines
from headway.cli.options import Json, Name, Repo, StateRoot, UncappedSpend, where_of
from headway.cli.progress import Progress
from headway.cli.screen import print_document, say, table
from headway.errors import UsageWrong

if TYPE_CHECKING:
    from headway.app import RunEnded
    from headway.core.report import Status


def run(
    spec: Annotated[
        Path | None, typer.Argument(metavar="SPEC", help="The spec; left out: go on with the frozen one.")
    ] = None,
    approve_as: Annotated[
        str | None, typer.Option("--approve-as", metavar="NAME", help="Clear the approval gate in this name as well.")
    ] = None,
    uncapped_spend: UncappedSpend = False,
    max_ticks: Annotated[
        int | None, typer.Option("--max-ticks", metavar="N", min=1, help="Stop after so many batches.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Archive the run that is there and begin a new one.")] = False,
    waive_validity: Annotated[
        list[str] | None,
        typer.Option(
            "--waive-validity",
            metavar="NAME",
            help="Go on although a probe of the harness failed: its name, or your own for all that failed.",
        ),
    ] = None,
    waive_calibration: Annotated[
        str | None,
        typer.Option("--waive-calibration", metavar="TEXT", help="Who waives the judge's calibration, and when."),
    ] = None,
    repo: Repo = None,
    name: Name = None,
    state_root: StateRoot = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")] = False,
    as_json: Json = False,
) -> None:
    """Start a run, or go on with the one that is there. `resume` is another name for `run`."""
    from headway import app

    if spec is not None and name is not None:
        raise UsageWrong("SPEC and --name both name a run", "headway run", "leave one of them out")
    if uncapped_spend and approve_as is None:
        raise UsageWrong("--uncapped-spend is part of an approval", "headway run", "say --approve-as NAME as well")
    progress = Progress(quiet)
    waived = tuple(waive_validity or ())
    wishes = app.RunWishes(approve_as, uncapped_spend, max_ticks, fresh, waived, waive_calibration)
    ended = app.run(spec, where_of(repo, name, state_root), wishes, progress.tell, progress.on_event)
    gate = app.status(where_of(repo, state_root=ended.state_root)) if ended.reason == "approval" else None
    if as_json:
        print_document(ended_document(ended, gate))
    else:
        say(*(gate_lines(ended, gate) if gate is not None else ended_lines(ended)))
    raise typer.Exit(ended.exit_code)


def gate_lines(ended: "RunEnded", gate: "Status") -> list[str]:
    """Give what a person should see before approving: what was measured, the caps, and the command."""
    return [
        *ended_lines(ended)[:-1],
        "this run waits for a person's yes to its limits:",
        *(f"  {line}" for line in table(_flat(gate.caps))),
        *(f"to know before approving: {line}" for line in (*_foretold(gate), *gate.notices)),
        "to approve:",
        f"  {gate.next_action.command}",
        f"why: {gate.next_action.why}",
    ]


def _foretold(gate: "Status") -> list[str]:
    from headway.core.forecast import forecast_words

    return forecast_words(gate.forecast) if gate.forecast is not None else []


def _flat(caps: Mapping[str, Any], path: str = "") -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for name, value in caps.items():
        if isinstance(value, Mapping):
            rows += _flat(value, f"{path}{name}.")
        else:
            rows.append((path + name, "no limit" if value in (None, "none") else f"{value}"))
    return rows
