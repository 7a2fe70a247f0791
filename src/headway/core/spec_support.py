"""What a spec may say that this version cannot carry out.

Such a spec loads, so that it can be shown and edited; starting a run or a check with it is refused by name, so that
nothing that was asked for is left out in silence.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from headway.core.spec import (
    Agent,
    Backend,
    ComparisonMethod,
    Effort,
    MetricType,
    Sandbox,
    ShieldMode,
    Spec,
)
from headway.core.spec_rules import SpecProblem

GIVES_ALL_AT_ONCE: Final = ("list", "patches")
COUNTS_TURNS: Final = ("claude-code",)
PRICED_BY_MODEL: Final = ("codex",)
PORT_STRATEGIES: Final = ("none", "parameterized")
SEQUENTIAL_ONLY: Final = (
    "alpha",
    "effort",
    "error_control",
    "min_effect",
    "max_pairs",
    "screen",
    "calibration",
    "accept_simpler",
)


@dataclass(frozen=True)
class Refusal:
    """One thing that is refused: where it stands, what to say when it was asked for (None: it was not), the mend."""

    path: str
    says: Callable[[Spec], str | None]
    mend: str


def refusals(spec: Spec) -> tuple[SpecProblem, ...]:
    """Say what of a spec this version cannot carry out.

    Args:
        spec: a valid spec.
    Returns: one problem per thing, in the order of the table; empty where the spec can be run.
    """
    found = ((refusal, refusal.says(spec)) for refusal in REFUSALS)
    return tuple(
        SpecProblem(tuple(refusal.path.split(".")), said, refusal.mend) for refusal, said in found if said is not None
    )


def _asked(value: object, what: str) -> str | None:
    return f"{what} is not in this version" if value else None


def _judged_objectives(spec: Spec) -> str | None:
    names = [objective.name for objective in spec.metric.objectives if objective.type is MetricType.JUDGE]
    return _asked(names, f"judging ({', '.join(names)})")


def _unknown(value: str, known: tuple[str, ...], what: str) -> str | None:
    return _asked(value not in known, f"{what} {value!r}")


def _of_asking_proposers(name: str) -> Refusal:
    def says(spec: Spec) -> str | None:
        proposer = spec.proposer
        if proposer is None or proposer.type not in GIVES_ALL_AT_ONCE or getattr(proposer, name) is None:
            return None
        return f"proposer {proposer.type!r} gives all its hypotheses at once"

    return Refusal(f"proposer.{name}", says, "leave it out")


def _turns(spec: Spec) -> str | None:
    agent = spec.agent
    if agent is None or agent.max_turns is None or agent.type in COUNTS_TURNS:
        return None
    return f"agent {agent.type!r} takes no limit of turns"


def _money_of_unpriced(spec: Spec) -> str | None:
    agent = spec.agent
    if agent is None or agent.max_cost_usd is None or agent.model is not None or agent.type not in PRICED_BY_MODEL:
        return None
    return f"agent {agent.type!r} reports no cost, and without a model its tokens have no price"


def _of_patches(name: str) -> Refusal:
    def says(spec: Spec) -> str | None:
        agent: Agent | None = spec.agent
        if agent is None or agent.type != "patches" or not getattr(agent, name):
            return None
        return "agent 'patches' runs no program that could use it"

    return Refusal(f"agent.{name}", says, "leave it out")


def _of_sequential(name: str) -> Refusal:
    def says(spec: Spec) -> str | None:
        comparison = spec.measurement.stability.comparison
        if comparison.method is ComparisonMethod.SEQUENTIAL or name not in comparison.model_fields_set:
            return None
        return f"belongs to method: sequential, not to {comparison.method}"

    return Refusal(f"measurement.stability.comparison.{name}", says, "leave it out")


REFUSALS: Final[tuple[Refusal, ...]] = (
    Refusal(
        "metric.primary.type",
        lambda spec: _asked(spec.metric.primary.type is MetricType.JUDGE, "judging"),
        "use type: hard and let the command print the score",
    ),
    Refusal("metric.objectives", _judged_objectives, "use type: hard and let the command print the score"),
    Refusal(
        "measurement.holdout.command",
        lambda spec: _asked(spec.measurement.holdout and spec.measurement.holdout.command, "the holdout"),
        "leave it out and score the holdout by hand",
    ),
    Refusal(
        "measurement.stability.comparison.effort",
        lambda spec: _asked(
            spec.measurement.stability.comparison.effort is Effort.LEAN
            and spec.measurement.stability.comparison.method is ComparisonMethod.SEQUENTIAL,
            "effort 'lean', which keeps candidates in groups,",
        ),
        "use auto, quick, standard or thorough",
    ),
    *map(_of_sequential, SEQUENTIAL_ONLY),
    Refusal(
        "measurement.clean_home",
        lambda spec: _asked(spec.measurement.clean_home, "an empty home folder for measurements"),
        "set HOME in the command itself",
    ),
    Refusal(
        "execution.backend",
        lambda spec: _asked(
            spec.execution.backend is not Backend.WORKTREE, f"backend {spec.execution.backend.value!r}"
        ),
        "use worktree",
    ),
    Refusal("execution.slots", lambda spec: _asked(spec.execution.slots, "measuring in slots"), "leave it out"),
    Refusal(
        "parallel.port_strategy",
        lambda spec: _unknown(spec.parallel.port_strategy, PORT_STRATEGIES, "port strategy"),
        f"use {' or '.join(PORT_STRATEGIES)}",
    ),
    Refusal("agent.max_turns", _turns, "use timeout_seconds"),
    Refusal("agent.max_cost_usd", _money_of_unpriced, "name agent.model"),
    *map(_of_patches, ("model", "instructions_file", "env")),
    *map(_of_asking_proposers, ("batch_size", "max_backlog")),
    Refusal(
        "shield.mode",
        lambda spec: _asked(spec.shield.mode is not ShieldMode.NONE, f"shield mode {spec.shield.mode.value!r}"),
        "use none: constraints stand in the brief, and nothing checks them",
    ),
    Refusal("notify", lambda spec: _asked(spec.notify, "telling others of events"), "leave it out"),
    Refusal(
        "sandbox",
        lambda spec: _asked(spec.sandbox is Sandbox.REQUIRE, "a sandbox"),
        "use none, or auto, which goes on without",
    ),
)
"""Everything that is refused; `tests/core/test_spec_support.py` fires each."""
