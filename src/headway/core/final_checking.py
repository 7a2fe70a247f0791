"""The final check as the loop drives it: one sample at a time, each of them in the log before the next is taken.

All that it knows stands in `best.headway.final_check`, so that a death between two samples costs none. Its number is
the only one to print as a run's total gain.
Source: DECISIONS 2.9 (final_check); CONTRACTS sections 5 and 9; ADR 0011.
"""

from collections.abc import Sequence
from typing import Any, Final

from headway.core import gates
from headway.core.actions import Conclude, Measure
from headway.core.edits import Edit, SetSection
from headway.core.events import FinalCheckEnded, SampleStatus, SampleTaken, SessionKind, Side
from headway.core.log_view import Log, reference_of
from headway.core.probes import fixed_seconds
from headway.core.records import BestHeadway, FinalCheckRow, FinalSample, Gain, to_row
from headway.core.sequential.final_check import LEAST_PAIRS, MOST_PAIRS, FinalCheck, final_check
from headway.core.sequential.order import Reading, Readings, readings_of
from headway.core.sequential.order import Side as ReadingSide
from headway.core.sequential.rules import RunState
from headway.core.sequential.settings import rules_for
from headway.core.spec import ComparisonMethod, Spec
from headway.core.world import World

SIDES: Final[dict[Side, ReadingSide]] = {Side.CANDIDATE: "candidate", Side.REFERENCE: "reference"}
"""The candidate of a final check is the last best, its reference the untouched code."""
HALF: Final = 0.5
"""Share of a run's fixed costs that is the final check's; the rest is the calibration's and the probes'."""


def finished_check(log: Log) -> FinalCheckRow | None:
    """Give the final check of the current best, once it has ended; None while there is none."""
    row = _row(log)
    return row if row is not None and row.verdict is not None and row.commit == reference_of(log, "") else None


def final_step(log: Log, world: World) -> Measure | Conclude | None:
    """Say what the final check needs next.

    Args:
        log: holds its samples so far.
        world: the method, the base, and how new a finished check has to be to count (`check_from`).
    Returns: one more sample of the best or of the untouched code; its conclusion; None where it has ended, where the
        method knows none, or where nothing was kept.
    """
    deciding = world.deciding
    if deciding is None or world.reference == world.base:
        return None
    row = _under_way(log, world)
    if row.verdict is not None:
        return None
    readings = _readings(row, world.spec)
    if readings.broken or readings.ended:
        said = readings.broken.replace("the current best", "the untouched code") or readings.reason
        return _ended(row, "failed", 0, said)
    pairs = next(iter(readings.taken.values())).pairs
    if readings.is_between and pairs >= LEAST_PAIRS:
        found = _judged(readings, world)
        if not found.wants_more or pairs >= most_pairs(log, world.spec):
            return _concluded(row, found, pairs)
    side = next(s for s, name in SIDES.items() if name == readings.following)
    index = 1 + sum(sample.side == SIDES[side] for sample in row.samples)
    commit = world.reference if side is Side.CANDIDATE else world.base
    return Measure(0, row.number, SessionKind.FINAL, side, index, commit, readings.number)


def _row(log: Log) -> FinalCheckRow | None:
    return log.best.headway.final_check if log.best.headway else None


def _under_way(log: Log, world: World) -> FinalCheckRow:
    """Give the check that counts for the current best: that of the log, or a new one that has no sample yet."""
    row = _row(log)
    met = _machines(log)
    counts = row is not None and (row.machines == met if row.verdict is None else row.number >= world.check_from)
    if row is not None and row.commit == world.reference and counts:
        return row
    return FinalCheckRow(
        number=1 if row is None else row.number + 1, commit=world.reference, base=world.base, machines=met, samples=()
    )


def _machines(log: Log) -> int:
    """Count the machines that the run was measured on: a check whose samples are of two begins anew."""
    extension = log.run_state.headway if log.run_state else None
    return len(extension.environment) if extension else 0


def _readings(row: FinalCheckRow, spec: Spec) -> Readings:
    readings = [
        Reading(
            "candidate" if sample.side == "candidate" else "reference",
            None if sample.metrics is None else {name: float(value) for name, value in sample.metrics.items()},
            sample.reason or "",
            sample.timed_out or False,
        )
        for sample in row.samples
    ]
    return readings_of([spec.metric.primary.name], readings)


def _judged(readings: Readings, world: World) -> FinalCheck:
    deciding = world.deciding
    assert deciding is not None, "only the method sequential has a final check"
    objective = deciding.settings.objectives[0]
    rules = rules_for(deciding.settings, deciding.choice.effort, deciding.planned)
    k = deciding.measured + 1
    state = RunState(k, world.base, deciding.keeps, deciding.planned)
    return final_check(readings.taken[objective.name], deciding.before(k), objective, rules, state)


def _concluded(row: FinalCheckRow, found: FinalCheck, pairs: int) -> Conclude:
    verdict = "better" if found.is_proven else "worse" if found.is_worse else "not_proven"
    gain = found.share
    shown = None if gain is None else {"estimate": gain.estimate, "low": gain.low, "high": gain.high}
    return _ended(row, verdict, pairs, "", shown)


def _ended(row: FinalCheckRow, verdict: str, pairs: int, reason: str, gain: dict[str, float] | None = None) -> Conclude:
    return Conclude(
        FinalCheckEnded(
            iteration=0, number=row.number, commit=row.commit, verdict=verdict, pairs=pairs, gain=gain, reason=reason
        )
    )


def most_pairs(log: Log, spec: Spec) -> int:
    """Give how many pairs a final check takes at most: 10, fewer where a measurement is long, never under 2."""
    facts = log.baseline.headway
    seconds = facts.median_seconds if facts else None
    affordable = MOST_PAIRS if not seconds else int(HALF * fixed_seconds(spec) / (2 * seconds))
    return max(LEAST_PAIRS, min(MOST_PAIRS, affordable))


def reserved_seconds(log: Log, spec: Spec) -> float:
    """Give the time that is held back for the final check: nothing while there is nothing to check."""
    facts = log.baseline.headway
    seconds = (facts.median_seconds if facts else None) or 0.0
    is_sequential = spec.measurement.stability.comparison.method is ComparisonMethod.SEQUENTIAL
    if not is_sequential or not log.best.iteration or finished_check(log) is not None:
        return 0.0
    return 2 * most_pairs(log, spec) * seconds


# Into the log


def edits_of_sample(log: Log, event: SampleTaken, spec: Spec, commits: tuple[str, str]) -> tuple[Edit, ...]:
    """Say how the log changes because of one sample of a final check; not at all where it holds it already.

    Args:
        log: the log.
        event: the sample; its `attempt` is the check's number.
        spec: gives the gates; one that fails leaves no value.
        commits: of the last best and of the untouched code.
    """
    row = _row(log)
    if row is None or row.number < event.attempt:
        best, base = commits
        row = FinalCheckRow(number=event.attempt, commit=best, base=base, machines=_machines(log), samples=())
    known = sum(sample.side == SIDES[event.side] for sample in row.samples)
    if row.number > event.attempt or row.verdict is not None or event.index <= known:
        return ()
    return (_best_with(log, row.model_copy(update={"samples": (*row.samples, _sample(event, spec))})),)


def _sample(event: SampleTaken, spec: Spec) -> FinalSample:
    facts: dict[str, Any] = {"side": SIDES[event.side], "seed": event.seed, "started_at": event.started_at or event.at}
    failed: Sequence[str] = ()
    if event.status is SampleStatus.VALID:
        failed = gates.check(spec.metric.degenerate_gates, event.gates).failed
    if event.status is SampleStatus.VALID and not failed:
        return FinalSample(**facts, metrics=dict(event.metrics))
    reason = f"it fails the gate {', '.join(failed)}" if failed else event.reason
    timed_out = {"timed_out": True} if event.status is SampleStatus.TIMEOUT else {}
    return FinalSample(**facts, reason=reason, **timed_out)


def edits_of_end(log: Log, event: FinalCheckEnded) -> tuple[Edit, ...]:
    """Say how the log changes because a final check has ended; not at all where it holds that already."""
    row = _row(log)
    if row is None or row.number != event.number or row.verdict is not None:
        return ()
    update: dict[str, Any] = {"verdict": event.verdict, "pairs": event.pairs}
    if event.gain is not None:
        update["gain"] = Gain.model_validate(event.gain)
    if event.reason:
        update["reason"] = event.reason
    return (_best_with(log, row.model_copy(update=update)),)


def _best_with(log: Log, row: FinalCheckRow) -> SetSection:
    extension = (log.best.headway or BestHeadway()).model_copy(update={"final_check": row})
    return SetSection("best", to_row(log.best.model_copy(update={"headway": extension})))
