"""The text of a file that another tool wrote, line by line."""

import codecs
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def text_from(data: bytes) -> tuple[str, str]:
    """Give a file's text, and what to tell of its encoding.

    Args:
        data: the file's bytes; UTF-8, or what its byte order mark says.
    Returns: the text without the mark, bytes that are none as escapes; a note, empty where there is nothing to tell.
    """
    mark, name = next(((mark, name) for mark, name in _MARKS if data.startswith(mark)), (b"", "utf-8"))
    body = data[len(mark) :]
    try:
        return body.decode(name), ""
    except UnicodeDecodeError as wrong:
        line = body.count(b"\n", 0, wrong.start) + 1
        told = f"line {line}: bytes that are not {name.upper()} text are kept as escapes"
        return body.decode(name, "backslashreplace"), told


def numbered(text: str) -> Iterator[tuple[int, str]]:
    """Give the lines of a text with their numbers from 1, without their ends; blank ones are left out."""
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")
        if line.strip():
            yield number, line


def json_from(text: str) -> Any:
    """Parse JSON; numbers that JSON does not have (NaN) become texts.

    Raises: ValueError, where it is none, or nested too deeply.
    """
    try:
        return json.loads(text, parse_constant=str, parse_int=_whole)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _whole(digits: str) -> int | str:
    return int(digits) if len(digits) <= 4000 else digits


def time_of(value: Any) -> str | None:
    """Give a recorded time as ISO 8601 in UTC; None where it is none.

    Args:
        value: seconds or milliseconds since 1970, or a text.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str):
        return _time_text(value.strip())
    seconds = value / 1000 if abs(value) > 1e11 else value
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return None


def _time_text(text: str) -> str | None:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return None
    return text.replace(" ", "T", 1) if len(text) > len("2026-11-30") else None
