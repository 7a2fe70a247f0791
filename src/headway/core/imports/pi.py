"""pi-autoresearch: JSON lines, of which those with `run` and `status` are run records.

`config` lines begin a segment; where there are none, the records' own `segment` does. `metric` of a crash is what the
tool writes when nothing was measured (0, 999), so it is kept as recorded and taken for no measurement; a zero of any
other run is a zero.

Source: the published logs of that family (record kinds, keys and their types).
"""

from collections.abc import Mapping
from typing import Any

from headway.core.imports.found import HIGHER, LOWER, Direction, Found, Reading, Segment, Skipped
from headway.core.imports.keepable import number_of
from headway.core.imports.lines import json_from, numbered, time_of
from headway.core.imports.words import outcome_of
from headway.core.log_words import Outcome

FORMAT = "pi-autoresearch"
_MAPPED = frozenset({"metric", "status", "description", "timestamp", "commit", "metrics"})
_OF_SEGMENT = frozenset({"type", "name", "metricName", "metricUnit", "bestDirection", "direction"})
_NOT_MEASURED = (Outcome.ERROR, Outcome.TIMEOUT)
_KEYS_SHOWN = 4


def read_pi(text: str) -> Reading:
    """Read a pi-autoresearch log.

    Args:
        text: of the whole file.
    Returns: its run records, segments, and every other line with the reason why it is none.
    """
    state = _State()
    for line, raw in numbered(text):
        try:
            record = json_from(raw)
        except ValueError:
            state.skip(line, "not a whole JSON value: the line is cut off or damaged")
            continue
        state.take(line, record)
    notes = (f"{state.repeated} run numbers are used again in their segment",) if state.repeated else ()
    return Reading(FORMAT, tuple(state.runs), tuple(state.segments), tuple(state.skipped), notes)


class _State:
    """What was read so far."""

    def __init__(self) -> None:
        self.runs: list[Found] = []
        self.segments: list[Segment] = []
        self.skipped: list[Skipped] = []
        self.repeated = 0
        self._seen: set[tuple[int, Any]] = set()
        self._field: Any = None
        self._of_field: dict[str, int] = {}
        self._current = 0
        self._is_begun = True

    def skip(self, line: int, reason: str) -> None:
        self.skipped.append(Skipped(line, reason))

    def take(self, line: int, record: Any) -> None:
        if not isinstance(record, dict):
            self.skip(line, "a JSON value that is no record")
        elif record.get("type") == "config":
            self._begin(line, record)
        elif "run" in record and "status" in record:
            self._add(line, record)
        else:
            self.skip(line, _why(record))

    def _begin(self, line: int, record: Mapping[str, Any]) -> None:
        if not self._is_begun and self.segments:
            self.segments.pop()  # a second declaration before the first run
        self.segments.append(_segment(line, record))
        self._is_begun = False

    def _add(self, line: int, record: Mapping[str, Any]) -> None:
        index = self._index(record.get("segment"))
        key = (index, repr(record["run"]))
        self.repeated += key in self._seen
        self._seen.add(key)
        self.runs.append(_run(line, index, record))

    def _index(self, field: Any) -> int:
        """Give the segment of a run: what was just declared; else the last one that its field stood for.

        Sessions that were merged into one file take turns without declaring themselves anew.
        """
        if not self.segments:
            self.segments.append(Segment())
        if not self._is_begun or field is None:
            self._current = len(self.segments) - 1
        elif field != self._field:
            if repr(field) not in self._of_field and self._field is not None:
                last = self.segments[-1]
                self.segments.append(Segment(None, last.name, last.metric, last.unit, last.direction))
            self._current = self._of_field.get(repr(field), len(self.segments) - 1)
        self._is_begun = True
        if field is not None:
            self._field = field
            self._of_field[repr(field)] = self._current
        return self._current


def _segment(line: int, record: Mapping[str, Any]) -> Segment:
    return Segment(
        line=line,
        name=_text(record.get("name")),
        metric=_text(record.get("metricName")),
        unit=_text(record.get("metricUnit")),
        direction=_direction(record.get("bestDirection") or record.get("direction")),
        settings={key: value for key, value in record.items() if key not in _OF_SEGMENT},
    )


def _direction(word: Any) -> Direction | None:
    plain = str(word).strip().casefold()
    if plain.startswith(("lower", "min")):
        return LOWER
    return HIGHER if plain.startswith(("higher", "max")) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _run(line: int, segment: int, record: Mapping[str, Any]) -> Found:
    status = record["status"] if isinstance(record["status"], str) else repr(record["status"])
    outcome = outcome_of(status) or Outcome.MEASURED
    value = None if outcome in _NOT_MEASURED else number_of(record.get("metric"))
    others = record.get("metrics")
    rest = {key: inner for key, inner in record.items() if key not in _MAPPED}
    if others is not None and not isinstance(others, dict):
        rest["metrics"] = others
    at = time_of(record.get("timestamp"))
    if at is None and record.get("timestamp") is not None:
        rest["timestamp"] = record["timestamp"]
    description = record.get("description")
    return Found(
        line=line,
        segment=segment,
        outcome=outcome,
        status=status,
        description=description if isinstance(description, str) else "",
        metric=value,
        diagnostics=others if isinstance(others, dict) else {},
        commit=record.get("commit"),
        at=at,
        raw_metric=record.get("metric") if value is None else None,
        rest=rest,
    )


def _why(record: Mapping[str, Any]) -> str:
    kind = record.get("type") or record.get("kind") or record.get("event")
    if isinstance(kind, str):
        return f"a record of the kind `{kind}`, which is no run record: it lacks `run` or `status`"
    keys = ", ".join(list(map(str, record))[:_KEYS_SHOWN]) or "none at all"
    return f"another schema's record (keys {keys}...): it lacks `run` or `status`"
