"""Looks at one candidate under `lean`: may it stand on the tip until its group is proven?

It may waste measurements and can never keep anything, so it may use stored values freely.
Source: DECISIONS 5, steps 2 to 4 and 6.
"""

import math
from typing import Final

from headway.core.sequential.lean_activity import Activity, Values
from headway.core.sequential.lean_ledger import Ledger, plain_z
from headway.core.sequential.lean_state import LEAST_FOR_A_PROOF, LeanState
from headway.core.sequential.lean_words import Ended, Event, Order, Promising, Role
from headway.core.sequential.noise import CLIP
from headway.core.sequential.pairs import futility_line
from headway.core.sequential.rules import VIOLATED_AT

CONTROL_AFTER: Final = 8
"""Candidates after which the tip is measured before one is screened out."""
FRESH_AFTER: Final = 4
LEAST_STORED: Final = 2
"""Candidates after which, or stored values below which, the tip is measured before a second look."""
SCREEN_AT: Final = 0.7
ADVANCE_AT: Final = 1.5
FUTILE_AT: Final = 0.6
MOST_LOOKS: Final = 3
LEAST_PAIRS: Final = 2
MOST_PAIRS: Final = 4
"""Of a candidate, while the machine drifts."""
THETA: Final = 1.2


class Trying(Activity):
    """Measures one candidate until it is screened out, rejected or promising."""

    def __init__(self, state: LeanState) -> None:
        super().__init__(state)
        self._k = state.k + 1
        self._candidate: list[Values] = []
        self._tip: list[Values] = []
        self._role: Role = "candidate"
        self._is_screened = False
        self._in_pairs = False

    @classmethod
    def begun(cls, state: LeanState, k: int, first: Values) -> tuple["Trying", tuple[Event, ...]]:
        """Go on with a candidate whose first value is known already. Returns: the activity, and what follows."""
        trying = cls(state)
        trying._k, trying._candidate = k, [first]
        return trying, trying._go_on()

    @property
    def order(self) -> Order:
        is_more = self._is_screened and (self._role == "candidate" or self._in_pairs)
        return Order(self._role, self._k, "add_sample" if is_more else "exploratory")

    def take(self, values: Values) -> tuple[Event, ...]:
        if not self._candidate:
            self.state.k = self._k
            self.state.since += 1
        if self._role == "candidate":
            self._candidate.append(values)
        else:
            self._tip.append(values)
            if len(self._tip) == 1:
                self.state.fresh_tip(values)
        return self._go_on()

    def died(self) -> tuple[Event, ...]:
        self.state.k = self._k
        self.is_over = True
        return (Ended(self._k, "died", "the candidate could not be measured"),)

    def interrupted(self) -> None:
        self.is_over = not self._candidate

    def _go_on(self) -> tuple[Event, ...]:
        found = self._think()
        if isinstance(found, str):
            self._role = found
            return ()
        self.is_over = True
        return (found,)

    def _think(self) -> Event | Role:
        """Say how the candidate ends, or whom to measure next."""
        state = self.state
        if not self._is_screened:
            if not self._tip and state.since > CONTROL_AFTER and self._can_afford(1):
                return "tip"
            if not any(self._screen_z(ledger) >= SCREEN_AT for ledger in state.ledgers.values()):
                return Ended(self._k, "screened", "the first sample shows no gain")
            self._is_screened = True
            is_stale = state.stored("tip") < LEAST_STORED or state.since > FRESH_AFTER
            if not self._tip and (is_stale or state.drifts):
                return "tip"
        self._in_pairs = self._in_pairs or (len(self._candidate) == 1 and state.drifts)
        if not self._in_pairs:
            return self._on_looks()
        return self._on_pairs() if self._tip else "tip"

    def _screen_z(self, ledger: Ledger) -> float:
        gain, n = ledger.gain_over("tip", [self._candidate[0][ledger.objective.name]])
        spread = ledger.spread_across if ledger.drifts else ledger.spread
        return plain_z(gain, spread * math.sqrt(1 + 1 / n))

    def _on_looks(self) -> Event | Role:
        """Compare the mean of the candidate's values with the tip's level."""
        looks = len(self._candidate)
        if looks == 1:
            return "candidate" if self._can_afford(1) else self._rejected("the budget ends")
        found = [self._look_z(ledger) for ledger in self.state.ledgers.values()]
        if min(found) <= VIOLATED_AT and self._is_violated(found):
            return self._rejected("an objective is worse than it may be")
        if max(found) >= ADVANCE_AT:
            return self._promising()
        if max(found) < FUTILE_AT or looks >= MOST_LOOKS:
            return self._rejected("the second look shows no gain")
        return "candidate" if self._can_afford(1) else self._rejected("the budget ends")

    def _look_z(self, ledger: Ledger) -> float:
        values = [value[ledger.objective.name] for value in self._candidate]
        gain, n = ledger.gain_over("tip", values)
        return plain_z(gain, ledger.spread * math.sqrt(1 / n + 1 / len(values)))

    def _on_pairs(self) -> Event | Role:
        """Compare fresh pairs of tip and candidate: stored values are of no use while the machine drifts."""
        n = len(self._tip)
        if n != len(self._candidate):
            return "tip" if n < len(self._candidate) else "candidate"
        found = [self._pairs_z(ledger) for ledger in self.state.ledgers.values()]
        if n >= LEAST_PAIRS and min(found) <= VIOLATED_AT and self._is_violated(found):
            return self._rejected("an objective is worse than it may be")
        if n >= LEAST_PAIRS and max(found) >= ADVANCE_AT:
            return self._promising()
        if max(found) < futility_line(n, THETA) or n >= MOST_PAIRS:
            return self._rejected("the pairs show no gain")
        if not self._can_afford(2):
            return self._rejected("the budget ends")
        return "tip" if n % 2 else "candidate"

    def _pairs_z(self, ledger: Ledger) -> float:
        name, noise = ledger.objective.name, ledger.noise
        gains = ledger.gains([v[name] for v in self._tip], [v[name] for v in self._candidate])
        if noise is None or noise.is_zero:
            return plain_z(sum(gains), 0.0)
        limit = CLIP * noise.unit
        return sum(max(-limit, min(limit, gain)) for gain in gains) / (noise.deviation * math.sqrt(len(gains)))

    def _is_violated(self, found: list[float]) -> bool:
        """Whether an objective without a bound of its own is clearly worse; one with a bound is left to the proof."""
        ledgers = self.state.ledgers.values()
        return any(
            z <= VIOLATED_AT and ledger.objective.max_regression is None
            for z, ledger in zip(found, ledgers, strict=True)
        )

    def _can_afford(self, measurements: int) -> bool:
        """Whether so many measurements leave enough for the proof."""
        return not self.state.has_less_than(measurements + LEAST_FOR_A_PROOF)

    def _rejected(self, reason: str) -> Ended:
        self._learn()
        return Ended(self._k, "rejected", reason)

    def _promising(self) -> Promising:
        self._learn()
        self.state.moved_to(self._k, self._candidate[1:])
        return Promising(self._k)

    def _learn(self) -> None:
        """Repeats of the candidate and of the tip tell of the noise.

        The candidate's first value was selected by the screen. Among two or three values it is learnt from all the
        same: that can only widen the noise, and without it hardly anything is known for long.
        """
        for name, ledger in self.state.ledgers.items():
            values = [value[name] for value in self._candidate]
            tip = [value[name] for value in self._tip]
            ledger.repeated(values[1:] if self._in_pairs else values)
            if self._in_pairs:
                ledger.repeated(tip)
                ledger.stored["tip"] += tip[1:]
        self.state.mirror()
