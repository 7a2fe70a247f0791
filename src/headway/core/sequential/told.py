"""What a person is told after calibration: how noisy it is, what can be found, and what it costs.

Source: issue 4 item 3; DECISIONS, the table of efforts ("the smallest gain kept reliably").
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from headway.core.sequential.candidate import boundary_of
from headway.core.sequential.history import MetricHistory, RunHistory
from headway.core.sequential.normal import z_above
from headway.core.sequential.rules import BOUNDS, Objective, Rules, RunState
from headway.core.sequential.scale import Yardstick, as_gain, as_share
from headway.core.sequential.settings import Settings, rules_for
from headway.core.sequential.sight import yardstick_of
from headway.core.spec_parts import Effort, StabilityMode
from headway.core.spec_rules import SpecProblem

RELIABLE: Final[Mapping[Effort, float]] = MappingProxyType(
    {Effort.QUICK: 1.75, Effort.LEAN: 2.3, Effort.STANDARD: 1.4, Effort.THOROUGH: 1.1}
)
"""Gains of this many pair deviations are kept in 90% of cases, as simulated with the boundaries below."""
EXPECTED: Final[Mapping[Effort, float]] = MappingProxyType(
    {Effort.QUICK: 2.8, Effort.LEAN: 1.7, Effort.STANDARD: 4.6, Effort.THOROUGH: 9.0}
)
"""Measurements per experiment, as simulated with a mixture of good and bad candidates."""
EXPECTED_EXACT: Final = 1.7
NINE_IN_TEN: Final = 1.2816
"""A standard normal stays below this in nine of ten cases."""
SIMULATED_PLAN: Final = 100


@dataclass(frozen=True)
class ObjectiveTold:
    """One objective: the noise of one measurement, and the smallest gain that is mostly kept.

    Shares of the current value where `is_share`, else in the metric's unit; `thorough` is what that effort would
    find. All are 0 where repeats are identical, and None where there were too few.
    """

    name: str
    is_share: bool
    noise: float | None
    smallest: float | None
    thorough: float | None


@dataclass(frozen=True)
class Told:
    """All that is told; `measurements` is what an experiment takes on average."""

    effort: Effort
    objectives: tuple[ObjectiveTold, ...]
    measurements: float
    warnings: tuple[str, ...] = ()


def told_before(
    settings: Settings, history: RunHistory, effort: Effort, planned: int | None, incumbent: str = ""
) -> Told:
    """Say what a run can find and what that takes.

    Args:
        settings: from the spec.
        history: after the calibration.
        effort: the one in force.
        planned: candidates that the run is approved for.
        incumbent: code of the untouched commit, as in the history.
    Returns: figures and warnings.
    """
    told = tuple(_objective(o, settings, history.of(o.name), effort, planned, incumbent) for o in settings.objectives)
    known = Effort.STANDARD if effort is Effort.AUTO else effort
    return Told(known, told, _measurements(settings, history, known), _warnings(settings, history, told, incumbent))


def calibration_problems(settings: Settings, history: RunHistory) -> tuple[SpecProblem, ...]:
    """Say which thresholds of the spec mean nothing for what was measured.

    Args:
        settings: from the spec.
        history: after the calibration.
    Returns: one problem per relative threshold of an objective whose calibration median is 0, or absolute one that
        no gain can reach.
    """
    return tuple(problem for objective in settings.objectives for problem in _problems(objective, history))


def _problems(objective: Objective, history: RunHistory) -> list[SpecProblem]:
    known = history.of(objective.name)
    found: list[SpecProblem] = []
    for name, threshold in (("min_effect", objective.min_effect), ("max_regression", objective.max_regression)):
        if threshold is None or threshold.value == 0 or known.magnitude is None:
            continue
        where = ("measurement", "stability", "comparison") if name == "min_effect" else ("metric", "objectives")
        if threshold.is_relative and known.magnitude == 0:
            what = f"is a share, and the calibration of {objective.name!r} has the median 0"
            found.append(SpecProblem((*where, name), what, "give it as absolute, in the metric's unit"))
        elif name == "min_effect" and math.isinf(as_gain(threshold, _start(objective, known))):
            what = f"is {threshold.value:g}, and {objective.name!r} is {known.magnitude:g}: nothing can gain that much"
            found.append(SpecProblem((*where, name), what, "make it smaller"))
    return found


def _start(objective: Objective, history: MetricHistory) -> Yardstick:
    return Yardstick(objective.sign, history.is_log, history.magnitude, history.magnitude)


def smallest_gain(deviation: float, rules: Rules, state: RunState, effort: Effort) -> float:
    """Give the gain on the working scale that is kept in nine of ten cases.

    Args:
        deviation: of a pair.
        rules: of the effort.
        state: where the run stands.
        effort: the one in force.
    Returns: the gain; the simulated figure, scaled by how far the boundary differs from the simulated one, and no
        less than what the most pairs can show.
    """
    bounds, boundary = rules.bounds, boundary_of(rules, state)
    by_pairs = (boundary + NINE_IN_TEN) / math.sqrt(bounds.max_pairs)
    if bounds.is_fixed:
        return by_pairs * deviation
    return max(RELIABLE[effort] * boundary / _simulated_boundary(effort), by_pairs) * deviation


def _simulated_boundary(effort: Effort) -> float:
    alpha = 0.02 if effort is Effort.QUICK else (0.04 if effort is Effort.THOROUGH else 0.05) / SIMULATED_PLAN
    return z_above(alpha / BOUNDS[effort].looks)


def _objective(
    objective: Objective, settings: Settings, history: MetricHistory, effort: Effort, planned: int | None, code: str
) -> ObjectiveTold:
    noise = history.noise
    yardstick = yardstick_of(objective, history, history.level_of(code))
    is_share = history.is_log
    if settings.mode is StabilityMode.STABLE or (noise is not None and noise.is_zero):
        least = 0.0 if objective.min_effect is None else as_gain(objective.min_effect, yardstick)
        shown = _shown(least, yardstick, is_share=is_share)
        return ObjectiveTold(objective.name, is_share, 0.0, shown, shown)
    if noise is None:
        return ObjectiveTold(objective.name, is_share, None, None, None)
    least = 0.0 if objective.min_effect is None else as_gain(objective.min_effect, yardstick)
    gains = [
        least + _smallest(settings, each, planned, noise.deviation)
        for each in (Effort.STANDARD if effort is Effort.AUTO else effort, Effort.THOROUGH)
    ]
    shown_gains = [_shown(gain, yardstick, is_share=is_share) for gain in gains]
    return ObjectiveTold(objective.name, is_share, _shown(noise.of_one, yardstick, is_share=is_share), *shown_gains)


def _smallest(settings: Settings, effort: Effort, planned: int | None, deviation: float) -> float:
    if effort is Effort.LEAN:
        return RELIABLE[effort] * deviation
    rules = rules_for(settings, effort, planned)
    return smallest_gain(deviation, rules, RunState(1, "", planned=planned), effort)


def _shown(gain: float, yardstick: Yardstick, *, is_share: bool) -> float:
    share = as_share(gain, yardstick) if is_share else None
    return gain if share is None else share


def _measurements(settings: Settings, history: RunHistory, effort: Effort) -> float:
    if settings.mode is StabilityMode.STABLE:
        return 1.0
    if settings.mode is StabilityMode.REPEAT:
        return 2.0 * settings.repeats
    is_exact = all(history.of(objective.name).is_exact for objective in settings.objectives)
    return EXPECTED_EXACT if is_exact else EXPECTED[effort]


def _warnings(settings: Settings, history: RunHistory, told: tuple[ObjectiveTold, ...], code: str) -> tuple[str, ...]:
    found: list[str] = []
    for objective, figures in zip(settings.objectives, told, strict=True):
        known = history.of(objective.name)
        if settings.mode is StabilityMode.STABLE and known.ever_differed:
            found.append(f"mode: stable declares {objective.name} to repeat exactly, but its calibration differs")
        wanted = _wanted(objective, known, code)
        if wanted is not None and figures.smallest is not None and 0 < wanted < figures.smallest:
            found.append(
                f"the target of {objective.name} is {_size(wanted, figures)} away, and gains under "
                f"{_size(figures.smallest, figures)} will mostly not be kept"
            )
    return tuple(found)


def _wanted(objective: Objective, history: MetricHistory, code: str) -> float | None:
    """How far the target is, as the figures are shown; None without a target, a level, or a target on this scale."""
    stored = history.level_of(code)
    if objective.target is None or not stored or (history.is_log and objective.target <= 0):
        return None
    yardstick = yardstick_of(objective, history, stored)
    level = yardstick.level or 0.0
    if history.is_log:
        return as_share(objective.sign * math.log(objective.target / level), yardstick)
    return objective.sign * (objective.target - level)


def _size(value: float, figures: ObjectiveTold) -> str:
    return f"{100 * value:.3g}%" if figures.is_share else f"{value:.4g}"
