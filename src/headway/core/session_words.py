"""What a measuring session is told, and what it answers.

Source: DECISIONS sections 1 and 2.1; CONTRACTS section 5.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from headway.core.output import InvalidSample, Sample
from headway.core.sequential.history import RunHistory
from headway.core.sequential.rules import Rules, RunState
from headway.core.spec import Spec

Side = Literal["candidate", "reference"]
Kind = Literal["smoke", "exploratory", "add_sample", "confirm", "sample"]
SessionOutcome = Literal[
    "keep-eligible", "needs-holdout", "reverted", "inconclusive", "censored", "degenerate", "error", "timeout"
]
LADDER_KINDS: Final[Mapping[str, Kind]] = {
    "exploratory": "exploratory",
    "add_sample": "add_sample",
    "confirm": "confirm",
}
OUTCOMES: Final[Mapping[str, SessionOutcome]] = {
    "keep": "keep-eligible",
    "promising": "needs-holdout",  # the ladder's own requests never end a session
    "revert": "reverted",
    "inconclusive": "inconclusive",
    "censored": "censored",
    "degenerate": "degenerate",
    "error": "error",
}


@dataclass(frozen=True)
class TimedOut:
    """A measurement that exceeded its limit."""

    reason: str = "the measurement exceeded its time limit"


TakenSample = Sample | InvalidSample | TimedOut


@dataclass(frozen=True)
class RunPart:
    """What one session of the method `sequential` rests on besides its samples: history, rules, place in the run."""

    history: RunHistory
    rules: Rules
    state: RunState


@dataclass(frozen=True)
class Session:
    """What has been measured of one candidate so far.

    `reference` is the stored snapshot of the kept state (`{"metrics": {...}, "gates": {...}, ...}`, `None` where there
    is none); `smoke_passed` is `None` while the smoke check has not run; both sample lists stand in the order of
    measurement; `elapsed_seconds` is what the candidate's samples took, for `futility.after_elapsed_seconds`; `run` is
    what the method `sequential` decides by besides, and None under the others.
    """

    spec: Spec
    reference: Mapping[str, Any] | None
    smoke_passed: bool | None
    candidate: tuple[TakenSample, ...]
    reference_samples: tuple[TakenSample, ...] = ()
    elapsed_seconds: float | None = None
    run: RunPart | None = None


@dataclass(frozen=True)
class Take:
    """Measure this side once more; `kind` is the ladder's word for it (`sample` where there is no ladder).

    `pair` numbers the pair that it belongs to, from 1, where that is not the number of its side's sample; else 0.
    """

    side: Side
    kind: Kind = "sample"
    pair: int = 0


@dataclass(frozen=True)
class Ended:
    """The session is over: what it leads to, the decision that says so, and the payload it was decided on."""

    outcome: SessionOutcome
    answer: Mapping[str, Any]
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ReferenceBroken:
    """The kept state itself cannot be measured or fails a gate: the run cannot go on."""

    reason: str


Step = Take | Ended | ReferenceBroken
