"""Chooses the effort from what an agent's turn and a measurement take.

Source: DECISIONS 6.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from headway.core.spec_parts import Effort
from headway.core.statistics import median

CANDIDATES_WATCHED: Final = 5
"""Candidates after which the choice is made."""
LONG_MEASUREMENT: Final = 30.0
"""Seconds from which on a measurement counts as dear before anything else is known."""
LEAN_BELOW: Final = 10.0
THOROUGH_ABOVE: Final = 40.0
"""Bounds of turn over measurement."""
HALF: Final = 0.5

NIGHT_HOURS: Final = 8.0
NIGHT_GAINS: Final[Mapping[float, tuple[float, float, float]]] = MappingProxyType(
    {
        0.2: (12.0, 5.0, 4.0),
        1.0: (53.0, 25.0, 17.0),
        5.0: (110.0, 77.0, 61.0),
        20.0: (129.0, 127.0, 116.0),
        60.0: (135.0, 144.0, 145.0),
    }
)
"""Turn over measurement -> expected gain of 8 hours with turns of 2 minutes at 1% noise, in log-%, of `lean`,
`standard` and `thorough`."""


@dataclass(frozen=True)
class Watched:
    """What the first candidates took: turns and measurements in seconds, and in dollars where they are known."""

    turn_seconds: tuple[float, ...] = ()
    measurement_seconds: tuple[float, ...] = ()
    turn_usd: tuple[float, ...] = ()
    measurement_usd: tuple[float, ...] = ()


@dataclass(frozen=True)
class Choice:
    """The effort in force, the share of the error budget that it may spend, whether it stays, and why."""

    effort: Effort
    share: float
    is_final: bool
    reason: str


def first_choice(measurement_seconds: Sequence[float], *, lean_is_open: bool = True) -> Choice:
    """Choose before any candidate was watched.

    Args:
        measurement_seconds: of the calibration.
        lean_is_open: whether `lean` may be chosen at all.
    Returns: `lean` where a measurement takes 30 s or more, else `standard`, each with half of the error budget: the
        other half is for the effort that may follow.
    """
    taken = median(measurement_seconds) if measurement_seconds else 0.0
    if taken >= LONG_MEASUREMENT and lean_is_open:
        return Choice(Effort.LEAN, HALF, False, f"a measurement takes {taken:.3g} s")
    return Choice(Effort.STANDARD, HALF, False, f"a measurement takes {taken:.3g} s; no agent's turn is known yet")


def choose(
    first: Choice, watched: Watched, candidates: int, *, is_on_probation: bool = False, lean_is_open: bool = True
) -> Choice:
    """Choose once enough candidates were watched, or leave the first choice in force.

    Args:
        first: what `first_choice` gave.
        watched: of the first five candidates.
        candidates: how many candidates there were.
        is_on_probation: whether candidates wait for a group's confirmation: then nothing is switched yet.
        lean_is_open: whether `lean` may be chosen at all.
    Returns: the choice; final ones never change again. An effort that stays has the whole error budget, one that
        takes over has the half that the first left.
    """
    ratio = turn_over_measurement(watched)
    if candidates < CANDIDATES_WATCHED or ratio is None or is_on_probation:
        return first
    effort = effort_for(ratio)
    if effort is Effort.LEAN and not lean_is_open:
        effort = Effort.STANDARD
    reason = f"an agent's turn takes {ratio:.3g} times a measurement"
    return Choice(effort, 1.0 if effort is first.effort else HALF, True, reason)


def turn_over_measurement(watched: Watched) -> float | None:
    """Give median turn over median measurement: in money where both are known, else in time; None where neither is."""
    for turns, measurements in (
        (watched.turn_usd, watched.measurement_usd),
        (watched.turn_seconds, watched.measurement_seconds),
    ):
        if turns and measurements and median(measurements) > 0:
            return median(turns[:CANDIDATES_WATCHED]) / median(measurements)
    return None


def effort_for(ratio: float) -> Effort:
    """Give the effort that gains most where a turn takes this many measurements."""
    if ratio < LEAN_BELOW:
        return Effort.LEAN
    return Effort.STANDARD if ratio <= THOROUGH_ABOVE else Effort.THOROUGH


@dataclass(frozen=True)
class ExpectedGains:
    """What a night may gain by effort, in log-%, where a turn takes `ratio` measurements."""

    ratio: float
    lean: float
    standard: float
    thorough: float


def expected_gains(ratio: float) -> ExpectedGains:
    """Give the simulated row whose ratio of turn to measurement is nearest, by its logarithm."""
    nearest = min(NIGHT_GAINS, key=lambda known: abs(math.log(known / max(ratio, 1e-9))))
    return ExpectedGains(nearest, *NIGHT_GAINS[nearest])
