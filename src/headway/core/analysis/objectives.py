"""Which values of a log matter, and which way they are better: as its spec says, else as the log itself tells.

Source: DESIGN section 3 (metric); CONTRACTS section 10 (imported logs: the direction is known, or it is unknown).
"""

from collections import Counter
from dataclasses import dataclass

from headway.core.import_records import ImportedLog, ImportedSegment
from headway.core.log_reading import ReadExperiment, ReadLog
from headway.core.measurements import MetricValue, Snapshot
from headway.core.spec import Spec
from headway.core.spec_parts import MetricType

MOST_OBJECTIVES = 4
_SIGNS = {"lower": -1, "higher": 1}


@dataclass(frozen=True)
class Objective:
    """One value that candidates are compared by.

    Args:
        sign: +1 where more is better, -1 where less is; None: nobody knows.
        target: the value at which the run may stop; None: there is none.
        is_judged: a judge scores it; None: not known.
    """

    name: str
    sign: int | None
    target: float | None = None
    is_judged: bool | None = None

    @property
    def direction_words(self) -> str:
        """Say which way is better."""
        return {1: "higher is better", -1: "lower is better", None: "which way is better is not known"}[self.sign]


def objectives_of(log: ReadLog, spec: Spec | None) -> tuple[Objective, ...]:
    """Give what candidates were compared by, the primary first.

    Args:
        log: the whole log.
        spec: its spec; None where there is none.
    Returns: at most `MOST_OBJECTIVES`; none where the log has no values at all.
    """
    if spec is None:
        return _as_the_log_tells(log)
    primary = spec.metric.primary
    judged = primary.type is MetricType.JUDGE
    found = [Objective(primary.name, primary.direction.sign, primary.target, judged)]
    for other in spec.metric.objectives:
        if other.name not in {known.name for known in found}:
            judged = other.type is MetricType.JUDGE
            found.append(Objective(other.name, other.direction.sign, other.target, judged))
    return tuple(found[:MOST_OBJECTIVES])


def _as_the_log_tells(log: ReadLog) -> tuple[Objective, ...]:
    segment = main_segment(log)
    if segment is not None and segment.metric:
        return (Objective(segment.metric, _SIGNS.get(segment.direction or "")),)
    named: Counter[str] = Counter()
    for metrics in (log.baseline.metrics if log.baseline else None, log.best.metrics if log.best else None):
        named.update({name: len(log.experiments) + 1 for name in (metrics or {})})
    for experiment in log.experiments:
        named.update(name for name, value in (experiment.metrics or {}).items() if number_of(value) is not None)
    return tuple(Objective(name, None) for name, _ in named.most_common(1))


def imported_of(log: ReadLog) -> ImportedLog | None:
    """Give where a log came from; None where headway wrote it."""
    ours = log.baseline.headway if log.baseline else None
    return ours.imported if ours else None


def main_segment(log: ReadLog) -> ImportedSegment | None:
    """Give the stretch of an imported log that its baseline and best are of; None where there is none."""
    imported = imported_of(log)
    if imported is None or not imported.segments:
        return None
    best = log.best.iteration if log.best else None
    holding = [s for s in imported.segments if best and s.first and s.last and s.first <= best <= s.last]
    measured = [s for s in imported.segments if s.baseline is not None]
    return (holding or measured or list(imported.segments))[-1]


def is_in_main_segment(experiment: ReadExperiment, segment: ImportedSegment | None) -> bool:
    """Say whether an experiment's values may be set beside the log's baseline."""
    if segment is None or segment.first is None or segment.last is None or experiment.iteration is None:
        return True
    return segment.first <= experiment.iteration <= segment.last


def number_of(value: MetricValue | None) -> float | None:
    """Give a metric's value as one number; None where it is none."""
    if isinstance(value, Snapshot):
        return float(value.aggregate)
    return float(value) if isinstance(value, int | float) else None


def samples_of(value: MetricValue | None) -> tuple[float, ...]:
    """Give the samples that a metric's value was made of; none where they are not known."""
    return tuple(float(s) for s in value.samples or ()) if isinstance(value, Snapshot) else ()
