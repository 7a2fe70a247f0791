"""Every experiment of a log as analysis looks at it: one flat record each, what is unknown None.

Source: CONTRACTS sections 2 (absent means unknown) and 6 (outcomes, repeats, deferred ones).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

from headway.core.analysis.facts import Facts, Stretch
from headway.core.analysis.objectives import (
    Objective,
    is_in_main_segment,
    main_segment,
    number_of,
    objectives_of,
    samples_of,
)
from headway.core.claims import GainRange
from headway.core.log_reading import ReadExperiment, ReadLog
from headway.core.log_words import ComparisonKind, Outcome
from headway.core.records import Comparison
from headway.core.spec import Spec
from headway.core.statistics import signed_change

UNKNOWN = "not recorded"


class Fate(StrEnum):
    """What became of an experiment, in as many kinds as a chart can tell apart."""

    KEPT = "kept"
    REVERTED = "reverted"  # compared, and worse or turned down
    INCONCLUSIVE = "inconclusive"  # compared, and not clearly better, or better and left over
    FAILED = "failed"  # nothing could be compared
    OPEN = "open"  # not decided yet
    DEFERRED = "deferred"  # not tried

    @property
    def is_tried(self) -> bool:
        """It counts in a keep rate: it was tried, and it is over."""
        return self not in (Fate.OPEN, Fate.DEFERRED)

    @property
    def is_compared(self) -> bool:
        """A decision was made on a comparison."""
        return self in (Fate.KEPT, Fate.REVERTED, Fate.INCONCLUSIVE)


_FATES = {
    Outcome.KEPT: Fate.KEPT,
    Outcome.RUNNER_UP_KEPT: Fate.KEPT,
    Outcome.REVERTED: Fate.REVERTED,
    Outcome.RUNNER_UP_REVERTED: Fate.REVERTED,
    Outcome.CENSORED: Fate.REVERTED,
    Outcome.INCONCLUSIVE: Fate.INCONCLUSIVE,
    Outcome.NOT_SELECTED: Fate.INCONCLUSIVE,
    Outcome.DEGENERATE: Fate.FAILED,
    Outcome.ERROR: Fate.FAILED,
    Outcome.TIMEOUT: Fate.FAILED,
    Outcome.MEASURED: Fate.OPEN,
    Outcome.PROMISING: Fate.OPEN,
    Outcome.DEFERRED_NEEDS_APPROVAL: Fate.DEFERRED,
}


@dataclass(frozen=True)
class Tried:
    """One experiment.

    Args:
        position: in the log, from 1: what charts count by, for another tool's numbers may come twice.
        is_comparable: its values may be set beside the log's baseline: another tool's log may hold several series.
        values: of each objective, the primary first, as measured in the session that the outcome rests on.
        reference: the primary's value of what it was compared with; None: not known.
        gain: relative, positive is better; None where it is unknown.
        gain_is_stored: the gain compares values that were measured at different times.
        hour: whole hours since the log's first experiment; None where times are not known.
        seconds: of agents and measurements; usd: of the agent, and of harness and judge where they report any.
        files: that it changed.
        reason: why it ended so, in the log's or the records' words.
        lost: measurements that were killed from outside; stretches: when agents and measurements were at it.
    """

    position: int
    iteration: int | None
    batch: int | None
    hypothesis: str
    category: str
    agent: str
    outcome: str
    fate: Fate
    is_comparable: bool
    values: tuple[float | None, ...]
    reference: float | None
    gain: GainRange | None
    gain_is_stored: bool
    samples: tuple[float, ...]
    started_at: str | None
    hour: int | None
    seconds: float | None
    author_seconds: float | None
    measure_seconds: float | None
    usd: float | None
    tokens: int | None
    files: tuple[str, ...]
    lines_added: int | None
    lines_removed: int | None
    commit: str | None
    reason: str | None
    repeat_of: int | None
    lost: int
    stretches: tuple[Stretch, ...] = ()

    @property
    def value(self) -> float | None:
        """Give the primary's value; None where it is unknown."""
        return self.values[0] if self.values else None


def tried_of(log: ReadLog, spec: Spec | None, facts: Mapping[int, Facts]) -> tuple[Tried, ...]:
    """Give every experiment of a log, in the file's order.

    Args:
        log: the whole log.
        spec: its spec; None where there is none.
        facts: what the records tell, by number.
    """
    objectives, segment = objectives_of(log, spec), main_segment(log)
    best_so_far = baseline_value(log, objectives)
    found: list[Tried] = []
    for position, experiment in enumerate(log.experiments, 1):
        known = facts.get(experiment.iteration or 0, Facts())
        is_comparable = is_in_main_segment(experiment, segment)
        tried = _tried(position, experiment, is_comparable, objectives, known, best_so_far)
        if tried.fate is Fate.KEPT and tried.value is not None:
            best_so_far = tried.value
        found.append(tried)
    return _with_hours(found)


def baseline_value(log: ReadLog, objectives: Sequence[Objective]) -> float | None:
    """Give the primary's value of the untouched code; None where it is unknown."""
    metrics = log.baseline.metrics if log.baseline else None
    return number_of((metrics or {}).get(objectives[0].name)) if objectives else None


def _tried(
    position: int,
    experiment: ReadExperiment,
    is_comparable: bool,
    objectives: Sequence[Objective],
    facts: Facts,
    best_so_far: float | None,
) -> Tried:
    ours = experiment.headway
    pair = _deciding_pair(experiment)
    metrics = (pair.candidate.metrics if pair and pair.candidate else None) or experiment.metrics or {}
    values = tuple(number_of(metrics.get(o.name)) if is_comparable else None for o in objectives)
    primary = objectives[0] if objectives and is_comparable else None
    reference = _reference(pair, primary)
    fate = _FATES[experiment.outcome] if experiment.outcome else Fate.OPEN
    gain, is_stored = _gain(experiment, fate, pair, primary, values, reference, best_so_far)
    imported = ours.imported if ours else None
    usage = ours.usage if ours else None
    return Tried(
        position=position,
        iteration=experiment.iteration,
        batch=experiment.batch,
        hypothesis=experiment.hypothesis or UNKNOWN,
        category=experiment.category or UNKNOWN,
        agent=(ours.agent if ours else None) or facts.agent or UNKNOWN,
        outcome=str(experiment.outcome) if experiment.outcome else UNKNOWN,
        fate=fate,
        is_comparable=is_comparable,
        values=values,
        reference=reference,
        gain=gain,
        gain_is_stored=is_stored,
        samples=samples_of(metrics.get(primary.name)) if primary else (),
        started_at=facts.started_at or (imported.at if imported else None) or _first_sample(pair),
        hour=None,
        seconds=facts.seconds,
        author_seconds=facts.author_seconds,
        measure_seconds=facts.measure_seconds,
        usd=_usd(experiment),
        tokens=usage.tokens if usage and isinstance(usage.tokens, int) else None,
        files=tuple(change.file for change in experiment.changes),
        lines_added=facts.lines_added,
        lines_removed=facts.lines_removed,
        commit=experiment.commit,
        reason=experiment.error_message or experiment.deferred_reason or facts.reason or experiment.learnings,
        repeat_of=ours.repeat_of if ours else None,
        lost=facts.lost,
        stretches=facts.stretches,
    )


def _deciding_pair(experiment: ReadExperiment) -> Comparison | None:
    """Give the comparison that the outcome rests on: the combined one of a runner-up, else the standalone one."""
    combined = experiment.outcome in (Outcome.RUNNER_UP_KEPT, Outcome.RUNNER_UP_REVERTED)
    wanted = ComparisonKind.INTEGRATED if combined else ComparisonKind.STANDALONE
    return next((pair for pair in experiment.comparisons if pair.kind is wanted), None)


def _reference(pair: Comparison | None, primary: Objective | None) -> float | None:
    if pair is None or pair.reference is None or primary is None:
        return None
    return number_of((pair.reference.metrics or {}).get(primary.name))


def _gain(
    experiment: ReadExperiment,
    fate: Fate,
    pair: Comparison | None,
    primary: Objective | None,
    values: Sequence[float | None],
    reference: float | None,
    best_so_far: float | None,
) -> tuple[GainRange | None, bool]:
    """Give the gain as the log tells it, else by the pair, else against the kept value before; and whether stored."""
    if fate is Fate.FAILED:
        return None, False  # what failed was not compared, whatever it printed
    told = experiment.headway.gain if experiment.headway else None
    if told is not None and (pair is None or pair.kind is not ComparisonKind.INTEGRATED):
        return GainRange(told.estimate, told.low, told.high), False
    if primary is None or primary.sign is None or not values or values[0] is None:
        return None, False
    against = reference if reference is not None else best_so_far
    if not against or (reference is None and not fate.is_compared):
        return None, False
    is_stored = pair is None or pair.reference is None or pair.reference.headway is None
    estimate = signed_change(against, values[0], primary.sign) / abs(against)
    pairs = () if is_stored or pair is None else _pair_gains(pair, primary, primary.sign)
    low, high = (min(pairs), max(pairs)) if len(pairs) > 1 else (None, None)
    return GainRange(estimate, low, high), is_stored


def _pair_gains(pair: Comparison, primary: Objective, sign: int) -> tuple[float, ...]:
    sides = (pair.reference, pair.candidate)
    reference, candidate = (samples_of((side.metrics or {}).get(primary.name)) if side else () for side in sides)
    both = zip(reference, candidate, strict=False)
    return tuple(signed_change(r, c, sign) / abs(r) for r, c in both if r)


def _first_sample(pair: Comparison | None) -> str | None:
    ours = pair.candidate.headway if pair and pair.candidate else None
    return ours.started_at[0] if ours and ours.started_at else None


def _usd(experiment: ReadExperiment) -> float | None:
    """Give what an experiment cost; None while the agent's part is unknown."""
    usage = experiment.headway.usage if experiment.headway else None
    if usage is None or not isinstance(usage.usd, int | float):
        return None
    judge = experiment.judge.judge_cost_usd if experiment.judge else None
    harness = experiment.cost.usd if experiment.cost else None
    return float(usage.usd) + float(judge or 0) + float(harness or 0)


def moment(text: str | None) -> datetime | None:
    """Give a time as told by a log; None where it is none."""
    try:
        found = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return found if found is None or found.tzinfo else found.replace(tzinfo=UTC)


def _with_hours(found: Sequence[Tried]) -> tuple[Tried, ...]:
    moments = [moment(tried.started_at) for tried in found]
    first = min((m for m in moments if m is not None), default=None)
    if first is None:
        return tuple(found)
    hours = [None if m is None else int((m - first).total_seconds() // 3600) for m in moments]
    return tuple(replace(tried, hour=hour) for tried, hour in zip(found, hours, strict=True))
