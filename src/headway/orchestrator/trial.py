"""`headway check`: the spec's harness, run once on the committed code in a scratch place; nothing is left behind.

Source: DESIGN section 3 (what a run would cost is printed before anything is spent).
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headway.adapters import registry
from headway.adapters.user_repository import UserRepository
from headway.core.actions import Measure
from headway.core.events import SessionKind, Side
from headway.core.spec import ComparisonMethod, Spec, StabilityMode
from headway.orchestrator.first import BaselineFails, baseline_count, check_baseline
from headway.orchestrator.measuring import seed_of
from headway.orchestrator.perform import REFERENCE_TREE, sample_event
from headway.orchestrator.start import RunFacts, freeze, ground_of, proposer_type
from headway.store.paths import StateRoot
from headway.store.spec_file import LoadedSpec


@dataclass(frozen=True)
class Trial:
    """What one run of the harness showed, and what a whole run would take.

    Args:
        spec: the spec's name.
        base: commit that was measured.
        measurement_seconds: wall time of one run of the harness.
        preparation_seconds: wall time of checkout, set-up and build.
        gates, metrics, diagnostics: what it printed.
        measurements_per_experiment: samples of candidate and reference for one kept experiment.
        experiment_seconds: time of one experiment's measuring, the agent's turn aside.
        baseline_seconds: time of CP-1.
        run_hours: an upper estimate for `max_iterations`, agents' turns aside, bounded by `max_hours`.
        agent: who carries out hypotheses; None when the spec names none.
        notes: what a person should know before approving.
    """

    spec: str
    base: str
    measurement_seconds: float
    preparation_seconds: float
    gates: Mapping[str, Any]
    metrics: Mapping[str, float]
    diagnostics: Mapping[str, Any]
    measurements_per_experiment: int
    experiment_seconds: float
    baseline_seconds: float
    run_hours: float
    agent: str | None
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Give the trial as plain data."""
        return asdict(self) | {"notes": list(self.notes)}


def try_harness(
    loaded: LoadedSpec,
    spec_path: Path,
    user: UserRepository,
    scratch: Path,
    environment: Mapping[str, str],
    tell: Callable[[str], None],
) -> Trial:
    """Run a spec's harness once on the committed code.

    Args:
        loaded: the spec.
        spec_path: where it lies, for relative paths in it.
        user: the user's repository; only read.
        scratch: an empty folder; everything is made in there.
        environment: the process's environment.
        tell: is told what is going on.
    Returns: what was seen. Raises: ScopeDirty, BaselineFails, and what git raises.
    """
    state = StateRoot(scratch / "state")
    facts: RunFacts = freeze(state, loaded, spec_path, user)
    ground = ground_of(state, loaded, facts, user, {**environment, "XDG_CACHE_HOME": str(scratch / "cache")})
    try:
        tell("preparing a clean checkout")
        begun = datetime.now(UTC)
        paths = ground.run.experiment(0)
        prepared = ground.measuring.prepare(REFERENCE_TREE, ground.base, paths.jobs, "trial", checks=True)
        preparation = (datetime.now(UTC) - begun).total_seconds()
        if not prepared.ok:
            raise BaselineFails(
                f"the untouched code fails at {prepared.stage}: {prepared.detail}",
                f"measurement.{prepared.stage}_command",
                "mend the command or the code",
            )
        tell("running the harness once")
        action = Measure(0, 1, SessionKind.STANDALONE, Side.REFERENCE, 1, ground.base)
        seed = seed_of(facts.run_id, 0, SessionKind.STANDALONE, 1)
        reading = ground.measuring.sample(REFERENCE_TREE, ground.base, paths.jobs / "measure-1", action.id, seed)
        event = sample_event(action, reading, seed, ground.relative)
        check_baseline(loaded.spec, event)
        return _trial(loaded.spec, facts.base, event.elapsed_seconds, preparation, event, loaded.warnings, ground.user)
    finally:
        ground.jobs.close(wait=True)


def samples_per_experiment(spec: Spec) -> int:
    """Give how many measurements a candidate that is kept takes: both sides, where pairs are measured."""
    stability = spec.measurement.stability
    match stability.mode:
        case StabilityMode.STABLE:
            count = 1
        case StabilityMode.REPEAT:
            count = stability.repeat_count
        case StabilityMode.LADDER:
            count = stability.ladder.confirmation_repeats or stability.repeat_count
    return count * (2 if stability.comparison.method is ComparisonMethod.PAIRED else 1)


def _trial(
    spec: Spec,
    base: str,
    seconds: float,
    preparation: float,
    event: Any,
    warnings: tuple[str, ...],
    user: UserRepository,
) -> Trial:
    per_experiment = samples_per_experiment(spec)
    one = per_experiment * seconds + preparation
    hours = spec.stopping.max_iterations * one / 3600
    notes = list(warnings)
    if spec.sandbox != "none":
        notes.append("no sandbox in this version: agents and harness run with your own rights")
    if spec.agent is None:
        notes.append("the spec names no agent: `run` needs one to carry out hypotheses")
    else:
        registry.find("agent", spec.agent.type)
    registry.find("proposer", proposer_type(spec))
    notes += event.notes
    return Trial(
        spec=spec.name,
        base=base,
        measurement_seconds=round(seconds, 3),
        preparation_seconds=round(preparation, 3),
        gates=event.gates,
        metrics=event.metrics,
        diagnostics=event.diagnostics,
        measurements_per_experiment=per_experiment,
        experiment_seconds=round(one, 3),
        baseline_seconds=round(preparation + baseline_count(spec, seconds) * seconds, 3),
        run_hours=round(min(hours, spec.stopping.max_hours), 3),
        agent=spec.agent.type if spec.agent else None,
        notes=tuple(notes),
    )
