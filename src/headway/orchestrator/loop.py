"""Ticks until `plan` says stop: read, plan, perform, apply, commit, read back.

The main thread owns the log; workers perform actions and put facts on one queue. Resume is the same loop: the facts of
the open batch are read from its records, and what has a fact is not done again.

Source: STYLE section 3; CONTRACTS sections 2, 4 and 5.
"""

import contextlib
import gc
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from headway.adapters.supervisor import look_at
from headway.core.actions import (
    Action,
    Author,
    AwaitApproval,
    Conclude,
    Dispatch,
    Integrate,
    Job,
    JobState,
    Measure,
    Stop,
    Wait,
)
from headway.core.agent_health import AgentHealth
from headway.core.apply import apply
from headway.core.approval import objections
from headway.core.briefs import brief
from headway.core.deciding import NOTHING_STALE, Deciding, closed_history, deciding_of
from headway.core.digest import Memory, digest
from headway.core.edits import AppendExperiment, Edit, ReplaceExperiment, SetSection
from headway.core.events import (
    AgentTurnEnded,
    BatchEnded,
    CandidateBuilt,
    Event,
    ExperimentEvent,
    GateReached,
    HypothesisDispatched,
    IntegrationStarted,
    NoticeGiven,
    RunResumed,
    RunStopped,
    from_record,
    says_nothing_of_the_code,
    to_record,
)
from headway.core.experiment_life import half_measured
from headway.core.log_view import Log, coalesced, edited, reference_of
from headway.core.plan import plan
from headway.core.records import Approval, Baseline, Entry, Outcome, to_row
from headway.core.sequential.history import RunHistory
from headway.core.sequential.log_history import repeats_of
from headway.core.sequential.settings import Settings, settings_of
from headway.core.spec_parts import ComparisonMethod
from headway.core.stopping import primary_of, totals_of
from headway.core.storable import storable
from headway.core.watching import Watch
from headway.core.world import MeasuredPair, StopAsked, World
from headway.errors import BranchCheckedOut, HeadwayError
from headway.orchestrator.authoring import TurnClosed
from headway.orchestrator.environment import environment_seen, moved_at_k, refuse_other_ground
from headway.orchestrator.ground import Ground
from headway.orchestrator.inbox import Inbox
from headway.orchestrator.perform import Performing, perform
from headway.orchestrator.reading import view_of
from headway.orchestrator.rows import ExperimentFiles
from headway.store.atomic import disk_failure
from headway.store.log import LogFile
from headway.store.records import RecordFile, read_records

SWITCH_SECONDS = 0.0003
"""How soon a worker that became ready gets its turn: hand-overs are short here, and the default is longer than most."""
LOOK_SECONDS = 0.5
"""How often a waiting loop looks into its inbox."""
STALE_SECONDS = 1.0
"""What is derived from the log is written beside other work; a measurement that could be disturbed waits for it
only when it is older than this."""


@dataclass(frozen=True)
class Done:
    """What an action came to, or why it failed."""

    action: Action
    event: Event | None
    error: BaseException | None = None


@dataclass
class _Draft:
    """A commit in the making: facts that are recorded, and the log as it will be."""

    view: Log
    edits: list[Edit] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def add(self, event: Event, changes: Sequence[Edit]) -> None:
        """Add a fact with the edits that it asks for."""
        self.view = edited(self.view, changes)
        self.edits += changes
        self.events.append(event)

    @property
    def touched(self) -> list[int]:
        """Give the experiments whose `experiment.json` changes: a new row, or a dispatch."""
        rows = [e.row["iteration"] for e in self.edits if isinstance(e, AppendExperiment | ReplaceExperiment)]
        begun = [e.iteration for e in self.events if isinstance(e, HypothesisDispatched)]
        return sorted({*rows, *begun})


MEASURING = frozenset({"measure", "integrated", "final"})
"""What kind of action runs the harness."""
CHECKED = RunStopped(reason="checked", detail="the final check is over", continue_with="", status="waiting")
"""How a process ends that only made the final check; the log's status stays as it was."""


def in_a_thread(work: Callable[[], None], name: str) -> None:
    """Let work go on in a thread of its own, which ends with the process."""
    threading.Thread(target=work, name=name, daemon=True).start()


@dataclass
class Loop:
    """One process's share of a run.

    Args:
        ground: the concrete parts.
        file: the log, open and locked by this process.
        on_event: told of every fact once it is on disk, for progress.
        max_ticks: stop after so many completed batches in this process; None: no such limit.
        check_from: close the run: nothing is done but the final check, unless one of at least this number is there; 0:
            the run goes on as it is.
        calibrated_now: this process has just measured the baseline; else the reference is measured anew before it is
            trusted.
        start_worker: lets an action's work, by its name, go on beside the loop; its fact comes back through the queue.
    """

    ground: Ground
    file: LogFile
    on_event: Callable[[Event, Log], None] = lambda event, log: None
    max_ticks: int | None = None
    calibrated_now: bool = False
    check_from: int = 0
    start_worker: Callable[[Callable[[], None], str], None] = in_a_thread
    _log: Log = field(init=False)
    _jobs: dict[str, Job] = field(default_factory=dict)
    _queue: "queue.SimpleQueue[Done | None]" = field(default_factory=queue.SimpleQueue)
    _records: dict[int, tuple[RecordFile, int]] = field(default_factory=dict)
    _run_records: tuple[RecordFile, int] | None = None
    _measured: dict[tuple[str, str], MeasuredPair] = field(default_factory=dict)
    _trees: dict[int, tuple[str, str]] = field(default_factory=dict)
    _memory: Memory = field(default_factory=Memory)
    _highest: int = 0
    _stop: StopAsked | None = None
    _ending: RunStopped | None = None
    _ticks: int = 0
    _digest: str = ""
    _stale_rows: set[int] = field(default_factory=set)
    _has_stale_digest: bool = False
    _derived_at: float = field(default_factory=time.monotonic)
    _agent: AgentHealth = field(default_factory=AgentHealth)
    _settings: Settings | None = None
    _history: RunHistory = field(default_factory=RunHistory)
    _watch: Watch = field(default_factory=Watch)
    _since: int = NOTHING_STALE
    _ground_k: int = 0
    _is_environment_told: bool = False
    _judged_approval: tuple[Approval | None, bool] | None = None
    _clock_base: float = 0.0
    _clock_start: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._inbox = Inbox(self.ground.state)
        self._files = ExperimentFiles(self.ground)
        self._log = view_of(self.file)
        if self.ground.spec.measurement.stability.comparison.method is ComparisonMethod.SEQUENTIAL:
            self._settings = settings_of(self.ground.spec)

    @property
    def log(self) -> Log:
        """Give the log as it was last committed."""
        return self._log

    def interrupt(self) -> None:
        """Ask the loop to stop at once; safe to call from a signal handler."""
        self._queue.put(None)

    def run(self) -> RunStopped | None:
        """Go on until the loop is over; None when the run stands at the approval gate.

        Raises: HeadwayError when something outside failed; the log says so first, as far as it can be written.
        """
        self._take_up()
        sys.setswitchinterval(SWITCH_SECONDS)
        gc.collect()
        gc.freeze()  # what was imported and read so far is not looked through again at every collection
        try:
            while True:
                ending = self._pass()
                if ending is not None:
                    return ending if isinstance(ending, RunStopped) else None
        except HeadwayError as problem:
            self._give_up(problem)
            raise
        finally:
            self.ground.closing.set()
            with contextlib.suppress(HeadwayError):  # a start makes it anew; what ended the run is what is told
                self._write_derived()
            self._close_records()

    def _pass(self) -> RunStopped | AwaitApproval | None:
        """Plan once and do what is planned; give the ending when there is one."""
        if self.file.changed_outside():
            self._merge_save()
        self._hear()
        actions = self._settle()
        if actions is None:
            return self._ending
        if not actions:
            return CHECKED
        if isinstance(actions[0], AwaitApproval):
            self._take([GateReached()])
            return actions[0]
        starting = [a for a in actions if a.id not in self._jobs and not isinstance(a, Wait)]
        if any(isinstance(a, Measure) for a in starting) and time.monotonic() - self._derived_at > STALE_SECONDS:
            self._write_derived()
        for action in starting:
            self._start(action)
        if not self._is_measuring:
            self._write_derived()
        return self._wait()

    def _settle(self) -> tuple[Action, ...] | None:
        """Plan, and write down in one commit all that follows without an effect; give the actions when nothing did."""
        draft = _Draft(self._log)
        while True:
            actions = plan(draft.view, self._world(draft.view), time.time())
            events: list[Event] = [a.event for a in actions if isinstance(a, Conclude | Stop)]
            events += [self._dispatched(a) for a in actions if isinstance(a, Dispatch)]
            if not events:
                break
            for event in events:
                self._stage(draft, event)
            if isinstance(events[-1], HypothesisDispatched):
                self._tell_environment(draft)
            counts_ticks = isinstance(events[-1], BatchEnded) and self.max_ticks is not None
            if counts_ticks or isinstance(events[-1], RunStopped | HypothesisDispatched):
                break
        if not draft.events:
            return actions
        self._land(draft)
        last = draft.events[-1]
        self._ending = last if isinstance(last, RunStopped) else None
        return None

    # Inward: what happened

    def _wait(self) -> RunStopped | None:
        try:
            done = self._queue.get(timeout=LOOK_SECONDS)
        except queue.Empty:
            return None
        if done is None:
            return self._interrupt_now()
        self._jobs.pop(done.action.id, None)
        if isinstance(done.error, TurnClosed):
            return None
        if isinstance(done.error, OSError):
            raise disk_failure(done.error, Path(done.error.filename or self.ground.state.root)) from done.error
        if done.error is not None:
            raise done.error
        assert done.event is not None, "an action without an error has an event"
        self._take([done.event])
        return None

    @property
    def _is_measuring(self) -> bool:
        return any(job.state is JobState.RUNNING and _kind_of(job.id) in MEASURING for job in self._jobs.values())

    def _interrupt_now(self) -> RunStopped:
        """End at once: agents' turns end with the supervisor's connection, a measurement runs on and is taken up."""
        self.ground.closing.set()
        stop = RunStopped(
            reason="interrupt",
            detail="stopped by a signal",
            continue_with="`headway resume` goes on where it stopped",
            status="waiting",
        )
        if not self.check_from:
            self._take([stop])
        return stop

    def _hear(self) -> None:
        for command in self._inbox.read():
            if command.name == "stop":
                self._stop = StopAsked("stop", command.text or "asked for with `headway stop`")
                self._inbox.answer(command, "the run stops at the next safe point")
            else:
                self._inbox.answer(command, f"this version does not know `{command.name}`")

    def _take(self, events: Iterable[Event]) -> None:
        """Write facts down: records first, then one commit to the log, then what is derived from it."""
        draft = _Draft(self._log)
        for event in events:
            self._stage(draft, event)
        self._land(draft)

    def _stage(self, draft: "_Draft", event: Event) -> None:
        """Record one fact, and add what it changes to the commit that is being made."""
        event = storable(event).model_copy(update={"at": now(), "active_seconds": round(self._active(), 3)})
        self._append(event)
        draft.add(event, apply(draft.view, event, self._world(draft.view)))
        if isinstance(event, ExperimentEvent):
            self._note(event)
        if isinstance(event, AgentTurnEnded):
            self._agent = self._agent.after(event, time.time())

    def _land(self, draft: "_Draft") -> None:
        """Make the records durable, commit, and bring what is derived up to date.

        A fact that changes nothing in the log is synced with the next one that does: until then its job's folder, which
        is durable, would give it again.
        """
        if draft.edits:
            for file, _ in self._records.values():
                file.sync()
        self.file.commit(coalesced(draft.edits))
        self._log = draft.view
        if self.file.notices:
            self._tell_notices()
        for iteration in draft.touched:
            self._note_row(iteration)
        for event in draft.events:
            self._follow_up(event)

    def _note_row(self, iteration: int) -> None:
        """Take over a row that changed; its `experiment.json` is written when there is time, the first one at once."""
        entry = self._log.recent.get(iteration)
        if entry is None:
            self._write_row(iteration)
        else:
            self._stale_rows.add(iteration)
            self._remember(entry)

    def _write_row(self, iteration: int) -> None:
        entry = self._log.recent.get(iteration)
        mark = self.file.mark_of(iteration) if entry is not None else ""
        self._files.write(iteration, entry, self._trees.get(iteration), self._jobs, mark)

    def _write_derived(self) -> None:
        """Bring the files that are derived from the log up to date."""
        while self._stale_rows:
            self._write_row(self._stale_rows.pop())
        if self._has_stale_digest:
            self._write_digest()
        self._derived_at = time.monotonic()

    def _merge_save(self) -> None:
        """Merge what a person saved since the last commit: what may be edited stays, facts are restored."""
        self.file.commit([SetSection("run_id", self._log.run_id)])
        self._log = view_of(self.file)
        self._tell_notices()

    def _tell_notices(self) -> None:
        """Read the log back after a merge, and say in it what was merged, restored or set aside."""
        told = [NoticeGiven(text=notice.text) for notice in self.file.notices]
        self.file.notices.clear()
        self._log = view_of(self.file)
        if told:
            self._take(told)

    def _note(self, event: ExperimentEvent) -> None:
        self._jobs[event.key] = Job(event.key, event.iteration, state=JobState.DONE, exit=event)  # type: ignore[arg-type]
        self._watch = self._watch.plus(event)
        self._highest = max(self._highest, event.iteration)
        if isinstance(event, CandidateBuilt) and event.tree and event.base_tree:
            self._trees[event.iteration] = (event.base_tree, event.tree)
        if says_nothing_of_the_code(event):
            trees = self._trees.pop(event.iteration, None)
            if trees is not None and self._measured.get(trees, MeasuredPair(0, "")).iteration == event.iteration:
                self._measured.pop(trees)

    def _follow_up(self, event: Event) -> None:
        """Bring derived files and memories up to date with what is committed."""
        if isinstance(event, BatchEnded):
            self._ticks += 1
            self._digest, self._has_stale_digest = "", True
            self._grow_history(self._log.of_batch(event.batch))
            self._forget_batch()
            if self.max_ticks is not None and self._ticks >= self.max_ticks:
                self._stop = self._stop or StopAsked("max_ticks", f"{self._ticks} ticks in this process")
        self.on_event(event, self._log)

    def _remember(self, entry: Entry) -> None:
        self._memory.add(entry)
        trees = self._trees.get(entry.iteration)
        is_repeat = entry.headway is not None and entry.headway.repeat_of is not None
        if trees is not None and not is_repeat and Outcome(entry.outcome).is_final:
            self._measured.setdefault(trees, MeasuredPair(entry.iteration, entry.outcome))

    def _forget_batch(self) -> None:
        """Let go of what only the ended batch needed; what the same commit dispatched stays."""
        opened = {w.headway.iteration for w in self._log.dispatched if w.headway is not None}
        self._jobs = {
            key: job for key, job in self._jobs.items() if job.state is JobState.RUNNING or job.iteration in opened
        }
        for iteration in [n for n in self._records if n not in opened]:
            self._records.pop(iteration)[0].close()

    # Outward: what to do

    def _start(self, action: Action) -> None:
        self._jobs[action.id] = Job(action.id, getattr(action, "iteration", 0))
        with_ = Performing(self.ground, self._brief_of, now)
        if isinstance(action, Integrate):
            self._take([self._integration_started(action)])
            self._record_file(action.iteration)[0].sync()
        if isinstance(action, Author):
            text = self._brief_of(action)
            with_ = Performing(self.ground, lambda _: text, now)
        self.start_worker(lambda: self._work(action, with_), action.id)

    def _integration_started(self, action: Integrate) -> IntegrationStarted:
        """Give the fact that stands in the records before the branch moves."""
        return IntegrationStarted(
            iteration=action.iteration, session=action.session, commit=action.commit, reference=action.reference
        )

    def _work(self, action: Action, with_: Performing) -> None:
        try:
            self._queue.put(Done(action, perform(action, with_)))
        except BaseException as problem:  # handed to the main thread, which raises it
            self._queue.put(Done(action, None, problem))

    def _dispatched(self, action: Dispatch) -> HypothesisDispatched:
        folder = self.ground.run.experiment(action.iteration)
        self._files.make_folder(action.iteration)
        return HypothesisDispatched(
            iteration=action.iteration,
            batch=action.batch,
            item=action.item,
            base=action.base,
            agent=self.ground.spec.agent.type if self.ground.spec.agent else "none",
            arrives_as=self.ground.relative(folder.jobs / "author-1"),
            wake=f"{os.getpid()}@{self._started_mark}",
            tree=f"agent-{action.iteration % max(self.ground.spec.effective_concurrency, 1)}",
        )

    @property
    def _started_mark(self) -> str:
        process = look_at(os.getpid())
        return str(process.start) if process is not None else "unknown"

    def _brief_of(self, action: Author) -> str:
        spec = self.ground.spec
        best = primary_of(self._log, spec)
        words = f"{spec.metric.primary.name} = {best:g}" if best is not None else "not measured"
        recent = [e for _, e in sorted(self._log.recent.items())]
        if not self._digest:
            self._digest = self._digest_text()
        return brief(spec, action.item, words, self._digest, recent, self.ground.instructions, action.repair)

    # The world

    def _world(self, view: Log | None = None) -> World:
        log = view or self._log
        spec = self.ground.spec
        cost = totals_of(log).cost
        cap = spec.stopping.max_total_cost_usd
        spent = (log.best.total_run_cost_usd or 0.0) + self._open_spend()
        return World(
            spec=spec,
            reference=reference_of(log, self.ground.base),
            base=self.ground.base,
            approved=self._is_approved(log.approval),
            highest_iteration=self._highest,
            workload=self.ground.workload,
            jobs=tuple(self._jobs.values()),
            measured=self._measured,
            stop=self._stop,
            budget_left=None if cap is None else cap - spent,
            cost_unknown=", ".join(cost.unknown) if cost else "",
            agent=self._agent,
            agent_can_retry=self.ground.agent.can_retry if self.ground.agent else False,
            check_from=self.check_from or 1,
            is_closing=self.check_from > 0,
            deciding=self._deciding(log),
        )

    def _deciding(self, log: Log) -> Deciding | None:
        if self._settings is None:
            return None
        return deciding_of(
            self._settings, log, self._history, self._watch, self.ground.base, self._since, self._ground_k
        )

    def _grow_history(self, entries: Iterable[Entry]) -> None:
        """Add an ended batch to what is known of the noise."""
        if self._settings is not None:
            names = [objective.name for objective in self._settings.objectives]
            for repeats in repeats_of(Baseline(), entries, names, self.ground.base):
                if repeats.k > self._ground_k:
                    self._history = self._history.plus(repeats)

    def _tell_environment(self, draft: _Draft) -> bool:
        """Note, once a process, what it measures on, where that is not what the log says; say whether the run moved."""
        if self._is_environment_told:
            return False
        self._is_environment_told = True
        seen = environment_seen(draft.view, self.ground.workload)
        if seen is not None:
            self._stage(draft, seen)
        return seen is not None and bool(seen.moved)

    def _is_approved(self, approval: Approval | None) -> bool:
        if self._judged_approval is None or self._judged_approval[0] is not approval:
            fits = not objections(approval, self.ground.spec, self.ground.spec_sha256)
            self._judged_approval = (approval, fits)
        return self._judged_approval[1]

    def _open_spend(self) -> float:
        """Give what turns of experiments that wait for their entry cost so far."""
        waiting = {w.headway.iteration for w in self._log.dispatched if w.headway}
        return sum(
            job.exit.usd or 0.0
            for job in self._jobs.values()
            if isinstance(job.exit, AgentTurnEnded) and job.iteration in waiting
        )

    def _active(self) -> float:
        return self._clock_base + time.monotonic() - self._clock_start

    # Reading back

    def _take_up(self) -> None:
        """Read the open batch's records, apply what the log does not hold yet, and say that the run goes on."""
        method = self.ground.spec.measurement.stability.comparison.method
        refuse_other_ground(self._log, self.ground.workload, method)
        closed: list[Entry] = []
        self._files.take_up(self.file, lambda entry, trees: self._remember_all(entry, trees, closed))
        self._take_up_history(closed)
        if self._log.ticks:
            self._write_digest()
        self._highest = max(self._highest, self._files.highest(self.file))
        self._clock_base = self._log.active_seconds
        for iteration in self._open_iterations():
            self._replay(iteration)
        self._clock_start = time.monotonic()
        if self._log.run_state is not None:
            draft = _Draft(self._log)
            if self._tell_environment(draft):
                for end in half_measured(self._world()):
                    self._stage(draft, end)
            if self._log.run_state.status != "running" and not self.check_from:
                self._stage(draft, RunResumed())
            self._land(draft)

    def _take_up_history(self, closed: Sequence[Entry]) -> None:
        """Rebuild what the log tells of the noise; values that were measured on another machine count for nothing."""
        if self._settings is None:
            return
        names = [objective.name for objective in self._settings.objectives]
        moved_at = moved_at_k(self._log, self.ground.workload)
        baseline = self._log.baseline if moved_at is None else None
        self._ground_k = moved_at or 0
        self._history = closed_history(baseline, closed, names, self.ground.base, self._ground_k)
        self._since = NOTHING_STALE if self.calibrated_now else totals_of(self._log).k
        deciding = self._deciding(self._log)
        if deciding is not None and not deciding.choice.is_final:
            self._watch_closed(sorted(entry.iteration for entry in closed))

    def _watch_closed(self, iterations: Iterable[int]) -> None:
        """See again what turns and measurements of the first experiments took."""
        for iteration in iterations:
            if self._watch.is_full:
                return
            for record in read_records(self.ground.run.experiment(iteration).records):
                event = from_record(record)
                if isinstance(event, ExperimentEvent):
                    self._watch = self._watch.plus(event)

    def _remember_all(self, entry: Entry, trees: tuple[str, str] | None, closed: list[Entry]) -> None:
        if self._settings is not None and entry.batch <= self._log.ticks:
            closed.append(entry)
        if trees is not None:
            self._trees[entry.iteration] = trees
        self._remember(entry)

    def _open_iterations(self) -> list[int]:
        """Give the open batch's experiments as the log names them.

        A folder that the log knows nothing of holds no more than a dispatch that was never committed, or what was
        dropped since: its number stays taken, and its hypothesis is where the log says.
        """
        waiting = [w.headway.iteration for w in self._log.dispatched if w.headway and w.headway.iteration is not None]
        entries = [e.iteration for e in self._log.of_batch(self._log.ticks + 1)]
        return sorted({*waiting, *entries})

    def _replay(self, iteration: int) -> None:
        """Take up one experiment's facts; each that the log lacks is applied now."""
        records, _ = self._record_file(iteration)
        events = [e for r in read_records(records.path) if (e := from_record(r)) is not None]
        draft = _Draft(self._log)
        for event in events:
            self._clock_base = max(self._clock_base, event.active_seconds)
            draft.add(event, apply(draft.view, event, self._world(draft.view)))
            if isinstance(event, ExperimentEvent):
                self._note(event)
        self.file.commit(coalesced(draft.edits))
        self._log = draft.view
        self._note_row(iteration)

    # Records and digest

    def _record_file(self, iteration: int) -> tuple[RecordFile, int]:
        if iteration not in self._records:
            self._files.make_folder(iteration)
            file = self.ground.open_records(self.ground.run.experiment(iteration).records)
            self._records[iteration] = (file, _count(file))
        return self._records[iteration]

    def _append(self, event: Event) -> None:
        if isinstance(event, ExperimentEvent):
            file, seq = self._record_file(event.iteration)
            if file.write(to_record(event, self.ground.run_id, event.iteration, seq + 1)):
                self._records[event.iteration] = (file, seq + 1)
            return
        if self._run_records is None:
            file = self.ground.open_records(self.ground.run.run_records)
            self._run_records = (file, _count(file))
        file, seq = self._run_records
        record = to_record(event, self.ground.run_id, 0, seq + 1)
        if isinstance(event, BatchEnded):
            file.write(record)  # the log has it; nothing rests on this record
        else:
            file.append(record)
        self._run_records = (file, seq + 1)

    def _close_records(self) -> None:
        for file, _ in self._records.values():
            file.close()
        self._records.clear()
        if self._run_records is not None:
            self._run_records[0].close()
            self._run_records = None

    def _digest_text(self) -> str:
        best = self._log.recent.get(self._log.best.iteration or 0)
        worst = [to_row(w) for w in (best.worst_cases or ())] if best is not None else []
        return digest(self._log.spec, self._memory, self._log.backlog or (), worst)

    def _write_digest(self) -> None:
        self._has_stale_digest = False
        self._digest = self._digest or self._digest_text()
        self.ground.write_derived(self.ground.state.digest, self._digest.encode("utf-8", "replace"))

    def _give_up(self, problem: HeadwayError) -> None:
        """Leave a reason in the log for a stop that was forced from outside, as far as it can still be written."""
        if self.check_from:
            return
        stop = RunStopped(
            reason="branch_checked_out" if isinstance(problem, BranchCheckedOut) else "outside_failed",
            detail=problem.what,
            continue_with=_then_resume(problem.mend or "mend the cause"),
            status="blocked",
        )
        with contextlib.suppress(HeadwayError):
            self._take([stop])


def _kind_of(action_id: str) -> str:
    """Give what an action is, from its id: `measure` of `exp0003/measure.2/cand/1`."""
    return action_id.split("/")[1].split(".")[0] if "/" in action_id else action_id


def _then_resume(mend: str) -> str:
    return mend if "headway resume" in mend else f"{mend}; `headway resume` goes on"


def _count(file: RecordFile) -> int:
    return sum(1 for _ in read_records(file.path))


def now() -> str:
    """Give the time as records and log write it: ISO 8601, UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
