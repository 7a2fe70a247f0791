"""Looks at one candidate where no repeat ever differed: one value decides, identical repeats confirm.

Source: DECISIONS 5, step 8.
"""

from typing import Final

from headway.core.sequential.lean_activity import Activity, Values
from headway.core.sequential.lean_state import LeanState
from headway.core.sequential.lean_trying import Trying
from headway.core.sequential.lean_words import Ended, Event, GroupEnded, Order
from headway.core.sequential.pairs import exact_test

EXACT_REPEATS: Final = 7
"""Repeats without a difference that a keep rests on."""


class Checking(Activity):
    """Measures one candidate once, and again beside the confirmed commit if it is better."""

    def __init__(self, state: LeanState) -> None:
        super().__init__(state)
        self._k = state.k + 1
        self._candidate: list[Values] = []
        self._confirmed: list[Values] = []

    @property
    def order(self) -> Order:
        if not self._candidate:
            return Order("candidate", self._k, "exploratory")
        is_even = len(self._confirmed) == len(self._candidate) - 1
        return Order("confirmed" if is_even else "candidate", self._k, "confirm")

    def take(self, values: Values) -> tuple[Event, ...]:
        if not self._candidate:
            self.state.k = self._k
            self.state.since += 1
            self._candidate.append(values)
            return self._on_first()
        if self.order.role == "confirmed":
            self._confirmed.append(values)
            return ()
        self._candidate.append(values)
        return self._on_repeat()

    def died(self) -> tuple[Event, ...]:
        self.state.k = self._k
        return self._ended(Ended(self._k, "died", "the candidate could not be measured"))

    def interrupted(self) -> None:
        self.is_over = not self._candidate

    def _gains(self) -> dict[str, float]:
        """The first value over the last stored one, by objective."""
        return {
            name: ledger.gains(ledger.stored["tip"][-1:], [self._candidate[0][name]])[0]
            for name, ledger in self.state.ledgers.items()
        }

    def _on_first(self) -> tuple[Event, ...]:
        tests = [exact_test((gain,), self.state.ledgers[name].aim, 0) for name, gain in self._gains().items()]
        if not any(test.is_improved for test in tests) or any(test.is_violated for test in tests):
            return self._ended(Ended(self._k, "screened", "not better, and repeats are identical"))
        return self._ended(self._too_dear()) if self.state.has_less_than(2) else ()

    def _on_repeat(self) -> tuple[Event, ...]:
        state = self.state
        for name, ledger in state.ledgers.items():
            known = [ledger.stored["tip"][-1], *(value[name] for value in self._confirmed)]
            ledger.repeated(known[-2:])
            ledger.repeated([value[name] for value in self._candidate[-2:]])
        if not state.is_exact:
            state.confirmed_again(self._confirmed)
            self.is_over = True
            self.successor, events = Trying.begun(state, self._k, self._candidate[0])
            return events
        if min(ledger.repeats for ledger in state.ledgers.values()) >= EXACT_REPEATS:
            gains, scales = self._gains(), {name: ledger.is_log for name, ledger in state.ledgers.items()}
            state.kept((self._k,), self._candidate)
            return self._ended(GroupEnded("kept", (self._k,), gains, scales, pairs=len(self._confirmed)))
        return self._ended(self._too_dear()) if state.has_less_than(2) else ()

    def _too_dear(self) -> Ended:
        return Ended(self._k, "rejected", "better, but the budget ends before it could be repeated")

    def _ended(self, event: Event) -> tuple[Event, ...]:
        self.is_over = True
        return (event,)
