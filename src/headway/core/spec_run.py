"""The spec's sections about the run itself: scope, execution, stopping, who proposes, who carries out, who is told."""

from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from headway.core.spec_parts import (
    AtLeastOne,
    Backend,
    Count,
    DepStatus,
    ExecutionMode,
    NotBlank,
    NotNegative,
    Port,
    Positive,
    Priority,
    Share,
    ShieldMode,
    SpecPart,
    Text,
    TreePath,
    VariableName,
)

WORKTREE_LIMIT = 6
"""Most agents at work at once on one machine (backend `worktree`)."""


class Scope(SpecPart):
    """What a candidate may change, and what it must not."""

    mutable: tuple[TreePath, ...] = Field(min_length=1, description="Files, folders or globs that may change.")
    immutable: tuple[TreePath, ...] = Field(min_length=1, description="Files, folders or globs that must not.")


class Execution(SpecPart):
    """Where and how many at once."""

    mode: ExecutionMode = Field(default=ExecutionMode.PARALLEL, description="Side by side, or one after the other.")
    backend: Backend = Field(default=Backend.WORKTREE, description="Where experiments are carried out.")
    max_concurrent: AtLeastOne = Field(default=4, description="Agents at work at once; `worktree`: at most 6.")
    codex_security: Any = Field(default=None, description="For backend `codex`.")
    remote: dict[str, Any] | None = Field(default=None, description="For backend `remote`.")
    cluster: Any = Field(default=None, description="For backends on a cluster.")
    slots: AtLeastOne | None = Field(default=None, description="Measurements at once on other machines.")


class Parallel(SpecPart):
    """What experiments that run side by side must not share."""

    port_strategy: NotBlank = Field(default="none", description="`parameterized`: each gets a port of its own.")
    port_env_var: VariableName | None = Field(default=None, description="Variable that holds the port.")
    port_base: Port = Field(default=9000, description="First port.")
    shared_files: tuple[TreePath, ...] = Field(default=(), description="Uncommitted files copied into each tree.")
    exclusive_resources: tuple[NotBlank, ...] = Field(
        default=(), description="What only one experiment may use at a time; naming one forces serial execution."
    )


class Dependencies(SpecPart):
    """New dependencies that need no further yes."""

    approved: tuple[NotBlank, ...] = Field(default=(), description="Names of approved dependencies.")


def _none_is_no_plateau(value: Any) -> Any:
    return None if value == "none" else value


class Stopping(SpecPart):
    """When the run ends."""

    null_means: ClassVar[frozenset[str]] = frozenset({"plateau_iterations"})

    max_iterations: AtLeastOne = Field(default=100, description="Most experiments.")
    max_hours: Positive = Field(default=8.0, description="Most hours of activity.")
    max_wall_hours: Positive | None = Field(default=None, description="Most hours on the clock.")
    plateau_iterations: Annotated[AtLeastOne | None, BeforeValidator(_none_is_no_plateau)] = Field(
        default=10, description="Measured experiments in a row without a keep; `none`: no such limit."
    )
    target_reached: bool = Field(default=True, description="Whether to stop once all targets are met.")
    max_total_cost_usd: NotNegative | None = Field(default=None, description="Most money for the whole run.")
    max_consecutive_failures: AtLeastOne = Field(default=5, description="Errors and timeouts in a row.")


class Agent(SpecPart):
    """Who carries hypotheses out."""

    type: NotBlank = Field(description="Name of the agent's adapter, such as `command` or `patches`.")
    options: dict[str, Any] = Field(default={}, description="Options of that adapter.")
    command: NotBlank | None = Field(default=None, description="For `command`: shell command, brief on its stdin.")
    model: NotBlank | None = Field(default=None, description="Model that the agent uses.")
    timeout_seconds: Positive = Field(default=1800.0, description="Limit of one turn.")
    idle_timeout_seconds: Positive = Field(default=600.0, description="Limit without any output.")
    max_turns: AtLeastOne | None = Field(default=None, description="Most turns of an agent that counts them.")
    max_cost_usd: NotNegative | None = Field(default=None, description="Most money for one hypothesis.")
    max_repairs: Count = Field(default=1, description="Repair turns for a candidate that does not build or run.")
    instructions_file: TreePath | None = Field(default=None, description="File that every brief includes.")
    env: tuple[VariableName, ...] = Field(default=(), description="Variables that the agent inherits, by name.")


class Proposer(SpecPart):
    """Who thinks of hypotheses."""

    type: NotBlank = Field(description="Name of the proposer's adapter, such as `list` or `patches`.")
    batch_size: AtLeastOne | None = Field(default=None, description="Most hypotheses asked for at once.")
    max_backlog: AtLeastOne | None = Field(default=None, description="Most hypotheses that wait at once.")


class Exemplar(SpecPart):
    """A state of the code whose worth is known."""

    patch: TreePath | None = Field(
        default=None, description="Patch that makes it, from the spec's folder or the repository."
    )
    commit: NotBlank | None = Field(default=None, description="Commit that is it.")
    note: Text | None = Field(default=None, description="What it shows.")


class Exemplars(SpecPart):
    """States of the code that tell whether the harness can be trusted."""

    known_good: tuple[Exemplar, ...] = Field(default=(), description="States that must outscore the known-bad ones.")
    known_bad: tuple[Exemplar, ...] = Field(default=(), description="States that must score low.")
    trivial: tuple[Exemplar, ...] = Field(default=(), description="States that do no work.")


class Shield(SpecPart):
    """How constraints are checked against a candidate's diff."""

    mode: ShieldMode = Field(default=ShieldMode.NONE, description="What is done about a violation.")
    t_allow: Share = Field(default=0.2, description="Probability of violation below which a candidate passes.")
    t_block: Share = Field(default=0.8, description="Probability from which it is reverted.")
    timeout_seconds: Positive = Field(default=900.0, description="Wait for a person before it is denied.")


class Notify(SpecPart):
    """Who is told about the run."""

    command: NotBlank | None = Field(default=None, description="Shell command that gets the event as JSON.")
    url: NotBlank | None = Field(default=None, description="Address that gets the event as JSON.")
    events: tuple[NotBlank, ...] = Field(default=(), description="Events to tell of; none named is all.")
    timeout_seconds: Positive = Field(default=10.0, description="Limit of one notice.")


class Hypothesis(SpecPart):
    """A change of the user's own to try."""

    description: NotBlank = Field(description="What to change, and why it should help.")
    category: NotBlank = Field(default="general", description="Kind of change; a batch mixes kinds.")
    priority: Priority = Field(default=Priority.MEDIUM, description="How soon.")
    required_deps: tuple[NotBlank, ...] = Field(default=(), description="New dependencies that it needs.")

    def dep_status(self, approved: frozenset[str]) -> DepStatus:
        """Say whether it may run, given the approved dependencies."""
        if not self.required_deps:
            return DepStatus.NOT_APPLICABLE
        return DepStatus.APPROVED if approved.issuperset(self.required_deps) else DepStatus.NEEDS_APPROVAL


def _constraint_text(value: Any) -> Any:
    """Read `- path: src/x` and unquoted text with a colon, which YAML takes for a mapping, as the text it is."""
    if isinstance(value, dict) and len(value) == 1:
        ((key, rest),) = value.items()
        if isinstance(rest, str | int | float):
            return f"{key}: {rest}"
    return value


Constraint = Annotated[NotBlank, BeforeValidator(_constraint_text)]

__all__ = [
    "Agent",
    "Constraint",
    "Dependencies",
    "Execution",
    "Exemplar",
    "Exemplars",
    "Hypothesis",
    "Notify",
    "Parallel",
    "Proposer",
    "Scope",
    "Shield",
    "Stopping",
]
