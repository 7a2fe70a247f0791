"""The spec's `metric`: what decides, what must hold, what is only recorded, and how a judge scores."""

from typing import Any, ClassVar

from pydantic import Field, field_validator

from headway.core.gates import parse_check
from headway.core.spec_parts import (
    AtLeastOne,
    BoundType,
    Count,
    Direction,
    MetricType,
    NotBlank,
    NotNegative,
    Number,
    Role,
    Share,
    SpecPart,
    Whole,
)
from headway.errors import RequestWrong


class MaxRegression(SpecPart):
    """How much worse an objective may get before the candidate is turned down."""

    type: BoundType = Field(description="Share of the reference's magnitude, or the metric's own unit.")
    value: NotNegative = Field(description="The bound; 0.05 with `relative` is five percent.")


class Primary(SpecPart):
    """The objective that the run is about."""

    type: MetricType = Field(description="`hard`: the harness prints it; `judge`: a judge scores it.")
    name: NotBlank = Field(description="Name of the value in the harness's output, or of the judge's score.")
    direction: Direction = Field(description="Which way is better.")
    target: Number | None = Field(default=None, description="Value at which the run may stop.")
    baseline: Any = Field(default=None, description="Accepted and ignored: the baseline lives in the log.")


class Objective(SpecPart):
    """A value that takes part in the decision beside the primary."""

    name: NotBlank = Field(description="Name of the value in the harness's output.")
    direction: Direction = Field(description="Which way is better.")
    role: Role = Field(default=Role.REQUIRED, description="`secondary` objectives are compared and decide nothing.")
    type: MetricType = Field(default=MetricType.HARD, description="How it gets its value.")
    target: Number | None = Field(default=None, description="Value that must be met as well before the run may stop.")
    max_regression: MaxRegression | None = Field(default=None, description="How much worse it may get.")


class Gate(SpecPart):
    """What must hold before a candidate's metrics mean anything."""

    name: NotBlank = Field(description="Name of the value in the harness's output.")
    check: NotBlank = Field(
        description="One of >= <= > < == != and a number; booleans count as 1 and 0.",
        json_schema_extra={"pattern": r"^\s*(>=|<=|==|!=|>|<)\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"},
    )
    description: NotBlank | None = Field(default=None, description="Why it must hold.")

    @field_validator("check")
    @classmethod
    def _can_be_evaluated(cls, value: str) -> str:
        try:
            parse_check(value)
        except RequestWrong as wrong:
            raise ValueError(f"{wrong.what}: {wrong.mend}") from None
        return value


class Diagnostic(SpecPart):
    """A value that is recorded and never decides."""

    name: NotBlank = Field(description="Name of the value in the harness's output.")
    description: NotBlank | None = Field(default=None, description="What it tells.")


class Scoring(SpecPart):
    """Which of the judge's scores decides."""

    primary: NotBlank | None = Field(default=None, description="Score that is the primary metric.")
    secondary: tuple[NotBlank, ...] = Field(default=(), description="Scores that are recorded.")


class Stratum(SpecPart):
    """How many items of one kind a judge's sample holds."""

    bucket: NotBlank = Field(description="Kind of item.")
    count: Count = Field(description="Items of this kind in a sample.")


class JudgeCalibration(SpecPart):
    """Labelled items on which the judge has to agree with people first."""

    labels: NotBlank = Field(description="File with the labelled items.")
    min_agreement: Share | None = Field(default=None, description="Agreement that the judge must reach.")


class Judge(SpecPart):
    """How a judge scores the items that the harness prints."""

    null_means: ClassVar[frozenset[str]] = frozenset({"max_total_cost_usd"})

    rubric: NotBlank | None = Field(default=None, description="What the judge goes by.")
    scoring: Scoring = Field(default_factory=Scoring, description="Which scores count.")
    model: NotBlank | None = Field(default=None, description="Model that judges.")
    sample_size: AtLeastOne = Field(default=10, description="Items judged per measurement.")
    stratification: tuple[Stratum, ...] = Field(default=(), description="Items per kind.")
    singleton_sample: Count = Field(default=0, description="Items judged alone, by `singleton_rubric`.")
    singleton_rubric: NotBlank | None = Field(default=None, description="Rubric for items judged alone.")
    sample_seed: Whole = Field(default=42, description="Seed from which samples are drawn.")
    batch_size: AtLeastOne = Field(default=5, description="Items per request.")
    minimum_improvement: NotNegative = Field(
        default=0.3, description="Gain below which a judged value has not improved."
    )
    max_total_cost_usd: NotNegative | None = Field(
        default=5.0, description="Cap on all judging of the run; null is no cap and needs an explicit yes."
    )
    calibration: JudgeCalibration | None = Field(default=None, description="Agreement with people, checked first.")


class Metric(SpecPart):
    """What is measured, and what for."""

    primary: Primary = Field(description="The objective that the run is about.")
    objectives: tuple[Objective, ...] = Field(default=(), description="Further objectives.")
    degenerate_gates: tuple[Gate, ...] = Field(min_length=1, description="What must hold, at least one.")
    diagnostics: tuple[Diagnostic, ...] = Field(default=(), description="What is recorded and never decides.")
    judge: Judge | None = Field(default=None, description="Needed where an objective is judged.")
