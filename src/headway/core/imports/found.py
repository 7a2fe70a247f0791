"""What an importer finds in another tool's log, before it becomes ours."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headway.core.log_words import Outcome

Direction = str
LOWER: Direction = "lower"
HIGHER: Direction = "higher"


@dataclass(frozen=True)
class Skipped:
    """A line that became no experiment.

    Args:
        line: its number in the file, from 1.
        reason: in words.
    """

    line: int
    reason: str


@dataclass(frozen=True)
class Segment:
    """A stretch of runs that were measured by one metric.

    Args:
        line: where it is declared; None where nothing declares it.
        name: what the tool calls it.
        metric: name of the primary metric; None: unknown.
        unit: of the metric, where it is recorded.
        direction: `lower` or `higher` is better, as recorded; None: not recorded.
        settings: all else that its declaration says.
    """

    line: int | None = None
    name: str | None = None
    metric: str | None = None
    unit: str | None = None
    direction: Direction | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Found:
    """One run as another tool recorded it.

    Args:
        line: its line in the file, from 1.
        segment: index of its segment.
        outcome: what the recorded verdict means here; `measured` where none is recorded.
        status: the verdict's own word; None where there is none.
        description: what was tried, in the tool's words; empty: not recorded.
        metric: the primary metric's value; None: not measured, or unknown.
        diagnostics: what else was measured.
        commit: as recorded, whatever it is.
        at: ISO 8601; None: not recorded.
        raw_metric: the metric as recorded where it was not taken for a measurement.
        learnings: what the tool says came of it.
        category: of the change, where one is recorded.
        error: why it failed, where that is recorded.
        rest: all else that is recorded of it.
    """

    line: int
    segment: int
    outcome: Outcome
    status: str | None = None
    description: str = ""
    metric: int | float | None = None
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    commit: Any = None
    at: str | None = None
    raw_metric: Any = None
    learnings: str = ""
    category: str = ""
    error: str = ""
    rest: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """All that an importer found in one source.

    Args:
        format: its name.
        runs: every run record, in the order of the source; duplicates included.
        segments: those that `runs` name by index.
        skipped: lines that are no run records, each with its reason.
        notes: what a reader should know of how it was read.
        name: of the whole, where the source says it.
    """

    format: str
    runs: tuple[Found, ...] = ()
    segments: tuple[Segment, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()
    name: str = ""
