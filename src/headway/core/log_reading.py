"""Logs read for analysis: typed records, whoever wrote the log.

Absent means unknown, so every field may be None. A value that is not what its field says is left out and named in
`unread`; it is never read as something else. Source: CONTRACTS sections 2 and 7; DESIGN section 5 (legacy logs load).
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from headway.core.experiments import BacklogItem, Change, Comparison, EntryHeadway, Opportunity
from headway.core.log_findings import plain
from headway.core.log_words import NextMeasurement, Outcome
from headway.core.measurements import (
    Baseline,
    Best,
    Cost,
    HarnessValidation,
    Judge,
    MetricValue,
    ObjectiveResult,
    WorstCase,
)
from headway.core.rows import Bool, Count, Int, Iteration, Row, Text, to_row
from headway.core.run_records import Approval, Log, RunState

_MOST_MISFITS = 200
Record = TypeVar("Record", bound=Row)


class ReadExperiment(Row):
    """One experiment as its log tells it: the fields of `Entry`, each of which may be unknown."""

    iteration: Iteration | None = None
    batch: Int | None = None
    hypothesis: Text | None = None
    category: Text | None = None
    outcome: Outcome | None = None
    opportunity: Opportunity | None = None
    comparisons: tuple[Comparison, ...] = ()
    changes: tuple[Change, ...] = ()
    gates: dict[str, Any] | None = None
    gates_passed: Bool | None = None
    diagnostics: dict[str, Any] | None = None
    metrics: dict[str, MetricValue] | None = None
    judge: Judge | None = None
    cost: Cost | None = None
    regressions: tuple[Text, ...] | None = None
    worst_cases: tuple[WorstCase, ...] | None = None
    primary_delta: Text | None = None
    objective_results: dict[str, ObjectiveResult] | None = None
    sample_count: Count | None = None
    next_measurement: NextMeasurement | None = None
    learnings: Text | None = None
    commit: Text | None = None
    deferred_reason: Text | None = None
    error_message: Text | None = None
    merged_with: Iteration | None = None
    headway: EntryHeadway | None = None


class ReadBest(Best):
    """The current best; an unknown number is absent."""

    iteration: Count | None = None  # type: ignore[assignment]


@dataclass(frozen=True)
class ReadLog:
    """A whole log.

    Args:
        experiments: in the file's order.
        hypothesis_backlog: None: the log has none, which is not the same as an empty one.
        unread: places whose values are not what the field says, in the words of `log check`: `experiments[3].batch`.
        rest: sections that the schema does not know, as parsed.
    """

    spec: str | None = None
    run_id: str | None = None
    started_at: str | None = None
    baseline: Baseline | None = None
    harness_validation: HarnessValidation | None = None
    experiments: tuple[ReadExperiment, ...] = ()
    best: ReadBest | None = None
    approval: Approval | None = None
    run_state: RunState | None = None
    hypothesis_backlog: tuple[BacklogItem, ...] | None = None
    unread: tuple[str, ...] = ()
    rest: Mapping[str, Any] | None = None

    def experiment(self, iteration: int) -> ReadExperiment | None:
        """Give the experiment with this number, the last where a log has it twice; None where it has none."""
        return next((found for found in reversed(self.experiments) if found.iteration == iteration), None)


def log_from(document: Mapping[str, Any]) -> ReadLog:
    """Give a parsed log as typed records.

    Args:
        document: the whole log, as plain values.
    """
    unread: list[str] = []
    known = {name: value for name, value in document.items() if name in Log.model_fields}
    rows = _listed(known.get("experiments"), "experiments", unread)
    backlog = _listed(known.get("hypothesis_backlog"), "hypothesis_backlog", unread)
    items = [_record(BacklogItem, item, f"hypothesis_backlog[{i}]", unread) for i, item in enumerate(backlog)]
    found = [_record(ReadExperiment, row, f"experiments[{i}]", unread) for i, row in enumerate(rows)]
    return ReadLog(
        spec=_text(known, "spec", unread),
        run_id=_text(known, "run_id", unread),
        started_at=_text(known, "started_at", unread),
        baseline=_record(Baseline, known.get("baseline"), "baseline", unread),
        harness_validation=_record(HarnessValidation, known.get("harness_validation"), "harness_validation", unread),
        experiments=tuple(row for row in found if row is not None),
        best=_record(ReadBest, known.get("best"), "best", unread),
        approval=_record(Approval, known.get("approval"), "approval", unread),
        run_state=_record(RunState, known.get("run_state"), "run_state", unread),
        hypothesis_backlog=None
        if known.get("hypothesis_backlog") is None
        else tuple(i for i in items if i is not None),
        unread=tuple(unread),
        rest={name: value for name, value in document.items() if name not in Log.model_fields},
    )


def shown_row(row: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Give an entry as far as it is what its fields say, and the places of what is not.

    Args:
        row: as parsed, whoever wrote it.
    """
    unread: list[str] = []
    record = _record(ReadExperiment, row, "", unread)
    return ({} if record is None else to_row(record)), tuple(unread)


def _listed(value: Any, where: str, unread: list[str]) -> Sequence[Any]:
    if value is not None and not isinstance(value, list):
        unread.append(where)
    return value if isinstance(value, list) else ()


def _text(sections: Mapping[str, Any], name: str, unread: list[str]) -> str | None:
    value = plain(sections.get(name))
    if value is not None and not isinstance(value, str):
        unread.append(name)
        return None
    return value


def _record(record: type[Record], value: Any, where: str, unread: list[str]) -> Record | None:
    """Read a row; what does not fit is taken out of a copy, place by place, until the rest fits."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        unread.append(where)
        return None
    try:
        return record.model_validate(value)
    except ValidationError as error:
        problem = error
    row = deepcopy(plain(value))
    for _ in range(_MOST_MISFITS):
        path = min((detail["loc"] for detail in problem.errors(include_url=False)), key=_order)
        place = _take_out(row, path)
        unread.append(where + place)
        if not place:
            return None
        try:
            return record.model_validate(row)
        except ValidationError as error:
            problem = error
    unread.append(where)
    return None


def _order(path: Sequence[int | str]) -> tuple[str, ...]:
    return tuple(f"{step:09d}" if isinstance(step, int) else step for step in path)


def _take_out(row: Any, path: Sequence[int | str]) -> str:
    """Remove the innermost value that a path leads to; give its place. A missing field takes its record with it."""
    place, here = "", row
    holder: Any = None
    last: int | str = ""
    for step in path:
        if isinstance(here, Mapping) and step in here:
            place = f"{place}.{step}"
        elif isinstance(here, list) and isinstance(step, int) and step < len(here):
            place = f"{place}[{step}]"
        else:
            break
        holder, last, here = here, step, here[step]
    if holder is not None:
        del holder[last]
    return place
