"""Proves a group: the tip against the confirmed commit, in fresh pairs. The only test of `lean` that keeps anything.

Source: DECISIONS 5, steps 5, 7 and 9.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from headway.core.sequential.gain import shrunken
from headway.core.sequential.lean_activity import Activity, Values
from headway.core.sequential.lean_ledger import Ledger
from headway.core.sequential.lean_state import LeanState
from headway.core.sequential.lean_words import Event, GroupEnded, Order, Role
from headway.core.sequential.noise import Noise
from headway.core.sequential.normal import z_above
from headway.core.sequential.pairs import PairTest, exact_test, pair_test
from headway.core.sequential.rules import ALPHA, Bounds
from headway.core.statistics import median

LEAST_PAIRS: Final = 2
MOST_PAIRS: Final = 8
BOUNDS: Final = Bounds(
    looks=MOST_PAIRS - LEAST_PAIRS + 1,
    min_pairs=LEAST_PAIRS,
    max_pairs=MOST_PAIRS,
    theta=1.2,
    screen=None,
    futile_from=LEAST_PAIRS,
)
OUTLIER: Final = 4.0
"""Two pairs that differ by more units than this: the larger one may be an outlier, and the smaller is claimed."""


@dataclass(frozen=True)
class Proof:
    """What a group's pairs say so far; `z` is that of the best objective, `gains` the claims of a keep."""

    wants_more: bool
    is_keep: bool
    boundary: float
    z: float
    gains: Mapping[str, float] = field(default_factory=dict)


def alpha_of_group(j: int, share: float = 1.0) -> float:
    """Give the chance of a false keep that the j-th confirmation since the last kept group may have; they sum to 5%."""
    return share * ALPHA / (j * (j + 1))


def judge_group(
    ledgers: Mapping[str, Ledger], confirmed: Sequence[Values], tip: Sequence[Values], alpha: float
) -> Proof:
    """Judge a group by its pairs.

    Args:
        ledgers: each objective's memory, these pairs learnt already.
        confirmed: raw values of the confirmed commit, by pair, at least one.
        tip: raw values of the tip, as many.
        alpha: from `alpha_of_group`.
    Returns: the proof: one objective must be better, none worse than it may be.
    """
    boundary = z_above(alpha / (BOUNDS.looks * len(ledgers)))
    n = len(tip)
    gains = {
        name: ledger.gains([v[name] for v in confirmed], [v[name] for v in tip]) for name, ledger in ledgers.items()
    }
    tests = [_tested(gains[name], ledger, boundary, is_alone=len(ledgers) == 1) for name, ledger in ledgers.items()]
    best = max(test.z for test in tests)
    is_better = any(test.is_improved for test in tests) and all(test.is_safe for test in tests)
    if n >= LEAST_PAIRS and is_better and not any(test.is_violated for test in tests):
        claims = {name: claim_of(gains[name], ledger.noise) for name, ledger in ledgers.items()}
        return Proof(False, True, boundary, best, claims)
    is_lost = n >= LEAST_PAIRS and (all(t.is_futile for t in tests) or any(t.is_violated for t in tests))
    return Proof(not is_lost and n < MOST_PAIRS, False, boundary, best)


def _tested(gains: Sequence[float], ledger: Ledger, boundary: float, *, is_alone: bool) -> PairTest:
    noise = ledger.noise
    if noise is None or noise.is_zero:
        return exact_test((median(gains),) * len(gains), ledger.aim, LEAST_PAIRS)
    return pair_test(gains, noise, ledger.aim, boundary, BOUNDS, is_alone=is_alone)


def claim_of(gains: Sequence[float], noise: Noise | None) -> float:
    """Give what a group is said to have gained.

    Args:
        gains: of its pairs, on the working scale, at least one.
        noise: of a pair.
    Returns: the median (of two that lie far apart the smaller), drawn towards 0 by what the noise explains.
    """
    middle = median(gains)
    if noise is None:
        return middle
    if len(gains) == 2 and max(gains) - min(gains) > OUTLIER * noise.unit:
        middle = min(gains)
    return shrunken(middle, noise.deviation * noise.deviation / len(gains))


class Proving(Activity):
    """Measures a group's pairs, to its end."""

    def __init__(self, state: LeanState) -> None:
        super().__init__(state)
        self._confirmed: list[Values] = []
        self._tip: list[Values] = []
        self._lists: dict[str, tuple[list[float], list[float]]] = {}

    @property
    def order(self) -> Order:
        return Order(self._role, 0, "confirm")

    @property
    def needs(self) -> int:
        return 2 if self._is_between else 1

    @property
    def _is_between(self) -> bool:
        return len(self._confirmed) == len(self._tip)

    @property
    def _role(self) -> Role:
        """Whose turn it is: the order of a pair alternates."""
        if self._is_between:
            return "confirmed" if len(self._tip) % 2 == 0 else "tip"
        return "tip" if len(self._confirmed) > len(self._tip) else "confirmed"

    def take(self, values: Values) -> tuple[Event, ...]:
        (self._confirmed if self._role == "confirmed" else self._tip).append(values)
        if not self._is_between:
            return ()
        self._learn()
        alpha = alpha_of_group(self.state.j, self.state.share)
        proof = judge_group(self.state.ledgers, self._confirmed, self._tip, alpha)
        return () if proof.wants_more else (self._end(proof, alpha),)

    def interrupted(self) -> None:
        """An open half of a pair is worth nothing once time has passed."""
        whole = min(len(self._confirmed), len(self._tip))
        del self._confirmed[whole:], self._tip[whole:]
        self.is_over = whole == 0

    def _learn(self) -> None:
        """The first pair counts the attempt and tells of drift; from the second on each side's repeats are noise."""
        if len(self._tip) == 1:
            self.state.j += 1
        for name, ledger in self.state.ledgers.items():
            confirmed, tip = self._confirmed[-1][name], self._tip[-1][name]
            if name not in self._lists:
                ledger.predicted("confirmed", confirmed)
                self._lists[name] = (ledger.repeated([confirmed]), ledger.repeated([tip]))
                continue
            self._lists[name][0].append(confirmed)
            self._lists[name][1].append(tip)
            ledger.grown()

    def _end(self, proof: Proof, alpha: float) -> GroupEnded:
        self.is_over = True
        state, members, j = self.state, tuple(self.state.pending), self.state.j
        if proof.is_keep:
            state.kept(members, self._tip)
        else:
            state.dropped(self._confirmed)
        return GroupEnded(
            how="kept" if proof.is_keep else "unconfirmed",
            members=members,
            gains=proof.gains,
            scales={name: ledger.is_log for name, ledger in state.ledgers.items()},
            j=j,
            alpha=alpha,
            boundary=proof.boundary,
            z=proof.z,
            pairs=len(self._tip),
        )
