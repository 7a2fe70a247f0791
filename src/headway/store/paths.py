"""Every file name below a state root, once.

Nothing here reads or writes, except the functions at the end that create folders.
Source: DESIGN section 4, CONTRACTS section 1.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from headway.errors import RequestWrong
from headway.store.atomic import disk_failure, write_no_clobber

STATE_FOLDER = ".headway"
_EXPERIMENT_FOLDER = re.compile(r"exp(\d{4,})")


@dataclass(frozen=True)
class ExperimentPaths:
    """One experiment's directory: everything about it, self-contained."""

    folder: Path

    @property
    def experiment_json(self) -> Path:
        return self.folder / "experiment.json"

    @property
    def records(self) -> Path:
        return self.folder / "events.jsonl"

    @property
    def marker(self) -> Path:
        return self.folder / "result.yaml"

    @property
    def jobs(self) -> Path:
        return self.folder / "jobs"

    @property
    def assets(self) -> Path:
        return self.folder / "assets"


@dataclass(frozen=True)
class RunPaths:
    """The run-level artefacts of one run."""

    folder: Path

    @property
    def run_json(self) -> Path:
        return self.folder / "run.json"

    @property
    def run_records(self) -> Path:
        return self.folder / "run.jsonl"

    @property
    def harness_validation(self) -> Path:
        return self.folder / "harness-validation.json"

    @property
    def summary(self) -> Path:
        return self.folder / "summary.json"

    @property
    def stdout(self) -> Path:
        return self.folder / "stdout.log"

    @property
    def stderr(self) -> Path:
        return self.folder / "stderr.log"

    @property
    def done(self) -> Path:
        return self.folder / "_DONE"

    @property
    def archive(self) -> Path:
        return self.folder / "archive"

    @property
    def tapes(self) -> Path:
        return self.folder / "tapes"

    @property
    def experiments(self) -> Path:
        return self.folder / "experiments"

    def experiment(self, iteration: int) -> ExperimentPaths:
        """The directory of one experiment; 0 is the baseline and CP-1."""
        return ExperimentPaths(self.experiments / f"exp{iteration:04d}")


@dataclass(frozen=True)
class StateRoot:
    """The places below one state root."""

    root: Path

    @property
    def spec(self) -> Path:
        return self.root / "spec.yaml"

    @property
    def log(self) -> Path:
        return self.root / "experiment-log.yaml"

    @property
    def digest(self) -> Path:
        return self.root / "strategy-digest.md"

    @property
    def judge_cache(self) -> Path:
        return self.root / "judge-cache.yaml"

    @property
    def private_repo(self) -> Path:
        return self.root / "repo.git"

    @property
    def inbox(self) -> Path:
        return self.root / "inbox"

    @property
    def inbox_done(self) -> Path:
        return self.inbox / "done"

    @property
    def holdout(self) -> Path:
        return self.root / "holdout"

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    def run(self, run_id: str) -> RunPaths:
        """The artefacts of the run with this id."""
        return RunPaths(self.runs / run_id)

    def collected_marker(self, iteration: int) -> Path:
        """The marker that was collected from a remote worker."""
        return self.root / f"exp-{iteration:03d}-result.yaml"


def execution_id(run_id: str, iteration: int) -> str:
    """The id by which everything about one experiment is reached."""
    return f"{run_id}_exp{iteration:04d}"


def iteration_of(folder_name: str) -> int | None:
    """The number in the name of an experiment's directory; None when the name is none."""
    match = _EXPERIMENT_FOLDER.fullmatch(folder_name)
    return int(match[1]) if match else None


def gitignore_of(root: Path) -> Path | None:
    """The `.gitignore` that hides a state root from the user's repository; None when none is due."""
    if root.parent.name == STATE_FOLDER:
        return root.parent / ".gitignore"
    return root / ".gitignore" if root.name == STATE_FOLDER else None


def prepare_state_root(root: Path) -> StateRoot:
    """Create a state root's folder, and hide it from git when it lies in a `.headway` folder.

    Raises: DiskFailed, when the folder cannot be made; RequestWrong, when a file stands in its place.
    """
    ensure_folder(root)
    ignore = gitignore_of(root)
    if ignore is not None:
        write_no_clobber(ignore, b"*\n")
    return StateRoot(root)


def ensure_folder(folder: Path) -> Path:
    """Make a folder and what leads to it; one that exists is left alone.

    Raises: DiskFailed, when the disk refuses; RequestWrong, when a file stands in its place.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise RequestWrong("a file stands where a folder is needed", str(folder), "move that file away") from error
    except OSError as error:
        raise disk_failure(error, folder) from error
    return folder


def new_run_id(root: StateRoot, now: datetime) -> str:
    """Take a run id that nobody else has, by making its folder.

    Args:
        root: the state root that the run belongs to.
        now: the time of the start, with a time zone.
    Returns: `YYYYmmdd_HHMMSS` in UTC, with `_2` and so on when that is taken.
    Raises: DiskFailed, when the folder cannot be made.
    """
    ensure_folder(root.runs)
    stem = now.astimezone(UTC).strftime("%Y%m%d_%H%M%S")
    count = 1
    while True:
        run_id = stem if count == 1 else f"{stem}_{count}"
        try:
            root.run(run_id).folder.mkdir()
        except FileExistsError:
            count += 1
        except OSError as error:
            raise disk_failure(error, root.run(run_id).folder) from error
        else:
            return run_id
