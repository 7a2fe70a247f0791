"""A run read whole for looking at it: its log, its spec, and what lies beside it, whatever state they are in.

Nothing here locks or changes anything; the log may be growing. What cannot be read beside the log is named in `notes`
and left out: a report of a damaged run is worth more than none.

Source: DESIGN section 10 (`report`: at any time, also of a crashed or half-finished run); CONTRACTS section 6 (holdout
values are left out unless somebody at a terminal asks).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.core.analysis.facts import Facts, facts_of
from headway.core.figures import without_holdout
from headway.core.log_reading import ReadLog, log_from
from headway.core.spec import Spec
from headway.errors import DataDamaged, HeadwayError
from headway.store.load import load_log
from headway.store.paths import RunPaths, StateRoot, iteration_of
from headway.store.records import read_records
from headway.store.spec_file import load_spec

MOST_NOTES = 20


@dataclass(frozen=True)
class RunFiles:
    """A run as its files tell it.

    Args:
        log: holdout values left out, unless they were asked for.
        spec: the frozen spec; None where none lies beside the log, or this version cannot read it.
        facts: what the records of each experiment tell, by number.
        run: where the run's own files lie; None where the log lies alone.
        run_records: facts of the run itself, in order.
        notes: what could not be read.
    """

    log: ReadLog
    spec: Spec | None
    facts: Mapping[int, Facts]
    run: RunPaths | None
    run_records: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...] = ()

    def diff(self, iteration: int | None) -> str:
        """Give an experiment's patch; empty where it has none, or none that can be read."""
        if self.run is None or iteration is None:
            return ""
        try:
            return (self.run.experiment(iteration).assets / "diff.patch").read_text("utf-8", "replace")
        except OSError:
            return ""


def read_run(path: Path, with_holdout: bool = False) -> RunFiles:
    """Read a run.

    Args:
        path: the log, in a state root or alone.
        with_holdout: leave the values of holdout comparisons in.
    Raises: RequestWrong, where there is no such log; DataDamaged, where it cannot be read; DiskFailed.
    """
    document = load_log(path)
    listed = document.get("experiments")
    if isinstance(listed, list) and not with_holdout:
        document["experiments"] = [without_holdout(row) if isinstance(row, dict) else row for row in listed]
    log = log_from(document)
    notes: list[str] = []
    state = StateRoot(path.resolve().parent)
    spec = _spec(state, log, notes)
    run = state.run(log.run_id) if log.run_id and _is_name(log.run_id) else None
    if run is None or not run.folder.is_dir():
        return RunFiles(log, spec, {}, None, (), tuple(notes))
    facts = _facts(run, notes)
    return RunFiles(log, spec, facts, run, _run_records(run, notes), tuple(notes[:MOST_NOTES]))


def _is_name(text: str) -> bool:
    return text not in (".", "..") and "/" not in text and "\0" not in text


def _spec(state: StateRoot, log: ReadLog, notes: list[str]) -> Spec | None:
    if not state.spec.is_file():
        return None
    try:
        spec = load_spec(state.spec).spec
    except HeadwayError as wrong:
        notes.append(f"the spec beside the log cannot be read: {wrong.what}")
        return None
    if log.spec is not None and spec.name != log.spec:
        notes.append(f"the spec beside the log is of another run: `{spec.name}`")
        return None
    return spec


def _facts(run: RunPaths, notes: list[str]) -> dict[int, Facts]:
    found: dict[int, Facts] = {}
    try:
        names = sorted(path.name for path in run.experiments.iterdir())
    except OSError:
        return found
    for number in (n for name in names if (n := iteration_of(name)) is not None):
        try:
            found[number] = facts_of(read_records(run.experiment(number).records))
        except HeadwayError as damaged:
            notes.append(f"records of experiment {number} cannot be read: {damaged.what} ({damaged.where})")
    return found


def _run_records(run: RunPaths, notes: list[str]) -> tuple[Mapping[str, Any], ...]:
    records: list[Mapping[str, Any]] = []
    try:
        records.extend(read_records(run.run_records))
    except DataDamaged as damaged:
        notes.append(f"the run's records cannot be read to the end: {damaged.where}")
    return tuple(records)
