"""Say what is wrong, odd or unknown in an experiment log, without changing or refusing anything.

A log that carries a `headway` key anywhere was written by headway: where it departs from the schema, something is
damaged, an error. A log without one, or one that was imported, is another tool's or an older one: its departures are
warnings, for absent means unknown there. Contradictions (two experiments with one number, a best that is none) are
errors in both.

Source: seed 004; CONTRACTS sections 2 and 6; DESIGN section 5 (legacy logs load with warnings).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from headway.core.edits import SECTION_ORDER
from headway.core.experiments import BacklogItem, Comparison, Entry
from headway.core.log_findings import (
    Finding,
    Severity,
    bad_time,
    misfits,
    odd_numbers,
    plain,
    strange_keys,
    text_for_numbers,
)
from headway.core.log_references import Surroundings, check_references, is_imported
from headway.core.log_words import ComparisonKind, Outcome, RunStatus
from headway.core.measurements import Baseline, Best, HarnessValidation
from headway.core.rows import EXTENSION, Row
from headway.core.run_records import Approval, Log, RunState, Totals
from headway.core.totals import recount

_SECTIONS: dict[str, type[Row]] = {
    "baseline": Baseline,
    "harness_validation": HarnessValidation,
    "best": Best,
    "approval": Approval,
    "run_state": RunState,
}
_ABSENT = {
    "harness_validation": "the metric validity gate was not run; that does not say that it would pass",
    "approval": "there is no approval: a run presents its gate again",
}
_TIMES = {
    "baseline": "timestamp",
    "harness_validation": "timestamp",
    "approval": "approved_at",
    "run_state": "phase3_started_at",
}


@dataclass(frozen=True)
class _Row:
    """An experiment's row with its place in the file."""

    index: int
    line: int | None
    row: Any

    @property
    def where(self) -> str:
        return f"experiments[{self.index}]"

    @property
    def iteration(self) -> int | None:
        found = self.row.get("iteration") if isinstance(self.row, Mapping) else None
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    @property
    def outcome(self) -> Outcome | None:
        found = self.row.get("outcome") if isinstance(self.row, Mapping) else None
        return Outcome(found) if found in list(Outcome) else None

    def finding(self, severity: Severity, field: str, what: str, mend: str = "") -> Finding:
        return Finding(severity, f"{self.where}.{field}", what, mend, self.iteration, self.line)


def check_log(
    sections: Mapping[str, Any],
    experiments: Iterable[tuple[int | None, Mapping[str, Any]]] | None,
    around: Surroundings | None = None,
) -> list[Finding]:
    """Report everything that a reader of this log should know.

    Args:
        sections: the top-level sections as parsed; `experiments` is not read here, if it is among them.
        experiments: line in the file (None: not known) and parsed row of each experiment, in the file's order; None
            where the file has no such section.
        around: the spec and the repository that the log can be compared with; None: the log stands alone.
    Returns: the findings, those about sections first (without a line: the caller knows where a section starts), then
        by experiment. An empty list says that nothing was found, not that the log is true.
    """
    parsed = {name: plain(value) for name, value in sections.items() if name != "experiments"}
    rows = [_Row(index, line, plain(row)) for index, (line, row) in enumerate(experiments or ())]
    is_own = _is_ours(parsed, rows)
    departure = Severity.ERROR if is_own else Severity.WARNING
    found = [
        *_check_document(parsed, departure, has_experiments=experiments is not None),
        *_check_sections(parsed, departure),
        *_check_backlog(parsed.get("hypothesis_backlog"), departure),
        *_check_run_state(parsed.get("run_state"), rows),
        *_check_best(parsed.get("best"), rows),
        *_check_totals(parsed.get("run_state"), rows),
    ]
    numbers = {row.iteration for row in rows}
    for row in rows:
        found += (
            replace(finding, iteration=row.iteration, line=row.line) for finding in _check_row(row, departure, numbers)
        )
    plainly = [(row.line, row.row if isinstance(row.row, Mapping) else {}) for row in rows]
    references = check_references(parsed, plainly, around or Surroundings(), is_own=is_own)
    return [*found, *_repeated_numbers(rows), *references]


def _is_ours(sections: Mapping[str, Any], rows: Iterable[_Row]) -> bool:
    every = [*sections.values(), *(row.row for row in rows)]
    return not is_imported(sections) and any(isinstance(value, Mapping) and EXTENSION in value for value in every)


def _check_document(sections: Mapping[str, Any], departure: Severity, *, has_experiments: bool) -> Iterator[Finding]:
    for name in SECTION_ORDER:
        present = has_experiments if name == "experiments" else sections.get(name) is not None
        if not present and Log.model_fields[name].is_required():
            yield Finding(departure, name, "this section is missing; absent means unknown", "write it in, where known")
        elif not present and name in _ABSENT:
            yield Finding(Severity.INFO, name, _ABSENT[name])
    for name in ("spec", "run_id", "started_at"):
        if name in sections and sections[name] is not None and not isinstance(sections[name], str):
            yield Finding(departure, name, f"{sections[name]!r} is not text", "quote it")
    yield from bad_time(sections.get("started_at"), "started_at", departure)
    yield from strange_keys(Log, sections, "")


def _check_sections(sections: Mapping[str, Any], departure: Severity) -> Iterator[Finding]:
    for name, record in _SECTIONS.items():
        value = sections.get(name)
        if value is None:
            continue
        yield from misfits(record, value, name, departure)
        yield from odd_numbers(value, name)
        yield from strange_keys(record, value, name)
        if isinstance(value, Mapping):
            yield from text_for_numbers(value.get("metrics"), f"{name}.metrics")
            if name in _TIMES:
                yield from bad_time(value.get(_TIMES[name]), f"{name}.{_TIMES[name]}", departure)


def _check_backlog(backlog: Any, departure: Severity) -> Iterator[Finding]:
    if backlog is None:
        return
    if not isinstance(backlog, list):
        yield Finding(departure, "hypothesis_backlog", "is not a list", "write `[]` for an empty one")
        return
    for index, item in enumerate(backlog):
        where = f"hypothesis_backlog[{index}]"
        yield from misfits(BacklogItem, item, where, departure)
        yield from strange_keys(BacklogItem, item, where)


def _check_run_state(state: Any, rows: list[_Row]) -> Iterator[Finding]:
    if not isinstance(state, Mapping):
        return
    waits = state.get("pending_waits")
    waits = waits if isinstance(waits, list) else []
    is_final = state.get("status") == RunStatus.FINAL
    numbers = {row.iteration for row in rows}
    for index, wait in enumerate(waits):
        where = f"run_state.pending_waits[{index}]"
        ours = wait.get(EXTENSION) if isinstance(wait, Mapping) else None
        number = ours.get("iteration") if isinstance(ours, Mapping) else None
        if isinstance(number, int) and number in numbers:
            what = f"waits for experiment {number}, whose entry is already there"
            yield Finding(Severity.ERROR, where, what, "take the wait out", iteration=number)
        if is_final:
            yield Finding(Severity.ERROR, where, "work is outstanding although the run is final")
    for row in rows:
        if is_final and row.outcome is not None and not row.outcome.is_final:
            what = f"{row.outcome} awaits a decision although the run is final"
            yield row.finding(Severity.ERROR, "outcome", what)


def _check_best(best: Any, rows: list[_Row]) -> Iterator[Finding]:
    number = best.get("iteration") if isinstance(best, Mapping) else None
    if not isinstance(number, int) or isinstance(number, bool) or number == 0:
        return
    named = [row for row in rows if row.iteration == number]
    if not named:
        yield Finding(
            Severity.ERROR,
            "best.iteration",
            f"there is no experiment {number}",
            "name the last kept one, or 0 for the baseline",
            iteration=number,
        )
    for row in named:
        if row.outcome is not None and not row.outcome.is_keep:
            what = f"experiment {number} is {row.outcome}, not kept"
            mend = "name the last kept one, or 0 for the baseline"
            yield Finding(Severity.ERROR, "best.iteration", what, mend, iteration=number)


def _check_row(row: _Row, departure: Severity, numbers: set[int | None]) -> Iterator[Finding]:
    yield from misfits(Entry, row.row, row.where, departure)
    if not isinstance(row.row, Mapping):
        return
    yield from odd_numbers(row.row, row.where)
    yield from strange_keys(Entry, row.row, row.where)
    yield from text_for_numbers(row.row.get("metrics"), f"{row.where}.metrics")
    yield from _check_outcome(row, departure)
    yield from _check_merge(row, numbers)
    yield from _check_comparisons(row)
    yield from _check_commit(row, departure)


def _check_commit(row: _Row, departure: Severity) -> Iterator[Finding]:
    """A kept commit is one whose bytes were measured (CONTRACTS section 6)."""
    commit, comparisons = row.row.get("commit"), row.row.get("comparisons")
    pairings = [p for p in comparisons if isinstance(p, Mapping)] if isinstance(comparisons, list) else []
    measured = {p.get("candidate_revision") for p in pairings} - {None}
    if commit is not None and measured and commit not in measured:
        yield row.finding(departure, "commit", "no comparison measured this commit")


def _check_outcome(row: _Row, departure: Severity) -> Iterator[Finding]:
    outcome, has = row.outcome, {name for name, value in row.row.items() if value is not None}
    if outcome is None:
        return
    if outcome.is_keep and "commit" not in has:
        yield row.finding(departure, "commit", f"{outcome}, and no commit is named", "write in the commit, where known")
    if not outcome.is_keep and "commit" in has:
        yield row.finding(Severity.ERROR, "commit", f"{outcome} experiments have no commit on the branch")
    if outcome.is_keep and row.row.get("gates_passed") is False:
        yield row.finding(Severity.ERROR, "gates_passed", f"{outcome}, although a gate failed")
    if outcome.is_failure and "error_message" not in has:
        yield row.finding(Severity.WARNING, "error_message", f"{outcome}, and nothing says why")
    if outcome is Outcome.DEFERRED_NEEDS_APPROVAL and "deferred_reason" not in has:
        yield row.finding(Severity.WARNING, "deferred_reason", "deferred, and nothing says why")


def _check_merge(row: _Row, numbers: set[int | None]) -> Iterator[Finding]:
    merged = row.row.get("merged_with")
    is_runner_up = row.outcome in (Outcome.RUNNER_UP_KEPT, Outcome.RUNNER_UP_REVERTED)
    if merged is None and is_runner_up:
        yield row.finding(Severity.WARNING, "merged_with", f"{row.outcome}, and nothing says with what it was combined")
    if isinstance(merged, int) and merged not in numbers:
        yield row.finding(Severity.ERROR, "merged_with", f"there is no experiment {merged}")
    if merged is not None and merged == row.iteration:
        yield row.finding(Severity.ERROR, "merged_with", "an experiment cannot be combined with itself")
    if merged is not None and not is_runner_up and row.outcome is not None:
        yield row.finding(Severity.WARNING, "merged_with", f"{row.outcome} experiments are combined with nothing")


def _check_comparisons(row: _Row) -> Iterator[Finding]:
    comparisons = row.row.get("comparisons")
    if not isinstance(comparisons, list):
        return
    seen: set[tuple[Any, ...]] = set()
    for index, pairing in enumerate(comparisons):
        if not isinstance(pairing, Mapping):
            continue
        place = f"comparisons[{index}]"
        yield from strange_keys(Comparison, pairing, f"{row.where}.{place}")
        for name in ("workload", "reference", "candidate"):
            if pairing.get(name) is None:
                yield row.finding(Severity.WARNING, f"{place}.{name}", "is missing; absent means unknown")
        same = ("reference_revision", "candidate_revision", "workload", "kind", "machine")
        identity = tuple(repr(pairing.get(name)) for name in same)
        if identity in seen:
            what = "this pairing is already there: its samples belong into one record"
            yield row.finding(Severity.ERROR, place, what)
        seen.add(identity)
    integrated = any(isinstance(p, Mapping) and p.get("kind") == ComparisonKind.INTEGRATED for p in comparisons)
    if row.outcome is Outcome.RUNNER_UP_KEPT and not integrated:
        yield row.finding(Severity.WARNING, "comparisons", "runner_up_kept, and no integrated pairing shows it")


def _repeated_numbers(rows: Iterable[_Row]) -> Iterator[Finding]:
    seen: dict[int, str] = {}
    for row in rows:
        if row.iteration is None:
            continue
        if row.iteration in seen:
            what = f"{row.iteration} is the number of {seen[row.iteration]} too"
            yield row.finding(Severity.ERROR, "iteration", what, "numbers are never used twice: give it a free one")
        seen.setdefault(row.iteration, row.where)


def _check_totals(state: Any, rows: list[_Row]) -> Iterator[Finding]:
    ours = state.get(EXTENSION) if isinstance(state, Mapping) else None
    written = ours.get("totals") if isinstance(ours, Mapping) else None
    if written is None:
        return
    where = f"run_state.{EXTENSION}.totals"
    try:
        totals = Totals.model_validate(written)
        counted = recount(Entry.model_validate(row.row) for row in rows)
    except ValidationError:
        yield Finding(Severity.INFO, where, "not counted again, for an entry or the totals cannot be read")
        return
    yield from _differing(totals, counted, where)


def _differing(totals: Totals, counted: Totals, where: str) -> Iterator[Finding]:
    """Entries may be deleted by hand and the totals do not forget them: then a difference is only worth a warning."""
    lost = Counter(counted.counts) - Counter(totals.counts)
    deleted = sum(totals.counts.values()) > sum(counted.counts.values())
    severity = Severity.WARNING if deleted and not lost else Severity.ERROR
    mend = "entries were deleted by hand; nothing to mend" if severity is Severity.WARNING else ""
    for name in ("counts", "k", "keeps", "measured_since_keep", "failures_in_a_row"):
        said, found = getattr(totals, name), getattr(counted, name)
        if said != found:
            yield Finding(severity, f"{where}.{name}", f"{_plainly(said)} is written, {_plainly(found)} counted", mend)


def _plainly(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {inner}" for key, inner in sorted(value.items())) + "}"
    return str(list(value)) if isinstance(value, tuple) else str(value)
