"""What looked better and was not kept, and which of it might add up.

A near miss proves nothing: its gain may be noise. What touches different files can be combined without a conflict, so
that one measurement asks whether several small gains are a large one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from headway.core.analysis.objectives import Objective
from headway.core.analysis.tried import Fate, Tried
from headway.core.claims import GainRange

MOST_COMBINED = 5


@dataclass(frozen=True)
class NearMiss:
    """A candidate whose gain was positive and that was not kept."""

    position: int
    iteration: int | None
    hypothesis: str
    category: str
    outcome: str
    gain: GainRange
    files: tuple[str, ...]
    reason: str | None


@dataclass(frozen=True)
class Combination:
    """Near misses that touch different files.

    Args:
        positions, iterations: of its members, the largest gain first.
        gain: what they come to if they are real and add up; None where that cannot be computed.
    """

    positions: tuple[int, ...]
    iterations: tuple[int | None, ...]
    gain: float | None


def near_misses_of(experiments: Sequence[Tried]) -> tuple[NearMiss, ...]:
    """Give what looked better and was not kept, the largest gain first; repeats and what was kept later aside."""
    kept = {_normal(one.hypothesis) for one in experiments if one.fate is Fate.KEPT}
    found = [
        NearMiss(
            one.position, one.iteration, one.hypothesis, one.category, one.outcome, one.gain, one.files, one.reason
        )
        for one in experiments
        if one.gain is not None and one.gain.estimate > 0 and _is_near(one) and _normal(one.hypothesis) not in kept
    ]
    return tuple(sorted(found, key=lambda near: (-near.gain.estimate, near.position)))


def _is_near(one: Tried) -> bool:
    return one.fate in (Fate.INCONCLUSIVE, Fate.REVERTED) and one.repeat_of is None


def _normal(text: str) -> str:
    return " ".join(text.lower().split())


def combination_of(misses: Sequence[NearMiss], primary: Objective | None) -> Combination | None:
    """Give the near misses worth measuring together: by gain, each touching files that no other of them does.

    Args:
        misses: the largest gain first.
        primary: the primary objective; None where the log has no values.
    Returns: two to `MOST_COMBINED` of them; None where no two fit together.
    """
    taken: set[str] = set()
    members: list[NearMiss] = []
    for miss in misses:
        if miss.files and not taken.intersection(miss.files) and len(members) < MOST_COMBINED:
            members.append(miss)
            taken.update(miss.files)
    if len(members) < 2:
        return None
    positions = tuple(miss.position for miss in members)
    return Combination(positions, tuple(miss.iteration for miss in members), _together(members, primary))


def _together(members: Sequence[NearMiss], primary: Objective | None) -> float | None:
    if primary is None or primary.sign is None:
        return None
    ratios = [1 + primary.sign * miss.gain.estimate for miss in members]
    return primary.sign * (math.prod(ratios) - 1) if all(ratio > 0 for ratio in ratios) else None
