"""What the loop sees of the log: its sections, its newest entries, and no more.

Source: CONTRACTS section 2 (resume reads the tail).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headway.core.edits import AppendExperiment, Edit, ReplaceExperiment, SetSection
from headway.core.records import (
    Approval,
    BacklogItem,
    Baseline,
    Best,
    Entry,
    HarnessValidation,
    Outcome,
    PendingWait,
    RunState,
)

MEMORY = 64
"""Newest entries held at once: more than a batch and the ten that briefs quote."""


@dataclass(frozen=True)
class Log:
    """The experiment log, as far as choosing needs it."""

    spec: str
    run_id: str
    started_at: str
    baseline: Baseline
    harness_validation: HarnessValidation | None
    best: Best
    approval: Approval | None = None
    run_state: RunState | None = None
    backlog: tuple[BacklogItem, ...] | None = None
    recent: Mapping[int, Entry] = field(default_factory=dict)
    count: int = 0

    @property
    def waits(self) -> tuple[PendingWait, ...]:
        """Give what is outstanding across a process's end; absent means none."""
        return tuple(self.run_state.pending_waits or ()) if self.run_state else ()

    @property
    def dispatched(self) -> tuple[PendingWait, ...]:
        """Give the waits that stand for experiments without an entry yet, in order of their numbers."""
        found = [w for w in self.waits if w.headway and w.headway.iteration is not None]
        return tuple(sorted(found, key=lambda w: (w.headway.iteration if w.headway else 0) or 0))

    @property
    def ticks(self) -> int:
        """Give the number of completed batches."""
        return (self.run_state.tick or 0) if self.run_state else 0

    @property
    def active_seconds(self) -> float:
        """Give the time spent inside ticks so far; an absent clock is zero."""
        return (self.run_state.active_seconds or 0.0) if self.run_state else 0.0

    def of_batch(self, batch: int) -> tuple[Entry, ...]:
        """Give the entries of one batch, in order of their numbers."""
        return tuple(e for _, e in sorted(self.recent.items()) if e.batch == batch)


def log_of(sections: Mapping[str, Any], recent: Iterable[Mapping[str, Any]], count: int) -> Log:
    """Build the view from parsed sections and the rows of the newest entries.

    Args:
        sections: the top-level sections but `experiments`, as parsed.
        recent: rows of the newest entries (and of `best`), in any order.
        count: entries in the file.
    Returns: the view. Raises: pydantic's ValidationError where a section is not what the schema says.
    """
    backlog = sections.get("hypothesis_backlog")
    entries = [Entry.model_validate(dict(row)) for row in recent]
    return Log(
        spec=str(sections["spec"]),
        run_id=str(sections["run_id"]),
        started_at=str(sections["started_at"]),
        baseline=Baseline.model_validate(sections["baseline"]),
        harness_validation=_optional(HarnessValidation, sections.get("harness_validation")),
        best=Best.model_validate(sections["best"]),
        approval=_optional(Approval, sections.get("approval")),
        run_state=_optional(RunState, sections.get("run_state")),
        backlog=None if backlog is None else tuple(BacklogItem.model_validate(item) for item in backlog),
        recent={e.iteration: e for e in entries},
        count=count,
    )


def _optional(model: type[Any], value: Any) -> Any:
    return None if value is None else model.model_validate(value)


def edited(log: Log, edits: Sequence[Edit]) -> Log:
    """Give the view after these edits: what a fresh read of the file would give."""
    for edit in edits:
        match edit:
            case AppendExperiment(row):
                entry = Entry.model_validate(dict(row))
                log = replace(log, recent=_newest({**log.recent, entry.iteration: entry}, log), count=log.count + 1)
            case ReplaceExperiment(iteration, row):
                log = replace(log, recent={**log.recent, iteration: Entry.model_validate(dict(row))})
            case SetSection(name, value):
                log = replace(log, **{_FIELD[name]: _parsed(name, value)})
    return log


def _newest(entries: dict[int, Entry], log: Log) -> dict[int, Entry]:
    if len(entries) <= 2 * MEMORY:
        return entries
    keep = set(sorted(entries)[-MEMORY:]) | {log.best.iteration or 0}
    return {n: e for n, e in entries.items() if n in keep or not Outcome(e.outcome).is_final}


_FIELD = {
    "best": "best",
    "approval": "approval",
    "run_state": "run_state",
    "hypothesis_backlog": "backlog",
    "baseline": "baseline",
    "harness_validation": "harness_validation",
}
_MODEL: dict[str, type[Any]] = {
    "best": Best,
    "approval": Approval,
    "run_state": RunState,
    "baseline": Baseline,
    "harness_validation": HarnessValidation,
}


def _parsed(name: str, value: Any) -> Any:
    if name == "hypothesis_backlog":
        return None if value is None else tuple(BacklogItem.model_validate(item) for item in value)
    return _optional(_MODEL[name], value)


def reference_of(log: Log, base: str) -> str:
    """Give the commit that candidates are compared with: the best entry's, else the base.

    Args:
        log: the log.
        base: commit that the run started from.
    """
    entry = log.recent.get(log.best.iteration or 0)
    return entry.commit if entry is not None and entry.commit else base


def coalesced(edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """Give the same change with at most one edit for each entry and section, in order of their first mention."""
    rows: dict[object, Edit] = {}
    for edit in edits:
        match edit:
            case AppendExperiment(row):
                rows[row["iteration"]] = edit
            case ReplaceExperiment(iteration, row):
                was = rows.get(iteration)
                rows[iteration] = AppendExperiment(row) if isinstance(was, AppendExperiment) else edit
            case SetSection(name, _):
                rows[name] = edit
    return tuple(rows.values())
