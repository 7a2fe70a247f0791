"""The log's records of the run itself: approval, state, totals; the log as a whole; the judge cache.

Source: seed 004 (approval, run_state, judge cache); CONTRACTS sections 2, 3 and 8.
"""

from typing import Any, ClassVar, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from headway.core.experiments import BacklogItem, Entry, Usage
from headway.core.log_words import Outcome, RunStatus
from headway.core.measurements import Baseline, Best, HarnessValidation, JudgeItem
from headway.core.rows import EXTENSION, Amount, Bool, Count, Int, Iteration, Row, Text, Timestamp


class StoppingCaps(Row):
    """Every stopping field in force; null is "no such limit"."""

    nullable: ClassVar[frozenset[str]] = frozenset({"max_wall_hours", "max_total_cost_usd"})

    max_iterations: Count | None = None
    max_hours: Amount | None = None
    max_wall_hours: Amount | None = None
    plateau_iterations: Count | Literal["none"] | None = None
    target_reached: Bool | None = None
    max_total_cost_usd: Amount | None = None
    max_consecutive_failures: Count | None = None


class JudgeCaps(Row):
    """The judge's cap; null only with the explicit yes to uncapped spend."""

    nullable: ClassVar[frozenset[str]] = frozenset({"max_total_cost_usd"})

    max_total_cost_usd: Amount | None


class MetricCaps(Row):
    """Caps of the metric."""

    judge: JudgeCaps


class ExecutionCaps(Row):
    """Caps of the execution."""

    max_concurrent: Count


class Caps(Row):
    """What the user approved, nested like the spec; `metric` only where a judge scores."""

    stopping: StoppingCaps | None = None
    metric: MetricCaps | None = None
    execution: ExecutionCaps | None = None


class ApprovalHeadway(Row):
    """Who approved, and whether spending without a cap was part of it."""

    approved_by: Text | None = None
    uncapped_spend: Bool | None = None
    planned: Count | None = None  # candidates that the first approval admitted: the plan of the error budget


class Approval(Row):
    """The user's yes, valid while the spec's bytes and caps are what they were."""

    approved_at: Timestamp
    spec_sha256: Text
    caps: Caps
    headway: ApprovalHeadway | None = None


class WaitHeadway(Row):
    """What a dispatch has taken from the backlog: the whole item, so that no crash can lose it."""

    hypothesis: BacklogItem | None = None
    iteration: Iteration | None = None
    batch: Int | None = None


class PendingWait(Row):
    """Work outstanding across the end of a process."""

    item: Text
    arrives_as: Text | None = None
    wake: Text | None = None
    on_arrival: Text | None = None
    headway: WaitHeadway | None = None


class TotalCost(Row):
    """The spend so far by who spent it; null is unknown, and `unknown` names the parts that were not reported."""

    nullable: ClassVar[frozenset[str]] = frozenset({"agents_usd", "judges_usd", "harness_usd"})

    agents_usd: Amount | None = None
    judges_usd: Amount | None = None
    harness_usd: Amount | None = None
    unknown: tuple[Text, ...] = ()


class Marks(Row):
    """What the next change of the totals needs to know of the entries before it (`core/totals.py`).

    batch: highest batch in the log. keep_batch: highest batch that holds a keep, absent while none does. success:
    highest iteration that ended otherwise than as a failure. failing: iterations behind `failures_in_a_row`.
    """

    batch: Int | None = None
    keep_batch: Int | None = None
    success: Count = 0
    failing: tuple[Iteration, ...] = ()


class Totals(Row):
    """Counts over all entries, written in the commit that changes them; defined in `core/totals.py`."""

    counts: dict[Outcome, Count] = Field(default_factory=dict)
    k: Count = 0
    keeps: tuple[Iteration, ...] = ()
    measured_since_keep: Count = 0
    failures_in_a_row: Count = 0
    cost: TotalCost | None = None
    scale: dict[str, Text] | None = None
    marks: Marks = Marks()


class Stop(Row):
    """Why the run stopped, and what takes it up again."""

    reason: Text
    detail: Text | None = None
    continue_with: Text | None = None


class Dropped(Row):
    """A hypothesis that ended without a candidate."""

    hypothesis_id: Text | None = None
    description: Text
    reason: Text
    usage: Usage | None = None


class Notice(Row):
    """Something that a person should know."""

    at: Timestamp
    text: Text


class EffortRow(Row):
    """The effort that `effort: auto` came to, its share of the error budget, and the last session before it."""

    effort: Text
    share: Amount
    reason: Text | None = None
    since_k: Count = 0


class RunStateHeadway(Row):
    """What headway adds to the run's state; `environment` has one mapping for each machine state met."""

    totals: Totals | None = None
    stop: Stop | None = None
    dropped: tuple[Dropped, ...] = ()
    notices: tuple[Notice, ...] = ()
    environment: tuple[dict[str, Any], ...] = ()
    approved_deps: tuple[Text, ...] = ()
    thresholds: dict[str, Any] | None = None
    effort: EffortRow | None = None


class RunState(Row):
    """Where the loop stands; absent clocks are zero and absent waits are none."""

    status: RunStatus
    tick: Count | None = None
    phase3_started_at: Timestamp | None = None
    active_seconds: Amount | None = None
    pending_waits: tuple[PendingWait, ...] = ()
    headway: RunStateHeadway | None = None


class Log(Row):
    """The experiment log as a whole document."""

    spec: Text
    run_id: Text
    started_at: Timestamp
    baseline: Baseline
    harness_validation: HarnessValidation | None = None
    experiments: tuple[Entry, ...]
    best: Best
    approval: Approval | None = None
    run_state: RunState | None = None
    hypothesis_backlog: tuple[BacklogItem, ...] | None = None


class JudgeCacheItem(JudgeItem):
    """A cached judge result; every scoring field of the rubric stands beside these."""


class JudgeCacheHeadway(Row):
    """Whose results a cache holds: a header that differs is never read."""

    run_id: Text
    rubric_sha256: Text | None = None
    judge_sha256: Text | None = None
    model_sha256: Text | None = None
    settings_sha256: Text | None = None


class JudgeCache(Row):
    """`judge-cache.yaml`: content hash (`<hash>#k` for a repeat) -> item result, with its header first."""

    __pydantic_extra__: dict[str, JudgeCacheItem]

    headway: JudgeCacheHeadway | None = None

    @model_serializer(mode="wrap")
    def _header_first(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        row: dict[str, Any] = write(self)
        header = row.pop(EXTENSION, None)
        return row if header is None else {EXTENSION: header, **row}
