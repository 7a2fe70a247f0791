"""The one place where concrete parts meet, and the one door for the faces.

Every function here does one thing that a person asks for and gives plain data back; the faces only read arguments and
print. Reading needs no lock; whatever writes takes it, or speaks to the live run through its inbox.
"""

import json
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

from headway.adapters.private_repository import PrivateRepository
from headway.adapters.processes import sweep_orphans
from headway.adapters.proposers.list import own_hypotheses
from headway.adapters.user_repository import UserRepository, find_repository
from headway.core.apply import stopped_edits
from headway.core.approval import caps_of, objections
from headway.core.backlog import deferred
from headway.core.claims import Conditions, conditions_of
from headway.core.deciding import planned_of, planned_of_budget
from headway.core.edits import Edit, SetSection
from headway.core.events import Event, RunStopped, from_record
from headway.core.figures import unmoved_words
from headway.core.final_checking import finished_check
from headway.core.forecast import forecast_of, forecast_words
from headway.core.log_check import check_log
from headway.core.log_findings import Finding
from headway.core.log_references import kept_commits
from headway.core.log_view import Log, reference_of
from headway.core.records import (
    Approval,
    ApprovalHeadway,
    BacklogItem,
    Caps,
    ComparisonKind,
    DepStatus,
    Outcome,
    RunStateHeadway,
    RunStatus,
    Stop,
    to_row,
)
from headway.core.report import OpenExperiment, RunFigures, Status, run_figures, status_of, under_way
from headway.core.spec import ComparisonMethod, Spec
from headway.core.spec_changes import changes_between, is_free
from headway.core.stages import stage_of
from headway.core.stopping import approved_dependencies
from headway.core.validity import Waivers, misnamed_waivers
from headway.core.validity_words import forgeable_words, gate_words
from headway.errors import BranchCheckedOut, HeadwayError, Interrupted, OutsideFailed, RefMoved, RequestWrong
from headway.orchestrator.closing import finish_run
from headway.orchestrator.demo import set_up_example
from headway.orchestrator.exemplars import plan_exemplars
from headway.orchestrator.first import (
    baseline_probes,
    create_log,
    measure_baseline,
    noise_warning,
    noise_words,
    refuse_thresholds,
    timeout_of,
)
from headway.orchestrator.ground import Ground
from headway.orchestrator.inbox import Inbox
from headway.orchestrator.log_surroundings import surroundings_of
from headway.orchestrator.loop import Loop, now
from headway.orchestrator.measuring import has_unrecorded
from headway.orchestrator.no_ops import SelfTested, try_no_ops
from headway.orchestrator.reading import view_of
from headway.orchestrator.start import (
    RunFacts,
    freeze,
    frozen_spec,
    ground_of,
    is_as_frozen,
    move_into,
    newest_run,
    read_facts,
    refuse_lost_log,
    refuse_start,
    refuse_unsupported,
    run_of,
    take_up_parked,
    trees_of,
)
from headway.orchestrator.trial import Trial, try_harness, words_on_absolute_paths
from headway.orchestrator.validity import forget_failed_gate, run_gate
from headway.store.atomic import write_atomic
from headway.store.document import read_document
from headway.store.lock import Owner, RunLock, is_alive, read_owner
from headway.store.log import LogFile
from headway.store.paths import StateRoot, ensure_folder, prepare_state_root
from headway.store.records import read_records
from headway.store.shipped import example_names
from headway.store.spec_file import LoadedSpec, load_spec
from headway.store.strategies import StrategyReport, discard_spare, probe

STATE_FOLDER = ".headway"
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Where:
    """Which run is meant: by state root, or by repository and name.

    Args:
        repo: a folder in the user's repository; None: the current folder.
        name: the spec's name; None: the repository's only run.
        state_root: the state root itself; wins over `HEADWAY_STATE_ROOT` and over repo and name.
        environment: of the process.
    """

    repo: Path | None = None
    name: str | None = None
    state_root: Path | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def repository(self) -> UserRepository:
        """Find the user's repository. Raises: RepositoryUnusable."""
        return find_repository(self.repo or Path.cwd())

    def state_of(self, spec_name: str, user: UserRepository) -> StateRoot:
        """Give the state root for a spec."""
        return StateRoot(self._explicit() or user.root / STATE_FOLDER / spec_name)

    def _named(self, folder: Path, name: str) -> StateRoot:
        found = _runs_in(folder)
        if name not in found:
            there = f"runs there: {', '.join(found)}" if found else "start one with `headway run SPEC`"
            raise RequestWrong(f"there is no run of the name `{name}` here", str(folder), there)
        return StateRoot(folder / name)

    def _explicit(self) -> Path | None:
        named = self.state_root or self.environment.get("HEADWAY_STATE_ROOT")
        return Path(named).absolute() if named else None

    def existing(self) -> StateRoot:
        """Find the state root of a run that was started before.

        Raises: RequestWrong when there is none, or several to choose from.
        """
        explicit = self._explicit()
        if explicit is not None:
            return _checked(StateRoot(explicit))
        folder = self.repository().root / STATE_FOLDER
        if self.name is not None:
            return self._named(folder, self.name)
        found = _runs_in(folder)
        if len(found) == 1:
            return StateRoot(folder / found[0])
        if not found:
            raise RequestWrong(
                "there is no run here yet",
                str(folder),
                "start one with `headway run SPEC`, or name --repo or --state-root",
            )
        raise RequestWrong(f"there are several runs here: {', '.join(found)}", str(folder), "choose one with --name")


def _runs_in(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if StateRoot(p).spec.is_file()) if folder.is_dir() else []


def _checked(state: StateRoot) -> StateRoot:
    if not state.spec.is_file():
        raise RequestWrong(
            "there is no run in this state root", str(state.root), "start one with `headway run SPEC`, or name another"
        )
    return state


# Reading


def read_log(state: StateRoot) -> tuple[LogFile, Log]:
    """Open a run's log for reading and give its view. Raises: RequestWrong when CP-1 was not reached; DataDamaged."""
    if not state.log.is_file():
        refuse_lost_log(state)
        raise RequestWrong(
            "this run has no log yet: its baseline was not measured to the end",
            str(state.log),
            "`headway resume` goes on",
        )
    file = LogFile.open(state.log)
    return file, view_of(file)


def live_owner(state: StateRoot) -> Owner | None:
    """Give the process that owns the run now; None when nobody does."""
    owner = read_owner(state.lock)
    return owner if owner is not None and is_alive(owner) else None


def status(where: Where) -> Status:
    """Say where a run stands: what `headway status` shows, and what an agent reads after compaction."""
    state = where.existing()
    loaded = frozen_spec(state)
    if not state.log.is_file():
        refuse_lost_log(state)
        return status_of(None, loaded.spec, None, live_owner(state) is not None, str(state.root))
    _, log = read_log(state)
    gate = objections(log.approval, loaded.spec, loaded.sha256)
    shown = status_of(log, loaded.spec, gate, live_owner(state) is not None, str(state.root))
    of_gate = (_noise_words(log, loaded.spec), *gate_words(log.harness_validation)) if gate else ()
    told = (*of_gate, unmoved_words(log, loaded.spec))
    shown = replace(shown, phase=_how_far(state, log), notices=(*shown.notices, *filter(None, told)))
    older = _family_log(state, loaded.spec.name)
    return replace(shown, notices=(*shown.notices, older)) if older else shown


def _noise_words(log: Log, spec: Spec) -> str:
    """Give what the gate must show beside the caps: a baseline that varies by more than what counts as a gain."""
    baseline = run_figures(log, spec).baseline
    spread = log.baseline.headway.relative_spread if log.baseline.headway else None
    return noise_warning(spec, baseline.samples, spread or {})


def _how_far(state: StateRoot, log: Log) -> tuple[OpenExperiment, ...]:
    """Give the open experiments, each with how far it has come by its own records and jobs."""
    return tuple(replace(open_, stage=_stage(state, log, open_) or open_.stage) for open_ in under_way(log))


def _stage(state: StateRoot, log: Log, experiment: OpenExperiment) -> str:
    """Say how far an experiment has come; empty when its files cannot be read: `resume` says what is wrong."""
    paths = state.run(log.run_id).experiment(experiment.iteration)
    with suppress(HeadwayError, ValueError):
        facts = [fact for record in read_records(paths.records) if (fact := from_record(record)) is not None]
        return stage_of(facts, has_unrecorded(paths.jobs, facts, state.root))
    return ""


def _family_log(state: StateRoot, name: str) -> str:
    """Name a log at the family's older place in the same repository; headway never writes there."""
    if state.root.parent.name != STATE_FOLDER:
        return ""
    place = Path(".context", "compound-engineering", "ce-optimize", name, "experiment-log.yaml")
    if not (state.root.parent.parent / place).is_file():
        return ""
    return f"another tool's log of this spec lies at {place}; headway leaves it alone"


@dataclass(frozen=True)
class Shown:
    """One experiment whole: its row, its records, where its files lie, and whether its harness can be forged.

    `conditions` is how its session was decided under `sequential`, `integrated` how its combination was.
    """

    row: dict[str, Any]
    records: tuple[dict[str, Any], ...]
    folder: Path
    diff: str
    harness: str = ""
    conditions: Conditions | None = None
    integrated: Conditions | None = None


def show(where: Where, iteration: int) -> Shown:
    """Give one experiment: its entry, records and diff. Raises: RequestWrong for a number that there is not."""
    state = where.existing()
    file, log = read_log(state)
    folder = state.run(log.run_id).experiment(iteration)
    try:
        row = file.entry(iteration)
    except RequestWrong:
        if not folder.experiment_json.is_file():
            raise _no_experiment(iteration, state) from None
        row = dict(json.loads(folder.experiment_json.read_bytes()).get("row", {}))
    records = tuple(read_records(folder.records)) if folder.records.is_file() else ()
    harness = forgeable_words(log.harness_validation)
    spec = frozen_spec(state).spec
    own, combined = (conditions_of(log, spec, k) for k in _numbers(row))
    return Shown(row, records, folder.folder, _diff_text(folder.assets / "diff.patch"), harness, own, combined)


def _numbers(row: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Give the numbers of an experiment's two sessions: alone, and combined."""
    pairs = [pair for pair in row.get("comparisons") or () if pair.get("kind") == ComparisonKind.INTEGRATED]
    combined = (pairs[-1].get("headway") or {}).get("k") if pairs else None
    return (row.get("headway") or {}).get("k"), combined


def _diff_text(path: Path) -> str:
    return path.read_text("utf-8", "surrogateescape") if path.is_file() else ""


def _no_experiment(iteration: int, state: StateRoot) -> RequestWrong:
    return RequestWrong(
        f"there is no experiment {iteration}", str(state.log), "`headway log show` lists those that there are"
    )


def diff(where: Where, iteration: int) -> str:
    """Give an experiment's patch, kept or reverted, as text. Raises: RequestWrong when it has none."""
    state = where.existing()
    _, log = read_log(state)
    folder = state.run(log.run_id).experiment(iteration)
    path = folder.assets / "diff.patch"
    if not folder.folder.is_dir():
        raise _no_experiment(iteration, state)
    if not path.is_file():
        raise RequestWrong(
            f"experiment {iteration} has no diff: no candidate came of it",
            str(path),
            f"`headway show {iteration}` says why",
        )
    return _diff_text(path)


def check_the_log(target: Path | None, where: Where) -> tuple[Path, list[Finding]]:
    """Check a log file: its own, or the one that is named. Raises: DataDamaged, DiskFailed, RequestWrong."""
    path = _log_path(target, where)
    file = LogFile.open(path)
    around = surroundings_of(path, kept_commits(file.rows()))
    if not file.has_experiments:
        return path, check_log(file.sections(), None, around)
    numbers = set(file.iterations())
    rows = ((file.line_of(n) if (n := row.get("iteration")) in numbers else None, row) for row in file.rows())
    return path, check_log(file.sections(), rows, around)


def way_of_commits(log: Path) -> StrategyReport:
    """Say which of its two ways a commit to a log takes where it lies, and why."""
    return probe(log.resolve().parent)


def log_document(target: Path | None, where: Where) -> dict[str, Any]:
    """Give a whole log as plain data."""
    return read_document(_log_path(target, where))


def log_entry(target: Path | None, where: Where, iteration: int) -> dict[str, Any]:
    """Give one entry of a log as plain data."""
    return LogFile.open(_log_path(target, where)).entry(iteration)


def _log_path(target: Path | None, where: Where) -> Path:
    path = target or where.existing().log
    if not path.is_file():
        mend = "name the log's file, or a run with --name or --state-root"
        raise RequestWrong("there is no such log", str(path), mend)
    return path


# Trying


def check(spec_path: Path, where: Where, tell: Tell) -> Trial:
    """Validate a spec and run its harness once on the committed code; changes nothing.

    Raises: SpecInvalid, SpecRefused, ScopeDirty, BaselineFails, each with its mend.
    """
    loaded = load_spec(spec_path)
    refuse_unsupported(loaded.spec, str(spec_path))
    user = where.repository()
    with tempfile.TemporaryDirectory(prefix="headway-check-") as folder:
        return try_harness(loaded, spec_path, user, Path(folder), where.environment, tell)


def self_test(spec_path: Path, where: Where, no_ops: int, tell: Tell) -> SelfTested:
    """Measure candidates that change nothing, and count those that the configured decision keeps; changes nothing.

    Raises: as `check`.
    """
    loaded = load_spec(spec_path)
    refuse_unsupported(loaded.spec, str(spec_path))
    user = where.repository()
    with tempfile.TemporaryDirectory(prefix="headway-check-") as folder:
        return try_no_ops(loaded, spec_path, user, Path(folder), where.environment, no_ops, tell)


# Running


@dataclass(frozen=True)
class RunEnded:
    """How `run` ended.

    Args:
        reason: `approval` at the gate, `already_final`, else the stop's reason.
        exit_code: 0 done, 7 waits for a person, 130 interrupted, 4 blocked by something outside.
    """

    reason: str
    detail: str
    continue_with: str
    status: str
    exit_code: int
    figures: RunFigures | None
    state_root: Path
    branch: str
    changed: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunWishes:
    """What a caller of `run` asks for besides the spec.

    Args:
        approve_as: clear the gate in this name, in the same breath.
        uncapped_spend: the explicit yes to a judge without a cost cap.
        max_ticks: stop after so many batches.
        fresh: archive the run that is there and begin a new one.
        waive_validity: failed probes of the gate that may go on, by name, or the name of who waives them all.
        waive_calibration: who waives the judge's calibration and when, verbatim.
    """

    approve_as: str | None = None
    uncapped_spend: bool = False
    max_ticks: int | None = None
    fresh: bool = False
    waive_validity: tuple[str, ...] = ()
    waive_calibration: str | None = None


def run(
    spec_path: Path | None,
    where: Where,
    wishes: RunWishes,
    tell: Tell,
    on_event: Callable[[Event, Log], None] = lambda event, log: None,
) -> RunEnded:
    """Start a run, or go on with the one that is there, unattended.

    Args:
        spec_path: the spec; None goes on with the frozen one.
        where: which run.
        wishes: approval, limits, a fresh start.
        tell: is told, a line each, what is going on before the loop.
        on_event: is told of every fact.
    Returns: how it ended. Raises: HeadwayError.
    """
    misnamed = misnamed_waivers(wishes.waive_validity)
    if misnamed:
        mend = "name a probe that failed, or give your own name to waive all that did"
        raise RequestWrong(misnamed, "--waive-validity", mend)
    loaded = load_spec(spec_path) if spec_path is not None else None
    if loaded is not None:
        refuse_unsupported(loaded.spec, str(spec_path))
        if loaded.spec.agent is None:
            raise RequestWrong(
                "the spec names no agent, so nobody can carry out its hypotheses",
                f"{spec_path}: agent",
                "add `agent: {type: command, command: ...}`; `headway check` works without",
            )
        for warning in loaded.warnings:
            tell(f"warning: {warning}")
    state = where.state_of(loaded.spec.name, where.repository()) if loaded is not None else where.existing()
    if wishes.fresh and spec_path is None:
        raise RequestWrong("a fresh start needs a spec", "--fresh", "name it: `headway run SPEC --fresh`")
    prepare_state_root(state.root)
    with _owned(state, "headway run", tell):
        return _run_owned(spec_path, loaded, state, where, wishes, tell, on_event)


@contextmanager
def _owned(state: StateRoot, command: str, tell: Tell) -> Iterator[None]:
    """Own the run for a while. Raises: RunOwned, naming who owns it."""
    lock = RunLock(state.lock)
    before = lock.acquire(command)
    if before is not None:
        tell(f"took over from a process that died (pid {before.pid})")
    try:
        take_up_parked(state, tell)
        yield
    finally:
        lock.release()


def _run_owned(
    spec_path: Path | None,
    loaded: LoadedSpec | None,
    state: StateRoot,
    where: Where,
    wishes: RunWishes,
    tell: Tell,
    on_event: Callable[[Event, Log], None],
) -> RunEnded:
    if wishes.fresh and loaded is not None:
        _archive_run(state, loaded, where, tell)
    changed: tuple[str, ...] = ()
    facts: RunFacts | None = None
    run_id = newest_run(state)
    if state.log.is_file():
        file, log = read_log(state)
        facts = read_facts(state, log.run_id)
        if loaded is not None:
            changed = _refreeze(state, loaded, log.run_id)
        if log.run_state is not None and log.run_state.status == RunStatus.FINAL and not changed:
            return _already_final(state, frozen_spec(state).spec, log, file)
    elif state.spec.is_file() and run_id is not None:
        refuse_lost_log(state)
        facts = read_facts(state, run_id)
        if loaded is not None and not is_as_frozen(state, facts, loaded, where.repository()):
            facts = None  # nothing was measured yet: begin with spec and code as they are now
    if facts is None:
        if loaded is None or spec_path is None:
            raise RequestWrong("there is nothing to resume", str(state.root), "start with `headway run SPEC`")
        facts = freeze(state, loaded, spec_path, where.repository())
        tell(f"run {facts.run_id}: spec frozen, base {facts.base[:12]}")
    return _go_on(state, facts, where, wishes, tell, on_event, changed)


def _go_on(
    state: StateRoot,
    facts: RunFacts,
    where: Where,
    wishes: RunWishes,
    tell: Tell,
    on_event: Callable[[Event, Log], None],
    changed: tuple[str, ...],
) -> RunEnded:
    """Bring a run that is past CP-0 through CP-1, the gate and the loop."""
    loaded = frozen_spec(state)
    timeout = None
    if state.log.is_file():
        _, log = read_log(state)
        timeout = log.baseline.headway.timeout_seconds if log.baseline.headway else None
    ground = ground_of(state, loaded, facts, where.repository(), where.environment, timeout)
    for line in words_on_absolute_paths(ground.spec, ground.user.root):
        tell(f"warning: {line}")
    try:
        _sweep(ground)
        if state.log.is_file() and (wishes.waive_validity or wishes.waive_calibration is not None):
            tell("the validity gate of this run is over: a waiver changes nothing now")
        is_new = not state.log.is_file()
        file = _first(ground, facts, wishes, tell) if is_new else LogFile.open(state.log)
        for open_ in _how_far(state, view_of(file)):
            tell(f"goes on with experiment {open_.iteration}: {open_.stage}")
        _claim_refs(ground)
        if wishes.approve_as is not None:
            _approve(file, loaded, wishes.approve_as, wishes.uncapped_spend)
            tell(f"approved by {wishes.approve_as}")
        loop = Loop(ground, file, on_event, wishes.max_ticks, calibrated_now=is_new)
        with _signals(loop):
            stop = loop.run()
        same = unmoved_words(loop.log, ground.spec)
        if same:
            tell(f"warning: {same}")
        return _ended(ground, loop, stop, changed)
    finally:
        ground.jobs.close(wait=False)


def _first(ground: Ground, facts: RunFacts, wishes: RunWishes, tell: Tell) -> LogFile:
    """CP-1, as far as it was not reached before."""
    waivers = Waivers(wishes.waive_validity, wishes.waive_calibration)
    forget_failed_gate(ground, waivers)
    exemplars = plan_exemplars(ground)
    samples = measure_baseline(ground, tell)
    for line in noise_words(ground.spec, samples):
        tell(line)
    refuse_thresholds(ground.spec, samples, ground.base, str(ground.state.spec))
    ground.measuring.timeout_seconds = timeout_of(ground.spec, samples)
    others = baseline_probes(ground.spec, samples)
    validation = run_gate(ground, samples, exemplars, others, waivers, tell)
    for line in gate_words(validation):
        tell(f"warning: {line}")
    file = create_log(ground, samples, facts.created_at, validation)
    forecast = forecast_of(view_of(file), ground.spec)
    for line in forecast_words(forecast) if forecast is not None else ():
        tell(line)
    return file


def _claim_refs(ground: Ground) -> None:
    """Make headway's own refs in the user's repository: the base, kept from gc, and the branch, at first at the base.

    Raises: RequestWrong when the branch is somebody else's; RefMoved when it is not where the run left it: before an
    agent is paid for what could not be kept. While a batch is open it may stand at a candidate: its integration says.
    """
    base_ref = f"refs/headway/{ground.spec.name}/base"
    found = ground.user.read_ref(base_ref)
    if found != ground.base:
        ground.user.update_ref(base_ref, ground.base, found)
    tip = ground.user.read_ref(ground.branch)
    log = view_of(LogFile.open(ground.state.log))
    if tip is None and log.best.iteration == 0:
        ground.user.update_ref(ground.branch, ground.base, None)
        return
    if log.run_state is None and tip != ground.base:
        raise RequestWrong(
            f"the branch {ground.branch.removeprefix('refs/heads/')} exists and is not of this run",
            str(ground.user.root),
            "rename or delete it, or begin with `headway run SPEC --fresh`, which archives it",
        )
    reference = reference_of(log, ground.base)
    if tip != reference and (tip is None or not (log.dispatched or log.of_batch(log.ticks + 1))):
        raise RefMoved(ground.branch, reference, tip or "", str(ground.user.root))


def _sweep(ground: Ground) -> None:
    """End what an earlier process of this run left running, measurements within their limit aside."""
    experiments = ground.run.experiments
    if not experiments.is_dir():
        return
    newest = sorted(experiments.iterdir())[-16:]
    sweep_orphans(job for folder in newest if (folder / "jobs").is_dir() for job in (folder / "jobs").iterdir())


@contextmanager
def _signals(loop: Loop) -> Iterator[None]:
    """Let SIGINT and SIGTERM stop the loop at once, in order."""

    def stop(number: int, frame: FrameType | None) -> None:
        loop.interrupt()

    try:
        before = {s: signal.signal(s, stop) for s in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not the main thread: whoever runs us there handles signals
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


EXIT_OF_STATUS = {"final": 0, "waiting": 0, "blocked": 4, "running": 0}


def _ended(ground: Ground, loop: Loop, stop: RunStopped | None, changed: tuple[str, ...]) -> RunEnded:
    figures = run_figures(loop.log, ground.spec)
    branch = ground.branch.removeprefix("refs/heads/")
    if stop is None:
        reasons = objections(loop.log.approval, ground.spec, ground.spec_sha256)
        return RunEnded(
            "approval", "; ".join(reasons), "headway approve SPEC --as NAME", "waiting", 7, figures, ground.state.root,
            branch, changed,
        )  # fmt: skip
    code = EXIT_OF_STATUS[stop.status]
    if stop.reason == "interrupt":
        code = 130
    elif stop.status == "waiting" and stop.reason not in ("stop", "max_ticks"):
        code = 7
    if stop.status == "final":
        finish_run(ground, loop.log, figures)
    return RunEnded(
        stop.reason, stop.detail, stop.continue_with, stop.status, code, figures, ground.state.root, branch, changed
    )


def _already_final(state: StateRoot, spec: Spec, log: Log, file: LogFile) -> RunEnded:
    return RunEnded(
        "already_final",
        "this run is over",
        "`headway run SPEC --fresh` begins a new one; `headway wrap-up --continue` reopens this one",
        "final",
        0,
        run_figures(log, spec),
        state.root,
        f"optimize/{spec.name}",
    )


def _refreeze(state: StateRoot, loaded: LoadedSpec, run_id: str) -> tuple[str, ...]:
    """Freeze a changed spec anew if only what may change did; give the changed fields.

    The old pair of spec and approval is archived; the gate is presented again, for the approval no longer fits. Where
    the spec is the one that was approved, the frozen copy was edited or lost by hand, and is put back.
    Raises: RequestWrong naming the fields that need a fresh start.
    """
    _, log = read_log(state)
    if log.approval is not None and log.approval.spec_sha256 == loaded.sha256:
        if not state.spec.is_file() or state.spec.read_bytes() != loaded.text:
            write_atomic(state.spec, loaded.text)
        return ()
    old = frozen_spec(state)
    before = old.text
    if before == loaded.text:
        return ()
    fields = changes_between(old.spec, loaded.spec)
    fixed = [f for f in fields if not is_free(f)]
    if fixed:
        raise RequestWrong(
            f"the spec differs from the frozen one in what a run cannot change: {', '.join(fixed)}",
            str(state.spec),
            "`headway run SPEC --fresh` archives this run and begins a new one",
        )
    archive = ensure_folder(state.run(run_id).archive)
    write_atomic(archive / f"spec-{old.sha256[:12]}.yaml", before)
    if log.approval is not None:
        write_atomic(archive / f"approval-{old.sha256[:12]}.json", json.dumps(to_row(log.approval)).encode() + b"\n")
    _add_hypotheses(state, old.spec, loaded.spec)
    write_atomic(state.spec, loaded.text)
    return tuple(fields) or ("comments or layout",)


def _add_hypotheses(state: StateRoot, old: Spec, new: Spec) -> None:
    """Put hypotheses that a changed spec adds into the backlog; one that is in it already is not added twice."""
    file, log = read_log(state)
    known = {item.headway.id for item in (*own_hypotheses(old), *(log.backlog or ())) if item.headway}
    fresh = [item for item in own_hypotheses(new) if item.headway and item.headway.id not in known]
    if fresh and log.backlog is not None:
        file.commit([SetSection("hypothesis_backlog", [to_row(i) for i in (*log.backlog, *fresh)])])


def _archive_run(state: StateRoot, loaded: LoadedSpec, where: Where, tell: Tell) -> None:
    """Move a run's spec, refs, digest, cache and log out of the way; nothing of it is deleted.

    The log goes last: a start that died in between is found by it, and asking once more completes the move. What is
    damaged or missing is no hindrance.
    Raises: BranchCheckedOut; what `freeze` refuses is refused before anything is moved.
    """
    user = where.repository()
    refuse_start(user, loaded.spec)
    spec_name = _frozen_name(state, loaded.spec.name)
    branch = f"refs/heads/optimize/{spec_name}"
    worktree = user.checked_out_branches().get(branch)
    if worktree is not None:
        raise BranchCheckedOut(branch.removeprefix("refs/heads/"), str(worktree))
    tip = user.read_ref(branch)
    if tip is None and not state.spec.is_file() and not state.log.is_file():
        return
    run_id = run_of(state)
    archive = ensure_folder(state.run(run_id).archive)
    move_into(archive, state.spec, state.digest, state.judge_cache, state.root / "instructions.md")
    move_into(archive, state.root / "harness")
    _archive_branch(user, branch, f"refs/heads/optimize-archive/{spec_name}/{run_id}", tip)
    base = user.read_ref(f"refs/headway/{spec_name}/base")
    if base is not None:
        user.delete_ref(f"refs/headway/{spec_name}/base", base)
    _archive_private_refs(state, user, spec_name, run_id)
    move_into(archive, state.log)
    discard_spare(state.log)
    tell(f"archived run {run_id} under {archive}")


def _frozen_name(state: StateRoot, otherwise: str) -> str:
    with suppress(HeadwayError):
        return frozen_spec(state).spec.name
    return otherwise


def _archive_branch(user: UserRepository, branch: str, archived: str, tip: str | None) -> None:
    if tip is None:
        return
    if user.read_ref(archived) != tip:
        user.update_ref(archived, tip, None)
    user.delete_ref(branch, tip)


def _archive_private_refs(state: StateRoot, user: UserRepository, spec_name: str, run_id: str) -> None:
    if not (state.private_repo / "HEAD").is_file():
        return
    private = PrivateRepository.open_or_create(state.private_repo, user)
    prefix = f"refs/headway/{spec_name}/"
    for ref, commit in private.list_refs(prefix).items():
        private.set_ref(f"refs/archive/{run_id}/{ref.removeprefix(prefix)}", commit)
        private.refs.delete(ref, commit)


# A person's word


def approve(spec_path: Path, where: Where, name: str, uncapped_spend: bool, tell: Tell) -> Approval:
    """Clear the approval gate of a run that waits at it.

    Raises: RequestWrong when there is no such run, or the spec is not the frozen one; RunOwned.
    """
    loaded = load_spec(spec_path)
    state = where.state_of(loaded.spec.name, where.repository())
    _checked(state)
    with _owned(state, "headway approve", tell):
        if state.spec.read_bytes() != loaded.text:
            raise RequestWrong(
                "this spec is not the one that the run froze",
                str(spec_path),
                "run `headway run SPEC` first: it shows what changed and presents the gate",
            )
        file, log = read_log(state)
        is_over = log.run_state is not None and log.run_state.status == RunStatus.FINAL
        if is_over and not objections(log.approval, loaded.spec, loaded.sha256):
            raise RequestWrong(
                "this run is over: there is nothing to approve",
                str(state.log),
                "`headway wrap-up --continue` reopens it; `headway run SPEC --fresh` begins a new one",
            )
        return _approve(file, loaded, name, uncapped_spend)


def _approve(file: LogFile, loaded: LoadedSpec, name: str, uncapped_spend: bool) -> Approval:
    caps = caps_of(loaded.spec)
    judged = caps.get("metric", {}).get("judge", {})
    if judged and judged["max_total_cost_usd"] is None and not uncapped_spend:
        raise RequestWrong(
            "the judge has no cost cap", "metric.judge.max_total_cost_usd", "say --uncapped-spend, or set a cap"
        )
    approval = Approval(
        approved_at=now(),
        spec_sha256=loaded.sha256,
        caps=Caps.model_validate(caps),
        headway=ApprovalHeadway(approved_by=name, uncapped_spend=uncapped_spend, planned=_planned(file, loaded.spec)),
    )
    file.commit([SetSection("approval", to_row(approval))])
    return approval


def _planned(file: LogFile, spec: Spec) -> int | None:
    """Give the plan of the error budget, which the first approval fixed; None under methods that have none."""
    if spec.measurement.stability.comparison.method is not ComparisonMethod.SEQUENTIAL:
        return None
    log = view_of(file)
    return planned_of(log) or planned_of_budget(spec, log)


def stop(where: Where, tell: Tell) -> str:
    """Ask a live run to stop at its next safe point; without a live run, note the stop in its log."""
    state = where.existing()
    if live_owner(state) is not None:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        Inbox(state).drop("stop", "asked for with `headway stop`", stamp)
        return "the run stops at its next safe point; `headway resume` goes on from there"
    with _owned(state, "headway stop", tell):
        file, log = read_log(state)
        if log.run_state is None:
            return "the run has not begun: nothing to stop"
        if log.run_state.status == RunStatus.RUNNING:
            stopped = RunStopped(
                reason="stop", detail="asked for while no process was running", continue_with="`headway resume`",
                status="waiting", at=now(), active_seconds=log.active_seconds,
            )  # fmt: skip
            file.commit(stopped_edits(log, stopped))
        if log.run_state.status == RunStatus.FINAL:
            return "this run is over: nothing to stop"
        return "no process is running this run; its log says that it waits"


@dataclass(frozen=True)
class WrapUpWishes:
    """The choice at the end of a run: approve dependencies, go on, or close it; or a fresh final check of its best."""

    approve_deps: tuple[str, ...] = ()
    go_on: bool = False
    done: bool = False
    final_check: bool = False


@dataclass(frozen=True)
class WrappedUp:
    """What wrap-up shows: the deferred hypotheses, and what the run's status is now."""

    status: str
    deferred: tuple[BacklogItem, ...]
    approved_deps: tuple[str, ...]
    figures: RunFigures
    next: str


def wrap_up(
    where: Where,
    wishes: WrapUpWishes,
    tell: Tell,
    on_event: Callable[[Event, Log], None] = lambda event, log: None,
) -> WrappedUp:
    """Carry out a person's choice at the end of a run; without one, show it.

    A run that is closed with something kept gets its final check first, where the method has one and none was made.

    Args:
        where: which run.
        wishes: the choice.
        tell: is told what is going on.
        on_event: is told of every fact of a final check.
    Raises: RequestWrong when choices exclude each other, or there is nothing to check; RunOwned; Interrupted.
    """
    if wishes.done and (wishes.go_on or wishes.approve_deps):
        raise RequestWrong("--done and going on exclude each other", "headway wrap-up", "choose one")
    state = where.existing()
    loaded = frozen_spec(state)
    with _owned(state, "headway wrap-up", tell):
        file, log = read_log(state)
        facts = read_facts(state, log.run_id)
        edits = _wrap_up_edits(log, loaded.spec, wishes)
        if wishes.final_check:
            _refuse_uncheckable(log, loaded.spec)
        made = finished_check(log)
        if wishes.final_check or (wishes.done and made is None and _may_be_checked(log, loaded.spec)):
            _check_finally(state, loaded, facts, where, 1 if made is None else made.number + 1, on_event)
            file, log = read_log(state)
            edits = _wrap_up_edits(log, loaded.spec, wishes)
        if edits:
            file.commit(edits)
        log = view_of(file)
        figures = run_figures(log, loaded.spec)
        if wishes.done:
            ground = ground_of(state, loaded, facts, where.repository(), where.environment)
            finish_run(ground, log, figures)
    waiting = deferred(log.backlog or (), approved_dependencies(log, loaded.spec))
    now_is = str(log.run_state.status) if log.run_state else "at the gate"
    extension = log.run_state.headway if log.run_state else None
    following = (
        "`headway resume` goes on"
        if now_is == "waiting" and (wishes.go_on or wishes.approve_deps)
        else (
            "`headway wrap-up --approve-dep NAME`, `--continue` or `--done`"
            if now_is != "final"
            else "the run is closed"
        )
    )
    return WrappedUp(now_is, waiting, tuple(extension.approved_deps) if extension else (), figures, following)


def _may_be_checked(log: Log, spec: Spec) -> bool:
    is_sequential = spec.measurement.stability.comparison.method is ComparisonMethod.SEQUENTIAL
    return is_sequential and bool(log.best.iteration) and log.run_state is not None


def _refuse_uncheckable(log: Log, spec: Spec) -> None:
    """Refuse a final check of what cannot have one. Raises: RequestWrong."""
    if spec.measurement.stability.comparison.method is not ComparisonMethod.SEQUENTIAL:
        raise RequestWrong(
            f"method {spec.measurement.stability.comparison.method} has no final check",
            "headway wrap-up --final-check",
            "`method: sequential` measures the last best against the untouched code",
        )
    if not _may_be_checked(log, spec):
        raise RequestWrong(
            "nothing was kept: there is nothing to check",
            "headway wrap-up --final-check",
            "`headway status` says where the run stands",
        )


def _check_finally(
    state: StateRoot,
    loaded: LoadedSpec,
    facts: RunFacts,
    where: Where,
    check_from: int,
    on_event: Callable[[Event, Log], None],
) -> None:
    """Measure the last best against the untouched code, or go on with that. Raises: Interrupted; what git raises."""
    file, log = read_log(state)
    timeout = log.baseline.headway.timeout_seconds if log.baseline.headway else None
    ground = ground_of(state, loaded, facts, where.repository(), where.environment, timeout)
    try:
        _sweep(ground)
        loop = Loop(ground, file, on_event, check_from=check_from)
        with _signals(loop):
            stop = loop.run()
    finally:
        ground.jobs.close(wait=False)
    if stop is not None and stop.reason == "interrupt":
        raise Interrupted("the final check was interrupted", str(state.root), "the same command goes on with it")


def _wrap_up_edits(log: Log, spec: Spec, wishes: WrapUpWishes) -> list[Edit]:
    if wishes.done:
        _refuse_unfinished(log)
    if log.run_state is None or not (wishes.approve_deps or wishes.go_on or wishes.done):
        return []
    extension = log.run_state.headway or RunStateHeadway()
    edits: list[Edit] = []
    if wishes.approve_deps:
        _refuse_unneeded(log, spec, wishes.approve_deps)
        names = tuple(dict.fromkeys([*extension.approved_deps, *wishes.approve_deps]))
        extension = extension.model_copy(update={"approved_deps": names})
        approved = frozenset(spec.dependencies.approved) | frozenset(names)
        items = [_approved_item(item, approved) for item in log.backlog or ()]
        edits.append(SetSection("hypothesis_backlog", [to_row(item) for item in items]))
    status = RunStatus.FINAL if wishes.done else RunStatus.WAITING
    waits = () if wishes.done else tuple(w for w in log.waits if w.headway and w.headway.iteration is not None)
    if not wishes.done:
        extension = extension.model_copy(update={"stop": None})
    elif extension.stop is None:
        extension = extension.model_copy(update={"stop": CLOSED})
    if wishes.done and log.dispatched:
        edits.append(SetSection("hypothesis_backlog", [to_row(item) for item in _with_undone(log)]))
    state = log.run_state.model_copy(update={"status": status, "pending_waits": waits, "headway": extension})
    edits.append(SetSection("run_state", to_row(state)))
    return edits


CLOSED = Stop(
    reason="closed", detail="closed by a person", continue_with="`headway wrap-up --continue` reopens the run"
)


def _refuse_unfinished(log: Log) -> None:
    """Refuse to close a run that has not begun, or whose last batch is not decided. Raises: RequestWrong."""
    if log.run_state is None:
        raise RequestWrong(
            "the run has not begun: there is nothing to close", "headway wrap-up --done", "`headway status` says more"
        )
    open_ = [e.iteration for e in log.of_batch(log.ticks + 1) if not Outcome(e.outcome).is_final]
    if open_:
        raise RequestWrong(
            f"experiment {', '.join(map(str, open_))} is measured and not decided yet",
            "headway wrap-up --done",
            "`headway resume --max-ticks 1` carries it to its end; then close the run",
        )


def _with_undone(log: Log) -> tuple[BacklogItem, ...]:
    """Give the backlog with the hypotheses at its head whose turn had begun and that no entry tells of."""
    undone = [w.headway.hypothesis for w in log.dispatched if w.headway is not None]
    return (*(item for item in undone if item is not None), *(log.backlog or ()))


def _refuse_unneeded(log: Log, spec: Spec, names: Sequence[str]) -> None:
    """Refuse the approval of dependencies that no waiting hypothesis needs. Raises: RequestWrong."""
    waiting = deferred(log.backlog or (), approved_dependencies(log, spec))
    needed = sorted({name for item in waiting for name in item.required_deps})
    unneeded = [name for name in names if name not in needed]
    if unneeded:
        raise RequestWrong(
            f"no hypothesis waits for {', '.join(unneeded)}",
            "headway wrap-up --approve-dep",
            f"hypotheses wait for: {', '.join(needed) or 'nothing'}; `--continue` goes on without an approval",
        )


def _approved_item(item: BacklogItem, approved: frozenset[str]) -> BacklogItem:
    if item.dep_status != DepStatus.NEEDS_APPROVAL or not item.required_deps:
        return item
    if not all(name in approved for name in item.required_deps):
        return item
    return item.model_copy(update={"dep_status": DepStatus.APPROVED})


def clean(where: Where, tell: Tell) -> list[str]:
    """Remove headway's own leftovers of a run that is not live: its trees. Results stay.

    Returns: what was removed. Raises: RunOwned when the run is live.
    """
    state = where.existing()
    removed: list[str] = []
    with _owned(state, "headway clean", tell):
        run_id = newest_run(state)
        if run_id is None:
            return removed
        for run_folder in sorted(state.runs.iterdir()):
            folder = trees_of(state, run_folder.name, where.environment)
            if folder.is_dir():
                _remove_tree(folder)
                removed.append(str(folder))
        for index in ("headway-index", "headway-stage", "headway-templates"):
            area = state.private_repo / index
            if area.is_dir():
                _remove_tree(area)
                removed.append(str(area))
    return removed


def _remove_tree(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except OSError as problem:
        raise OutsideFailed(
            f"a folder cannot be removed: {problem.strerror}", str(folder), "close what uses it, then try again"
        ) from problem


# The bundled examples


@dataclass(frozen=True)
class DemoEnded:
    """How a demo ended, and where its parts lie."""

    run: RunEnded
    repo: Path
    rows: list[dict[str, Any]]


def demo(
    name: str,
    into: Path | None,
    state_root: Path | None,
    tell: Tell,
    on_event: Callable[[Event, Log], None] = lambda event, log: None,
    environment: Mapping[str, str] | None = None,
) -> DemoEnded:
    """Set a bundled example up and run it to its end; an unfinished one is gone on with, a finished one begins anew.

    Args:
        name: of the example.
        into: scratch folder; None: `headway-demo-NAME` in the current folder.
        state_root: of its run; None: in the scratch repository, as for any run.
        tell: is told what is going on.
        on_event: is told of every fact.
        environment: of the process.
    """
    folder = (into or Path.cwd() / f"headway-demo-{name}").absolute()
    example = set_up_example(name, folder)
    where = Where(repo=example.repo, state_root=state_root, environment=environment or dict(os.environ))
    state = where.state_of(load_spec(example.spec).spec.name, where.repository())
    tell(f"demo repository: {example.repo}")
    tell(f"state root: {state.root}")
    wishes = RunWishes(approve_as="headway demo", fresh=_is_over(state))
    ended = run(example.spec, where, wishes, tell, on_event)
    rows = list(LogFile.open(state.log).rows()) if state.log.is_file() else []
    return DemoEnded(ended, example.repo, rows)


def _is_over(state: StateRoot) -> bool:
    if not state.log.is_file():
        return False
    _, log = read_log(state)
    return log.run_state is not None and log.run_state.status == RunStatus.FINAL


def examples() -> tuple[str, ...]:
    """Name the bundled examples."""
    return example_names()
