"""`headway check`: whether a spec holds, what its harness prints and can be told, and what a run would take."""

from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.options import Json, Repo, SpecFile, where_of
from headway.cli.progress import Progress
from headway.cli.screen import counted, duration, print_document, say, table, values

if TYPE_CHECKING:
    from headway.orchestrator.no_ops import SelfTested
    from headway.orchestrator.trial import Trial

READS_ONLY = True
GATE_FAILED = 4
UNKNOWN_NOISE = "not known from one measurement; `headway run` measures it before it asks for approval"


def check(
    spec: SpecFile,
    aa: Annotated[
        int | None,
        typer.Option(
            "--aa", metavar="N", min=1, help="Only measure N candidates that change nothing, and say how many are kept."
        ),
    ] = None,
    repo: Repo = None,
    as_json: Json = False,
) -> None:
    """Validate a spec, run its harness once and probe it. Says what a run would take; changes nothing."""
    from headway import app

    if aa is not None:
        tested = app.self_test(spec, where_of(repo), aa, Progress().tell)
        print_document(tested.to_json()) if as_json else say(*self_test_lines(tested))
        return
    trial = app.check(spec, where_of(repo), Progress().tell)
    print_document(trial.to_json()) if as_json else say(*trial_lines(trial))
    if trial.failed_probes:
        raise typer.Exit(GATE_FAILED)


def trial_lines(trial: "Trial") -> list[str]:
    """Give what one run of the harness showed."""
    from headway.core.validity_words import probe_rows

    many = trial.measurements_per_experiment
    told = forecast_lines(trial)
    rows = [
        ("gates", values(trial.gates)),
        ("metrics", values(trial.metrics)),
        ("better", f"{'lower' if trial.direction == 'minimize' else 'higher'} {trial.primary}"),
        ("diagnostics", values(trial.diagnostics)),
        ("one measurement", f"{duration(trial.measurement_seconds)}, and {duration(trial.preparation_seconds)} before"),
        ("one experiment", f"{many:g} measurement{'s' * (many != 1)}, {duration(trial.experiment_seconds)}"),
        ("the baseline", duration(trial.baseline_seconds)),
        ("a whole run", f"at most {duration(trial.run_hours * 3600)}, agents' turns aside"),
        *([] if told else [("noise", UNKNOWN_NOISE)]),
        ("agent", trial.agent or "none: `headway run` needs one"),
        ("hypotheses", f"{trial.hypotheses} to begin with"),
    ]
    notes = ["to know before approving:", *(f"  {note}" for note in trial.notes)] if trial.notes else []
    gate = ["the harness:", *(f"  {line}" for line in table(probe_rows(trial.harness_validation)))]
    head = f"the spec {trial.spec} holds; measured {trial.base[:12]}"
    return [head, *table(rows), *told, *gate, *notes, *_verdict(trial)]


def forecast_lines(trial: "Trial") -> list[str]:
    """Give what the noise lets a run find; empty where that is not known, and under methods that do not ask for it."""
    from headway.core.forecast import forecast_words

    if trial.forecast is None:
        return []
    words = [line for line in forecast_words(trial.forecast) if not line.startswith("warning: ")]
    return ["what can be found:", *(f"  {line}" for line in words)]


def _verdict(trial: "Trial") -> list[str]:
    if not trial.failed_probes:
        return []
    return [f"`headway run` would stop at the validity gate: {', '.join(trial.failed_probes)} failed"]


def self_test_lines(tested: "SelfTested") -> list[str]:
    """Give what became of candidates that change nothing."""
    found, ends = tested.measured, ", ".join(f"{n} {end}" for end, n in tested.decisions.items())
    lines = [
        f"{tested.spec}, method {tested.method}: {found.kept} of {counted(found.no_ops, 'no-op')} kept",
        f"ended: {ends}; {counted(found.samples, 'measurement')} at {duration(tested.median_seconds)}",
    ]
    return [*lines, *([f"estimated beside it: {tested.estimated.words()}"] if tested.estimated else [])]
