"""What the user asks for: the spec, as frozen models with the defaults of its family.

The nesting is the YAML's. A key without a value counts as left out; which keys were written is known
(`model_fields_set`, `Spec.written`). Reading the file is `store/spec_file.py`; what this version cannot carry out is
`spec_support.py`.
Source: DESIGN section 3, CONTRACTS section 3.
"""

from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from headway.core.spec_measurement import (
    AcceptSimpler,
    Comparison,
    Futility,
    Holdout,
    Ladder,
    Measurement,
    MinEffect,
    Stability,
)
from headway.core.spec_metric import (
    Diagnostic,
    Gate,
    Judge,
    JudgeCalibration,
    MaxRegression,
    Metric,
    Objective,
    Primary,
    Scoring,
    Stratum,
)
from headway.core.spec_parts import (
    SPEC_NAME,
    Aggregation,
    Backend,
    BoundType,
    ComparisonMethod,
    Count,
    DepStatus,
    Direction,
    Effort,
    ErrorControl,
    Exclusive,
    ExecutionMode,
    MetricType,
    OutputFormat,
    Priority,
    Role,
    RunnerUp,
    Sandbox,
    Screen,
    ShieldMode,
    SpecPart,
    StabilityMode,
    TamperPolicy,
    Text,
)
from headway.core.spec_rules import SpecProblem, broken_rules
from headway.core.spec_run import (
    Agent,
    Constraint,
    Dependencies,
    Execution,
    Exemplar,
    Exemplars,
    Hypothesis,
    Notify,
    Parallel,
    Proposer,
    Scope,
    Shield,
    Stopping,
)

RULES_BROKEN = "spec_rules"
"""Type of the error that stands for broken rules in pydantic's list."""


def _is_a_spec_name(value: str) -> str:
    if not SPEC_NAME.fullmatch(value):
        raise ValueError(f"must be small letters, digits and single hyphens between them, not {value!r}")
    return value


SpecName = Annotated[Text, AfterValidator(_is_a_spec_name)]


class Spec(SpecPart):
    """One optimization: what is measured, what may change, and when to stop."""

    name: SpecName = Field(
        description="Name of the spec; its runs and branches carry it.",
        json_schema_extra={"pattern": f"^{SPEC_NAME.pattern}$"},
    )
    description: Text = Field(default="", description="What the optimization is for.")
    metric: Metric = Field(description="What is measured, and what for.")
    measurement: Measurement = Field(description="How a commit becomes numbers.")
    scope: Scope = Field(description="What a candidate may change, and what it must not.")
    execution: Execution = Field(default_factory=Execution, description="Where and how many at once.")
    parallel: Parallel = Field(default_factory=Parallel, description="What experiments must not share.")
    dependencies: Dependencies = Field(default_factory=Dependencies, description="New dependencies allowed.")
    constraints: tuple[Constraint, ...] = Field(default=(), description="What a candidate must respect, in words.")
    stopping: Stopping = Field(default_factory=Stopping, description="When the run ends.")
    max_runner_up_merges_per_batch: Count = Field(default=1, description="Runners-up combined with a winner, at most.")
    runner_up: RunnerUp = Field(default=RunnerUp.FILES, description="Which runners-up may be combined.")
    agent: Agent | None = Field(default=None, description="Who carries hypotheses out.")
    proposer: Proposer | None = Field(default=None, description="Who thinks of hypotheses.")
    exemplars: Exemplars = Field(default_factory=Exemplars, description="States of the code that test the harness.")
    shield: Shield = Field(default_factory=Shield, description="How constraints are checked.")
    notify: Notify | None = Field(default=None, description="Who is told about the run.")
    sandbox: Sandbox = Field(default=Sandbox.AUTO, description="Whether agents and harness are shut in.")
    tamper_policy: TamperPolicy = Field(default=TamperPolicy.DROP, description="What touching immutable files brings.")
    hypotheses: tuple[Hypothesis, ...] = Field(default=(), description="Changes of the user's own to try.")

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        problems = broken_rules(self.written())
        if problems:
            raise PydanticCustomError(RULES_BROKEN, "{problems}", {"problems": "; ".join(map(str, problems))})
        return self

    def written(self) -> dict[str, Any]:
        """Give the spec as plain data, with only the keys that were written."""
        return self.model_dump(mode="json", exclude_unset=True)

    @property
    def all_objectives(self) -> tuple[Objective, ...]:
        """Give the primary, as a required objective, and all others behind it."""
        primary = self.metric.primary
        first = Objective(
            name=primary.name, direction=primary.direction, role=Role.REQUIRED, type=primary.type, target=primary.target
        )
        return (first, *self.metric.objectives)

    @property
    def required_objectives(self) -> tuple[Objective, ...]:
        """Give the objectives that take part in the decision, the primary first."""
        return tuple(objective for objective in self.all_objectives if objective.role is Role.REQUIRED)

    @property
    def effective_concurrency(self) -> int:
        """Give how many agents may work at once: one where the spec says serial or names an exclusive resource."""
        if self.execution.mode is ExecutionMode.SERIAL or self.parallel.exclusive_resources:
            return 1
        return self.execution.max_concurrent

    @property
    def proposer_type(self) -> str:
        """Give who proposes: as written, else the patches of a `patches` agent, else the user's own list."""
        if self.proposer is not None:
            return self.proposer.type
        return "patches" if self.agent is not None and self.agent.type == "patches" else "list"


__all__ = [
    "RULES_BROKEN",
    "AcceptSimpler",
    "Agent",
    "Aggregation",
    "Backend",
    "BoundType",
    "Comparison",
    "ComparisonMethod",
    "DepStatus",
    "Dependencies",
    "Diagnostic",
    "Direction",
    "Effort",
    "ErrorControl",
    "Exclusive",
    "Execution",
    "ExecutionMode",
    "Exemplar",
    "Exemplars",
    "Futility",
    "Gate",
    "Holdout",
    "Hypothesis",
    "Judge",
    "JudgeCalibration",
    "Ladder",
    "MaxRegression",
    "Measurement",
    "Metric",
    "MetricType",
    "MinEffect",
    "Notify",
    "Objective",
    "OutputFormat",
    "Parallel",
    "Primary",
    "Priority",
    "Proposer",
    "Role",
    "RunnerUp",
    "Sandbox",
    "Scope",
    "Scoring",
    "Screen",
    "Shield",
    "ShieldMode",
    "Spec",
    "SpecPart",
    "SpecProblem",
    "Stability",
    "StabilityMode",
    "Stopping",
    "Stratum",
    "TamperPolicy",
]
