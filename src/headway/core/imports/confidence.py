"""How much a gain stands out of the scatter of a segment, computed anew.

The gain so far is the distance of the best kept value from the first one measured; the scatter is the median absolute
deviation of all values measured so far. Two things differ from the figure that pi-autoresearch writes, for both make
it say what is not so: its baseline may be a crash, and it drops every value that is zero or less. Here a crash is no
measurement, and zero is a value like any other.

Source: the formula of pi-autoresearch, read off its logs (93% of the values written there follow it).
"""

from bisect import bisect_left, insort
from collections.abc import Iterable

from headway.core.imports.found import LOWER, Direction, Found
from headway.core.log_words import Outcome

FEWEST = 3
"""Values below which scatter says nothing."""
_BASELINES = (Outcome.KEPT, Outcome.REVERTED)


def confidences(runs: Iterable[Found], direction: Direction | None) -> list[float | None]:
    """Give the confidence after each run of one segment.

    Args:
        runs: the segment's, in order.
        direction: `lower` or `higher`; without one nothing is best, so nothing is known.
    Returns: one figure a run, >= 0; None where fewer than three values were measured, where they do not scatter, or
        where nothing better than the baseline was kept.
    """
    ordered: list[float] = []
    baseline = best = None
    found: list[float | None] = []
    for run in runs:
        if run.metric is not None:
            insort(ordered, float(run.metric))
            if baseline is None and run.outcome in _BASELINES:
                baseline = float(run.metric)
            if run.outcome is Outcome.KEPT and (best is None or is_better(run.metric, best, direction)):
                best = float(run.metric)
        is_known = direction is not None and baseline is not None and best is not None and best != baseline
        scatter = _scatter(ordered) if is_known and len(ordered) >= FEWEST else 0.0
        found.append(abs(best - baseline) / scatter if scatter and best is not None and baseline is not None else None)
    return found


def is_better(value: float, than: float, direction: Direction | None) -> bool:
    """Say whether a value is better than another; never without a direction."""
    if direction is None:
        return False
    return value < than if direction == LOWER else value > than


def _scatter(ordered: list[float]) -> float:
    """Give the median absolute deviation of values in ascending order, by walking outwards from their median."""
    many = len(ordered)
    middle = _median(ordered)
    right = bisect_left(ordered, middle)
    left = right - 1
    steps: list[float] = []
    while len(steps) <= many // 2:
        goes_left = right >= many or (left >= 0 and middle - ordered[left] <= ordered[right] - middle)
        steps.append(middle - ordered[left] if goes_left else ordered[right] - middle)
        left, right = (left - 1, right) if goes_left else (left, right + 1)
    return steps[-1] if many % 2 else (steps[-1] + steps[-2]) / 2


def _median(ordered: list[float]) -> float:
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
