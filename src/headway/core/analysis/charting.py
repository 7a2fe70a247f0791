"""What the charts show, as plain rows: one source for the report, the live page and the notebook.

A chart is drawn from these rows by `adapters/charts.py`; here it is decided what belongs on it, and on which scale.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from headway.core.analysis.facts import Stretch
from headway.core.analysis.objectives import Objective
from headway.core.analysis.rates import By
from headway.core.analysis.tried import Fate, Tried, moment
from headway.core.analysis.whole import Analysis

MOST_GROUPS = 12
MOST_NEAR_MISSES = 15
MOST_BARS = 400
BINS = 120
STEPS = 400
_PADDING = 0.06
_TAIL = 0.02
"""Share of the values at either end that may lie outside the scale, so that one outlier does not flatten the rest."""


@dataclass(frozen=True)
class Point:
    """One experiment on a chart; `y` is its value, or the edge of the scale where it lies outside or has none."""

    position: int
    y: float
    fate: Fate
    is_outside: bool


@dataclass(frozen=True)
class Progress:
    """One objective over the experiments.

    Args:
        kept: (position, value) of the baseline (position 0), each kept state, and the last again at the end.
        band: lowest and highest sample of the untouched code; None where there are fewer than two.
        scale: lowest and highest value shown.
    """

    objective: Objective
    points: tuple[Point, ...]
    kept: tuple[tuple[int, float], ...]
    baseline: float | None
    band: tuple[float, float] | None
    scale: tuple[float, float]


@dataclass(frozen=True)
class GainBar:
    """A gain in per cent, with its interval where it has one."""

    position: int
    label: str
    gain: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Share:
    """How many experiments of a group met a fate."""

    name: str
    fate: Fate
    count: int


@dataclass(frozen=True)
class Spent:
    """Time, in the chart's unit, and dollars up to an experiment; None while a part is unknown."""

    position: int
    time: float | None
    usd: float | None


@dataclass(frozen=True)
class Busy:
    """Some time that a lane was busy, in the chart's unit since the start; `share` of that time."""

    lane: str
    start: float
    end: float
    share: float


@dataclass(frozen=True)
class ChartData:
    """All that is drawn; what is empty is not drawn. `time_unit` is that of `spent` and `busy`."""

    progress: tuple[Progress, ...]
    gains: tuple[GainBar, ...]
    near_misses: tuple[GainBar, ...]
    categories: tuple[Share, ...]
    spent: tuple[Spent, ...]
    busy: tuple[Busy, ...]
    time_unit: str


UNITS = {"seconds": 1.0, "minutes": 60.0, "hours": 3600.0, "days": 86400.0}


def chart_data(analysis: Analysis) -> ChartData:
    """Give what the charts of a run show."""
    progress = [_progress(analysis, index, objective) for index, objective in enumerate(analysis.objectives)]
    spans = _spans(analysis.experiments)
    unit = _unit(spans, analysis.experiments)
    return ChartData(
        progress=tuple(shown for shown in progress if shown is not None),
        gains=_keeps(analysis),
        near_misses=_near_misses(analysis),
        categories=_categories(analysis),
        spent=_spent(analysis.experiments, UNITS[unit]),
        busy=_busy(spans, UNITS[unit]),
        time_unit=unit,
    )


def _unit(spans: Sequence[tuple[str, float, float]], experiments: Sequence[Tried]) -> str:
    """Give the unit that the longest time is told in."""
    longest = max([end for _, _, end in spans] + [sum(one.seconds or 0.0 for one in experiments)])
    return next((name for name, size in UNITS.items() if longest < 200 * size), "days")


def _progress(analysis: Analysis, index: int, objective: Objective) -> Progress | None:
    values = [(one, one.values[index] if index < len(one.values) else None) for one in analysis.experiments]
    known = [value for one, value in values if value is not None and one.fate is not Fate.FAILED]
    baseline, samples = analysis.baselines[index], analysis.calibration[index]
    kept_values = [v for one, v in values if one.fate is Fate.KEPT and v is not None]
    if baseline is None and not known:
        return None
    band = (min(samples), max(samples)) if len(samples) > 1 else None
    targets = [] if objective.target is None else [objective.target]
    must = [*([baseline] if baseline is not None else []), *kept_values, *(band or ()), *targets]
    scale = _scale(must, known)
    points = tuple(p for one, value in values if (p := _point(one, value, scale, objective.sign)) is not None)
    return Progress(objective, points, _steps(values, baseline), baseline, band, scale)


def _scale(must: Sequence[float], known: Sequence[float]) -> tuple[float, float]:
    ranked = sorted(known)
    tail = int(len(ranked) * _TAIL)
    inner = ranked[tail : len(ranked) - tail] if ranked else []
    low, high = min([*must, *inner]), max([*must, *inner])
    padding = (high - low) * _PADDING or abs(high) * _PADDING or 1.0
    return low - padding, high + padding


def _point(one: Tried, value: float | None, scale: tuple[float, float], sign: int | None) -> Point | None:
    low, high = scale
    if value is not None and one.fate is not Fate.FAILED:
        return Point(one.position, min(max(value, low), high), one.fate, not low <= value <= high)
    if one.fate is Fate.FAILED:
        return Point(one.position, high if sign == -1 else low, one.fate, True)
    return None


def _steps(values: Sequence[tuple[Tried, float | None]], baseline: float | None) -> tuple[tuple[int, float], ...]:
    steps = [] if baseline is None else [(0, baseline)]
    steps += [(one.position, value) for one, value in values if one.fate is Fate.KEPT and value is not None]
    return (*steps, (len(values), steps[-1][1])) if steps else ()


def _keeps(analysis: Analysis) -> tuple[GainBar, ...]:
    kept = [keep for keep in analysis.attribution.keeps if keep.gain is not None]
    return tuple(
        GainBar(k.position, _label(k.iteration), 100 * k.gain.estimate, _percent(k.gain.low), _percent(k.gain.high))
        for k in kept
        if k.gain is not None
    )


def _near_misses(analysis: Analysis) -> tuple[GainBar, ...]:
    return tuple(
        GainBar(m.position, _label(m.iteration), 100 * m.gain.estimate, _percent(m.gain.low), _percent(m.gain.high))
        for m in analysis.near_misses[:MOST_NEAR_MISSES]
    )


def _label(iteration: int | None) -> str:
    return "?" if iteration is None else str(iteration)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _categories(analysis: Analysis) -> tuple[Share, ...]:
    shares = []
    for rates in analysis.by(By.CATEGORY)[:MOST_GROUPS]:
        counts = {
            Fate.KEPT: rates.kept,
            Fate.INCONCLUSIVE: rates.inconclusive,
            Fate.REVERTED: rates.reverted,
            Fate.FAILED: rates.failed,
        }
        shares += [Share(rates.name, fate, count) for fate, count in counts.items() if count]
    return tuple(shares)


def _spent(experiments: Sequence[Tried], unit: float) -> tuple[Spent, ...]:
    """Give the spend so far at up to `STEPS` experiments; none where nothing is known of either."""
    time: float | None = 0.0
    usd: float | None = 0.0
    found = []
    for one in experiments:
        if one.fate is not Fate.DEFERRED:
            time = None if time is None or one.seconds is None else time + one.seconds / unit
            usd = None if usd is None or one.usd is None else usd + one.usd
        found.append(Spent(one.position, time, usd))
    if not found or (found[0].time is None and found[0].usd is None):
        return ()
    step = max(1, len(found) // STEPS)
    return (*found[:-1:step], found[-1])


def _spans(experiments: Sequence[Tried]) -> list[tuple[str, float, float]]:
    """Give when each lane was busy, in seconds since the first of them began."""
    found = [span for one in experiments for stretch in one.stretches if (span := _span(stretch)) is not None]
    start = min((begin for _, begin, _ in found), default=0.0)
    return [(lane, begin - start, end - start) for lane, begin, end in found]


def _span(stretch: Stretch) -> tuple[str, float, float] | None:
    at = moment(stretch.ended_at)
    return None if at is None else (stretch.lane, at.timestamp() - stretch.seconds, at.timestamp())


def _busy(spans: Sequence[tuple[str, float, float]], unit: float) -> tuple[Busy, ...]:
    told = [(lane, begin / unit, end / unit) for lane, begin, end in spans]
    if len(told) <= MOST_BARS:
        return tuple(Busy(lane, begin, end, 1.0) for lane, begin, end in told)
    return _binned(told)


def _binned(spans: Sequence[tuple[str, float, float]]) -> tuple[Busy, ...]:
    width = max(end for _, _, end in spans) / BINS or 1.0
    busy: dict[tuple[str, int], float] = {}
    for lane, begin, end in spans:
        for index in range(int(begin / width), min(BINS - 1, int(end / width)) + 1):
            overlap = min(end, (index + 1) * width) - max(begin, index * width)
            busy[lane, index] = busy.get((lane, index), 0.0) + max(0.0, overlap)
    return tuple(
        Busy(lane, index * width, (index + 1) * width, min(1.0, time / width))
        for (lane, index), time in sorted(busy.items())
    )
