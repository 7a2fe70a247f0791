"""What a `lean` run may be doing: each activity says what it wants measured, takes it, and says when it is over."""

from collections.abc import Mapping
from typing import Final

from headway.core.sequential.lean_state import LeanState
from headway.core.sequential.lean_words import Event, Order

CALIBRATION: Final = 3
"""Samples of the untouched code at the start."""

Values = Mapping[str, float]
"""Raw values by objective."""


class Activity:
    """One thing that a run is doing. What follows from a measurement is told as events; most tell nothing."""

    def __init__(self, state: LeanState) -> None:
        self.state = state
        self.is_over = False
        self.successor: Activity | None = None

    @property
    def order(self) -> Order:
        """What to measure next."""
        raise NotImplementedError

    @property
    def needs(self) -> int:
        """Measurements that must be left to go on with it."""
        return 1

    def take(self, values: Values) -> tuple[Event, ...]:
        """Take what was ordered."""
        raise NotImplementedError

    def died(self) -> tuple[Event, ...]:
        """Take that the candidate gives no values. Raises: ValueError, where no candidate is being tried."""
        raise ValueError("no candidate is being measured that could be dropped")

    def interrupted(self) -> None:
        """Take that time may have passed, or that the budget changed."""


class Calibrating(Activity):
    """Measures the untouched code."""

    def __init__(self, state: LeanState) -> None:
        super().__init__(state)
        self._values: list[Values] = []

    @property
    def order(self) -> Order:
        return Order("confirmed", 0, "calibration")

    def take(self, values: Values) -> tuple[Event, ...]:
        self._values.append(values)
        if len(self._values) == CALIBRATION:
            self.is_over = True
            for name, ledger in self.state.ledgers.items():
                ledger.calibrated([value[name] for value in self._values])
        return ()


class Repeating(Activity):
    """Spends what is left on the confirmed commit, until the budget changes."""

    @property
    def order(self) -> Order:
        return Order("confirmed", 0, "repeat")

    def take(self, values: Values) -> tuple[Event, ...]:
        return ()

    def interrupted(self) -> None:
        self.is_over = True
