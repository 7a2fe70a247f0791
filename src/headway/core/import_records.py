"""The log's records of where an imported experiment came from.

They stand under `headway.imported`. A log whose baseline carries one is another tool's: what it lacks is unknown, and
`log check` says so in warnings.

Source: CONTRACTS sections 2 (the extension key; absent means unknown) and 10 (`log import`).
"""

from typing import Any, ClassVar

from headway.core.rows import Bool, Count, Iteration, Number, Row, Text


class ImportedEntry(Row):
    """What another tool recorded of one experiment, as it stands there.

    line: of the source file. status: the verdict's own word. metric: the value as recorded, where it was not taken for
    a measurement; null as recorded. confidence: the segment's so far, computed anew; null where it cannot be. rest: all
    else.
    """

    nullable: ClassVar[frozenset[str]] = frozenset({"metric", "commit", "confidence"})

    line: Count | None = None
    segment: Count | None = None
    status: Text | None = None
    at: Text | None = None
    metric: Any = None
    commit: Any = None
    confidence: Number | None = None
    rest: dict[str, Any] | None = None


class ImportedSegment(Row):
    """A stretch of runs that were measured by one metric.

    direction: `lower` or `higher`; direction_by: `recorded`, `asked`, `name`, `keeps` or `unknown`. baseline: number of
    the first experiment that measured something. best: number of the best kept one.
    """

    segment: Count
    line: Count | None = None
    name: Text | None = None
    metric: Text | None = None
    unit: Text | None = None
    direction: Text | None = None
    direction_by: Text | None = None
    first: Iteration | None = None
    last: Iteration | None = None
    baseline: Iteration | None = None
    best: Iteration | None = None
    confidence: Number | None = None
    settings: dict[str, Any] | None = None


class ImportedLog(Row):
    """Where a whole log came from."""

    format: Text
    file: Text | None = None
    sha256: Text | None = None
    segments: tuple[ImportedSegment, ...] = ()
    skipped: Count | None = None
    notes: tuple[Text, ...] = ()
    migrated: Bool | None = None
    rest: dict[str, Any] | None = None
