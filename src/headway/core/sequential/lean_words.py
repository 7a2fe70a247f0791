"""What goes into a `lean` run and comes out of it.

Source: DECISIONS 5, step 10.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Role = Literal["confirmed", "tip", "candidate"]


@dataclass(frozen=True, slots=True)
class Order:
    """Measure this: `k` numbers the candidate that it is for, 0 for none. A new `k` asks for a new candidate."""

    role: Role
    k: int
    kind: Literal["calibration", "exploratory", "add_sample", "confirm", "repeat"]


@dataclass(frozen=True, slots=True)
class Measured:
    """What was ordered was measured: raw values by objective; `left` measurements remain (None: nobody knows)."""

    values: Mapping[str, float]
    left: int | None = None


@dataclass(frozen=True, slots=True)
class Died:
    """The candidate that was to be measured gave no value or failed a gate: it is dropped, the tip stays."""


@dataclass(frozen=True, slots=True)
class LeftTold:
    """From now on `left` measurements remain: caps were raised, or the run wraps up."""

    left: int | None


@dataclass(frozen=True, slots=True)
class Vetoed:
    """The holdout or a shield turned down the group that was just proven."""


Told = Measured | Died | LeftTold | Vetoed


@dataclass(frozen=True, slots=True)
class Ended:
    """A candidate is over: `how` says in which step, and `reason` in words."""

    k: int
    how: Literal["screened", "rejected", "died"]
    reason: str


@dataclass(frozen=True, slots=True)
class Promising:
    """A candidate is on probation: the tip moves to it."""

    k: int


@dataclass(frozen=True, slots=True)
class GroupEnded:
    """A group was proven (`kept`) or not (`unconfirmed`, `vetoed`); its members are not proven one by one.

    `gains` has the claim for each objective on the working scale, and `scales` whether that is logarithmic; `j`
    counts confirmations since the last kept group, `alpha` is what this one could spend, `boundary` what the
    statistic `z` of the best objective had to reach after `pairs`.
    """

    how: Literal["kept", "unconfirmed", "vetoed"]
    members: tuple[int, ...]
    gains: Mapping[str, float]
    scales: Mapping[str, bool]
    j: int = 0
    alpha: float = 0.0
    boundary: float = 0.0
    z: float = 0.0
    pairs: int = 0


Event = Ended | Promising | GroupEnded
