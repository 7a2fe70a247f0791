"""Which kept commit brought how much of the gain, and whether it held when it was measured again.

Each keep's gain is against the reference of its own session, so the parts multiply: a keep's share of the whole is
the logarithm of its factor over the sum of all. What the parts come to together is compared with best against
baseline as stored; where the two differ, the machine drifted, or a keep is not what it seemed.

Source: DECISIONS section 2.9 (per-step gains; after a keep the reference is measured anew in every later session).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headway.core.analysis.objectives import Objective, number_of, samples_of
from headway.core.analysis.tried import Fate, Tried
from headway.core.claims import GainRange
from headway.core.log_reading import ReadLog
from headway.core.log_words import ComparisonKind
from headway.core.statistics import median, signed_change


@dataclass(frozen=True)
class Recheck:
    """A kept commit as it was measured again later, as other candidates' reference.

    Args:
        samples: how many measurements; value: their median.
        difference: against the value that it was kept for, relative, positive is better; None over a value of 0.
    """

    samples: int
    value: float
    difference: float | None


@dataclass(frozen=True)
class KeptGain:
    """One kept experiment's part in the gain.

    Args:
        gain: against its own reference; None where it is unknown.
        share: of the whole gain, by logarithms; the shares of a run sum to 1. None where a gain is unknown.
        total: what this keep and all before it come to, relative to the baseline; None likewise.
        gain_per_line: gain over lines added and removed; None where either is unknown.
    """

    position: int
    iteration: int | None
    commit: str | None
    hypothesis: str
    category: str
    files: tuple[str, ...]
    lines_added: int | None
    lines_removed: int | None
    gain: GainRange | None
    gain_is_stored: bool
    share: float | None
    total: float | None
    gain_per_line: float | None
    recheck: Recheck | None


@dataclass(frozen=True)
class Attribution:
    """Where the gain came from.

    Args:
        compounded: all keeps' gains together; None where one is unknown.
        as_stored: best against baseline, each as stored when it was measured; None where either is unknown.
    """

    keeps: tuple[KeptGain, ...]
    compounded: float | None
    as_stored: float | None


def attribution_of(log: ReadLog, experiments: Sequence[Tried], objectives: Sequence[Objective]) -> Attribution:
    """Say which keep brought how much.

    Args:
        log: the whole log.
        experiments: all of them, in the log's order.
        objectives: the primary first.
    """
    kept = [one for one in experiments if one.fate is Fate.KEPT and one.is_comparable]
    primary = objectives[0] if objectives else None
    logs = _factors(kept, primary)
    whole = sum(logs) if logs else 0.0
    again = _measured_again(log, primary) if primary else {}
    keeps: list[KeptGain] = []
    so_far = 0.0
    for index, one in enumerate(kept):
        so_far += logs[index] if logs else 0.0
        share = logs[index] / whole if logs and abs(whole) > 1e-12 else None
        keeps.append(_keep(one, share, _as_gain(so_far, primary) if logs else None, _recheck(one, again, primary)))
    compounded = _as_gain(whole, primary) if logs else None
    return Attribution(tuple(keeps), compounded, _as_stored(log, primary))


def _factors(kept: Sequence[Tried], primary: Objective | None) -> list[float]:
    """Give each keep's factor as the logarithm of how much better it made things; empty where one is unknown."""
    if primary is None or primary.sign is None:
        return []
    logs: list[float] = []
    for one in kept:
        ratio = None if one.gain is None else 1 + primary.sign * one.gain.estimate
        if ratio is None or ratio <= 0:
            return []
        logs.append(primary.sign * math.log(ratio))
    return logs


def _as_gain(logs: float, primary: Objective | None) -> float | None:
    if primary is None or primary.sign is None:
        return None
    return primary.sign * (math.exp(primary.sign * logs) - 1)


def _as_stored(log: ReadLog, primary: Objective | None) -> float | None:
    if primary is None or primary.sign is None or log.baseline is None or log.best is None:
        return None
    baseline = number_of((log.baseline.metrics or {}).get(primary.name))
    best = number_of((log.best.metrics or {}).get(primary.name))
    return None if best is None or not baseline else signed_change(baseline, best, primary.sign) / abs(baseline)


def _keep(one: Tried, share: float | None, total: float | None, recheck: Recheck | None) -> KeptGain:
    lines = None if one.lines_added is None or one.lines_removed is None else one.lines_added + one.lines_removed
    return KeptGain(
        position=one.position,
        iteration=one.iteration,
        commit=one.commit,
        hypothesis=one.hypothesis,
        category=one.category,
        files=one.files,
        lines_added=one.lines_added,
        lines_removed=one.lines_removed,
        gain=one.gain,
        gain_is_stored=one.gain_is_stored,
        share=share,
        total=total,
        gain_per_line=one.gain.estimate / lines if one.gain is not None and lines else None,
        recheck=recheck,
    )


def _measured_again(log: ReadLog, primary: Objective) -> dict[str, list[float]]:
    """Give every measurement of a commit as somebody's reference, taken in that session, by commit."""
    found: dict[str, list[float]] = {}
    for experiment in log.experiments:
        for pair in experiment.comparisons:
            if pair.kind is ComparisonKind.HOLDOUT or pair.reference is None or pair.reference.headway is None:
                continue
            samples = samples_of((pair.reference.metrics or {}).get(primary.name))
            found.setdefault(pair.reference_revision, []).extend(samples)
    return found


def _recheck(one: Tried, again: Mapping[str, Sequence[float]], primary: Objective | None) -> Recheck | None:
    samples = again.get(one.commit or "")
    if not samples or primary is None:
        return None
    value = median(samples)
    if one.value is None or primary.sign is None or one.value == 0:
        return Recheck(len(samples), value, None)
    return Recheck(len(samples), value, signed_change(one.value, value, primary.sign) / abs(one.value))
