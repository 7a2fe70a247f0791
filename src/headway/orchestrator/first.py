"""CP-1: the harness on untouched code, the baseline by the full protocol, and the log's first version.

Source: DESIGN sections 1 and 6; CONTRACTS section 9.
"""

import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from headway.core.actions import Measure
from headway.core.entries import metrics_of
from headway.core.events import SampleStatus, SampleTaken, SessionKind, Side
from headway.core.forecast import problems_of
from headway.core.gates import check
from headway.core.loose_numbers import shown_number
from headway.core.probes import SLOW_SECONDS, fixed_seconds
from headway.core.records import (
    Baseline,
    BaselineHeadway,
    Best,
    HarnessValidation,
    Probe,
    WorstCase,
    to_row,
)
from headway.core.sequential.settings import settings_of
from headway.core.spec import ComparisonMethod, Spec, StabilityMode
from headway.core.statistics import spread
from headway.core.validity import BASELINE_REPEATS, SPREAD
from headway.errors import OutsideFailed, SpecInvalid
from headway.orchestrator.environment import environment_now
from headway.orchestrator.ground import Ground
from headway.orchestrator.loop import now
from headway.orchestrator.measuring import FAMILY_TIMEOUT_SECONDS, seed_of
from headway.orchestrator.perform import REFERENCE_TREE, sample_event
from headway.store.log import LogFile
from headway.store.paths import ExperimentPaths, ensure_folder

LEAST_SAMPLES = 3
LEAST_TIMEOUT_SECONDS = 60.0
TIMEOUT_FACTOR = 3.0
SHELL_CANNOT_RUN = (126, 127)


class BaselineFails(OutsideFailed):
    """The untouched code does not pass its own measurement; no log is written and no agent is paid."""

    def __init__(self, what: str, where: str, mend: str) -> None:
        super().__init__(what, where, mend)


def baseline_count(spec: Spec, first_seconds: float) -> int:
    """Say how often the baseline is measured: as often as a candidate, and at least three times to tell its variance.

    Args:
        spec: the spec.
        first_seconds: how long the first measurement took; over 60 s three have to do, and where more would take over
            half of the time for fixed costs.
    """
    stability = spec.measurement.stability
    wanted = LEAST_SAMPLES
    if _is_sequential(spec):
        return settings_of(spec).calibration_samples(first_seconds)
    if stability.mode is StabilityMode.REPEAT:
        wanted = stability.repeat_count
    elif stability.mode is StabilityMode.LADDER:
        wanted = stability.ladder.confirmation_repeats or stability.repeat_count
    if first_seconds > SLOW_SECONDS:
        return LEAST_SAMPLES
    affordable = int(fixed_seconds(spec) / 2 / max(first_seconds, 1e-6))
    return max(LEAST_SAMPLES, min(wanted, affordable))


def measure_baseline(ground: Ground, tell: Callable[[str], None]) -> tuple[SampleTaken, ...]:
    """Measure the untouched code; samples that an earlier process took are taken up, unless one of them failed.

    Raises: BaselineFails, naming what the harness printed or which gate failed, with the mend.
    """
    paths = ground.run.experiment(0)
    try:
        return _baseline_samples(ground, paths, tell)
    except BaselineFails:
        set_aside(paths.jobs)
        raise


def set_aside(folder: Path) -> None:
    """Keep what failed at CP-1 under another name: once its cause is mended, everything is measured anew."""
    number = 1 + sum(1 for _ in folder.parent.glob(f"{folder.name}-failed-*"))
    folder.rename(folder.with_name(f"{folder.name}-failed-{number}"))


def _baseline_samples(ground: Ground, paths: ExperimentPaths, tell: Callable[[str], None]) -> tuple[SampleTaken, ...]:
    ensure_folder(paths.jobs)
    prepared = None
    samples: list[SampleTaken] = []
    wanted = 1
    while len(samples) < wanted:
        index = len(samples) + 1
        action = Measure(0, 1, SessionKind.STANDALONE, Side.REFERENCE, index, ground.base)
        if prepared is None:
            prepared = ground.measuring.prepare(REFERENCE_TREE, ground.base, paths.jobs, "baseline", checks=True)
            if not prepared.ok:
                raise BaselineFails(
                    f"the untouched code fails at {prepared.stage}: {prepared.detail}",
                    f"measurement.{prepared.stage}_command",
                    "mend the command or the code; `headway check SPEC` runs it alone",
                )
        seed = seed_of(ground.run_id, 0, SessionKind.STANDALONE, index)
        reading = ground.measuring.sample(
            REFERENCE_TREE, ground.base, paths.jobs / f"measure-{index}", f"exp0000/measure/{index}", seed
        )
        event = sample_event(action, reading, seed, ground.relative)
        check_baseline(ground.spec, event)
        samples.append(event)
        tell(f"baseline {index}: {', '.join(f'{n} {shown_number(v)}' for n, v in event.metrics.items())}")
        if index == 1:
            wanted = baseline_count(ground.spec, event.elapsed_seconds)
    return tuple(samples)


def check_baseline(spec: Spec, event: SampleTaken) -> None:
    """Refuse a baseline sample that is no measurement, or that fails a gate. Raises: BaselineFails."""
    if event.status is not SampleStatus.VALID:
        raise BaselineFails(
            f"the measurement of the untouched code is not valid: {event.reason}",
            f"measurement.command: {spec.measurement.command}",
            _mend_of(event),
        )
    gates = check(spec.metric.degenerate_gates, event.gates)
    if not gates.passed:
        failed = [g for g in spec.metric.degenerate_gates if g.name in gates.failed]
        raise BaselineFails(
            "the untouched code fails its gate: "
            + ", ".join(f"{g.name} is {_seen(event, g.name)}, and must be {g.check}" for g in failed),
            "metric.degenerate_gates",
            "mend the gate or the code: a gate must hold before anything is changed",
        )


def _seen(event: SampleTaken, gate: str) -> str:
    return json.dumps(event.gates[gate]) if gate in event.gates else "not in the output"


def _mend_of(event: SampleTaken) -> str:
    """Give the mend of a measurement that is none, by what it died of."""
    if event.status is SampleStatus.TIMEOUT:
        return "make the harness faster, or raise `measurement.timeout_seconds`"
    if any(f"exit code {code}:" in event.reason for code in SHELL_CANNOT_RUN):
        return (
            "it runs from the root of a clean checkout, which holds committed files alone: commit what it needs "
            "(with its executable bit), name it under `measurement.harness_files`, or install the program"
        )
    return "make the command print one JSON object with every gate and objective; `headway check SPEC` tries it"


def timeout_of(spec: Spec, samples: Sequence[SampleTaken]) -> float:
    """Give the limit of one measurement: the spec's, else three times the calibration's median, at least 60 s."""
    if spec.measurement.timeout_seconds is not None:
        return float(spec.measurement.timeout_seconds)
    if not samples:
        return FAMILY_TIMEOUT_SECONDS
    median = statistics.median(s.elapsed_seconds for s in samples)
    return max(LEAST_TIMEOUT_SECONDS, round(TIMEOUT_FACTOR * median, 1))


def noise_of(samples: Sequence[SampleTaken]) -> dict[str, float]:
    """Give each objective's relative spread over repeated measurements of the same code: (max - min) / |median|."""
    names = samples[0].metrics if samples else {}
    found = {name: spread([s.metrics[name] for s in samples]).relative_reach for name in names}
    return {name: round(reach, 6) for name, reach in found.items() if reach is not None}


def baseline_probes(spec: Spec, samples: Sequence[SampleTaken]) -> tuple[Probe, ...]:
    """Say what repeated measurements of the untouched code show of the harness."""
    noise = noise_of(samples)
    return (
        Probe(
            name=BASELINE_REPEATS,
            inputs={"code": "untouched base commit", "samples": len(samples)},
            observed={
                name: {"values": [s.metrics[name] for s in samples], "relative_spread": noise.get(name, 0.0)}
                for name in samples[0].metrics
            },
            passed=True,
        ),
        Probe(
            name=SPREAD,
            inputs={"threshold": None if _is_sequential(spec) else _threshold(spec)},
            observed=dict(noise),
            passed=None if _is_sequential(spec) else _below_threshold(spec, _primaries(spec, samples), noise),
        ),
    )


def noise_words(spec: Spec, samples: Sequence[SampleTaken]) -> list[str]:
    """Say how far repeated measurements of the same code lie apart, and warn where that reaches the threshold."""
    noise = noise_of(samples)
    said = [f"noise: {name} {reach:.2%} from lowest to highest of {len(samples)}" for name, reach in noise.items()]
    warning = noise_warning(spec, _primaries(spec, samples), noise)
    return [*said, f"warning: {warning}"] if warning else said


def refuse_thresholds(spec: Spec, samples: Sequence[SampleTaken], base: str, path: str) -> None:
    """Refuse a spec whose thresholds mean nothing for what the calibration measured.

    Args:
        spec: the spec.
        samples: of the untouched code.
        base: its commit.
        path: of the spec, for the message.
    Raises: SpecInvalid, naming each threshold with its mend.
    """
    problems = problems_of(spec, calibration_of(spec, samples), base)
    if problems:
        raise SpecInvalid(path, tuple(str(problem) for problem in problems))


def calibration_of(spec: Spec, samples: Sequence[SampleTaken]) -> Baseline:
    """Give the samples of the untouched code as a log's section holds them."""
    return Baseline(metrics=dict(metrics_of(samples, spec.measurement.stability.aggregation)))


def noise_warning(spec: Spec, primaries: Sequence[float], noise: Mapping[str, float]) -> str:
    """Say that measurements of the same code lie further apart than what counts as a gain; empty where they do not.

    Args:
        spec: gives the threshold.
        primaries: values of the primary metric, in its unit, of the untouched code.
        noise: relative spread of each objective, a share.
    """
    if _is_sequential(spec) or _below_threshold(spec, primaries, noise):
        return ""
    unit = " in the metric's unit" if _is_absolute(spec) else ""
    return (
        f"the same code differs by more than the threshold ({_threshold(spec):g}{unit}): keeps may be noise; "
        + _steadier(spec)
    )


def _primaries(spec: Spec, samples: Sequence[SampleTaken]) -> list[float]:
    name = spec.metric.primary.name
    return [s.metrics[name] for s in samples if name in s.metrics]


def _is_sequential(spec: Spec) -> bool:
    """Say whether the method learns the noise by itself, so that no threshold has to stand above it."""
    return spec.measurement.stability.comparison.method is ComparisonMethod.SEQUENTIAL


def _is_absolute(spec: Spec) -> bool:
    return spec.measurement.stability.comparison.method is ComparisonMethod.ABSOLUTE


def _steadier(spec: Spec) -> str:
    if spec.measurement.stability.comparison.method is ComparisonMethod.PAIRED:
        return "raise the threshold or the number of repeats, or make the harness steadier"
    return (
        "raise the threshold, use mode repeat with method paired (a harness that uses HEADWAY_SEED needs it), "
        "or make the harness steadier"
    )


def _threshold(spec: Spec) -> float:
    comparison = spec.measurement.stability.comparison
    if comparison.method is ComparisonMethod.ABSOLUTE:
        return float(spec.measurement.stability.noise_threshold)
    return float(comparison.relative_threshold)


def _below_threshold(spec: Spec, primaries: Sequence[float], noise: Mapping[str, float]) -> bool:
    """Say whether repeated measurements of the same code differ by less than what counts as a gain."""
    if _is_absolute(spec):
        return not primaries or max(primaries) - min(primaries) <= _threshold(spec)
    return all(reach <= _threshold(spec) for reach in noise.values())


def create_log(
    ground: Ground, samples: Sequence[SampleTaken], started_at: str, validation: HarnessValidation
) -> LogFile:
    """Write the log with all required sections: the second of CP-1's durable writes, behind the gate's own file."""
    spec = ground.spec
    noise = noise_of(samples)
    metrics = metrics_of(samples, spec.measurement.stability.aggregation)
    last = samples[-1]
    facts: dict[str, Any] = {
        "timestamp": now(),
        "gates": last.gates,
        "metrics": metrics,
        "diagnostics": last.diagnostics,
        "headway": BaselineHeadway(
            started_at=tuple(s.started_at for s in samples),
            seeds=tuple(s.seed for s in samples),
            commit=ground.base,
            workload=ground.workload,
            timeout_seconds=timeout_of(spec, samples),
            median_seconds=round(statistics.median(s.elapsed_seconds for s in samples), 3),
            relative_spread=noise,
            environment=environment_now(ground.workload),
        ),
    }
    if last.worst_cases:
        facts["worst_cases"] = tuple(WorstCase.model_validate(w) for w in last.worst_cases)
    best = Best(
        iteration=0,
        metrics=metrics,
        total_judge_cost_usd=0,
        total_run_cost_usd=0,
        run_cost_basis="nothing was spent yet: no agent has worked",
    )
    return LogFile.create(
        ground.state.log,
        {
            "spec": spec.name,
            "run_id": ground.run_id,
            "started_at": started_at,
            "baseline": to_row(Baseline(**facts)),
            "harness_validation": to_row(validation),
            "experiments": [],
            "best": to_row(best),
        },
    )
