"""`headway check`: the spec's harness, run once on the committed code in a scratch place; nothing is left behind.

Source: DESIGN section 3 (what a run would cost is printed before anything is spent).
"""

import dataclasses
import re
import shlex
import statistics
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headway.adapters import registry
from headway.adapters.user_repository import UserRepository
from headway.core import scope
from headway.core.actions import Measure
from headway.core.events import SampleTaken, SessionKind, Side
from headway.core.forecast import Forecast, forecast_from
from headway.core.records import HarnessValidation, to_row
from headway.core.spec import ComparisonMethod, Spec, StabilityMode
from headway.core.validity import Waivers, judge_harness, unwaived
from headway.core.validity_words import gate_words
from headway.orchestrator.exemplars import plan_exemplars
from headway.orchestrator.first import (
    LEAST_SAMPLES,
    BaselineFails,
    baseline_count,
    calibration_of,
    check_baseline,
    refuse_thresholds,
    timeout_of,
)
from headway.orchestrator.ground import Ground
from headway.orchestrator.loop import now
from headway.orchestrator.measuring import seed_of
from headway.orchestrator.perform import REFERENCE_TREE, BranchTools, sample_event
from headway.orchestrator.start import RunFacts, freeze, ground_of, proposer_type
from headway.orchestrator.validity import measure_gate
from headway.store.paths import StateRoot
from headway.store.spec_file import LoadedSpec

CHECK_SECONDS = 60.0
"""What `check` spends on telling the noise: where a calibration takes longer, it measures less, or once."""


@dataclass(frozen=True)
class Trial:
    """What one run of the harness showed, and what a whole run would take.

    Args:
        spec: the spec's name.
        base: commit that was measured.
        measurement_seconds: wall time of one run of the harness.
        preparation_seconds: wall time of checkout, set-up and build.
        gates, metrics, diagnostics: what it printed.
        measurements_per_experiment: samples of candidate and reference for one kept experiment; under `sequential`
            those of an experiment on average.
        experiment_seconds: time of one experiment's measuring, the agent's turn aside.
        baseline_seconds: time of CP-1.
        run_hours: an upper estimate for `max_iterations`, agents' turns aside, bounded by `max_hours`.
        agent: who carries out hypotheses; None when the spec names none.
        hypotheses: how many there are to begin with.
        primary, direction: the metric that decides, and which way is better.
        notes: what a person should know before approving.
        harness_validation: the validity gate as far as one measurement of the untouched code goes, as in the log.
        failed_probes: probes that would stop a run.
        forecast: under `sequential`: noise, smallest gain that is mostly kept, and what that takes.
    """

    spec: str
    base: str
    measurement_seconds: float
    preparation_seconds: float
    gates: Mapping[str, Any]
    metrics: Mapping[str, float]
    diagnostics: Mapping[str, Any]
    measurements_per_experiment: float
    experiment_seconds: float
    baseline_seconds: float
    run_hours: float
    agent: str | None
    hypotheses: int
    primary: str
    direction: str
    notes: tuple[str, ...]
    harness_validation: HarnessValidation = field(default_factory=HarnessValidation)
    failed_probes: tuple[str, ...] = ()
    forecast: Forecast | None = None

    def to_json(self) -> dict[str, Any]:
        """Give the trial as plain data."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        lists = {"notes": list(self.notes), "failed_probes": list(self.failed_probes)}
        forecast = None if self.forecast is None else self.forecast.to_json()
        return fields | lists | {"harness_validation": to_row(self.harness_validation), "forecast": forecast}


def try_harness(
    loaded: LoadedSpec,
    spec_path: Path,
    user: UserRepository,
    scratch: Path,
    environment: Mapping[str, str],
    tell: Callable[[str], None],
) -> Trial:
    """Run a spec's harness once on the committed code, and once on each probe of the validity gate.

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
        hypotheses = len(ground.proposer.propose(BranchTools(ground)).items)
        exemplars = plan_exemplars(ground)
        preparation, event = _once(ground, tell)
        ground.measuring.timeout_seconds = timeout_of(loaded.spec, [event])
        measured = measure_gate(ground, [event], exemplars, tell)
        validation = judge_harness(loaded.spec, measured, (), Waivers(), now())
        warnings = (*loaded.warnings, *words_on_missing_files(loaded.spec, ground.user.listing(ground.base).entries))
        if not hypotheses and loaded.spec.agent is not None:
            warnings = (*warnings, "there is no hypothesis: a run would end as soon as it is approved")
        forecast = _foretold(ground, event, str(spec_path), tell)
        if forecast is not None:
            warnings = (*warnings, *forecast.told.warnings)
        trial = _trial(
            loaded.spec,
            facts.base,
            event.elapsed_seconds,
            preparation,
            event,
            hypotheses,
            warnings,
            ground.user,
            forecast,
        )
        failed = tuple(probe.name for probe in unwaived(validation))
        notes = (*trial.notes, *gate_words(validation))
        return replace(trial, notes=notes, harness_validation=validation, failed_probes=failed)
    finally:
        ground.jobs.close(wait=True)


def _foretold(ground: Ground, first: SampleTaken, path: str, tell: Callable[[str], None]) -> Forecast | None:
    """Calibrate, where that is soon done, and give what it foretells; None under the older methods.

    Raises: SpecInvalid, for thresholds that mean nothing for what was measured; BaselineFails.
    """
    if ground.spec.measurement.stability.comparison.method is not ComparisonMethod.SEQUENTIAL:
        return None
    count = affordable_calibration(ground.spec, first.elapsed_seconds)
    if count > 1:
        tell(f"measuring it {count - 1} times more, for its noise")
    samples = [first, *(_sample(ground, index) for index in range(2, count + 1))]
    refuse_thresholds(ground.spec, samples, ground.base, path)
    seconds = statistics.median(sample.elapsed_seconds for sample in samples)
    return forecast_from(ground.spec, calibration_of(ground.spec, samples), ground.base, seconds)


def affordable_calibration(spec: Spec, first_seconds: float) -> int:
    """Give how often `check` measures the untouched code: as a run does where that is done within a minute.

    Args:
        spec: the spec.
        first_seconds: of the first measurement.
    """
    wanted = baseline_count(spec, first_seconds)
    return next((count for count in (wanted, LEAST_SAMPLES) if count * first_seconds <= CHECK_SECONDS), 1)


def _once(ground: Ground, tell: Callable[[str], None]) -> tuple[float, SampleTaken]:
    """Measure the untouched code once; give the seconds before it, and what came of it. Raises: BaselineFails."""
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
    return preparation, _sample(ground, 1)


def _sample(ground: Ground, index: int) -> SampleTaken:
    """Measure the untouched code in its checkout. Raises: BaselineFails."""
    action = Measure(0, 1, SessionKind.STANDALONE, Side.REFERENCE, index, ground.base)
    seed = seed_of(ground.run_id, 0, SessionKind.STANDALONE, index)
    folder = ground.run.experiment(0).jobs / f"measure-{index}"
    reading = ground.measuring.sample(REFERENCE_TREE, ground.base, folder, action.id, seed)
    event = sample_event(action, reading, seed, ground.relative)
    check_baseline(ground.spec, event)
    return event


def words_on_absolute_paths(spec: Spec, root: Path) -> list[str]:
    """Warn of a command that names the user's checkout: what it reads there is the same for every candidate (BR-71)."""
    measurement = spec.measurement
    commands = {
        "command": measurement.command,
        "setup_command": measurement.setup_command,
        "build_command": measurement.build_command,
        "checks_command": measurement.checks_command,
    }
    return [
        f"measurement.{name} names your checkout ({root}): what it reads there, or imports from an environment that is "
        "installed there, is not the candidate; name files relative to the checkout that it starts in"
        for name, text in commands.items()
        if text and re.search(rf"{re.escape(str(root))}(?![\w.-])", text)
    ]


def words_on_missing_files(spec: Spec, files: Collection[str]) -> list[str]:
    """Warn of paths in the spec that name nothing in the commit: most are slips of the pen.

    Args:
        spec: its scopes, and the agent's command.
        files: paths in the commit that a run would start from.
    """
    scopes = (("mutable", spec.scope.mutable), ("immutable", spec.scope.immutable))
    found = [
        f"scope.{name}: `{entry}` names no file of the commit"
        for name, entries in scopes
        for entry in entries
        if not any(scope.matches(path, [entry]) for path in files)
    ]
    program = _program_of(spec)
    if "/" in program and not program.startswith("/") and program.removeprefix("./") not in files:
        found.append(
            f"agent.command: `{program}` is not in the commit; an agent works in a folder that holds the committed "
            "files alone: commit it, or give its absolute path"
        )
    return found


def _program_of(spec: Spec) -> str:
    """Give the first word of the agent's command, if it is plainly a program's name; else nothing."""
    try:
        words = shlex.split((spec.agent.command if spec.agent else None) or "")
    except ValueError:
        return ""
    return words[0] if words and re.fullmatch(r"[\w./-]+", words[0]) else ""


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
    hypotheses: int,
    warnings: tuple[str, ...],
    user: UserRepository,
    forecast: Forecast | None,
) -> Trial:
    per_experiment = samples_per_experiment(spec) if forecast is None else forecast.told.measurements
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
    notes += words_on_absolute_paths(spec, user.root)
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
        run_hours=round(min(hours, spec.stopping.max_hours), 6),
        agent=spec.agent.type if spec.agent else None,
        hypotheses=hypotheses,
        primary=spec.metric.primary.name,
        direction=str(spec.metric.primary.direction),
        notes=tuple(notes),
        forecast=forecast,
    )
