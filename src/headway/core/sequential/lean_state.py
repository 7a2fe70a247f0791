"""The state of a `lean` run that its activities share."""

from collections.abc import Mapping, Sequence
from typing import Final

from headway.core.sequential.lean_ledger import Kept, Ledger
from headway.core.sequential.rules import Objective

LEAST_FOR_A_PROOF: Final = 4
"""Measurements that the shortest proof of a group takes."""


class LeanState:
    """Ledgers, the candidates on probation, and the counts.

    `left` measurements remain (None: unknown), `k` candidates were begun, `since` of them after the tip was last
    measured; `j` confirmations since the last kept group.
    """

    def __init__(self, objectives: Sequence[Objective], left: int | None, share: float) -> None:
        self.ledgers: Mapping[str, Ledger] = {objective.name: Ledger(objective) for objective in objectives}
        self.left = left
        self.share = share
        self.k = 0
        self.since = 0
        self.j = 0
        self.pending: list[int] = []
        self._before_keep: tuple[tuple[int, ...], dict[str, list[float]]] | None = None

    @property
    def is_exact(self) -> bool:
        """Whether no repeat of any objective ever differed."""
        return all(ledger.is_exact for ledger in self.ledgers.values())

    @property
    def drifts(self) -> bool:
        """Whether the machine drifts on any objective."""
        return any(ledger.drifts for ledger in self.ledgers.values())

    def has_less_than(self, measurements: int) -> bool:
        """Say whether fewer measurements are known to be left."""
        return self.left is not None and self.left < measurements

    def stored(self, which: Kept) -> int:
        """Give how many values are stored of tip or confirmed."""
        return min(len(ledger.stored[which]) for ledger in self.ledgers.values())

    def fresh_tip(self, values: Mapping[str, float]) -> None:
        """Store a fresh value of the tip; it is the confirmed commit's too while nothing is on probation."""
        for name, ledger in self.ledgers.items():
            ledger.fresh("tip", values[name])
        self.mirror()
        self.since = 0

    def mirror(self) -> None:
        """While nothing is on probation tip and confirmed are the same commit, and so are their values."""
        if not self.pending:
            for ledger in self.ledgers.values():
                ledger.stored["confirmed"] = list(ledger.stored["tip"])

    def moved_to(self, k: int, values: Sequence[Mapping[str, float]]) -> None:
        """Move the tip to a candidate, with these values of it."""
        self.pending.append(k)
        self.since = 0
        for name, ledger in self.ledgers.items():
            ledger.stored["tip"] = [value[name] for value in values]

    def kept(self, members: tuple[int, ...], values: Sequence[Mapping[str, float]]) -> None:
        """Make what was measured the confirmed commit."""
        self._before_keep = (members, {name: ledger.stored["confirmed"] for name, ledger in self.ledgers.items()})
        self.pending = []
        self.since = self.j = 0
        for name, ledger in self.ledgers.items():
            ledger.stored["confirmed"] = [value[name] for value in values]
            ledger.stored["tip"] = list(ledger.stored["confirmed"])

    def dropped(self, values: Sequence[Mapping[str, float]] = ()) -> None:
        """Go back to the confirmed commit, of which these values are new."""
        self.pending = []
        self.since = 0
        for name, ledger in self.ledgers.items():
            ledger.stored["confirmed"] += [value[name] for value in values]
            ledger.stored["tip"] = list(ledger.stored["confirmed"])

    def confirmed_again(self, values: Sequence[Mapping[str, float]]) -> None:
        """Store fresh values of the confirmed commit while nothing is on probation."""
        self.since = 0
        for name, ledger in self.ledgers.items():
            ledger.stored["confirmed"] += [value[name] for value in values]
            ledger.stored["tip"] = list(ledger.stored["confirmed"])

    def undo_keep(self) -> tuple[int, ...]:
        """Go back to what was confirmed before the last keep. Returns: its members. Raises: ValueError, without one."""
        if self._before_keep is None:
            raise ValueError("no group was kept that could be turned down")
        members, stored = self._before_keep
        self._before_keep = None
        for name, ledger in self.ledgers.items():
            ledger.stored["confirmed"] = stored[name]
        self.dropped()
        return members
