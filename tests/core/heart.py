"""Builders for the tests of the loop's heart: a log, a world and facts, as plain values, without files or clocks.

A `Story` does in memory what the loop does on disk: it tells the log a fact, remembers it for the world, and forgets
a batch when that is over. A `Simulation` answers whatever is planned with facts drawn at random.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

from headway.core.actions import (
    Action,
    Author,
    BuildCandidate,
    Conclude,
    Dispatch,
    Integrate,
    Job,
    JobState,
    Measure,
    MergeRunnerUp,
    PrepareCheckout,
    Propose,
    Stop,
    Wait,
)
from headway.core.agent_health import AgentHealth
from headway.core.apply import apply
from headway.core.backlog import hypothesis_id
from headway.core.deciding import NOTHING_STALE, Deciding, closed_history, deciding_of
from headway.core.edits import AppendExperiment, Edit, ReplaceExperiment, SetSection
from headway.core.events import (
    AgentTurnEnded,
    BacklogExtended,
    BatchEnded,
    CandidateBuilt,
    CandidateIntegrated,
    CheckoutPrepared,
    Event,
    ExperimentEvent,
    HypothesisDispatched,
    RunnerUpCombined,
    RunResumed,
    RunStopped,
    SampleStatus,
    SampleTaken,
    SessionKind,
    Side,
    Stage,
    Stray,
    TurnStatus,
)
from headway.core.log_view import Log, coalesced, edited, log_of, reference_of
from headway.core.plan import plan
from headway.core.records import BacklogItem, Change, Entry, Outcome
from headway.core.sequential.settings import settings_of
from headway.core.spec import ComparisonMethod, Spec
from headway.core.stopping import totals_of
from headway.core.watching import Watch
from headway.core.world import MeasuredPair, StopAsked, World
from tests.builders import a_spec, merged

BASE: Final = "b" * 40
"""The commit that every story starts from."""
BASELINE_SECONDS: Final = 10.0
STARTED: Final = datetime(2026, 11, 30, 15, 0, tzinfo=UTC)
STANDALONE, INTEGRATED = SessionKind.STANDALONE, SessionKind.INTEGRATED


def a_run_spec(**changes: Any) -> Spec:
    """Give a spec with an agent, two at once, and a gain that counts from 0.02 s on; changes laid over it."""
    own = {"agent": {"type": "command", "command": "true"}, "execution": {"max_concurrent": 2}}
    return a_spec(**merged(own, changes))


def paired(**stability: Any) -> dict[str, Any]:
    """Give the measurement section of a spec that measures both sides twice."""
    return {
        "measurement": {
            "stability": merged(
                {"mode": "repeat", "repeat_count": 2, "comparison": {"method": "paired", "relative_threshold": 0.05}},
                stability,
            )
        }
    }


def sequential(**comparison: Any) -> dict[str, Any]:
    """Give the measurement section of a spec that decides in pairs."""
    stability = {"mode": "ladder", "comparison": {"method": "sequential", **comparison}}
    return {"measurement": {"stability": stability}}


def an_item(description: str = "inline the loop", **changes: Any) -> BacklogItem:
    """Give a hypothesis that may run."""
    row = {
        "description": description,
        "category": "algorithm",
        "priority": "medium",
        "dep_status": "not_applicable",
        "headway": {"id": hypothesis_id(description), "source": "user"},
    }
    return BacklogItem.model_validate(merged(row, changes))


def a_waiting_item(description: str = "use numpy", dependency: str = "numpy", **changes: Any) -> BacklogItem:
    """Give a hypothesis that needs a dependency which nobody approved."""
    needs = {"dep_status": "needs_approval", "required_deps": [dependency]}
    return an_item(description, **merged(needs, changes))


def sections(**changes: Any) -> dict[str, Any]:
    """Give the sections of a log whose baseline was measured and approved."""
    seconds = {"seconds": {"aggregate": BASELINE_SECONDS, "samples": [BASELINE_SECONDS]}}
    return {
        "spec": "faster-sort",
        "run_id": "20261130_150000",
        "started_at": "2026-11-30T15:00:00Z",
        "baseline": {"timestamp": "2026-11-30T15:00:00Z", "gates": {"sorted": 1}, "metrics": seconds},
        "harness_validation": {"calibration": "not_applicable"},
        "best": {"iteration": 0, "metrics": seconds, "total_run_cost_usd": 0},
        "approval": {"approved_at": "2026-11-30T15:00:00Z", "spec_sha256": "0" * 64, "caps": {}},
        "hypothesis_backlog": [],
        **changes,
    }


def a_log(*entries: Mapping[str, Any], backlog: Sequence[BacklogItem] | None = (), **changes: Any) -> Log:
    """Give a log's view; `backlog=None` is a log that was never given hypotheses."""
    items = None if backlog is None else [item.model_dump(mode="json", exclude_unset=True) for item in backlog]
    parts = sections(hypothesis_backlog=items, **changes)
    return log_of({name: value for name, value in parts.items() if value is not None}, entries, len(entries))


def a_row(iteration: int, outcome: str = "reverted", **changes: Any) -> dict[str, Any]:
    """Give an experiment's row."""
    row = {"iteration": iteration, "batch": iteration, "hypothesis": f"way {iteration}", "category": "algorithm"}
    return {**row, "outcome": outcome, **changes}


def a_world(
    *events: ExperimentEvent,
    spec: Spec | None = None,
    running: Iterable[str] = (),
    **changes: Any,
) -> World:
    """Give a world in which these facts are known and these actions run."""
    world = World(
        spec=spec or a_run_spec(),
        reference=BASE,
        base=BASE,
        approved=True,
        highest_iteration=max((e.iteration for e in events), default=0),
        workload="selection:abc",
        jobs=(*(done(e) for e in events), *(Job(name, 0) for name in running)),
    )
    return replace(world, **changes)


def done(event: ExperimentEvent) -> Job:
    """Give the job that came to this fact."""
    return Job(event.key, event.iteration, state=JobState.DONE, exit=event)  # type: ignore[arg-type]


# Facts


def dispatched(iteration: int = 1, item: BacklogItem | None = None, **changes: Any) -> HypothesisDispatched:
    """Give the dispatch of a hypothesis."""
    facts: dict[str, Any] = {
        "iteration": iteration,
        "batch": 1,
        "item": item or an_item(f"way {iteration}"),
        "base": BASE,
    }
    return HypothesisDispatched(
        **{**facts, "agent": "command", "arrives_as": "jobs/author-1", "wake": "1@2", **changes}
    )


def turn(
    iteration: int = 1, attempt: int = 1, status: TurnStatus = TurnStatus.COMPLETED, **changes: Any
) -> AgentTurnEnded:
    """Give the end of an agent's turn; it cost nothing."""
    facts = {"iteration": iteration, "attempt": attempt, "status": status, "tree": "agent-1", "agent": "command"}
    return AgentTurnEnded(**{**facts, "tokens": 0, "usd": 0.0, **changes})


def built(
    iteration: int = 1, attempt: int = 1, *, files: Sequence[str] = ("src/sort.py",), **changes: Any
) -> CandidateBuilt:
    """Give a candidate with a commit and a tree of its own."""
    name = f"{iteration}-{attempt}"
    facts = {"iteration": iteration, "attempt": attempt, "commit": f"commit-{name}", "tree": f"tree-{name}"}
    changed = tuple(Change(file=file, summary="modified, +1 -1") for file in files)
    return CandidateBuilt(**{**facts, "base_tree": "tree-base", "changes": changed, **changes})


def nothing_built(iteration: int = 1, attempt: int = 1, strays: Sequence[str] = ()) -> CandidateBuilt:
    """Give a turn that left no change in scope, maybe some outside of it."""
    return CandidateBuilt(iteration=iteration, attempt=attempt, commit=None, strays=_strays(strays))


def _strays(paths: Sequence[str]) -> tuple[Stray, ...]:
    return tuple(Stray(path=path, kind="out_of_scope", expected_sha256="0" * 64) for path in paths)


def strayed(iteration: int = 1, attempt: int = 1, paths: Sequence[str] = ("bench.py",)) -> CandidateBuilt:
    """Give a candidate whose agent changed something outside the mutable scope too."""
    return built(iteration, attempt, strays=_strays(paths))


def prepared(
    iteration: int = 1,
    attempt: int = 1,
    session: SessionKind = STANDALONE,
    stage: Stage = Stage.READY,
    detail: str = "",
) -> CheckoutPrepared:
    """Give a checkout that is ready, or failed at a stage."""
    return CheckoutPrepared(
        iteration=iteration, attempt=attempt, session=session, commit=f"commit-{iteration}-{attempt}",
        stage=stage, ok=stage is Stage.READY, detail=detail,
    )  # fmt: skip


def sample(
    iteration: int = 1,
    seconds: float | None = None,
    *,
    index: int = 1,
    attempt: int = 1,
    session: SessionKind = STANDALONE,
    side: Side = Side.CANDIDATE,
    status: SampleStatus = SampleStatus.VALID,
    **changes: Any,
) -> SampleTaken:
    """Give one run of the harness; `seconds` is what a valid one measured."""
    facts: dict[str, Any] = {"iteration": iteration, "attempt": attempt, "session": session, "side": side}
    facts |= {"index": index, "status": status, "seed": 7, "started_at": "2026-11-30T16:00:00Z", "elapsed_seconds": 1.0}
    if status is SampleStatus.VALID:
        facts |= {"gates": {"sorted": 1}, "metrics": {"seconds": BASELINE_SECONDS if seconds is None else seconds}}
    return SampleTaken(**{**facts, **changes})


def facts_until_measured(iteration: int, seconds: float, **candidate: Any) -> tuple[Event, ...]:
    """Give an experiment's facts from the agent's turn to its first sample."""
    return (turn(iteration), built(iteration, **candidate), prepared(iteration), sample(iteration, seconds))


# A story


Ask = Callable[[Action], bool]


@dataclass
class Story:
    """A log and a world that facts are told to, one after the other, as the loop does it.

    Attributes:
        told: every fact so far, in order, as it was told; `edits` is what they made of the log.
        on_told: is told of every fact once the log holds it.
        log: the view of the log; `document` and `rows` are the same log as plain data.
    """

    spec: Spec = field(default_factory=a_run_spec)
    backlog: Sequence[BacklogItem] | None = ()
    told: list[Event] = field(default_factory=list)
    document: dict[str, Any] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    can_retry: bool = True
    stop: StopAsked | None = None
    edits: list[Edit] = field(default_factory=list)
    on_told: Callable[["Story", Event], None] = lambda story, event: None

    def __post_init__(self) -> None:
        log = a_log(backlog=self.backlog)
        self.document = sections()
        if log.backlog is None:
            del self.document["hypothesis_backlog"]
        else:
            items = [item.model_dump(mode="json", exclude_unset=True) for item in log.backlog]
            self.document["hypothesis_backlog"] = items
        self.log = log
        self._forget()

    def _forget(self) -> None:
        self.jobs: dict[str, Job] = {}
        self.measured: dict[tuple[str, str], MeasuredPair] = {}
        self.trees: dict[int, tuple[str, str]] = {}
        self.highest = 0
        self.agent = AgentHealth()
        self.budget_left: float | None = None
        self.watch, self.since = Watch(), NOTHING_STALE

    @property
    def world(self) -> World:
        """Give the world as the loop would describe it now."""
        return World(
            spec=self.spec,
            reference=reference_of(self.log, BASE),
            base=BASE,
            approved=True,
            highest_iteration=self.highest,
            workload="selection:abc",
            jobs=tuple(self.jobs.values()),
            measured=dict(self.measured),
            stop=self.stop,
            budget_left=self.budget_left,
            agent_can_retry=self.can_retry,
            agent=self.agent,
            deciding=self._deciding(),
        )

    def _deciding(self) -> Deciding | None:
        if self.spec.measurement.stability.comparison.method is not ComparisonMethod.SEQUENTIAL:
            return None
        settings = settings_of(self.spec)
        closed = [e for row in self.rows if (e := Entry.model_validate(row)).batch <= self.log.ticks]
        history = closed_history(self.log.baseline, closed, [o.name for o in settings.objectives], BASE)
        return deciding_of(settings, self.log, history, self.watch, BASE, self.since)

    def plan(self, now: float = 0.0) -> tuple[Action, ...]:
        """Say what may start now."""
        return plan(self.log, self.world, now)

    def tell(self, *events: Event) -> "Story":
        """Tell facts: the log changes, the world remembers them."""
        for event in events:
            self._tell(self._timed(event))
        return self

    def _timed(self, event: Event) -> Event:
        if event.at:
            return event
        at = STARTED + timedelta(seconds=len(self.told))
        return event.model_copy(update={"at": at.isoformat(), "active_seconds": float(len(self.told))})

    def _tell(self, event: Event) -> None:
        self.told.append(event)
        self.commit(apply(self.log, event, self.world))
        self.note(event)
        self.on_told(self, event)

    def commit(self, edits: Iterable[Edit]) -> None:
        """Carry edits out, in the view and in the plain document."""
        edits = tuple(edits)
        self.edits += edits
        self.log = edited(self.log, edits)
        for edit in edits:
            match edit:
                case AppendExperiment(row):
                    assert row["iteration"] not in [r["iteration"] for r in self.rows], "a number was used twice"
                    self.rows.append(dict(row))
                case ReplaceExperiment(iteration, row):
                    at = [r["iteration"] for r in self.rows].index(iteration)
                    self.rows[at] = dict(row)
                case SetSection(name, value):
                    self.document[name] = value

    def note(self, event: Event) -> None:
        """Remember a fact for the world."""
        if isinstance(event, ExperimentEvent):
            self.jobs[event.key] = done(event)
            self.watch = self.watch.plus(event)
            self.highest = max(self.highest, event.iteration)
            if isinstance(event, CandidateBuilt) and event.tree and event.base_tree:
                self.trees[event.iteration] = (event.base_tree, event.tree)
            self._remember(event.iteration)
        if isinstance(event, AgentTurnEnded):
            self.agent = self.agent.after(event, 0.0)
        if isinstance(event, BatchEnded):
            self.jobs = {key: job for key, job in self.jobs.items() if job.state is JobState.RUNNING}

    def _remember(self, iteration: int) -> None:
        entry = self.log.recent.get(iteration)
        trees = self.trees.get(iteration)
        if entry is None or trees is None or not Outcome(entry.outcome).is_final:
            return
        if entry.headway is None or entry.headway.repeat_of is None:
            self.measured.setdefault(trees, MeasuredPair(iteration, entry.outcome))

    def settle(self) -> tuple[Action, ...]:
        """Write down all that follows without an effect; give what is planned then, or the stop."""
        for _ in range(1000):
            actions = self.plan()
            free = [a for a in actions if isinstance(a, Conclude | Stop | Dispatch)]
            if not free:
                return actions
            for action in free:
                self.tell(dispatch_of(action) if isinstance(action, Dispatch) else action.event)
            if isinstance(free[-1], Stop):
                return actions
        raise AssertionError("the plan never comes to an action with an effect")

    def outcomes(self) -> dict[int, str]:
        """Give every experiment's outcome."""
        return {row["iteration"]: row["outcome"] for row in self.rows}

    def entry(self, iteration: int) -> Entry:
        """Give one experiment's entry."""
        return self.log.recent[iteration]

    def resumed(self) -> "Story":
        """Give the story as a new process takes it up: the log read back, the open batch's facts from its records."""
        story = Story(self.spec, can_retry=self.can_retry, on_told=self.on_told)
        story.told = list(self.told)
        story.document, story.rows = dict(self.document), [dict(row) for row in self.rows]
        story.log = log_of(self.document, self.rows, len(self.rows))
        story.trees, story.highest = dict(self.trees), self.highest
        story.watch, story.since = self.watch, totals_of(self.log).k
        for row in self.rows:
            story._remember(row["iteration"])
        for iteration in open_iterations(story.log):
            for event in self.told:
                if isinstance(event, ExperimentEvent) and event.iteration == iteration:
                    story.commit(apply(story.log, event, story.world))
                    story.note(event)
        story.agent = AgentHealth()
        return story


def open_iterations(log: Log) -> list[int]:
    """Give the numbers of the experiments whose records a new process reads."""
    waiting = [w.headway.iteration for w in log.dispatched if w.headway and w.headway.iteration is not None]
    return sorted({*waiting, *(entry.iteration for entry in log.of_batch(log.ticks + 1))})


def dispatch_of(action: Dispatch) -> HypothesisDispatched:
    """Give the fact of a dispatch as the loop writes it."""
    return dispatched(action.iteration, action.item, batch=action.batch, base=action.base)


def committed(log: Log, edits: Sequence[Edit]) -> Log:
    """Give the log after one commit with at most one edit for each place."""
    return edited(log, coalesced(edits))


# A simulation


@dataclass
class Simulation:
    """Answers every planned action with a fact drawn at random, until the plan says stop.

    Attributes:
        restarts: how often the process is to die and the run to be taken up, at moments drawn at random.
        noise: of one measurement, a share.
    """

    story: Story
    random: Random
    restarts: int = 0
    started: list[Action] = field(default_factory=list)
    watch: Callable[[Story], None] = lambda story: None
    trees: int = 30
    noise: float = 0.0
    luck: int = 0

    def to_the_end(self) -> RunStopped:
        """Go on until the run stops for good; give the stop."""
        running: dict[str, Action] = {}
        for _ in range(5000):
            actions = self.story.settle()
            if isinstance(actions[-1], Stop):
                stop = actions[-1].event
                if stop.status != "blocked" and stop.reason != "stop":
                    return stop
                self.story.stop, running = None, {}
                self.story = self.story.resumed().tell(RunResumed())
                continue
            if self.restarts and self.random.random() < 0.05:
                self.restarts, running = self.restarts - 1, {}
                self.story = self.story.resumed()
                continue
            for action in actions:
                if action.id not in running and not isinstance(action, Wait):
                    running[action.id] = action
                    self.started.append(action)
                    self.story.jobs[action.id] = Job(action.id, getattr(action, "iteration", 0))
            self.watch(self.story)
            assert running, "something is planned, or something runs"
            name = self.random.choice(sorted(running))
            del self.story.jobs[name]
            self.story.tell(self.answer(running.pop(name)))
        raise AssertionError("the run never ends")

    def answer(self, action: Action) -> Event:
        """Give what the action came to, this time."""
        match action:
            case Propose():
                return BacklogExtended(items=tuple(self.item(n) for n in range(self.random.choice([0, 2, 8, 12]))))
            case Author():
                return self._turn(action)
            case BuildCandidate():
                return self._built(action)
            case PrepareCheckout():
                stage = self.random.choice([Stage.READY] * 12 + [Stage.SETUP, Stage.BUILD, Stage.CHECKS])
                made = prepared(action.iteration, action.attempt, action.session, stage, "it says why")
                return made.model_copy(update={"commit": action.commit})
            case Measure():
                return self._sample(action)
            case Integrate():
                return CandidateIntegrated(
                    iteration=action.iteration, session=action.session, commit=action.commit,
                    reference=action.reference, merged_with=action.merged_with,
                )  # fmt: skip
            case MergeRunnerUp():
                facts = {"iteration": action.iteration, "onto": action.onto, "merged_with": action.merged_with}
                fits = self.random.random() < 0.8
                commit = f"combined-{action.iteration}" if fits else None
                return RunnerUpCombined(commit=commit, conflict="" if fits else "src/sort.py", **facts)
            case _:
                raise AssertionError(f"nobody performs {action.id}")

    def item(self, number: int) -> BacklogItem:
        """Give a hypothesis: of a few categories, some waiting for a dependency."""
        choose = self.random.choice
        row = {"category": choose(["algorithm", "memory", "io"]), "priority": choose(["high", "medium", "low"])}
        if choose([False] * 4 + [True]):
            return a_waiting_item(f"way {number}", **row)
        return an_item(f"way {number}", **row)

    def _turn(self, action: Author) -> Event:
        likely = [TurnStatus.COMPLETED] * 14
        status = self.random.choice([*likely, *(s for s in TurnStatus if s is not TurnStatus.COMPLETED)])
        deps = (self.random.choice(["scipy", "numba"]),) if status is TurnStatus.NEEDS_DEPENDENCY else ()
        reason = "" if status is TurnStatus.COMPLETED else f"it {status}"
        usd = self.random.choice([0.0, 0.25, 1.5])
        return turn(action.iteration, action.attempt, status, deferred_deps=deps, reason=reason, usd=usd)

    def _built(self, action: BuildCandidate) -> Event:
        kind = self.random.choice(["change"] * 10 + ["none", "stray", "both"])
        if kind in ("none", "stray"):
            return nothing_built(action.iteration, action.attempt, ["bench.py"] if kind == "stray" else [])
        name = self.random.randint(1, self.trees)
        files = self.random.sample(["src/sort.py", "src/io.py", "src/tree.py"], self.random.randint(1, 2))
        facts: dict[str, Any] = {"tree": f"tree-{name}", "base_tree": f"tree-of-{action.base}", "files": files}
        if kind == "both":
            facts["strays"] = _strays(["bench.py"])
        return built(action.iteration, action.attempt, **facts)

    def _factor(self, action: Measure) -> float:
        """Give how much slower a candidate is than the best: the same for all samples of a session."""
        return Random(f"{self.luck}/{action.iteration}/{action.session}").choice([1.1, 1.001, 0.9, 0.85, 0.8])

    def _near(self) -> float:
        """Give the best primary so far, so that what is drawn is now and then a little better."""
        value = (self.story.document["best"]["metrics"])["seconds"]["aggregate"]
        return float(value)

    def _sample(self, action: Measure) -> Event:
        facts: dict[str, Any] = {"index": action.index, "attempt": action.attempt}
        facts |= {"session": action.session, "side": action.side}
        is_reference = action.side is Side.REFERENCE
        odd: list[SampleStatus] = [s for s in SampleStatus if s is not SampleStatus.VALID]
        usual = [SampleStatus.VALID] * 24
        status = self.random.choice([*usual, SampleStatus.INVALID] if is_reference else usual + odd)
        if status is not SampleStatus.VALID:
            return sample(action.iteration, status=status, reason=f"it was {status}", **facts)
        gate = 1 if is_reference or self.random.random() < 0.9 else 0
        factor = 1.0 if is_reference else self._factor(action)
        seconds = round(self._near() * factor * (1 + self.noise * self.random.gauss()), 3)
        return sample(action.iteration, seconds, gates={"sorted": gate}, **facts)
