"""Facts, in the past tense: one frozen class for each kind of record.

An event is what a worker hands back and what stands in `events.jsonl` (or, for what belongs to no
experiment, in `run.jsonl`). The log changes only through `apply(log, event)`; `docs/record.md` lists the keys.

Source: STYLE section 3 (workers return events, they never write the log); seed 002 (the record is the contract).
"""

from enum import StrEnum
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from headway.core.agent_turns import CostBasis, TokenUsage, Trouble
from headway.core.records import BacklogItem, Change


class SessionKind(StrEnum):
    """Which measuring session: an experiment's alone, or combined with its batch's winner; or the run's final check.

    A final check belongs to no experiment: its iteration is 0, its attempt the check's number.
    """

    STANDALONE = "standalone"
    INTEGRATED = "integrated"
    FINAL = "final"


_SESSION_NAMES = {SessionKind.STANDALONE: "measure", SessionKind.INTEGRATED: "integrated", SessionKind.FINAL: "final"}


class Side(StrEnum):
    """Whose code was measured: the candidate's or the reference's."""

    CANDIDATE = "cand"
    REFERENCE = "ref"


class TurnStatus(StrEnum):
    """How an agent's turn ended, by its structured status, never by its prose."""

    COMPLETED = "completed"
    FAILED = "failed"  # crashed, no login, rate limit: never an experiment
    TIMED_OUT = "timed_out"  # ran into a limit of time, turns or money: never an experiment either
    REFUSED = "refused"  # will not or cannot do this hypothesis: a conflict, a refusal
    NEEDS_DEPENDENCY = "needs_dependency"


class SampleStatus(StrEnum):
    """What one run of the harness came to."""

    VALID = "valid"
    INVALID = "invalid"
    TIMEOUT = "timeout"
    LOST = "lost"  # the measurement itself was killed from outside


class Stage(StrEnum):
    """The steps between a commit and its first sample."""

    SETUP = "setup"
    BUILD = "build"
    CHECKS = "checks"
    SMOKE = "smoke"
    READY = "ready"


class _Event(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    at: str = ""
    active_seconds: float = 0.0


class ExperimentEvent(_Event):
    """A fact about one experiment; `key` is the id of the order that it answers."""

    iteration: int

    @property
    def key(self) -> str:
        """The stable id of the action that this event answers: `exp0003/author/1`."""
        raise AssertionError("each kind of event names its own key")


def experiment_key(iteration: int) -> str:
    """Give an experiment's name in action ids: `exp0003`."""
    return f"exp{iteration:04d}"


class HypothesisDispatched(ExperimentEvent):
    """A hypothesis left the backlog and took a number, and a tree that no other of its batch has."""

    kind: Literal["hypothesis_dispatched"] = "hypothesis_dispatched"
    batch: int
    item: BacklogItem
    base: str
    agent: str
    arrives_as: str = ""
    wake: str = ""
    tree: str = ""

    @property
    def key(self) -> str:
        return f"{experiment_key(self.iteration)}/dispatch"


class AgentTurnEnded(ExperimentEvent):
    """One turn of the agent is over."""

    kind: Literal["agent_turn_ended"] = "agent_turn_ended"
    attempt: int
    agent: str
    status: TurnStatus
    tree: str
    reason: str = ""
    final_text: str = ""
    learnings: str = ""
    deferred_deps: tuple[str, ...] = ()
    tokens: int | None = None
    usd: float | None = None
    elapsed_seconds: float = 0.0
    trouble: Trouble | None = None
    usage: TokenUsage | None = None
    cost_basis: CostBasis = CostBasis.UNKNOWN
    session: str = ""
    turns: int | None = None
    denials: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return f"{experiment_key(self.iteration)}/author/{self.attempt}"


class Stray(BaseModel):
    """An edit that is not the candidate's to make, kept as evidence."""

    model_config = ConfigDict(frozen=True)

    path: str
    kind: str
    expected_sha256: str | None = None
    found_sha256: str | None = None


class CandidateBuilt(ExperimentEvent):
    """What the agent left became a commit of mutable-scope changes; `commit` is None when there were none.

    `tree_gone`: there is no folder any more that could tell what the turn did. `sizes` and `base_sizes`: of the
    candidate and of its base, by built-in metric (`accept_simpler`).
    """

    kind: Literal["candidate_built"] = "candidate_built"
    attempt: int
    commit: str | None
    tree: str | None = None
    base_tree: str | None = None
    changes: tuple[Change, ...] = ()
    lines_added: int = 0
    lines_removed: int = 0
    strays: tuple[Stray, ...] = ()
    tree_gone: bool = False
    sizes: dict[str, float] = Field(default_factory=dict)
    base_sizes: dict[str, float] = Field(default_factory=dict)

    @property
    def key(self) -> str:
        return f"{experiment_key(self.iteration)}/build/{self.attempt}"


class CheckoutPrepared(ExperimentEvent):
    """A clean checkout was set up, built and checked, or failed at `stage`."""

    kind: Literal["checkout_prepared"] = "checkout_prepared"
    attempt: int
    session: SessionKind
    commit: str
    stage: Stage
    ok: bool
    detail: str = ""

    @property
    def key(self) -> str:
        return f"{experiment_key(self.iteration)}/setup/{self.session}/{self.attempt}"


class SampleTaken(ExperimentEvent):
    """One run of the harness is over."""

    kind: Literal["sample_taken"] = "sample_taken"
    attempt: int
    session: SessionKind
    side: Side
    index: int
    status: SampleStatus
    reason: str = ""
    gates: dict[str, Any] = Field(default_factory=dict)
    metrics: dict[str, float] = Field(default_factory=dict)
    diagnostics: dict[str, Any] = Field(default_factory=dict)
    cases: dict[str, Any] | None = None
    worst_cases: list[dict[str, Any]] = Field(default_factory=list)
    cost: dict[str, Any] = Field(default_factory=dict)
    seed: int
    started_at: str = ""
    elapsed_seconds: float = 0.0
    job: str = ""
    notes: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return measure_key(self.iteration, self.attempt, self.session, self.side, self.index)


def measure_key(iteration: int, attempt: int, session: SessionKind, side: Side, index: int) -> str:
    """Give the stable id of one sample: `exp0003/measure/cand/2`; repaired attempts and integrated sessions say so."""
    name = _SESSION_NAMES[session]
    if attempt > 1:
        name += f".{attempt}"
    return f"{experiment_key(iteration)}/{name}/{side}/{index}"


class SessionEnded(ExperimentEvent):
    """The decision engine has spoken on one session."""

    kind: Literal["session_ended"] = "session_ended"
    session: SessionKind
    answer: dict[str, Any]

    @property
    def key(self) -> str:
        return f"{experiment_key(self.iteration)}/decide/{self.session}"


class FinalCheckEnded(ExperimentEvent):
    """The last best was compared with the untouched code in fresh pairs; `iteration` is 0, for it is no experiment.

    `verdict` is `better`, `worse`, `not_proven`, or `failed` where it could not be measured.
    """

    kind: Literal["final_check_ended"] = "final_check_ended"
    number: int
    commit: str
    verdict: str
    pairs: int
    gain: dict[str, float] | None = None
    reason: str = ""

    @property
    def key(self) -> str:
        return f"{experiment_key(self.iteration)}/final/{self.number}/end"


class ExperimentEnded(ExperimentEvent):
    """An experiment came to its final outcome without being integrated."""

    kind: Literal["experiment_ended"] = "experiment_ended"
    outcome: str
    error_message: str = ""
    learnings: str = ""
    deferred_reason: str = ""
    repeat_of: int | None = None
    returns_to_backlog: bool = False
    merged_with: int | None = None

    @property
    def key(self) -> str:
        return f"{experiment_key(self.iteration)}/end"


class HypothesisDeferred(ExperimentEvent):
    """A hypothesis that waits for a dependency's approval is shown at wrap-up; its item stays in the backlog."""

    kind: Literal["hypothesis_deferred"] = "hypothesis_deferred"
    batch: int
    item: BacklogItem
    reason: str

    @property
    def key(self) -> str:
        return f"{experiment_key(self.iteration)}/deferred"


class HypothesisDropped(ExperimentEvent):
    """A dispatched hypothesis ended without a candidate; no entry is written."""

    kind: Literal["hypothesis_dropped"] = "hypothesis_dropped"
    reason: str
    returns_to_backlog: bool = False

    @property
    def key(self) -> str:
        return f"{experiment_key(self.iteration)}/end"


class IntegrationStarted(ExperimentEvent):
    """The branch is about to move; written before it does."""

    kind: Literal["integration_started"] = "integration_started"
    session: SessionKind
    commit: str
    reference: str

    @property
    def key(self) -> str:
        return f"{experiment_key(self.iteration)}/integrate/{self.session}/start"


class CandidateIntegrated(ExperimentEvent):
    """The branch stands at this commit."""

    kind: Literal["candidate_integrated"] = "candidate_integrated"
    session: SessionKind
    commit: str
    reference: str
    merged_with: int | None = None

    @property
    def key(self) -> str:
        return f"{experiment_key(self.iteration)}/integrate/{self.session}"


class RunnerUpCombined(ExperimentEvent):
    """A runner-up was put three-way onto the winner, or would not go."""

    kind: Literal["runner_up_combined"] = "runner_up_combined"
    onto: str
    merged_with: int
    commit: str | None
    conflict: str = ""

    @property
    def key(self) -> str:
        return f"{experiment_key(self.iteration)}/combine"


class BacklogExtended(_Event):
    """A proposer gave hypotheses; an empty list says that it has no more."""

    kind: Literal["backlog_extended"] = "backlog_extended"
    items: tuple[BacklogItem, ...]


class BatchEnded(_Event):
    """CP-4: every experiment of the batch has its outcome."""

    kind: Literal["batch_ended"] = "batch_ended"
    batch: int


class GateReached(_Event):
    """The run stands at the approval gate."""

    kind: Literal["gate_reached"] = "gate_reached"


class RunStopped(_Event):
    """The run stopped, for this reason; `status` is what the log says from now on."""

    kind: Literal["run_stopped"] = "run_stopped"
    reason: str
    detail: str
    continue_with: str
    status: str


class RunResumed(_Event):
    """A process took the run up again."""

    kind: Literal["run_resumed"] = "run_resumed"
    notices: tuple[str, ...] = ()


class NoticeGiven(_Event):
    """Something that a person should know, which changes nothing else."""

    kind: Literal["notice_given"] = "notice_given"
    text: str


def says_nothing_of_the_code(event: ExperimentEvent) -> bool:
    """Say whether a fact ends an experiment for a cause outside its code, so that the same code may be measured again.

    That is a measurement that was killed from outside, and a reference that failed beside the candidate.
    """
    if isinstance(event, SampleTaken):
        return event.status is SampleStatus.LOST
    return isinstance(event, ExperimentEnded) and event.outcome == "error" and event.returns_to_backlog


class EffortChosen(_Event):
    """`effort: auto` has come to its choice: once in a run."""

    kind: Literal["effort_chosen"] = "effort_chosen"
    effort: str
    share: float
    reason: str
    since_k: int


class EnvironmentSeen(_Event):
    """A process of the run works on this machine, in this state; `moved` says how it differs from the last one."""

    kind: Literal["environment_seen"] = "environment_seen"
    environment: dict[str, Any]
    moved: str = ""


Event = Annotated[
    HypothesisDispatched
    | AgentTurnEnded
    | CandidateBuilt
    | CheckoutPrepared
    | SampleTaken
    | SessionEnded
    | FinalCheckEnded
    | ExperimentEnded
    | HypothesisDropped
    | HypothesisDeferred
    | IntegrationStarted
    | CandidateIntegrated
    | RunnerUpCombined
    | BacklogExtended
    | BatchEnded
    | GateReached
    | RunStopped
    | RunResumed
    | NoticeGiven
    | EffortChosen
    | EnvironmentSeen,
    Field(discriminator="kind"),
]

EVENTS: TypeAdapter[Event] = TypeAdapter(Event)


def to_record(event: Event, run_id: str, iteration: int, seq: int) -> dict[str, Any]:
    """Build the record that stands in `events.jsonl` or `run.jsonl`.

    Args:
        event: the fact.
        run_id: of the run.
        iteration: of the experiment; 0 for what belongs to none.
        seq: the record's number in its file, from 1.
    Returns: the record with the keys of `docs/record.md`; `event_id` is the same for the same fact of one run,
        so that a repeat after a resume is recognised.
    Source: CONTRACTS section 7.
    """
    data = event.model_dump(mode="json", exclude={"kind", "at"})
    key = event.key if isinstance(event, ExperimentEvent) else f"run/{event.kind}/{seq}"
    return {
        "run_id": run_id,
        "execution_id": f"{run_id}_exp{iteration:04d}",
        "iteration": iteration,
        "seq": seq,
        "event_id": key,
        "kind": event.kind,
        "at": event.at,
        "source": "live",
        "data": data,
    }


def from_record(record: dict[str, Any]) -> Event | None:
    """Read an event back from its record; None for a kind that this version does not know."""
    kind = record.get("kind")
    if kind not in _KINDS:
        return None
    return EVENTS.validate_python({**record.get("data", {}), "kind": kind, "at": record.get("at", "")})


_KINDS = frozenset(model.model_fields["kind"].default for model in get_args(get_args(Event)[0]))
