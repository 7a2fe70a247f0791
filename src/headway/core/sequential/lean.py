"""Effort `lean`, for measurements that are dearer than an agent's turn.

Candidates stand on a *tip* on the strength of two or three samples; the tip is then measured against the last
*confirmed* commit in fresh pairs, and only that test keeps anything. The state follows from what it was told, in
order: after a crash, telling it again gives the same state.
Source: DECISIONS 5.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from headway.core.sequential.lean_activity import Activity, Calibrating, Repeating
from headway.core.sequential.lean_checking import Checking
from headway.core.sequential.lean_proof import Proving
from headway.core.sequential.lean_state import LEAST_FOR_A_PROOF, LeanState
from headway.core.sequential.lean_trying import Trying
from headway.core.sequential.lean_words import Died, Event, GroupEnded, LeftTold, Measured, Order, Told, Vetoed
from headway.core.sequential.rules import Objective

GROUP: Final = 5
"""Candidates on probation that are proven together."""
RESERVE: Final = 18
"""Measurements left below which whatever is on probation is proven."""
LEAST_FOR_A_CANDIDATE: Final = 6
"""Measurements left below which no new candidate is begun."""


class LeanRun:
    """One run under `lean`: what to measure next, and what follows from what was measured."""

    def __init__(self, objectives: Sequence[Objective], left: int | None = None, share: float = 1.0) -> None:
        """Begin a run.

        Args:
            objectives: the required ones, the primary first.
            left: measurements that the budget holds; None: nobody knows.
            share: part of the error budget that is in force (1 unless the effort is switched).
        """
        self._state = LeanState(objectives, left, share)
        self._activity: Activity = Calibrating(self._state)

    @property
    def order(self) -> Order | None:
        """What to measure next; None when the budget holds no more of it."""
        return None if self._state.has_less_than(self._activity.needs) else self._activity.order

    @property
    def on_probation(self) -> tuple[int, ...]:
        """The candidates that stand on the tip and are not proven."""
        return tuple(self._state.pending)

    @property
    def candidates(self) -> int:
        """How many candidates were begun."""
        return self._state.k

    @property
    def drifts(self) -> bool:
        """Whether the machine drifts, so that candidates are compared with fresh values."""
        return self._state.drifts

    def tell(self, told: Told) -> tuple[Event, ...]:
        """Take in what happened.

        Args:
            told: the answer to `order`, or news about the budget or the last group.
        Returns: what follows from it, in order.
        Raises: KeyError, where an objective has no value; ValueError, for a death without a candidate and a veto
            without a group.
        """
        match told:
            case Measured(values, left):
                self._state.left = left
                return self._measured(values)
            case Died():
                events = self._activity.died()
            case LeftTold(left):
                self._state.left = left
                self._activity.interrupted()
                events = ()
            case Vetoed():
                events = (GroupEnded("vetoed", self._state.undo_keep(), {}, {}),)
                self._activity.is_over = True
        self._go_on()
        return events

    def _measured(self, values: Mapping[str, float]) -> tuple[Event, ...]:
        for name, ledger in self._state.ledgers.items():
            ledger.note(values[name])
        events = self._activity.take(values)
        self._go_on()
        return events

    def _go_on(self) -> None:
        while self._activity.is_over:
            self._activity = self._activity.successor or self._next()

    def _next(self) -> Activity:
        state = self._state
        if state.pending and (len(state.pending) >= GROUP or state.has_less_than(RESERVE)):
            return Repeating(state) if state.has_less_than(LEAST_FOR_A_PROOF) else Proving(state)
        if state.is_exact:
            return Repeating(state) if state.has_less_than(1) else Checking(state)
        return Repeating(state) if state.has_less_than(LEAST_FOR_A_CANDIDATE) else Trying(state)


def replayed(
    objectives: Sequence[Objective], told: Iterable[Told], left: int | None = None, share: float = 1.0
) -> tuple[LeanRun, tuple[Event, ...]]:
    """Build a run's state from all that it was told.

    Args:
        objectives: as at the start.
        told: everything, in order, as the log holds it.
        left: measurements that the budget held at the start.
        share: as at the start.
    Returns: the run and all events.
    """
    run = LeanRun(objectives, left, share)
    events = [event for each in told for event in run.tell(each)]
    return run, tuple(events)
