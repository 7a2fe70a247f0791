"""What `plan` is told of the world outside the log.

Source: CONTRACTS section 4.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from headway.core.actions import Job, JobState
from headway.core.agent_health import AgentHealth
from headway.core.deciding import Deciding
from headway.core.events import Event
from headway.core.spec import Spec


@dataclass(frozen=True)
class MeasuredPair:
    """An experiment that already measured one (reference tree, candidate tree)."""

    iteration: int
    outcome: str


@dataclass(frozen=True)
class StopAsked:
    """A person or a signal asked the run to stop at the next safe point."""

    reason: str
    detail: str


@dataclass(frozen=True)
class World:
    """Everything that `plan` may know besides the log and the clock.

    Args:
        spec: the frozen spec.
        reference: commit of the current best.
        base: commit that the run started from.
        jobs: every action that is under way or over in the open batch.
        approved: the approval in the log fits the frozen spec and its caps.
        highest_iteration: highest number taken in log, experiment folders and refs of this run.
        measured: earlier measurements by (reference tree, candidate tree).
        stop: a stop that was asked for.
        budget_left: dollars until the cap, None where there is no cap; a negative number is over it.
        cost_unknown: what part of the spend is unknown while a cap is set; empty where nothing is.
        workload: identity of the harness command and its declared inputs.
        agent: how the agent fared in this process.
        agent_can_retry: the agent may be asked again after a turn without a change, or for a repair.
        check_from: lowest number of a final check that counts: a higher one asks for a fresh check of the same best.
        is_closing: nothing but the final check is done any more.
        deciding: where the run stands for the method `sequential`; None under the others.
    """

    spec: Spec
    reference: str
    base: str
    approved: bool
    highest_iteration: int
    workload: str
    jobs: tuple[Job, ...] = ()
    measured: Mapping[tuple[str, str], MeasuredPair] = field(default_factory=dict)
    stop: StopAsked | None = None
    budget_left: float | None = None
    cost_unknown: str = ""
    agent_can_retry: bool = True
    agent: AgentHealth = field(default_factory=AgentHealth)
    check_from: int = 1
    is_closing: bool = False
    deciding: Deciding | None = None

    @cached_property
    def results(self) -> Mapping[str, Event]:
        """Give the finished actions' events by action id."""
        return {job.id: job.exit for job in self.jobs if job.state is JobState.DONE and job.exit is not None}

    @cached_property
    def running(self) -> frozenset[str]:
        """Give the ids of what is under way."""
        return frozenset(job.id for job in self.jobs if job.state is JobState.RUNNING)
