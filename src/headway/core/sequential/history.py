"""What a run knows about the noise of its metrics: every list of repeated measurements of unchanged code.

Raw values only, in the order of the sessions; the scale, the differences and the levels follow from them. A history
is a value: `plus` gives a new one, and the history of all lists at once equals the one grown list by list.
Source: DECISIONS 2.2 to 2.4.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from headway.core.sequential.noise import WINDOW, Noise, differences, noise_of, smallest_step
from headway.core.sequential.scale import fits_logarithms, working
from headway.core.statistics import MAD_TO_SD, median

LEVEL: Final = 4
"""Newest stored values that make the level of the current best."""
NEWEST_ERRORS: Final = 40
LEAST_ERRORS: Final = 4
"""One-step prediction errors: how many count, and how many it takes before they do."""
REFRESH: Final = 3
"""Candidates after which the current best is measured again before one is screened out."""


@dataclass(frozen=True)
class Repeats:
    """Values of one side of one session, in the order of measurement.

    `code` names what was measured (a commit); `values` holds each metric's raw values; `k` numbers the session (0: the
    calibration at the start); `is_reference` says that it was the current best then; `was_kept` that this candidate
    became the best, so that its first value, which the screen selected, is no evidence of its level.
    """

    code: str
    values: Mapping[str, tuple[float, ...]]
    k: int = 0
    is_reference: bool = True
    was_kept: bool = False


@dataclass(frozen=True)
class MetricHistory:
    """One metric's part: differences and levels stand on the working scale, `calibration` in the metric's unit."""

    is_log: bool = True
    differences: tuple[float, ...] = ()
    quantum: float = 0.0
    errors: tuple[float, ...] = ()
    levels: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    calibration: tuple[float, ...] = ()
    lists: tuple[tuple[str, tuple[float, ...], int], ...] = ()

    @cached_property
    def noise(self) -> Noise | None:
        """What the repeats so far say; None without two measurements of the same code."""
        return noise_of(self.differences, self.quantum)

    @property
    def ever_differed(self) -> bool:
        return self.quantum > 0.0

    @property
    def is_exact(self) -> bool:
        """Whether the metric counts as deterministic: at least two repeats, and none ever differed."""
        return len(self.differences) >= 2 and not self.ever_differed

    @cached_property
    def magnitude(self) -> float | None:
        """The absolute median of the calibration samples."""
        return abs(median(self.calibration)) if self.calibration else None

    @cached_property
    def spread_of_one(self) -> float:
        """The standard deviation of one measurement across sessions: drift widens it. 0 without noise."""
        within = self.noise.of_one if self.noise is not None else 0.0
        if len(self.errors) < LEAST_ERRORS:
            return within
        return max(within, MAD_TO_SD * median([abs(error) for error in self.errors]))

    def noise_with(self, own: Sequence[float]) -> Noise | None:
        """Give the noise with a session's own differences appended."""
        if not own:
            return self.noise
        return noise_of((*self.differences, *own)[-WINDOW:], self.quantum)

    def level_of(self, code: str) -> tuple[float, ...]:
        """Give the newest stored values of a code, at most four, on the working scale."""
        return self.levels.get(code, ())

    def plus(self, code: str, values: Sequence[float], k: int) -> "MetricHistory":
        """Give the history with one more list of repeats of a code; a value of 0 or less changes the scale."""
        lists = (*self.lists, (code, tuple(values), k))
        if self.is_log and not fits_logarithms(values):
            return _rebuilt(lists)
        return self._grown(code, working(values, self.is_log), lists)

    def on_differences(self) -> "MetricHistory":
        """Give the same history on the difference scale."""
        return _rebuilt(self.lists) if self.is_log else self

    def _grown(
        self, code: str, values: tuple[float, ...], lists: tuple[tuple[str, tuple[float, ...], int], ...]
    ) -> "MetricHistory":
        if not values:
            return self
        stored = self.levels.get(code, ())
        found = differences(values)
        step = smallest_step(found)
        raw, is_start = lists[-1][1], lists[-1][2] == 0
        return MetricHistory(
            is_log=self.is_log,
            differences=(*self.differences, *found)[-WINDOW:],
            quantum=min(step, self.quantum or step) if step else self.quantum,
            errors=(*self.errors, *_error(stored, values[0]))[-NEWEST_ERRORS:],
            levels={**self.levels, code: (*stored, *values)[-LEVEL:]},
            calibration=(*self.calibration, *raw) if is_start else self.calibration,
            lists=lists,
        )


def _error(stored: Sequence[float], first: float) -> tuple[float, ...]:
    """How far a session's first value lies from the mean of the stored ones, in deviations of one measurement."""
    count = len(stored)
    if count < 2:
        return ()
    return ((first - sum(stored) / count) / math.sqrt(1 + 1 / count),)


def _rebuilt(lists: Sequence[tuple[str, tuple[float, ...], int]]) -> MetricHistory:
    history = MetricHistory(is_log=False)
    for code, values, k in lists:
        history = history.plus(code, values, k)
    return history


@dataclass(frozen=True)
class RunHistory:
    """All metrics of a run; `reference_k` is the newest session that measured the current best or made it."""

    metrics: Mapping[str, MetricHistory] = field(default_factory=dict)
    reference_k: int = 0

    def is_fresh(self, k: int) -> bool:
        """Say whether the current best was measured during the last three candidates, so that its level holds."""
        return k - self.reference_k < REFRESH

    def of(self, name: str) -> MetricHistory:
        """Give one metric's history; an empty one where nothing was measured."""
        return self.metrics.get(name) or NOTHING

    def plus(self, repeats: Repeats) -> "RunHistory":
        """Give the history with one more list.

        Args:
            repeats: one side of a session. A kept candidate's first value only counts for the scale.
        Returns: the new history; this one is unchanged.
        """
        grown = dict(self.metrics)
        for name, values in repeats.values.items():
            used = values[1:] if repeats.was_kept and len(values) > 1 else values
            history = self.of(name)
            if len(used) < len(values) and not fits_logarithms(values[:1]):
                history = history.on_differences()
            grown[name] = history.plus(repeats.code, used, repeats.k)
        fresh = repeats.is_reference or repeats.was_kept
        return RunHistory(grown, max(self.reference_k, repeats.k) if fresh else self.reference_k)


NOTHING: Final = MetricHistory()


def run_history(lists: Iterable[Repeats]) -> RunHistory:
    """Build a run's history from all its lists of repeats.

    Args:
        lists: oldest session first; within a session the reference before the candidate.
    Returns: the history.
    """
    history = RunHistory()
    for repeats in lists:
        history = history.plus(repeats)
    return history
