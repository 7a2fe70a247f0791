"""One objective of one candidate, with everything that is known of it at this moment."""

import math
from dataclasses import dataclass
from typing import Final

from headway.core.sequential.history import MetricHistory, RunHistory
from headway.core.sequential.noise import Noise, differences, smallest_step
from headway.core.sequential.pairs import Aim
from headway.core.sequential.rules import Objective, Rules, RunState
from headway.core.sequential.scale import Threshold, Yardstick, as_gain, as_loss, fits_logarithms, pair_gains, working
from headway.core.statistics import median

PAIRS_WITHOUT_NOISE: Final = 3
"""Pairs from which on a session's own repeats count as noise."""
NOTHING_ASKED: Final = Aim()


@dataclass(frozen=True, slots=True)
class Taken:
    """One objective's raw values in one session, by pair; the candidate may be one ahead: its lone first value."""

    reference: tuple[float, ...] = ()
    candidate: tuple[float, ...] = ()

    @property
    def pairs(self) -> int:
        return min(len(self.reference), len(self.candidate))


@dataclass(frozen=True, slots=True)
class Sight:
    """An objective's values, what the run knows of its noise, and what the candidate is held to.

    `stored` are the newest values of the current best and stand on the working scale; `is_exact` says that no repeat
    ever differed, or that the user declares so; `noise` is None or zero where nothing is known of it yet.
    """

    objective: Objective
    taken: Taken
    history: MetricHistory
    stored: tuple[float, ...]
    aim: Aim
    is_exact: bool
    noise: Noise | None

    @property
    def gains(self) -> tuple[float, ...]:
        """The gain of each whole pair, on the working scale."""
        return pair_gains(self.taken.reference, self.taken.candidate, self.objective.sign, self.history.is_log)

    @property
    def yardstick(self) -> Yardstick:
        return yardstick_of(self.objective, self.history, self.stored)


def sight_of(objective: Objective, taken: Taken, run: RunHistory, rules: Rules, state: RunState) -> Sight:
    """Put together what is known of one objective.

    Args:
        objective: which.
        taken: its raw values in this session.
        run: the history, without this session.
        rules: say whether repeats are declared equal, and whether the candidate is simpler.
        state: names the current best.
    Returns: the sight. A value that is not above 0 puts it on the difference scale.
    """
    history = run.of(objective.name)
    if history.is_log and not (fits_logarithms(taken.candidate) and fits_logarithms(taken.reference)):
        history = history.on_differences()
    stored = history.level_of(state.incumbent)
    own = _own_differences(taken, history.is_log)
    step = smallest_step(own)
    is_exact = rules.is_declared_stable or (step == 0.0 and history.is_exact)
    noise = history.noise
    if taken.pairs >= PAIRS_WITHOUT_NOISE or (step > 0.0 and history.is_exact):
        noise = history.noise_with(own)
        is_exact = is_exact or (noise is not None and noise.is_zero)
    aim = _aim(objective, history, stored, rules.margin)
    return Sight(objective, taken, history, stored, aim, is_exact, noise)


def yardstick_of(objective: Objective, history: MetricHistory, stored: tuple[float, ...]) -> Yardstick:
    """Give what an objective's thresholds are turned into gains with, from the stored values of the current best."""
    level = median(stored) if stored else None
    if level is not None and history.is_log:
        level = math.exp(level)
    return Yardstick(objective.sign, history.is_log, level, history.magnitude)


def aim_of(objective: Objective, yardstick: Yardstick, margin: float | None = None) -> Aim:
    """Give what an objective is held to, on the working scale.

    Args:
        objective: with its thresholds.
        yardstick: scale and level.
        margin: for a simpler candidate: the share that it may be worse by; it replaces `min_effect`.
    """
    loss = None if objective.max_regression is None else as_loss(objective.max_regression, yardstick)
    if margin is not None:
        return Aim(-as_loss(Threshold(True, margin), yardstick), loss)
    return Aim(0.0 if objective.min_effect is None else as_gain(objective.min_effect, yardstick), loss)


def _aim(objective: Objective, history: MetricHistory, stored: tuple[float, ...], margin: float | None) -> Aim:
    if objective.min_effect is None and objective.max_regression is None and margin is None:
        return NOTHING_ASKED
    return aim_of(objective, yardstick_of(objective, history, stored), margin)


def _own_differences(taken: Taken, is_log: bool) -> tuple[float, ...]:
    n = taken.pairs
    if n < 2:
        return ()
    sides = (taken.reference[:n], taken.candidate[:n])
    return tuple(x for side in sides for x in differences(working(side, is_log)))
