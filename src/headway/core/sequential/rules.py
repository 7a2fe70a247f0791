"""What the sequential method goes by: objectives, and the settings of an effort.

Source: DECISIONS, the table of efforts and 2.5.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from headway.core.sequential.error_control import Spending
from headway.core.sequential.scale import Threshold
from headway.core.spec_parts import Effort, ErrorControl

REGRESSED_AT: Final = -2.576
"""Statistic at which a candidate counts as worse."""
VIOLATED_AT: Final = -2.326
SAFE_AT: Final = 2.326
"""With several objectives: statistics at which one is violated, and at which staying within its bound is proven."""
CLEARLY_WORSE: Final = -3.5
"""Statistic of one sample at which a candidate counts as worse."""
SLACK: Final = 1.2
"""How far the futility line starts below 0; divided by theta."""


@dataclass(frozen=True)
class Objective:
    """A required objective: `sign` is +1 when more is better and -1 when less is."""

    name: str
    sign: int
    min_effect: Threshold | None = None
    max_regression: Threshold | None = None
    target: float | None = None


@dataclass(frozen=True)
class Bounds:
    """How many pairs a candidate gets, and when it is given up.

    `looks` divides the chance of a false keep; a keep takes `min_pairs` to `max_pairs`; `theta` sets the futility
    line; one sample below `screen` (in standard deviations; None: no screen) ends a candidate; futility ends nobody
    before `futile_from` pairs; `is_fixed` measures `max_pairs` and looks once.
    """

    looks: int
    min_pairs: int
    max_pairs: int
    theta: float
    screen: float | None
    futile_from: int = 1
    is_fixed: bool = False


@dataclass(frozen=True)
class Futility:
    """When a candidate is `censored`: worse than the best by `factor` (up to 1: never), or late and not better."""

    factor: float
    after_seconds: float | None = None


@dataclass(frozen=True)
class Rules:
    """All that one candidate is decided by, apart from samples; `objectives[0]` is the primary.

    `margin` is set where the candidate is simpler and may be kept unless it is worse by more than this share.
    """

    objectives: tuple[Objective, ...]
    bounds: Bounds
    spending: Spending
    is_declared_stable: bool = False
    futility: Futility | None = None
    margin: float | None = None


@dataclass(frozen=True)
class RunState:
    """Where the run stands: the number of this candidate, those kept so far, the plan, and the code of the best.

    `share` is the part of the error budget that is in force (DECISIONS 6: halved where the effort is switched).
    """

    k: int
    incumbent: str
    keeps: tuple[int, ...] = ()
    planned: int | None = None
    share: float = 1.0


BOUNDS: Final[Mapping[Effort, Bounds]] = MappingProxyType(
    {
        Effort.QUICK: Bounds(looks=2, min_pairs=2, max_pairs=8, theta=1.4, screen=0.5),
        Effort.STANDARD: Bounds(looks=10, min_pairs=3, max_pairs=32, theta=1.2, screen=0.25),
        Effort.THOROUGH: Bounds(looks=11, min_pairs=3, max_pairs=48, theta=0.8, screen=-0.5),
    }
)
"""The efforts that decide candidate by candidate; `lean` decides over groups (`lean.py`)."""

CAUTION: Final[Mapping[Effort, float]] = MappingProxyType({Effort.THOROUGH: 0.8})
"""Under `error_control: run` more looks are paid for with a smaller alpha."""

ALPHA: Final = 0.05
ALPHA_PER_CANDIDATE: Final = 0.02
"""Default of `alpha` under `error_control: none`."""


def spending_of(effort: Effort, control: ErrorControl, alpha: float | None) -> Spending:
    """Give what an effort may spend.

    Args:
        effort: the effort in force.
        control: what alpha bounds.
        alpha: as written in the spec; None takes the default.
    """
    if control is ErrorControl.NONE:
        return Spending(control, ALPHA_PER_CANDIDATE if alpha is None else alpha)
    given = ALPHA if alpha is None else alpha
    return Spending(control, given * CAUTION.get(effort, 1.0) if control is ErrorControl.RUN else given)
