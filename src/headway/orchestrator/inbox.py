"""Commands to a live run: one JSON file each, read within a second, answered beside it.

Source: CONTRACTS section 3 (One writer).
"""

import json
from dataclasses import dataclass
from pathlib import Path

from headway.store.atomic import write_no_clobber
from headway.store.paths import StateRoot, ensure_folder


@dataclass(frozen=True)
class Command:
    """One command as it was dropped into the inbox."""

    path: Path
    name: str
    text: str


class Inbox:
    """The inbox of one state root."""

    def __init__(self, state: StateRoot) -> None:
        self._state = state

    def read(self) -> tuple[Command, ...]:
        """Give the commands that wait, oldest first; one that cannot be read is answered as such by its name."""
        try:
            waiting = sorted(p for p in self._state.inbox.iterdir() if p.suffix == ".json")
        except FileNotFoundError:
            return ()
        return tuple(self._command(path) for path in waiting)

    def _command(self, path: Path) -> Command:
        try:
            value = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError):
            return Command(path, "unreadable", "")
        if not isinstance(value, dict):
            return Command(path, "unreadable", "")
        return Command(path, str(value.get("command", "")), str(value.get("text", "")))

    def answer(self, command: Command, text: str) -> None:
        """Put the answer into `inbox/done/` and take the command out."""
        ensure_folder(self._state.inbox_done)
        body = json.dumps({"command": command.name, "answer": text}, ensure_ascii=False)
        write_no_clobber(self._state.inbox_done / command.path.name, body.encode() + b"\n")
        command.path.unlink(missing_ok=True)

    def drop(self, name: str, text: str, stamp: str) -> Path:
        """Leave a command for the live run; give its file.

        Args:
            name: the command.
            text: what goes with it.
            stamp: makes the file's name; ordered by time.
        """
        ensure_folder(self._state.inbox)
        for attempt in range(1, 1000):
            path = self._state.inbox / f"{stamp}-{attempt:03d}-{name}.json"
            body = json.dumps({"command": name, "text": text}, ensure_ascii=False)
            if write_no_clobber(path, body.encode() + b"\n"):
                return path
        raise FileExistsError(str(self._state.inbox))
