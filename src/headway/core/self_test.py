"""The A/A test: how often the configured decision keeps a change that changes nothing.

By default it is estimated: candidates are drawn from the calibration's own samples and put before `decide`, so that no
method has a test of its own. Few samples make a rough estimate; `headway check --aa N` measures instead.

Source: DESIGN section 6; CONTRACTS section 9.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from headway.core.decide import decide
from headway.core.session_payload import decision_spec
from headway.core.spec import ComparisonMethod, Effort, Spec, StabilityMode
from headway.core.statistics import aggregate

NO_OPS: Final = 10_000
MOST_DECISIONS: Final = 20_000
"""Calls of `decide` before the estimate is content with fewer no-ops: under a second at 40 microseconds each."""
MOST_SAMPLES: Final = 200
TOLERABLE_SHARE: Final = 0.05
"""Share of no-ops that may be kept before a person is told so."""

Row = Mapping[str, float]


@dataclass(frozen=True)
class FalseKeeps:
    """How many of a number of no-ops were kept.

    Attributes:
        no_ops: candidates without a change.
        kept: those of them that the decision would keep.
        estimated: drawn from the calibration; else measured.
        samples: calibration samples that were drawn from, or measurements taken.
        why_fewer: why there were fewer no-ops than asked for; empty where there were not.
    """

    no_ops: int
    kept: int
    estimated: bool
    samples: int
    why_fewer: str = ""

    @property
    def share(self) -> float:
        """Give the share of no-ops that were kept."""
        return self.kept / self.no_ops if self.no_ops else 0.0

    @property
    def is_tolerable(self) -> bool:
        """Say whether so few are kept that nobody need be told."""
        return self.share <= TOLERABLE_SHARE

    def words(self) -> str:
        """Say what it means for a run of a hundred candidates."""
        how = f"estimated from {self.samples} measurements of the untouched code" if self.estimated else "measured"
        return (
            f"of 100 changes that change nothing about {100 * self.share:.2g} would be kept by chance "
            f"({self.kept} of {self.no_ops} no-ops, {how})"
        )


def estimate_false_keeps(
    spec: Spec,
    rows: Sequence[Row],
    gates: Mapping[str, Any],
    pick: Callable[[int], int],
    no_ops: int = NO_OPS,
    most_decisions: int = MOST_DECISIONS,
) -> FalseKeeps | None:
    """Draw no-op candidates from the calibration's samples and count those that the configured decision keeps.

    Args:
        spec: the spec.
        rows: metrics of each valid sample of the untouched code, by name.
        gates: gate values that hold.
        pick: gives a whole number from 0 up to its argument, without it, by chance.
        no_ops: how many to draw.
        most_decisions: calls of `decide` after which fewer will do.
    Returns: the count; None where there are fewer than two samples, which say nothing of the noise, and for the effort
        `lean`, which decides over groups of candidates.
    """
    comparison = spec.measurement.stability.comparison
    is_lean = comparison.method is ComparisonMethod.SEQUENTIAL and comparison.effort is Effort.LEAN
    if len(rows) < 2 or is_lean:
        return None
    simulation = _Simulation(spec, rows, gates, pick)
    if simulation.is_deterministic:
        return FalseKeeps(no_ops, no_ops if simulation.keeps() else 0, True, len(rows))
    kept = done = 0
    while done < no_ops and simulation.decisions < most_decisions:
        kept += simulation.keeps()
        done += 1
    why = "" if done == no_ops else f"content with fewer than {no_ops}: {most_decisions} decisions were taken"
    return FalseKeeps(done, kept, True, len(rows), why)


@dataclass
class _Simulation:
    """Sessions of candidates that change nothing; a draw that came before is not decided again."""

    spec: Spec
    rows: Sequence[Row]
    gates: Mapping[str, Any]
    pick: Callable[[int], int]
    decisions: int = 0
    _known: dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        distinct = [dict(row) for row in self.rows]
        self._ids = [distinct.index(row) for row in distinct]
        self._decided = decision_spec(self.spec)
        stability = self.spec.measurement.stability
        self._method = stability.comparison.method
        self._in_pairs = self._method in (ComparisonMethod.PAIRED, ComparisonMethod.SEQUENTIAL)
        is_fixed = stability.mode is not StabilityMode.LADDER and self._method is not ComparisonMethod.SEQUENTIAL
        self._fixed = (stability.repeat_count if stability.mode is StabilityMode.REPEAT else 1) if is_fixed else None
        self._first = max(1, stability.ladder.exploratory_pairs)
        calibration = {name: [row[name] for row in self.rows] for name in self.rows[0]}
        self._run = {
            "k": 1,
            "keeps": [],
            "planned": self.spec.stopping.max_iterations,
            "history": [{"code": "baseline", "samples": calibration}],
        }

    @property
    def is_deterministic(self) -> bool:
        """Say whether all samples are equal: then one session says it all."""
        return len(set(self._ids)) == 1

    def keeps(self) -> bool:
        """Run one session; say whether its no-op would be kept."""
        if self._method is ComparisonMethod.SEQUENTIAL:
            candidate, reference = self._draw(1), []
        else:
            candidate = self._draw(self._fixed or self._first)
            reference = self._draw(len(candidate)) if self._in_pairs else sorted(self._draw(len(self._ids)))
        while True:
            decision, following = self._answer(candidate, reference)
            if self._fixed or following in ("none", "holdout", "smoke") or len(candidate) >= MOST_SAMPLES:
                return decision == "keep" or following == "holdout"
            if self._in_pairs and len(reference) < len(candidate):
                reference += self._draw(1)
                continue
            candidate += self._draw(1)
            if self._in_pairs:
                reference += self._draw(1)

    def _draw(self, many: int) -> list[int]:
        return [self._ids[self.pick(len(self._ids))] for _ in range(many)]

    def _answer(self, candidate: Sequence[int], reference: Sequence[int]) -> tuple[str, str]:
        key = (tuple(candidate), tuple(reference))
        if key not in self._known:
            self.decisions += 1
            payload: dict[str, Any] = {
                "spec": self._decided,
                "baseline": {"gates": self.gates, "metrics": self._snapshot(reference)},
                "candidate": {
                    "gates": self.gates,
                    "metrics": self._snapshot(candidate),
                    "sample_count": len(candidate),
                    "smoke_passed": True,
                },
            }
            if self._method is ComparisonMethod.SEQUENTIAL:
                payload["run"] = self._run
            answer = decide(payload)
            self._known[key] = (answer["decision"], answer["next_measurement"])
        return self._known[key]

    def _snapshot(self, drawn: Sequence[int]) -> dict[str, Any]:
        if not drawn:
            return {}
        how = self.spec.measurement.stability.aggregation
        columns = {name: [self.rows[n][name] for n in drawn] for name in self.rows[0]}
        return {name: {"aggregate": aggregate(column, how), "samples": column} for name, column in columns.items()}
