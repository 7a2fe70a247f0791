"""What `log check` reports: findings, and those that the records' own models make of a row.

Source: seed 004 (types, enums, required fields); CONTRACTS section 2 (unknown keys are kept and reported).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Any

from pydantic import ValidationError

from headway.core.rows import EXTENSION, Row


class Severity(StrEnum):
    """How much a finding matters: the log contradicts itself; something is off or unknown; worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True)
class Finding:
    """One thing about a log that its reader should know.

    Args:
        severity: how much it matters.
        where: the place in the document: `experiments[3].outcome`.
        what: what is the case, in words.
        mend: what to do about it; empty where there is nothing to do.
        iteration: number of the experiment concerned, where the finding is about one that has a number.
        line: line of the file, where it is known.
    """

    severity: Severity
    where: str
    what: str
    mend: str = ""
    iteration: int | None = None
    line: int | None = None


def plain(value: Any) -> Any:
    """Give a parsed value with dates as text, for YAML 1.1 loaders turn unquoted timestamps into dates."""
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [plain(inner) for inner in value]
    return value.isoformat() if isinstance(value, date) else value


def misfits(record: type[Row], value: Any, where: str, severity: Severity) -> Iterator[Finding]:
    """Report where a value is not what its record's model says: one finding a place, the values in the words of YAML.

    Args:
        record: the model that the value should fit.
        value: the parsed value, already `plain`.
        where: its place in the document.
        severity: how much a departure from the schema matters in this log.
    """
    try:
        record.model_validate(value)
    except ValidationError as error:
        told: set[str] = set()
        for detail in error.errors(include_url=False):
            place, found = _place(value, detail["loc"], missing=detail["type"] == "missing")
            spot = where + place
            if spot not in told and not (isinstance(found, float) and not math.isfinite(found)):
                told.add(spot)
                yield Finding(severity, spot, _in_words(detail, found), _mend(detail))


def _place(value: Any, path: Sequence[int | str], *, missing: bool) -> tuple[str, Any]:
    """Follow pydantic's path through the row as far as the row goes: beyond it stand names of union branches."""
    place, here = "", value
    for step in path:
        if isinstance(here, Mapping) and step in here:
            place, here = f"{place}.{step}", here[step]
        elif isinstance(here, list) and isinstance(step, int) and step < len(here):
            place, here = f"{place}[{step}]", here[step]
        elif missing:
            return f"{place}.{step}", None
        else:
            break
    return place, here


def _in_words(detail: Mapping[str, Any], found: Any) -> str:
    if detail["type"] == "missing":
        return "is missing; absent means unknown"
    if detail["type"] in ("enum", "literal_error"):
        return f"{found!r} is none of {detail['ctx']['expected']}"
    return f"{_short(found)}: {detail['msg'][0].lower()}{detail['msg'][1:]}"


def _mend(detail: Mapping[str, Any]) -> str:
    if detail["type"] in ("enum", "literal_error"):
        return "write one of these words"
    return "write it in, where it is known" if detail["type"] == "missing" else ""


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def strange_keys(record: type[Row], value: Any, where: str) -> Iterator[Finding]:
    """Report keys that the seed does not know and that do not stand under `headway`."""
    if not isinstance(value, Mapping):
        return
    for key in value:
        if key not in record.model_fields:
            yield Finding(
                Severity.WARNING,
                f"{where}.{key}".lstrip("."),
                "unknown key; it is kept as it is, and nothing reads it",
                f"put it under `{EXTENSION}`, or take it out, if it was meant to say something",
            )


def odd_numbers(value: Any, where: str) -> Iterator[Finding]:
    """Report numbers that are not finite, wherever they stand below `value`."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from odd_numbers(inner, f"{where}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from odd_numbers(inner, f"{where}[{index}]")
    elif isinstance(value, float) and not math.isfinite(value):
        yield Finding(
            Severity.ERROR,
            where,
            f"{value} is not a finite number",
            "take it out: absent means unknown, and a number that is none decides nothing",
        )


def text_for_numbers(metrics: Any, where: str) -> Iterator[Finding]:
    """Report metrics that hold text: they can be shown and never compared."""
    if isinstance(metrics, Mapping):
        for name, value in metrics.items():
            if isinstance(value, str):
                yield Finding(
                    Severity.WARNING,
                    f"{where}.{name}",
                    f"{_short(value)} is text where a number or a snapshot belongs; it is compared with nothing",
                )


def bad_time(value: Any, where: str, severity: Severity) -> Iterator[Finding]:
    """Report a text that is no ISO 8601 timestamp with date and time; what is not text is reported elsewhere."""
    if isinstance(value, str) and not _is_timestamp(value):
        yield Finding(severity, where, f"{_short(value)} is not an ISO 8601 timestamp", "write 2026-11-30T17:46:00Z")


def _is_timestamp(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return "T" in text or " " in text
