"""The log's records of hypotheses and of experiments.

Source: seed 004 (experiment_entry, opportunity_record, hypothesis_backlog); CONTRACTS section 2 (extensions).
"""

from typing import Any, ClassVar, Literal

from headway.core.import_records import ImportedEntry
from headway.core.log_words import (
    ComparisonKind,
    HypothesisSource,
    MeasuredBy,
    NextMeasurement,
    Outcome,
)
from headway.core.measurements import Cost, Gain, Judge, MetricValue, ObjectiveResult, Side, WorstCase
from headway.core.rows import Amount, Bool, Count, Int, Iteration, Row, Text
from headway.core.spec_parts import DepStatus, Priority

UNKNOWN: Literal["unknown"] = "unknown"
"""What stands where a spend was not reported: never zero."""


class Opportunity(Row):
    """Why a hypothesis is worth its cost, written before it is tried and never rebuilt from its result."""

    workload: Text | None = None
    baseline: Text | None = None
    evidence: Text | None = None
    expected_benefit: Text | None = None
    confidence: Text | None = None
    cost_and_risk: Text | None = None


class BacklogHeadway(Row):
    """What headway adds to a hypothesis; `payload` is what the agent carries out (a patch, knob values)."""

    id: Text | None = None
    source: HypothesisSource | None = None
    payload: dict[str, Any] | None = None
    retry_of: Iteration | None = None
    attempts: Count | None = None


class BacklogItem(Row):
    """A hypothesis that was not tried yet."""

    description: Text
    category: Text | None = None
    priority: Priority | None = None
    dep_status: DepStatus | None = None
    required_deps: tuple[Text, ...] = ()
    opportunity: Opportunity | None = None
    headway: BacklogHeadway | None = None


class Usage(Row):
    """What agents spent; `unknown` where a part was not reported."""

    tokens: Count | Literal["unknown"] | None = None
    usd: Amount | Literal["unknown"] | None = None


class Tamper(Row):
    """An edit that was not the candidate's to make (`kind: out_of_scope` too), and what was done about it."""

    nullable: ClassVar[frozenset[str]] = frozenset({"expected_sha256", "found_sha256"})

    path: Text
    kind: Text
    expected_sha256: Text | None = None  # null: there was no such file
    found_sha256: Text | None = None  # null: the file was deleted
    action: Text | None = None


class Override(Row):
    """A person's verdict over the decision engine's."""

    by: Text
    why: Text


class EntryHeadway(Row):
    """What headway adds to an experiment.

    `k` numbers the standalone session, and is set once that gave one timed measurement (`core/totals.py`);
    an integrated session's stands in its comparison.
    """

    hypothesis_id: Text | None = None
    base: Text | None = None
    candidate: Text | None = None
    agent: Text | None = None
    k: Iteration | None = None
    effort: Text | None = None
    usage: Usage | None = None
    gain: Gain | None = None
    shield: dict[str, Any] | None = None
    tamper: tuple[Tamper, ...] = ()
    repeat_of: Iteration | None = None
    override: Override | None = None
    imported: ImportedEntry | None = None


class ComparisonHeadway(Row):
    """What headway adds to a pairing: an integrated session's `k` and gain, what was decided (all a holdout shows).

    A standalone session's `k` and gain stand in its entry.
    """

    k: Iteration | None = None
    decision: Text | None = None
    gain: Gain | None = None


class Comparison(Row):
    """One distinct pairing of reference, candidate and workload; new samples of it extend this record."""

    kind: ComparisonKind
    reference_revision: Text
    candidate_revision: Text
    workload: Text | None = None
    machine: Text | None = None
    measured_by: MeasuredBy | None = None
    reference: Side | None = None
    candidate: Side | None = None
    uncertainty: Text | None = None
    correctness: Text | None = None
    headway: ComparisonHeadway | None = None

    @property
    def identity(self) -> tuple[str, str, str | None, str, str | None]:
        """What makes this pairing the same as another (CONTRACTS section 6)."""
        return (self.reference_revision, self.candidate_revision, self.workload, self.kind, self.machine)


class Change(Row):
    """A file that the experiment modified."""

    file: Text
    summary: Text | None = None


class Entry(Row):
    """One experiment."""

    iteration: Iteration
    batch: Int
    hypothesis: Text
    category: Text
    outcome: Outcome
    opportunity: Opportunity | None = None
    comparisons: tuple[Comparison, ...] = ()
    changes: tuple[Change, ...] = ()
    gates: dict[str, Any] | None = None
    gates_passed: Bool | None = None
    diagnostics: dict[str, Any] | None = None
    metrics: dict[str, MetricValue] | None = None
    judge: Judge | None = None
    cost: Cost | None = None
    regressions: tuple[Text, ...] | None = None
    worst_cases: tuple[WorstCase, ...] | None = None
    primary_delta: Text | None = None
    objective_results: dict[str, ObjectiveResult] | None = None
    sample_count: Count | None = None
    next_measurement: NextMeasurement | None = None
    learnings: Text | None = None
    commit: Text | None = None
    deferred_reason: Text | None = None
    error_message: Text | None = None
    merged_with: Iteration | None = None
    headway: EntryHeadway | None = None
