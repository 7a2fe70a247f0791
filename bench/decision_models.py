"""Machines and candidates for `bench_decisions.py`: what a measurement gives, and what a change of the code does.

A machine is a speed that may change with time, and a way of observing. True values are given as a log gain over the
untouched code: 0.05 is about 5% better in the metric's direction.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

Observe = Callable[[Random, float], float]
"""One observation of a true value."""


@dataclass(frozen=True)
class Speed:
    """How the log of the machine's speed wanders: AR(1) of deviation `spread`, or a new level with chance `jumps`."""

    spread: float = 0.0
    memory: float = 0.0
    jumps: float = 0.0

    def start(self, chance: Random) -> float:
        return 0.0 if self.jumps else self.spread * chance.gauss(0, 1)

    def step(self, chance: Random, at: float) -> float:
        if self.jumps:
            return self.spread * chance.gauss(0, 1) if chance.random() < self.jumps else at
        return self.memory * at + self.spread * math.sqrt(1 - self.memory * self.memory) * chance.gauss(0, 1)


@dataclass(frozen=True)
class Model:
    """A metric on a machine; `sign` is +1 where more is better, `base` the value of the untouched code."""

    name: str
    observe: Observe
    speed: Speed | None = None
    sign: int = -1
    base: float = 1.0


class Machine:
    """One machine during one run: it measures, and time passes."""

    def __init__(self, model: Model, chance: Random) -> None:
        self.model = model
        self._chance = chance
        self._at = model.speed.start(chance) if model.speed else 0.0

    def passes(self, ticks: int) -> None:
        """Let time pass."""
        if self.model.speed:
            for _ in range(ticks):
                self._at = self.model.speed.step(self._chance, self._at)

    def true_value(self, gain: float) -> float:
        """Give the metric's true value after a log gain."""
        return self.model.base * math.exp(self.model.sign * gain)

    def measure(self, gain: float) -> float:
        """Measure code whose log gain over the untouched code is known."""
        self.passes(1)
        return self.model.observe(self._chance, self.true_value(gain) * math.exp(self._at))


def relative(deviation: float) -> Observe:
    """Normal noise, as a share of the value."""
    return lambda chance, value: max(value * (1 + deviation * chance.gauss(0, 1)), 1e-9)


def ratio(deviation: float) -> Observe:
    """Normal noise of the logarithm."""
    return lambda chance, value: value * math.exp(deviation * chance.gauss(0, 1))


def _outliers(chance: Random, value: float) -> float:
    seen = value * math.exp(0.01 * chance.gauss(0, 1))
    return seen * (1.5 + chance.random()) if chance.random() < 0.04 else seen


def _slowdowns(chance: Random, value: float) -> float:
    return value * (1 + 0.02 * math.exp(chance.gauss(0, 1)))


def _whole_percents(chance: Random, value: float) -> float:
    return float(round(value * (1 + 0.01 * chance.gauss(0, 1))))


def _passed_of_a_hundred(chance: Random, value: float) -> float:
    share = min(value, 0.97)
    return sum(chance.random() < share for _ in range(100)) / 100


def _one_outcome(chance: Random, value: float) -> float:
    return float(chance.random() < min(value, 0.97))


def _tests_some_flaky(chance: Random, value: float) -> float:
    return float(round(value)) - sum(chance.random() < 0.05 for _ in range(3))


def _mean_of_judged_items(chance: Random, value: float) -> float:
    middle = min(value, 4.8)
    return sum(min(5, max(1, round(chance.gauss(middle, 1)))) for _ in range(20)) / 20


def _exact(chance: Random, value: float) -> float:
    return float(round(value))


MODELS: Final = {
    model.name: model
    for model in (
        Model("g0.5", relative(0.005)),
        Model("g1", relative(0.01)),
        Model("g3", relative(0.03)),
        Model("g10", relative(0.10)),
        Model("heavy", _outliers),
        Model("skew", _slowdowns),
        Model("drift", ratio(0.01), Speed(0.05, 0.99)),
        Model("drift_fast", ratio(0.01), Speed(0.03, 0.9)),
        Model("shift", ratio(0.01), Speed(0.05, jumps=1 / 30)),
        Model("quant", _whole_percents, base=100.0),
        Model("prop100", _passed_of_a_hundred, sign=1, base=0.5),
        Model("bit", _one_outcome, sign=1, base=0.4),
        Model("flaky", _tests_some_flaky, sign=1, base=200.0),
        Model("judge20", _mean_of_judged_items, sign=1, base=2.6),
        Model("det", _exact, base=1e6),
    )
}
"""The noise that most metrics have, from nearly none to hopeless."""

TRAINING: Final = {
    model.name: model
    for model in (
        Model("g0.06", relative(0.0006)),
        Model("g0.1", relative(0.001)),
        Model("train", ratio(0.0006)),
        Model("train0.1", ratio(0.001)),
        Model("train_drift", ratio(0.0006), Speed(0.0006, 0.97)),
        Model("train_drift3", ratio(0.0006), Speed(0.002, 0.97)),
        Model("train_shift", ratio(0.0006), Speed(0.003, jumps=1 / 30)),
    )
}
"""Losses of trainings: little noise, and gains as small."""


def no_op(chance: Random) -> float:
    """A change that changes nothing."""
    return 0.0


def mixed(chance: Random) -> float:
    """What agents propose for a program: half of it changes nothing, a third is worse, few changes are large."""
    kind = chance.random()
    if kind < 0.5:
        return 0.0
    if kind < 0.8:
        return -math.log1p(chance.uniform(0.005, 0.08))
    if kind < 0.95:
        return -math.log1p(-chance.uniform(0.01, 0.03))
    return -math.log1p(-chance.uniform(0.05, 0.10))


def mixed_training(chance: Random) -> float:
    """What agents propose for a training: one in seven is a small gain, two in five are worse."""
    kind = chance.random()
    if kind < 0.15:
        return chance.expovariate(1 / 0.0015)
    if kind < 0.60:
        return chance.gauss(0, 0.0002)
    return -chance.expovariate(1 / 0.005)
