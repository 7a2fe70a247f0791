"""Records: one line of JSON each, appended and flushed before anything rests on them.

Source: CONTRACTS section 7.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from headway.errors import DataDamaged, RequestWrong
from headway.store.atomic import disk_failure, fsync_folder, write_fully, write_no_clobber

_SURROGATE = re.compile("[\ud800-\udfff]")
_MEND = "mend or remove that line in an editor; headway has left the file as it is"


class RecordFile:
    """An `events.jsonl` or `run.jsonl`, open for appending by its one writer.

    Attributes:
        torn: where a torn last line, found at open, is kept; None when there was none.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, making it if need be, and set a torn last line aside.

        Raises: DataDamaged, when a line that is not the last cannot be read; DiskFailed.
        """
        self._path = path
        self.torn: Path | None = None
        self._is_synced = True
        try:
            is_new = not path.exists()
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise disk_failure(error, path) from error
        try:
            if is_new:
                fsync_folder(path.parent)
            self._mend_end()
            found = (record.get("event_id") for record in read_records(path))
            self._ids = {event_id for event_id in found if isinstance(event_id, str)}
        except OSError as error:
            self.close()
            raise disk_failure(error, path) from error
        except BaseException:
            self.close()
            raise

    @property
    def path(self) -> Path:
        """Where the file lies."""
        return self._path

    def append(self, record: Mapping[str, Any]) -> bool:
        """Add a record, durably, unless one with its `event_id` is there; as `write`, then `sync`."""
        if not self.write(record):
            return False
        self.sync()
        return True

    def sync(self) -> None:
        """Make durable what was written since the last time. Raises: DiskFailed."""
        if self._is_synced:
            return
        try:
            os.fsync(self._handle)
        except OSError as error:
            raise disk_failure(error, self._path) from error
        self._is_synced = True

    def write(self, record: Mapping[str, Any]) -> bool:
        """Add a record that a later `sync` makes durable, unless one with its `event_id` is there.

        Args:
            record: plain values; lone surrogates in texts are kept as JSON escapes.
        Returns: False when the file has that event already, as after a resume; nothing is written then.
        Raises: RequestWrong, when the record is no JSON; DiskFailed, when the disk refuses (nothing is left of it).
        """
        event_id = record.get("event_id")
        if isinstance(event_id, str) and event_id in self._ids:
            return False
        line = _line_of(record, self._path)
        size = os.fstat(self._handle).st_size
        try:
            write_fully(self._handle, line)
        except OSError as error:
            os.ftruncate(self._handle, size)
            raise disk_failure(error, self._path) from error
        self._is_synced = False
        if isinstance(event_id, str):
            self._ids.add(event_id)
        return True

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __enter__(self) -> "RecordFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _mend_end(self) -> None:
        """Cut off a last line that has no end, and keep it beside; one that lacks nothing but its end gets that."""
        size = os.fstat(self._handle).st_size
        start = _last_line_start(self._handle, size)
        if start == size:
            return
        rest = os.pread(self._handle, size - start, start)
        if isinstance(_parsed(rest), dict):
            write_fully(self._handle, b"\n")
        else:
            self.torn = self._kept(rest)
            os.ftruncate(self._handle, start)
        os.fsync(self._handle)

    def _kept(self, rest: bytes) -> Path:
        count = 1
        while True:
            beside = self._path.with_name(f"{self._path.name}.torn-{count}")
            if not beside.exists() and write_no_clobber(beside, rest):
                return beside
            count += 1


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a file, in order; a last line without an end is left out, its writer may be at it.

    Raises: DataDamaged, with the line, when one is no JSON object; DiskFailed.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    return
                record = _parsed(line)
                if not isinstance(record, dict):
                    raise DataDamaged("a record cannot be read", f"{path}, line {number}", _MEND)
                yield record
    except FileNotFoundError:
        return
    except OSError as error:
        raise disk_failure(error, path) from error


def _line_of(record: Mapping[str, Any], path: Path) -> bytes:
    try:
        text = json.dumps(record, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestWrong(f"a record cannot be written: {error}", str(path), "change that value") from error
    if not text.isascii():
        text = _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return text.encode("utf-8") + b"\n"


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def _last_line_start(handle: int, size: int) -> int:
    """Where the text behind the last line end begins; the size itself when the file ends with one."""
    place = size
    while place > 0:
        low = max(place - 65536, 0)
        found = os.pread(handle, place - low, low).rfind(b"\n")
        if found >= 0:
            return low + found + 1
        place = low
    return 0
