"""`headway check`: whether a spec holds, what its harness prints, and what a run would take."""

from typing import TYPE_CHECKING

from headway.cli.options import Json, Repo, SpecFile, where_of
from headway.cli.progress import Progress
from headway.cli.screen import counted, duration, print_document, say, table, values

if TYPE_CHECKING:
    from headway.orchestrator.trial import Trial

READS_ONLY = True


def check(spec: SpecFile, repo: Repo = None, as_json: Json = False) -> None:
    """Validate a spec and run its harness once. Says what a run would take; changes nothing."""
    from headway import app

    trial = app.check(spec, where_of(repo), Progress().tell)
    if as_json:
        print_document(trial.to_json())
    else:
        say(*trial_lines(trial))


def trial_lines(trial: "Trial") -> list[str]:
    """Give what one run of the harness showed."""
    many = trial.measurements_per_experiment
    rows = [
        ("gates", values(trial.gates)),
        ("metrics", values(trial.metrics)),
        ("better", f"{'lower' if trial.direction == 'minimize' else 'higher'} {trial.primary}"),
        ("diagnostics", values(trial.diagnostics)),
        ("one measurement", f"{duration(trial.measurement_seconds)}, and {duration(trial.preparation_seconds)} before"),
        ("one experiment", f"{counted(many, 'measurement')}, {duration(trial.experiment_seconds)}"),
        ("the baseline", duration(trial.baseline_seconds)),
        ("a whole run", f"at most {duration(trial.run_hours * 3600)}, agents' turns aside"),
        ("noise", "not known from one measurement; `headway run` measures it before it asks for approval"),
        ("agent", trial.agent or "none: `headway run` needs one"),
        ("hypotheses", f"{trial.hypotheses} to begin with"),
    ]
    notes = ["to know before approving:", *(f"  {note}" for note in trial.notes)] if trial.notes else []
    return [f"the spec {trial.spec} holds; measured {trial.base[:12]}", *table(rows), *notes]
