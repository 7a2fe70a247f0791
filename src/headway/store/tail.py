"""Records as they are added to a file that another process writes."""

import json
from pathlib import Path
from typing import Any


class Tail:
    """Follows one `events.jsonl` or `run.jsonl`."""

    def __init__(self, path: Path, from_end: bool) -> None:
        """Begin to follow a file, which need not be there yet; `from_end`: leave out what it holds already."""
        self._path = path
        self._offset = self._size() if from_end else 0

    def new(self) -> list[dict[str, Any]]:
        """Give the records that were added since the last time; a line without an end waits for it.

        A line that is no record is passed over: whoever reads the whole file reports it.
        """
        if self._size() <= self._offset:
            return []
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        return [record for line in whole.splitlines() if (record := _record(line)) is not None]

    def _size(self) -> int:
        try:
            return self._path.stat().st_size
        except OSError:
            return 0


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
