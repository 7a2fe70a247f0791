"""Orders, in the imperative: one frozen class for each effect, each with a stable id.

`plan` returns every action that may start now; `perform` starts those that are not under way.
Source: CONTRACTS section 4.
"""

from dataclasses import dataclass
from enum import StrEnum

from headway.core.agent_turns import AgentSession
from headway.core.events import (
    BacklogExtended,
    BatchEnded,
    EffortChosen,
    Event,
    ExperimentEnded,
    ExperimentEvent,
    FinalCheckEnded,
    HypothesisDeferred,
    HypothesisDropped,
    RunStopped,
    SessionEnded,
    SessionKind,
    Side,
    experiment_key,
    measure_key,
)
from headway.core.records import BacklogItem


class JobState(StrEnum):
    """Where a job stands."""

    RUNNING = "running"
    DONE = "done"


@dataclass(frozen=True)
class Job:
    """One action that is under way or over; `exit` is the event that it came to."""

    id: str
    iteration: int
    state: JobState = JobState.RUNNING
    exit: Event | None = None


@dataclass(frozen=True)
class AwaitApproval:
    """Stand at the gate until a person says yes."""

    id: str = "await-approval"


@dataclass(frozen=True)
class Propose:
    """Ask the proposer for hypotheses."""

    id: str = "propose"


@dataclass(frozen=True)
class Dispatch:
    """Take a hypothesis from the backlog and give it a number: a commit to the log."""

    iteration: int
    batch: int
    item: BacklogItem
    base: str

    @property
    def id(self) -> str:
        return f"{experiment_key(self.iteration)}/dispatch"


@dataclass(frozen=True)
class Author:
    """Let the agent carry out a hypothesis; `repair` holds what failed in the attempt before.

    `tree` was given to the experiment at its dispatch, so that none of its batch shares it, whatever became of
    `max_concurrent` since; empty: unknown. `session` is the conversation that a repair goes on with, where there is
    one; `usd_left` what the hypothesis may still cost, None where there is no limit.
    """

    iteration: int
    attempt: int
    item: BacklogItem
    base: str
    repair: str | None = None
    tree: str = ""
    session: AgentSession | None = None
    usd_left: float | None = None

    @property
    def id(self) -> str:
        return f"{experiment_key(self.iteration)}/author/{self.attempt}"


@dataclass(frozen=True)
class BuildCandidate:
    """Make a commit of what the agent left: mutable-scope changes only."""

    iteration: int
    attempt: int
    item: BacklogItem
    base: str
    tree: str

    @property
    def id(self) -> str:
        return f"{experiment_key(self.iteration)}/build/{self.attempt}"


@dataclass(frozen=True)
class PrepareCheckout:
    """Set up, build and check a clean checkout of the commit to be measured."""

    iteration: int
    attempt: int
    session: SessionKind
    commit: str

    @property
    def id(self) -> str:
        return f"{experiment_key(self.iteration)}/setup/{self.session}/{self.attempt}"


@dataclass(frozen=True)
class Measure:
    """Run the harness once; `pair` numbers the pair of samples whose seed it has, 0: its own index is that."""

    iteration: int
    attempt: int
    session: SessionKind
    side: Side
    index: int
    commit: str
    pair: int = 0

    @property
    def id(self) -> str:
        return measure_key(self.iteration, self.attempt, self.session, self.side, self.index)

    @property
    def seed_number(self) -> int:
        """Give the number that its seed is drawn by: the same for both sides of a pair."""
        return self.pair or self.index


@dataclass(frozen=True)
class Integrate:
    """Move the optimization branch from the reference to this commit, by compare-and-swap."""

    iteration: int
    session: SessionKind
    commit: str
    reference: str
    merged_with: int | None = None

    @property
    def id(self) -> str:
        return f"{experiment_key(self.iteration)}/integrate/{self.session}"


@dataclass(frozen=True)
class MergeRunnerUp:
    """Put a runner-up three-way onto the new reference."""

    iteration: int
    item: BacklogItem
    base: str
    commit: str
    onto: str
    merged_with: int

    @property
    def id(self) -> str:
        return f"{experiment_key(self.iteration)}/combine"


@dataclass(frozen=True)
class Conclude:
    """Write down what follows from what is known: an order without an effect."""

    event: (
        SessionEnded
        | FinalCheckEnded
        | ExperimentEnded
        | HypothesisDropped
        | HypothesisDeferred
        | BatchEnded
        | BacklogExtended
        | EffortChosen
    )

    @property
    def id(self) -> str:
        if isinstance(self.event, ExperimentEvent):
            return self.event.key
        return f"conclude/{self.event.kind}"


@dataclass(frozen=True)
class Wait:
    """Nothing can start now: something is under way, or the agent is left alone for a while."""

    on: tuple[str, ...]
    id: str = "wait"


@dataclass(frozen=True)
class Stop:
    """End the loop, for this reason."""

    event: RunStopped
    id: str = "stop"


Action = (
    AwaitApproval
    | Propose
    | Dispatch
    | Author
    | BuildCandidate
    | PrepareCheckout
    | Measure
    | Integrate
    | MergeRunnerUp
    | Conclude
    | Wait
    | Stop
)
