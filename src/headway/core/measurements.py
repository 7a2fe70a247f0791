"""The log's records of what was measured: snapshots, sides, judge results, baseline and validation.

Source: seed 004 (baseline, harness_validation, comparisons, judge); CONTRACTS section 2 (snapshot extension).
"""

from typing import Any, ClassVar, Literal

from headway.core.import_records import ImportedLog
from headway.core.log_words import Calibration, Verdict
from headway.core.rows import Amount, Bool, Count, Int, Number, Row, Text, Timestamp


class Snapshot(Row):
    """One objective's samples and what they come to; `samples` is absent where they are kept elsewhere (holdout)."""

    aggregate: Number
    samples: tuple[Number, ...] | None = None


MetricValue = Number | Snapshot | Text
"""A number, or its snapshot. Text is what older logs hold where nothing was measured."""


class JudgeItem(Row):
    """What the judge says of one item; every scoring field of the rubric stands beside these."""

    item_id: Text | None = None
    content_hash: Text | None = None
    reason: Text | None = None
    feedback: Text | None = None
    ambiguous: Bool | None = None


class Judge(Row):
    """Scores of one experiment; every scoring field of the rubric stands beside these."""

    judge_cost_usd: Amount | None = None
    items: tuple[JudgeItem, ...] | None = None


class BaselineJudge(Row):
    """Scores of the baseline; every scoring field of the rubric stands beside these."""

    sample_seed: Int | None = None
    judge_cost_usd: Amount | None = None


class WorstCase(Row):
    """One of the few worst cases of a measurement: it explains the score and never changes it."""

    case_id: Text | None = None
    score: Text | None = None
    reason: Text | None = None


class Cost(Row):
    """What harness and judge report having spent on one experiment; never gated on."""

    usd: Amount | None = None
    tokens: Count | None = None
    latency_seconds: Amount | None = None


class SideHeadway(Row):
    """Under which conditions samples were taken, in the order of the samples."""

    order: Text | None = None  # of the whole session: "B A A B", B the candidate, A the reference
    started_at: tuple[Timestamp, ...] | None = None
    seeds: tuple[Int, ...] | None = None


class BaselineHeadway(SideHeadway):
    """What else the baseline's measurement told: the commit, the harness' identity, its time limit, its variance."""

    commit: Text | None = None
    workload: Text | None = None
    timeout_seconds: Amount | None = None
    median_seconds: Amount | None = None
    relative_spread: dict[str, Amount] | None = None  # of each objective: (max - min) / |median|
    environment: dict[str, Any] | None = None  # what it was measured on, as in `run_state.headway.environment`
    imported: ImportedLog | None = None  # where the whole log came from, if another tool wrote it


class Side(Row):
    """One side of a pairing, or of a result marker: what a measurement of one commit gave."""

    gates: dict[str, Any] | None = None
    metrics: dict[str, MetricValue] | None = None
    diagnostics: dict[str, Any] | None = None
    judge: Judge | None = None
    headway: SideHeadway | None = None


class ObjectiveResult(Row):
    """The comparison of one required objective; `relative` is null where the reference is zero."""

    nullable: ClassVar[frozenset[str]] = frozenset({"delta", "relative"})

    verdict: Verdict
    delta: Number | None = None
    relative: Number | None = None


class Baseline(Row):
    """What the original code measured, before anything was changed."""

    timestamp: Timestamp | None = None
    gates: dict[str, Any] | None = None
    metrics: dict[str, MetricValue] | None = None
    diagnostics: dict[str, Any] | None = None
    worst_cases: tuple[WorstCase, ...] | None = None
    judge: BaselineJudge | None = None
    headway: BaselineHeadway | None = None


class Probe(Row):
    """One try at fooling the harness: what went in, what came out, and whether that was right (null: not run)."""

    nullable: ClassVar[frozenset[str]] = frozenset({"inputs", "observed", "passed"})

    name: Text
    inputs: Any = None
    observed: Any = None
    passed: Bool | None = None
    waiver: Text | None = None  # who waived its failure, or that it was waived by its name: verbatim


class ValidationHeadway(Row):
    """What the gate found besides; `forgeable` is null where that is not known."""

    nullable: ClassVar[frozenset[str]] = frozenset({"forgeable"})

    forgeable: Bool | None = None
    forged_by: tuple[Text, ...] = ()  # files whose forged value the harness handed on
    failed: tuple[Text, ...] = ()  # probes that stop a run, and failed


class HarnessValidation(Row):
    """The metric validity gate. Null says that a probe was not run; absent, that nobody knows."""

    nullable: ClassVar[frozenset[str]] = frozenset(
        {"separates_known_good_from_bad", "rejects_trivial_shortcut", "judge_agreement"}
    )

    timestamp: Timestamp | None = None
    separates_known_good_from_bad: Bool | None = None
    rejects_trivial_shortcut: Bool | None = None
    judge_agreement: Number | None = None
    calibration: Calibration | None = None
    waiver: Text | None = None
    holdout_configured: Bool | None = None
    probes: tuple[Probe, ...] | None = None
    headway: ValidationHeadway | None = None


class Gain(Row):
    """The gain as reported, positive is better; a bound is null where the samples give none."""

    nullable: ClassVar[frozenset[str]] = frozenset({"low", "high"})

    estimate: Number
    low: Number | None = None
    high: Number | None = None


class FinalSample(Row):
    """One measurement of a final check, in its order; without `metrics` it failed, for the reason that it names."""

    side: Literal["candidate", "reference"]
    metrics: dict[str, Number] | None = None
    seed: Int | None = None
    started_at: Timestamp | None = None
    timed_out: Bool | None = None
    reason: Text | None = None


class FinalCheckRow(Row):
    """The last best (`commit`, the candidate) against the untouched code (`base`, the reference), in fresh pairs.

    `verdict` is absent while it goes on; then `better`, `worse`, `not_proven` or `failed`. `machines` says how many
    the run had met when the check began: one that goes on elsewhere begins anew.
    """

    number: Count
    commit: Text
    base: Text
    machines: Count
    samples: tuple[FinalSample, ...]
    verdict: Text | None = None
    pairs: Count | None = None
    gain: Gain | None = None
    reason: Text | None = None


class BestHeadway(Row):
    """What headway adds to the current best: how it compares with the untouched code, measured side by side."""

    final_check: FinalCheckRow | None = None


class Best(Row):
    """The current best state; iteration 0 is the baseline."""

    iteration: Count
    metrics: dict[str, MetricValue] | None = None
    judge: dict[str, Any] | None = None
    total_judge_cost_usd: Amount | None = None
    total_run_cost_usd: Amount | None = None
    run_cost_basis: Text | None = None
    headway: BestHeadway | None = None


class Marker(Row):
    """`result.yaml`: what the measuring party says of one experiment, before the log does."""

    experiment: Count
    base_sha: Text | None = None
    head_sha: Text | None = None
    machine: Text | None = None
    measured_at: Timestamp | None = None
    baseline: Side | None = None
    candidate: Side | None = None
    correctness: Text | None = None
    headway: dict[str, Any] | None = None
