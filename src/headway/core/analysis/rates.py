"""How often something was kept, and what a keep took: of a whole run, or by category, agent, file, hour."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from headway.core.analysis.proportions import wilson
from headway.core.analysis.tried import UNKNOWN, Fate, Tried


class By(StrEnum):
    """What experiments are grouped by."""

    CATEGORY = "category"
    AGENT = "agent"
    FILE = "file"
    HOUR = "hour"
    OUTCOME = "outcome"
    BATCH = "batch"


@dataclass(frozen=True)
class Rates:
    """What some experiments came to.

    Args:
        name: of the group.
        experiments: all of them; tried: those that are over, deferred ones aside.
        keep_rate: kept of tried, 0 to 1, with its 95% interval (Wilson); None where nothing was tried.
        seconds, usd: what is known of the spend; None where nothing is. seconds_unknown, usd_unknown: experiments
            whose spend is not known.
        seconds_per_keep, usd_per_keep: None where nothing was kept, or a part of the spend is unknown.
        best_gain: the largest gain of a keep, relative; None where none is known.
    """

    name: str
    experiments: int
    tried: int
    kept: int
    reverted: int
    inconclusive: int
    failed: int
    keep_rate: float | None
    keep_rate_low: float | None
    keep_rate_high: float | None
    seconds: float | None
    seconds_unknown: int
    seconds_per_keep: float | None
    usd: float | None
    usd_unknown: int
    usd_per_keep: float | None
    best_gain: float | None


def rates_of(name: str, group: Sequence[Tried]) -> Rates:
    """Give what a group of experiments came to."""
    tried = [one for one in group if one.fate.is_tried]
    count = {fate: sum(one.fate is fate for one in tried) for fate in Fate}
    kept = count[Fate.KEPT]
    bounds = wilson(kept, len(tried))
    spent = [one for one in group if one.fate is not Fate.DEFERRED]
    seconds, seconds_unknown = _sum([one.seconds for one in spent])
    usd, usd_unknown = _sum([one.usd for one in spent])
    gains = [one.gain.estimate for one in tried if one.fate is Fate.KEPT and one.gain is not None]
    return Rates(
        name=name,
        experiments=len(group),
        tried=len(tried),
        kept=kept,
        reverted=count[Fate.REVERTED],
        inconclusive=count[Fate.INCONCLUSIVE],
        failed=count[Fate.FAILED],
        keep_rate=kept / len(tried) if tried else None,
        keep_rate_low=bounds[0] if bounds else None,
        keep_rate_high=bounds[1] if bounds else None,
        seconds=seconds,
        seconds_unknown=seconds_unknown,
        seconds_per_keep=_per_keep(seconds, seconds_unknown, kept),
        usd=usd,
        usd_unknown=usd_unknown,
        usd_per_keep=_per_keep(usd, usd_unknown, kept),
        best_gain=max(gains, default=None),
    )


def _sum(parts: Sequence[float | None]) -> tuple[float | None, int]:
    known = [part for part in parts if part is not None]
    return (sum(known) if known else None), len(parts) - len(known)


def _per_keep(total: float | None, unknown: int, kept: int) -> float | None:
    return total / kept if total is not None and kept and not unknown else None


def rates_by(by: By, experiments: Iterable[Tried]) -> tuple[Rates, ...]:
    """Give the rates of each group, those with the most tries first; hours and batches in their order.

    An experiment that changed several files counts in each of their groups.
    """
    groups: dict[tuple[int, str], list[Tried]] = {}
    for one in experiments:
        for key in _KEYS[by](one):
            groups.setdefault(key, []).append(one)
    found = [(key, rates_of(key[1], group)) for key, group in groups.items()]
    if by in (By.HOUR, By.BATCH):
        found.sort(key=lambda pair: pair[0])
    else:
        found.sort(key=lambda pair: (-pair[1].tried, -pair[1].kept, pair[0][1]))
    return tuple(rates for _, rates in found)


def _numbered(value: int | None) -> list[tuple[int, str]]:
    return [(10**9, UNKNOWN)] if value is None else [(value, str(value))]


_KEYS: dict[By, Callable[[Tried], list[tuple[int, str]]]] = {
    By.CATEGORY: lambda one: [(0, one.category)],
    By.AGENT: lambda one: [(0, one.agent)],
    By.FILE: lambda one: [(0, file) for file in sorted(set(one.files))] or [(0, UNKNOWN)],
    By.HOUR: lambda one: _numbered(one.hour),
    By.OUTCOME: lambda one: [(0, one.outcome)],
    By.BATCH: lambda one: _numbered(one.batch),
}
