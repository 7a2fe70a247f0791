"""`headway check --aa N`: candidates that change nothing, measured and decided as any other; nothing is left behind.

Source: DESIGN section 6 (A/A check); CONTRACTS section 9; DECISIONS section 2.1 (order of measurement).
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.adapters.user_repository import UserRepository
from headway.core.actions import Measure
from headway.core.deciding import first_part
from headway.core.entries import metrics_of
from headway.core.events import SampleTaken, SessionKind, Side, Stage
from headway.core.records import to_row
from headway.core.samples import taken
from headway.core.self_test import FalseKeeps
from headway.core.session import next_step
from headway.core.session_words import Ended, ReferenceBroken, Session, Take
from headway.errors import OutsideFailed
from headway.orchestrator.first import measure_baseline, timeout_of
from headway.orchestrator.ground import Ground
from headway.orchestrator.measuring import seed_of
from headway.orchestrator.perform import CANDIDATE_TREE, REFERENCE_TREE, sample_event
from headway.orchestrator.start import freeze, ground_of
from headway.orchestrator.validity import false_keeps_of
from headway.store.paths import StateRoot, ensure_folder
from headway.store.spec_file import LoadedSpec


class NoOpFails(OutsideFailed):
    """The untouched code, measured as a candidate, gives no value: what measures it is not steady."""


@dataclass(frozen=True)
class SelfTested:
    """What became of candidates that change nothing.

    Attributes:
        spec: the spec's name.
        method: of comparison.
        measured: the no-ops that were measured; `samples` counts all their measurements, both sides.
        estimated: what resampling of the calibration gives; None where it says nothing.
        decisions: how many no-ops came to each end.
        median_seconds: of one measurement.
    """

    spec: str
    method: str
    measured: FalseKeeps
    estimated: FalseKeeps | None
    decisions: Mapping[str, int]
    median_seconds: float

    def to_json(self) -> dict[str, Any]:
        """Give it as plain data."""
        return {
            "spec": self.spec,
            "method": self.method,
            "measured": _plain(self.measured),
            "estimated": None if self.estimated is None else _plain(self.estimated),
            "decisions": dict(self.decisions),
            "median_seconds": self.median_seconds,
        }


def _plain(found: FalseKeeps) -> dict[str, Any]:
    return {"no_ops": found.no_ops, "kept": found.kept, "share": found.share, "samples": found.samples}


def try_no_ops(
    loaded: LoadedSpec,
    spec_path: Path,
    user: UserRepository,
    scratch: Path,
    environment: Mapping[str, str],
    no_ops: int,
    tell: Callable[[str], None],
) -> SelfTested:
    """Measure candidates that change nothing, as a run would, and count those that its decision keeps.

    Args:
        loaded, spec_path, user, scratch, environment, tell: as `trial.try_harness` takes them.
        no_ops: how many, at least 1.
    Raises: BaselineFails; NoOpFails; ScopeDirty; what git raises.
    """
    state = StateRoot(scratch / "state")
    facts = freeze(state, loaded, spec_path, user)
    ground = ground_of(state, loaded, facts, user, {**environment, "XDG_CACHE_HOME": str(scratch / "cache")})
    try:
        baseline = measure_baseline(ground, tell)
        ground.measuring.timeout_seconds = timeout_of(loaded.spec, baseline)
        ends = [_NoOp(ground, baseline, number).end() for number in _told(no_ops, tell)]
    finally:
        ground.jobs.close(wait=True)
    outcomes = [end.outcome for end, _ in ends]
    kept = sum(outcome in ("keep-eligible", "needs-holdout") for outcome in outcomes)
    return SelfTested(
        spec=loaded.spec.name,
        method=str(loaded.spec.measurement.stability.comparison.method),
        measured=FalseKeeps(no_ops, kept, False, sum(many for _, many in ends)),
        estimated=false_keeps_of(loaded.spec, baseline, facts.run_id),
        decisions={outcome: outcomes.count(outcome) for outcome in sorted(set(outcomes))},
        median_seconds=round(statistics.median(s.elapsed_seconds for s in baseline), 3),
    )


def _told(no_ops: int, tell: Callable[[str], None]) -> Sequence[int]:
    tell(f"measuring {no_ops} candidates that change nothing")
    return range(1, no_ops + 1)


class _NoOp:
    """One session of the untouched code against itself, each side in its own clean checkout."""

    def __init__(self, ground: Ground, baseline: Sequence[SampleTaken], number: int) -> None:
        self._ground = ground
        self._number = number
        self._jobs = ensure_folder(ground.run.experiment(number).jobs)
        self._sides: dict[Side, list[SampleTaken]] = {Side.CANDIDATE: [], Side.REFERENCE: []}
        metrics = metrics_of(baseline, ground.spec.measurement.stability.aggregation)
        self._run = first_part(ground.spec, metrics, ground.base, number)
        self._stored = {
            "gates": dict(baseline[-1].gates),
            "metrics": {name: to_row(value) for name, value in metrics.items()},
            "diagnostics": dict(baseline[-1].diagnostics),
        }

    def end(self) -> tuple[Ended, int]:
        """Measure until the session is decided; give its end and how many measurements it took. Raises: NoOpFails."""
        ground = self._ground
        prepared = ground.measuring.prepare(CANDIDATE_TREE, ground.base, self._jobs, "cand-1", checks=True)
        if prepared.stage is not Stage.READY:
            raise self._fails(f"{prepared.stage} fails: {prepared.detail}")
        while True:
            step = next_step(self._session())
            if isinstance(step, ReferenceBroken):
                raise self._fails(step.reason)
            if isinstance(step, Take):
                self._take(Side.CANDIDATE if step.side == "candidate" else Side.REFERENCE, step.pair)
                continue
            if step.outcome in ("error", "timeout"):
                raise self._fails(str(step.answer["reason"]))
            return step, sum(map(len, self._sides.values()))

    def _session(self) -> Session:
        candidate, reference = self._sides[Side.CANDIDATE], self._sides[Side.REFERENCE]
        return Session(
            spec=self._ground.spec,
            reference=self._stored,
            smoke_passed=True if self._ground.spec.measurement.stability.ladder.smoke_command else None,
            candidate=tuple(taken(s) for s in candidate),
            reference_samples=tuple(taken(s) for s in reference),
            elapsed_seconds=sum(s.elapsed_seconds for s in candidate),
            run=self._run,
        )

    def _take(self, side: Side, pair: int) -> None:
        ground = self._ground
        index = len(self._sides[side]) + 1
        action = Measure(self._number, 1, SessionKind.STANDALONE, side, index, ground.base, pair)
        seed = seed_of(ground.run_id, self._number, SessionKind.STANDALONE, action.seed_number)
        tree = CANDIDATE_TREE if side is Side.CANDIDATE else REFERENCE_TREE
        folder = self._jobs / f"measure-{side}-{index}"
        reading = ground.measuring.sample(tree, ground.base, folder, action.id, seed)
        self._sides[side].append(sample_event(action, reading, seed, ground.relative))

    def _fails(self, reason: str) -> NoOpFails:
        return NoOpFails(
            f"the untouched code, measured as candidate {self._number}, gives no value: {reason}",
            "headway check --aa",
            "make the harness steady first: the same code must always be measurable",
        )
