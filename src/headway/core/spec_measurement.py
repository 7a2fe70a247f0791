"""The spec's `measurement`: how a commit becomes numbers, and how often."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field, field_validator

from headway.core.sequential.simpler import BUILT_IN, is_built_in
from headway.core.spec_parts import (
    Aggregation,
    AtLeastOne,
    AtLeastThree,
    BoundType,
    ComparisonMethod,
    Count,
    Effort,
    ErrorControl,
    Exclusive,
    NotBlank,
    NotNegative,
    OpenShare,
    OutputFormat,
    Positive,
    Screen,
    SpecPart,
    StabilityMode,
    TreePath,
)


class MinEffect(SpecPart):
    """The smallest gain worth keeping."""

    type: BoundType = Field(description="Share of the reference's magnitude, or the metric's own unit.")
    value: NotNegative = Field(description="The gain; 0.01 with `relative` is one percent.")


def _is_a_built_in(value: str) -> str:
    if not is_built_in(value):
        raise ValueError("must be headway.lines_net, headway.bytes(PATH) or headway.tokens(PATH)")
    return value


class AcceptSimpler(SpecPart):
    """When a candidate is kept for being simpler, although it is not better."""

    metric: Annotated[NotBlank, AfterValidator(_is_a_built_in)] = Field(
        description="What must be smaller: `headway.lines_net`, `headway.bytes(PATH)` or `headway.tokens(PATH)`.",
        json_schema_extra={"pattern": f"^(?:{BUILT_IN.pattern})$"},
    )
    margin: OpenShare = Field(description="Share by which the objectives may be worse, as far as can be proven.")


class Comparison(SpecPart):
    """How a candidate's samples are compared with the reference's."""

    method: ComparisonMethod = Field(default=ComparisonMethod.ABSOLUTE, description="Rule of the comparison.")
    relative_threshold: NotNegative = Field(default=0.05, description="For `relative`: share of the reference.")
    noise_threshold: NotNegative | None = Field(default=None, description="Goes before `stability.noise_threshold`.")
    minimum_improvement: NotNegative | None = Field(
        default=None, description="Goes before `metric.judge.minimum_improvement`."
    )
    alpha: OpenShare = Field(default=0.05, description="For `sequential`: chance of a false keep, as bounded.")
    effort: Effort = Field(default=Effort.AUTO, description="For `sequential`: how much is measured.")
    error_control: ErrorControl | None = Field(default=None, description="For `sequential`: what `alpha` bounds.")
    min_effect: MinEffect | None = Field(default=None, description="For `sequential`: smallest gain worth keeping.")
    max_pairs: AtLeastOne | None = Field(default=None, description="For `sequential`: most pairs per candidate.")
    screen: Screen = Field(default=Screen.ON, description="For `sequential`: whether one sample may drop a candidate.")
    calibration: AtLeastThree = Field(default=8, description="For `sequential`: samples of the untouched baseline.")
    accept_simpler: AcceptSimpler | None = Field(
        default=None, description="For `sequential`: keep what is simpler and not worse."
    )

    @field_validator("screen", mode="before")
    @classmethod
    def _on_and_off_of_older_yaml(cls, value: object) -> object:
        return {True: "on", False: "off"}[value] if isinstance(value, bool) else value


class Futility(SpecPart):
    """When a measurement is cut short because its candidate cannot win any more."""

    worse_factor: NotNegative = Field(default=1.2, description="Worse by this factor is hopeless; up to 1 is no cut.")
    after_elapsed_seconds: Positive | None = Field(default=None, description="Seconds before which nothing is cut.")


class Ladder(SpecPart):
    """The rungs of `mode: ladder`: a smoke check, a first look, confirmation."""

    smoke_command: NotBlank | None = Field(default=None, description="Quick check before any measurement.")
    exploratory_pairs: Count = Field(default=1, description="Samples of the first look.")
    confirmation_repeats: AtLeastOne | None = Field(default=None, description="Samples before a keep.")
    futility: Futility | None = Field(default=None, description="When to give a candidate up early.")


class Stability(SpecPart):
    """How often is measured, and what counts as a difference."""

    mode: StabilityMode = Field(default=StabilityMode.STABLE, description="How often a candidate is measured.")
    repeat_count: AtLeastOne = Field(default=5, description="For `repeat`: samples per measurement.")
    aggregation: Aggregation = Field(default=Aggregation.MEDIAN, description="How samples become one value.")
    noise_threshold: NotNegative = Field(
        default=0.02, description="Difference that may be noise, in the metric's unit."
    )
    comparison: Comparison = Field(default_factory=Comparison, description="How the two sides are compared.")
    ladder: Ladder = Field(default_factory=Ladder, description="Rungs of `mode: ladder`.")


class Holdout(SpecPart):
    """Cases that no brief may contain, scored before a keep."""

    command: NotBlank | None = Field(default=None, description="Command that scores the holdout.")


class Measurement(SpecPart):
    """How a commit becomes numbers."""

    command: NotBlank = Field(description="Shell command that prints the metrics.")
    timeout_seconds: Positive | None = Field(
        default=None, description="Limit of one measurement; left out: three times the first ones, at least 60 s."
    )
    output_format: OutputFormat = Field(default=OutputFormat.JSON, description="How the command says its numbers.")
    working_directory: TreePath = Field(default=".", description="Folder in which commands run.")
    per_case: bool = Field(default=False, description="Whether the output holds `cases`, a pass or score by id.")
    holdout: Holdout | None = Field(default=None, description="Cases that no brief may contain.")
    stability: Stability = Field(default_factory=Stability, description="How often, and what is a difference.")
    setup_command: NotBlank | None = Field(default=None, description="Shell command that makes a fresh tree usable.")
    build_command: NotBlank | None = Field(default=None, description="Shell command run once per commit.")
    build_cache: tuple[TreePath, ...] = Field(default=(), description="Folders that outlive a tree.")
    checks_command: NotBlank | None = Field(
        default=None, description="Shell command run once per candidate; a failure is degenerate."
    )
    metrics_file: TreePath | None = Field(default=None, description="File that holds the output instead of stdout.")
    extract: dict[NotBlank, NotBlank] = Field(default={}, description="For `regex`: value's name to its pattern.")
    harness_files: tuple[TreePath, ...] = Field(default=(), description="Uncommitted files frozen by hash.")
    exclusive: Exclusive = Field(default=Exclusive.MACHINE, description="Whether a measurement has the machine alone.")
    network: bool = Field(default=False, description="Whether a measurement may use the network.")
    clean_home: bool = Field(default=False, description="Whether a measurement starts with an empty home folder.")

    @field_validator("extract")
    @classmethod
    def _patterns_are_regular_expressions(cls, value: dict[str, str]) -> dict[str, str]:
        for name, pattern in value.items():
            try:
                re.compile(pattern)
            except re.error as wrong:
                raise ValueError(f"the pattern of {name!r} is no regular expression: {wrong}") from None
        return value
