"""What every part of the spec is made of: the frozen model, numbers, texts and the words that fields may hold."""

import re
from enum import StrEnum
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from headway.core.scope import normalise

SPEC_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class SpecPart(BaseModel):
    """A level of the spec: frozen, no unknown keys, and a key without a value is a key that was left out."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    null_means: ClassVar[frozenset[str]] = frozenset()
    """Keys for which null is an answer of its own."""

    @model_validator(mode="before")
    @classmethod
    def _null_counts_as_empty(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {key: value for key, value in data.items() if value is not None or key in cls.null_means}


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("must be a number")
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError(f"must be a number, not the text {value!r}") from None


def _text(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError("must be text: put it in quotes")
    return value


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be empty")
    return value


def _inside_the_tree(value: str) -> str:
    try:
        normalise(value)
    except ValueError as wrong:
        raise ValueError(str(wrong)) from None
    return value


def _variable_name(value: str) -> str:
    if not VARIABLE_NAME.fullmatch(value):
        raise ValueError("must be the name of an environment variable alone; its value is taken from the environment")
    return value


Number = Annotated[float, Field(allow_inf_nan=False), BeforeValidator(_number)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False), BeforeValidator(_number)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False), BeforeValidator(_number)]
Share = Annotated[float, Field(ge=0, le=1), BeforeValidator(_number)]
OpenShare = Annotated[float, Field(gt=0, lt=1), BeforeValidator(_number)]
Whole = Annotated[int, BeforeValidator(_number)]
Count = Annotated[int, Field(ge=0), BeforeValidator(_number)]
AtLeastOne = Annotated[int, Field(ge=1), BeforeValidator(_number)]
AtLeastThree = Annotated[int, Field(ge=3), BeforeValidator(_number)]
Port = Annotated[int, Field(ge=1, le=65535), BeforeValidator(_number)]
Text = Annotated[str, BeforeValidator(_text)]
NotBlank = Annotated[
    str, Field(json_schema_extra={"pattern": r"\S"}), AfterValidator(_not_blank), BeforeValidator(_text)
]
TreePath = Annotated[NotBlank, AfterValidator(_inside_the_tree)]
"""A path inside the repository: relative, without `..`."""
VariableName = Annotated[NotBlank, AfterValidator(_variable_name)]


class MetricType(StrEnum):
    """How an objective gets its value: measured by the harness, or scored by a judge."""

    HARD = "hard"
    JUDGE = "judge"


class Direction(StrEnum):
    """Which way is better."""

    MAXIMIZE = "maximize"
    MINIMIZE = "minimize"

    @property
    def sign(self) -> int:
        """Give +1 where more is better and -1 where less is."""
        return 1 if self is Direction.MAXIMIZE else -1


class Role(StrEnum):
    """Whether an objective takes part in the decision."""

    REQUIRED = "required"
    SECONDARY = "secondary"


class BoundType(StrEnum):
    """Whether a bound is a share of the reference's magnitude or in the metric's own unit."""

    RELATIVE = "relative"
    ABSOLUTE = "absolute"


class OutputFormat(StrEnum):
    """How the harness says its numbers."""

    JSON = "json"
    METRIC_LINES = "metric_lines"
    REGEX = "regex"


class StabilityMode(StrEnum):
    """How often a candidate is measured: once, a fixed number of times, or as often as the decision needs."""

    STABLE = "stable"
    REPEAT = "repeat"
    LADDER = "ladder"


class Aggregation(StrEnum):
    """How samples of one side become one value."""

    MEDIAN = "median"
    MEAN = "mean"
    MIN = "min"
    MAX = "max"


class ComparisonMethod(StrEnum):
    """How the two sides are compared."""

    ABSOLUTE = "absolute"
    RELATIVE = "relative"
    PAIRED = "paired"
    SEQUENTIAL = "sequential"


class Effort(StrEnum):
    """How much measuring the sequential method spends on a candidate."""

    AUTO = "auto"
    LEAN = "lean"
    QUICK = "quick"
    STANDARD = "standard"
    THOROUGH = "thorough"


class ErrorControl(StrEnum):
    """What the sequential method bounds: any false keep of the run, their share, or only each candidate's chance."""

    RUN = "run"
    FDR = "fdr"
    NONE = "none"


class Screen(StrEnum):
    """Whether one measurement may drop a candidate before any pair is measured."""

    ON = "on"
    OFF = "off"


class Exclusive(StrEnum):
    """Whether a measurement has the machine to itself."""

    MACHINE = "machine"
    NONE = "none"


class ExecutionMode(StrEnum):
    """Whether agents work side by side or one after the other."""

    PARALLEL = "parallel"
    SERIAL = "serial"


class Backend(StrEnum):
    """Where experiments are carried out."""

    WORKTREE = "worktree"
    CODEX = "codex"
    COMMAND = "command"
    REMOTE = "remote"
    DASK = "dask"


class RunnerUp(StrEnum):
    """Which runners-up may be combined with a winner: those that share no file, or any that applies cleanly."""

    FILES = "files"
    HUNKS = "hunks"


class ShieldMode(StrEnum):
    """What the shield does with a candidate that breaks a constraint: nothing, note it, or stop it."""

    NONE = "none"
    SHADOW = "shadow"
    ENFORCE = "enforce"


class Sandbox(StrEnum):
    """Whether agents and harness are shut in: where it works, never, or not without."""

    AUTO = "auto"
    NONE = "none"
    REQUIRE = "require"


class TamperPolicy(StrEnum):
    """What becomes of a candidate that touched immutable files: the touch is dropped, or the candidate is."""

    DROP = "drop"
    REVERT = "revert"


class Priority(StrEnum):
    """How soon a hypothesis is to be tried."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class DepStatus(StrEnum):
    """Whether a hypothesis may run as far as new dependencies go."""

    APPROVED = "approved"
    NEEDS_APPROVAL = "needs_approval"
    NOT_APPLICABLE = "not_applicable"
