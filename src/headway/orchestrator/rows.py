"""`experiment.json`: one experiment's row beside its records, from the same function that writes the log.

Derived: rewritten after every commit that changes the row, and from the log at a start.
Source: CONTRACTS section 7; seed 000 (one execution, one directory, self-describing).
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from headway.core.actions import Job
from headway.core.events import (
    CandidateBuilt,
    ExperimentEvent,
    HypothesisDispatched,
    from_record,
    says_nothing_of_the_code,
)
from headway.core.records import Entry, to_row
from headway.orchestrator.ground import Ground
from headway.orchestrator.reading import entry_of
from headway.store.log import LogFile
from headway.store.paths import ExperimentPaths, ensure_folder, execution_id, iteration_of
from headway.store.records import read_records

MARK = "mark"
"""Key beside the row: what the log's text of it is recognised by."""
TREES = "trees"
"""Key beside the row: the (reference tree, candidate tree) that a repeat is recognised by."""


class ExperimentFiles:
    """The folders of one run's experiments."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._made: set[int] = set()

    def make_folder(self, iteration: int) -> ExperimentPaths:
        """Make an experiment's folder, before anything of it can fail."""
        paths = self._ground.run.experiment(iteration)
        if iteration not in self._made:
            ensure_folder(paths.jobs)
            self._made.add(iteration)
        return paths

    def iterations(self) -> list[int]:
        """Give the numbers of all experiment folders but the baseline's."""
        try:
            names = [p.name for p in self._ground.run.experiments.iterdir()]
        except FileNotFoundError:
            return []
        return sorted(n for name in names if (n := iteration_of(name)) is not None and n > 0)

    def highest(self, file: LogFile) -> int:
        """Give the highest number taken in the log, the folders and the private refs of this run."""
        prefix = f"refs/headway/{self._ground.spec.name}/exp-"
        refs = [int(t) for ref in self._ground.private.list_refs(prefix) if (t := _number(ref, prefix))]
        return max([0, *file.iterations(), *self.iterations(), *refs])

    def write(
        self,
        iteration: int,
        entry: Entry | None,
        trees: tuple[str, str] | None,
        jobs: Mapping[str, Job],
        mark: str = "",
    ) -> None:
        """Write one experiment's `experiment.json`; cheap, not synced: it is derived.

        Args:
            iteration: the experiment's number.
            entry: its row; None while the log has none.
            trees: reference and candidate tree, once there is a candidate.
            jobs: what is known of an experiment without a row.
            mark: of the row's text in the log.
        """
        paths = self.make_folder(iteration)
        row = to_row(entry) if entry is not None else _dispatched_row(jobs, iteration)
        content: dict[str, Any] = {
            "run_id": self._ground.run_id,
            "execution_id": execution_id(self._ground.run_id, iteration),
            "spec": self._ground.spec.name,
            "base_sha": row.get("headway", {}).get("base", self._ground.base),
            "worker": "local",
            "stage": str(entry.outcome) if entry is not None else _stage(jobs, iteration),
            "row": row,
        }
        if mark:
            content[MARK] = mark
        if trees is not None:
            content[TREES] = list(trees)
        text = json.dumps(content, ensure_ascii=False) + "\n"
        self._ground.write_derived(paths.experiment_json, text.encode("utf-8", "surrogatepass"))

    def take_up(self, file: LogFile, remember: Callable[[Entry, tuple[str, str] | None], None]) -> None:
        """Hand every entry of the log on, one at a time, with the trees that its folder tells of.

        An `experiment.json` that was written for the very text that the log holds is read in its place. Any other (its
        writer died before it, or a person edited the log) is written anew, with the trees that the records tell of.
        """
        for iteration, mark in file.marks():
            paths = self._ground.run.experiment(iteration)
            known = _read(paths.experiment_json)
            row, trees = known.get("row"), _trees(known)
            if not mark or known.get(MARK) != mark or not isinstance(row, dict):
                row = file.fresh_entry(iteration)
                trees = _trees_on_record(paths.records) or trees
                entry = entry_of(file, row)
                if entry is not None:
                    self.write(iteration, entry, trees, {}, mark)
            else:
                entry = entry_of(file, row)
            if entry is not None:
                remember(entry, trees)


def _number(ref: str, prefix: str) -> str:
    tail = ref[len(prefix) :]
    return tail if tail.isdigit() else ""


def _read(path: Path) -> Mapping[str, Any]:
    """Give what an `experiment.json` holds; a missing or damaged one holds nothing."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _trees(known: Mapping[str, Any]) -> tuple[str, str] | None:
    found = known.get(TREES)
    return (str(found[0]), str(found[1])) if isinstance(found, list) and len(found) == 2 else None


def _trees_on_record(records: Path) -> tuple[str, str] | None:
    """Give the trees of the newest candidate that an experiment's records tell of."""
    built = None
    for record in read_records(records):
        event = from_record(record)
        if isinstance(event, CandidateBuilt):
            built = event
        elif isinstance(event, ExperimentEvent) and says_nothing_of_the_code(event):
            built = None
    return (built.base_tree, built.tree) if built is not None and built.tree and built.base_tree else None


def _dispatched_row(jobs: Mapping[str, Job], iteration: int) -> dict[str, Any]:
    for job in jobs.values():
        if isinstance(job.exit, HypothesisDispatched) and job.exit.iteration == iteration:
            return {
                "iteration": iteration,
                "batch": job.exit.batch,
                "hypothesis": job.exit.item.description,
                "category": job.exit.item.category or "general",
                "headway": {"base": job.exit.base},
            }
    return {"iteration": iteration}


def _stage(jobs: Mapping[str, Job], iteration: int) -> str:
    built = any(isinstance(j.exit, CandidateBuilt) and j.iteration == iteration for j in jobs.values())
    return "candidate" if built else "dispatched"
