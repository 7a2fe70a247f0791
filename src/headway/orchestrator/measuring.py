"""Prepares clean checkouts and runs the harness in them, each as a supervised job with a folder of its own.

Source: DESIGN section 6 (measurement contract); CONTRACTS sections 3 and 5.
"""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from headway.adapters.job_folder import (
    JobExit,
    JobKind,
    JobOrder,
    JobState,
    JobStatus,
    last_lines,
    read_bounded,
    read_exit,
)
from headway.adapters.processes import Jobs
from headway.adapters.supervisor import ASKED_FOR
from headway.adapters.workspaces.worktree import Tree, TreePool
from headway.core.checks import ran_no_test
from headway.core.events import Event, SampleStatus, SampleTaken, Stage
from headway.core.json_objects import without_escapes
from headway.core.output import InvalidSample, Sample, read_metrics, to_sample
from headway.core.spec import Spec
from headway.errors import InternalFault

FAMILY_TIMEOUT_SECONDS = 600.0
"""The family's default, in force until the calibration has said how long a measurement takes."""
LAST_LINES = 100
METRICS_COPY = "metrics"
MAX_LOST_JOBS = 3


@dataclass(frozen=True)
class Prepared:
    """How far the preparation of a checkout came; `stage` is READY, or the step that failed."""

    stage: Stage
    ok: bool
    detail: str = ""


@dataclass(frozen=True)
class Reading:
    """What one run of the harness came to."""

    status: SampleStatus
    reason: str = ""
    sample: Sample | None = None
    started_at: str = ""
    elapsed_seconds: float = 0.0
    folder: Path | None = None
    notes: tuple[str, ...] = ()


@dataclass
class Measuring:
    """Everything that a measurement needs of the world.

    Args:
        spec: the frozen spec.
        pool: the trees.
        jobs: the supervisor's client.
        environment: what of the user's environment jobs may see.
        user_root: the user's checkout: where shared files come from.
        harness_files: folder with the frozen copies of `measurement.harness_files`.
        machine_lock: lock file that serialises measurements on this machine; None with `exclusive: none`.
        timeout_seconds: limit of one run of the harness.
        relative: gives a path as records name it, without what is particular to this machine.
    """

    spec: Spec
    pool: TreePool
    jobs: Jobs
    environment: Mapping[str, str]
    user_root: Path
    harness_files: Path
    machine_lock: Path | None
    timeout_seconds: float = FAMILY_TIMEOUT_SECONDS
    relative: Callable[[Path], str] = str
    _ready: dict[str, str] = field(default_factory=dict)

    def prepare(self, name: str, commit: str, jobs_folder: Path, label: str, checks: bool) -> Prepared:
        """Make the tree `name` a clean checkout of a commit, set up, built and, if wanted, checked.

        Args:
            name: the measuring tree's name.
            commit: what it is to hold.
            jobs_folder: where the jobs' folders go.
            label: part of their names: `cand-1`.
            checks: run `checks_command` and the smoke test too: for candidates, before their first sample.
        Returns: READY, or the stage that failed with its last lines.
        Raises: git's own failures; SharedFileMissing, for that is no commit's fault (BR-51).
        """
        self._ready.pop(name, None)
        tree = self.pool.tree(name)
        measurement = self.spec.measurement
        self.pool.prepare(tree, commit, keep=measurement.build_cache)
        self.pool.copy_shared(tree, self.user_root, self.spec.parallel.shared_files)
        self._copy_harness_files(tree)
        steps: list[tuple[Stage, JobKind, str | None]] = [
            (Stage.SETUP, JobKind.SETUP, measurement.setup_command),
            (Stage.BUILD, JobKind.BUILD, measurement.build_command),
        ]
        if checks:
            steps.append((Stage.CHECKS, JobKind.CHECKS, measurement.checks_command))
            if measurement.stability.mode == "ladder":
                steps.append((Stage.SMOKE, JobKind.SMOKE, measurement.stability.ladder.smoke_command))
        for stage, kind, command in steps:
            if command is None:
                continue
            failure = self._step(tree, kind, command, jobs_folder, f"{stage}-{label}")
            if failure is not None:
                return Prepared(stage, False, failure)
        self._ready[name] = commit
        return Prepared(Stage.READY, True)

    def is_ready(self, name: str, commit: str) -> bool:
        """Say whether a tree holds this commit, prepared by this process."""
        return self._ready.get(name) == commit

    def _copy_harness_files(self, tree: Tree) -> None:
        for path in self.spec.measurement.harness_files:
            target = tree.path / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(self.harness_files / path, target)

    def _step(self, tree: Tree, kind: JobKind, command: str, jobs_folder: Path, label: str) -> str | None:
        """Run one preparing command; give its last lines when it failed, else None.

        One that died with headway or with its own keeper is run again, also by a resumed process, but not for ever.
        """
        while deaths_of(self.jobs, jobs_folder, label) < MAX_LOST_JOBS:
            end = self.jobs.run(
                JobOrder(
                    folder=fresh_folder(jobs_folder, label),
                    id=label,
                    kind=kind,
                    command=command,
                    cwd=self._cwd(tree),
                    env=self._environment(seed=0),
                    timeout_seconds=max(self.timeout_seconds, FAMILY_TIMEOUT_SECONDS),
                    machine_lock=self.machine_lock,
                )
            )
            if end.ok:
                none = ran_no_test(_said(end)) if kind is JobKind.CHECKS else ""
                return f"`{command}` ran no test: {none}" if none else None
            if not is_death(end):
                return f"`{command}` {how_it_ended(end)}\n{last_words(end, LAST_LINES)}"
        return f"`{command}` was killed from outside, or headway with it, {MAX_LOST_JOBS} times"

    def sample(self, name: str, commit: str, folder: Path, job_id: str, seed: int) -> Reading:
        """Run the harness once in a prepared tree, or take up the run that the folder tells of.

        Args:
            name: the measuring tree's name.
            commit: what is measured; a tree that this process has not prepared for it is prepared first.
            folder: the job's folder; `<folder>_2` and so on for a run that was lost.
            job_id: the action's id.
            seed: the value of `HEADWAY_SEED`.
        Returns: a valid sample, an invalid one with the reason, a timeout, or `lost` after three lost runs.
        """
        attempt = deaths = 0
        while deaths < MAX_LOST_JOBS:
            attempt += 1
            own = folder if attempt == 1 else folder.with_name(f"{folder.name}_{attempt}")
            state = self.jobs.state(own)
            if state is JobState.ABSENT:
                if not self.is_ready(name, commit):
                    prepared = self.prepare(name, commit, folder.parent, f"again-{folder.name}", checks=False)
                    if not prepared.ok:
                        return Reading(SampleStatus.INVALID, f"{prepared.stage} failed: {prepared.detail}", folder=own)
                end = self.jobs.run(self._order(name, own, job_id, seed))
            else:
                end = self.jobs.attach(own)
            if end.status in (JobStatus.LOST, JobStatus.CANCELED):
                deaths += is_death(end)
                continue
            return self._read(self.pool.tree(name), end)
        return Reading(
            SampleStatus.LOST, f"the measurement was killed from outside {MAX_LOST_JOBS} times", folder=folder
        )

    def _order(self, name: str, folder: Path, job_id: str, seed: int) -> JobOrder:
        tree = self.pool.tree(name)
        metrics_file = self.spec.measurement.metrics_file
        if metrics_file:
            (self._cwd(tree) / metrics_file).unlink(missing_ok=True)
        return JobOrder(
            folder=folder,
            id=job_id,
            kind=JobKind.MEASURE,
            command=self.spec.measurement.command,
            cwd=self._cwd(tree),
            env=self._environment(seed),
            timeout_seconds=self.timeout_seconds,
            outlives=True,
            machine_lock=self.machine_lock,
        )

    def _cwd(self, tree: Tree) -> Path:
        return tree.path / self.spec.measurement.working_directory

    def _environment(self, seed: int) -> dict[str, str]:
        extra = {"HEADWAY_SEED": str(seed), "HEADWAY_SLOT": "0", "PYTHONDONTWRITEBYTECODE": "1"}
        parallel = self.spec.parallel
        if parallel.port_strategy == "parameterized" and parallel.port_env_var:
            extra[parallel.port_env_var] = str(parallel.port_base)
        return {**self.environment, **extra}

    def _read(self, tree: Tree, end: JobExit) -> Reading:
        """Turn the end of a harness run into a reading: strict numbers, or the reason why there is none."""
        at = {"started_at": end.started_at or "", "elapsed_seconds": end.elapsed_seconds, "folder": end.folder}
        notes = tuple(f"killed a process that was left running: {left.cmdline}" for left in end.leftovers[:3])
        if end.status is JobStatus.TIMEOUT:
            reason = (
                f"the measurement took longer than {self.timeout_seconds:g} s and was ended after "
                f"{end.elapsed_seconds:.1f} s (headway's exit 124)"
            )
            return Reading(SampleStatus.TIMEOUT, reason, notes=notes, **at)  # type: ignore[arg-type]
        if not end.ok:
            reason = f"the measurement command {how_it_ended(end)}: {last_words(end, 20)}"
            return Reading(SampleStatus.INVALID, reason, notes=notes, **at)  # type: ignore[arg-type]
        raw = read_metrics(
            read_bounded(end.stdout_path),
            output_format=self.spec.measurement.output_format,
            extract=self.spec.measurement.extract,
            metrics_text=self._metrics_text(tree, end),
        )
        sample = to_sample(raw, self.spec)
        if isinstance(sample, InvalidSample):
            return Reading(SampleStatus.INVALID, sample.reason, notes=notes, **at)  # type: ignore[arg-type]
        return Reading(SampleStatus.VALID, sample=sample, notes=(*notes, *sample.notes), **at)  # type: ignore[arg-type]

    def _metrics_text(self, tree: Tree, end: JobExit) -> str | None:
        """Give the declared metrics file's text, kept beside the job's output; empty when it was not written."""
        if not self.spec.measurement.metrics_file:
            return None
        copy = end.folder / METRICS_COPY
        if not copy.exists():
            source = self._cwd(tree) / self.spec.measurement.metrics_file
            if not source.is_file():
                return ""
            shutil.copyfile(source, copy)
        return read_bounded(copy)


def how_it_ended(end: JobExit) -> str:
    """Say in words how a job ended."""
    match end.status:
        case JobStatus.EXITED:
            return f"ended with exit code {end.code}"
        case JobStatus.SIGNALED:
            return f"was ended by signal {end.signal}"
        case JobStatus.TIMEOUT:
            return "ran into its time limit"
        case JobStatus.IDLE_TIMEOUT:
            return "ran into the limit without output"
        case JobStatus.CANCELED | JobStatus.LOST:
            return "was ended from outside"


def last_words(end: JobExit, lines: int) -> str:
    """Give the last lines of a job's standard error, or of its output when it left none."""
    for path in (end.stderr_path, end.stdout_path):
        if path.exists():
            text = last_lines(path, lines).strip()
            if text:
                return text
    return "it printed nothing"


def fresh_folder(parent: Path, name: str) -> Path:
    """Make a job folder that nobody has: `name`, else `name_2` and so on."""
    parent.mkdir(parents=True, exist_ok=True)
    for attempt in range(1, 10_000):
        folder = parent / (name if attempt == 1 else f"{name}_{attempt}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise InternalFault("ten thousand jobs of one name", str(parent / name))


def _said(end: JobExit) -> str:
    return without_escapes("\n".join(read_bounded(p) for p in (end.stdout_path, end.stderr_path) if p.exists()))


def is_death(end: JobExit) -> bool:
    """Say whether a job that had begun ended because its keeper was killed, or headway was: nobody asked for it."""
    was_canceled = end.status is JobStatus.CANCELED and end.started_at is not None and end.reason != ASKED_FOR
    return was_canceled or end.status is JobStatus.LOST


def jobs_named(parent: Path, name: str) -> list[Path]:
    """Give the folders of the jobs of one name (see `fresh_folder`)."""
    return [f for f in parent.glob(f"{name}*") if f.name == name or f.name.removeprefix(f"{name}_").isdigit()]


def deaths_of(jobs: Jobs, parent: Path, name: str) -> int:
    """Count the deaths among the jobs of one name (see `fresh_folder`), over all processes of a run (BR-22)."""
    states = {folder: jobs.state(folder) for folder in jobs_named(parent, name)}
    return sum(
        state is JobState.LOST or (state is JobState.DONE and is_death(jobs.attach(folder)))
        for folder, state in states.items()
    )


def has_unrecorded(jobs_folder: Path, facts: Iterable[Event], state_root: Path) -> bool:
    """Say whether a measurement in a folder of jobs has ended by itself and no fact tells of it yet."""
    told = {fact.job for fact in facts if isinstance(fact, SampleTaken)}
    folders = [f for kind in ("measure", "integrated") for f in jobs_folder.glob(f"{kind}*")]
    ends = {f: read_exit(f) for f in folders if os.path.relpath(f, state_root) not in told}
    return any(end is not None and end.status not in (JobStatus.LOST, JobStatus.CANCELED) for end in ends.values())


def seed_of(run_id: str, iteration: int, session: str, index: int) -> int:
    """Give the seed of one pair of samples: new for each pair, shared by its two sides, the same after a resume."""
    digest = hashlib.sha256(f"{run_id}/{iteration}/{session}/{index}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1
