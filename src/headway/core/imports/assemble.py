"""From what an importer found to a log of ours: nothing invented, nothing lost.

The verdict is taken as recorded. Which experiment is best is computed from the kept ones alone, by the direction that
is known; where none is known, the last kept one is where the tool stood. Numbers are given anew, in the source's
order, for other tools use theirs twice; the tool's own stands in `headway.imported.rest`.

Source: CONTRACTS section 10; DESIGN section 11 (import reports by line what was skipped).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headway.core.import_records import ImportedEntry, ImportedLog, ImportedSegment
from headway.core.imports.confidence import confidences, is_better
from headway.core.imports.direction import Guess, direction_of
from headway.core.imports.found import Direction, Found, Reading, Segment, Skipped
from headway.core.imports.keepable import keepable, text_of
from headway.core.log_words import Outcome
from headway.core.rows import to_row

UNKNOWN_METRIC = "metric"
"""What the primary metric is called where the log does not name it."""
UNKNOWN = "unknown"
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_BASELINES = (Outcome.KEPT, Outcome.REVERTED)
_FAILURES = (Outcome.ERROR, Outcome.TIMEOUT)


@dataclass(frozen=True)
class Origin:
    """The file that a log comes from.

    Args:
        file: its name, without folders: they say where somebody keeps things.
        sha256: of its bytes.
        direction: the direction that whoever imports it gives; None: as the log says.
    """

    file: str
    sha256: str
    direction: Direction | None = None


@dataclass(frozen=True)
class Imported:
    """A log made of another tool's.

    Args:
        format: the source's.
        rows: every section by name, as `LogFile.create` takes them.
        skipped: the source's lines that became no experiment.
        notes: what a reader should know.
    """

    format: str
    rows: dict[str, Any]
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...]

    @property
    def count(self) -> int:
        """How many run records the source holds."""
        return len(self.rows["experiments"])

    @property
    def outcomes(self) -> dict[str, int]:
        """How many experiments ended in which way."""
        counts: dict[str, int] = {}
        for row in self.rows["experiments"]:
            counts[row["outcome"]] = counts.get(row["outcome"], 0) + 1
        return counts


@dataclass(frozen=True)
class _Part:
    """One segment with its runs, and what was computed of them. `numbers` are the experiments'."""

    segment: Segment
    guess: Guess
    numbers: tuple[int, ...]
    runs: tuple[Found, ...]
    confidence: tuple[float | None, ...]
    baseline: int | None
    best: int | None


def assemble(reading: Reading, origin: Origin) -> Imported:
    """Make a log of what an importer found.

    Args:
        reading: what it found.
        origin: the file.
    Returns: the log's sections with the source's doubts told, ready to be written.
    """
    parts = _parts(reading, origin)
    main = _main(parts)
    notes = (*reading.notes, *_direction_notes(parts), *_main_notes(parts, main))
    entries = {number: _entry(number, run, part, index) for part, number, run, index in _numbered(parts)}
    times = [run.at for run in reading.runs if run.at]
    rows: dict[str, Any] = {"spec": text_of(_name(reading, origin)), "run_id": f"imported-{origin.sha256[:12]}"}
    if times:
        rows["started_at"] = times[0]
    told = ImportedLog(
        format=reading.format,
        file=text_of(origin.file),
        sha256=origin.sha256,
        segments=tuple(_segment(index, part) for index, part in enumerate(parts)),
        skipped=len(reading.skipped),
        notes=tuple(text_of(note) for note in notes),
    )
    baseline = entries[main.baseline].get("metrics") if main and main.baseline else None
    rows["baseline"] = {**({"metrics": baseline} if baseline else {}), "headway": {"imported": to_row(told)}}
    rows["experiments"] = [entries[number] for number in sorted(entries)]
    best = main.best if main else None
    metrics = entries[best].get("metrics") if best else baseline
    rows["best"] = {"iteration": best or 0, **({"metrics": metrics} if metrics else {})}
    return Imported(reading.format, rows, reading.skipped, notes)


def _name(reading: Reading, origin: Origin) -> str:
    named = [reading.name, *(segment.name for segment in reading.segments), origin.file]
    return next(name for name in (*named, UNKNOWN) if name)


def _parts(reading: Reading, origin: Origin) -> list[_Part]:
    of_segment: dict[int, list[tuple[int, Found]]] = {}
    for number, run in enumerate(reading.runs, 1):
        of_segment.setdefault(run.segment, []).append((number, run))
    return [
        _part(reading.segments[index], [n for n, _ in numbered], [run for _, run in numbered], origin)
        for index, numbered in sorted(of_segment.items())
    ]


def _part(segment: Segment, numbers: Sequence[int], runs: Sequence[Found], origin: Origin) -> _Part:
    guess = direction_of(segment.direction, origin.direction, segment.metric, runs)
    measured = [
        (n, run.metric)
        for n, run in zip(numbers, runs, strict=True)
        if run.metric is not None and run.outcome in _BASELINES
    ]
    return _Part(
        segment,
        guess,
        tuple(numbers),
        tuple(runs),
        tuple(confidences(runs, guess.direction)),
        measured[0][0] if measured else None,
        _best(numbers, runs, guess.direction),
    )


def _best(numbers: Sequence[int], runs: Sequence[Found], direction: Direction | None) -> int | None:
    kept = [(n, run.metric) for n, run in zip(numbers, runs, strict=True) if run.outcome is Outcome.KEPT]
    measured = [(n, metric) for n, metric in kept if metric is not None]
    if direction is None or not measured:
        return kept[-1][0] if kept else None
    best, value = measured[0]
    for number, metric in measured[1:]:
        if is_better(metric, value, direction):
            best, value = number, metric
    return best


def _main(parts: Sequence[_Part]) -> _Part | None:
    """Give the segment that the log's own baseline and best are of: the last with a keep, else with a measurement."""
    kept = [part for part in parts if part.best is not None]
    measured = [part for part in parts if part.baseline is not None]
    return next(reversed(kept or measured), None)


def _numbered(parts: Sequence[_Part]) -> list[tuple[_Part, int, Found, int]]:
    return [
        (part, number, run, index)
        for part in parts
        for index, (number, run) in enumerate(zip(part.numbers, part.runs, strict=True))
    ]


def _entry(number: int, run: Found, part: _Part, index: int) -> dict[str, Any]:
    is_keep = run.outcome is Outcome.KEPT
    commit = str(run.commit).strip() if isinstance(run.commit, str) else ""
    is_known = is_keep and _COMMIT.fullmatch(commit) is not None
    row: dict[str, Any] = {
        "iteration": number,
        "batch": number,
        "hypothesis": text_of(run.description) or "not recorded",
        "category": text_of(run.category) or UNKNOWN,
        "outcome": str(run.outcome),
        "gates_passed": False if run.outcome is Outcome.DEGENERATE else None,
        "diagnostics": keepable(dict(run.diagnostics)) or None,
        "metrics": {text_of(part.segment.metric or UNKNOWN_METRIC): run.metric} if run.metric is not None else None,
        "learnings": text_of(run.learnings) or None,
        "commit": commit if is_known else None,
        "error_message": _error(run) if run.outcome in _FAILURES else None,
    }
    told = ImportedEntry(
        line=run.line,
        segment=run.segment,
        status=text_of(run.status) if run.status is not None else None,
        at=run.at,
        metric=keepable(run.raw_metric),
        commit=None if is_known or run.commit is None else keepable(run.commit),
        confidence=part.confidence[index],
        rest=keepable(dict(run.rest)) or None,
    )
    return {
        **{name: value for name, value in row.items() if value is not None},
        "headway": {"imported": to_row(told)},
    }


def _error(run: Found) -> str:
    return text_of(run.error) or f"recorded as `{text_of(run.status or str(run.outcome))}`, without a reason"


def _segment(index: int, part: _Part) -> ImportedSegment:
    segment = part.segment
    return ImportedSegment(
        segment=part.runs[0].segment if part.runs else index,
        line=segment.line,
        name=_text(segment.name),
        metric=_text(segment.metric),
        unit=_text(segment.unit),
        direction=part.guess.direction,
        direction_by=part.guess.by,
        first=part.numbers[0],
        last=part.numbers[-1],
        baseline=part.baseline,
        best=part.best,
        confidence=part.confidence[-1],
        settings=keepable(dict(segment.settings)) or None,
    )


def _text(value: str | None) -> str | None:
    return text_of(value) if value else None


def _direction_notes(parts: Sequence[_Part]) -> list[str]:
    notes = []
    for part in parts:
        metric = part.segment.metric or UNKNOWN_METRIC
        where = f"experiments {part.numbers[0]} to {part.numbers[-1]}"
        if part.guess.by == "unknown":
            notes.append(f"{where}: which way `{metric}` is better is not recorded; --direction says it")
        elif part.guess.by in ("name", "keeps"):
            by = "from the metric's name" if part.guess.by == "name" else "from what was kept"
            notes.append(f"{where}: {part.guess.direction} `{metric}` is taken for better, inferred {by}")
    return notes


def _main_notes(parts: Sequence[_Part], main: _Part | None) -> list[str]:
    if main is None or len(parts) == 1:
        return []
    first, last = main.numbers[0], main.numbers[-1]
    return [f"{len(parts)} segments: the log's baseline and best are those of experiments {first} to {last}"]
