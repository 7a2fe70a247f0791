"""The versions of a log that an editor may still have open: what a save is compared with, to tell stale from meant."""

from collections import deque
from pathlib import Path

from headway.errors import DataDamaged
from headway.store.read import Unsure
from headway.store.scan import Buffer, scan
from headway.store.version import Version, version_of

_MOST = 20
_MOST_TAIL_BYTES = 8 << 20
_MOST_BYTES = 64 << 20


class Remembered:
    """The last versions of one log, each kept as the bytes in which it differs from the next."""

    def __init__(self, path: Path) -> None:
        """Args:
        path: the log, for messages.
        """
        self._path = path
        self._tails: deque[tuple[int, bytes]] = deque(maxlen=_MOST)
        self._size = 0
        self._versions: list[Version] | None = None

    def add(self, first: int, tail: bytes) -> None:
        """Remember the version that a new one takes the place of.

        Args:
            first: the first byte in which the two differ.
            tail: the old version's bytes from there on.
        """
        if len(self._tails) == _MOST:
            self._size -= len(self._tails[0][1])
        self._tails.append((first, tail))
        self._size += len(tail)
        while self._size > _MOST_TAIL_BYTES:
            self._size -= len(self._tails.popleft()[1])
        self._versions = None

    def versions(self, present: Buffer) -> list[Version]:
        """The remembered versions, newest first, as many as memory should hold.

        Args:
            present: the bytes of the version that came after the newest of them.
        """
        if self._versions is None:
            self._versions = self._built(bytes(present))
        return self._versions

    def _built(self, buffer: bytes) -> list[Version]:
        versions: list[Version] = []
        room = _MOST_BYTES
        for first, tail in reversed(self._tails):
            buffer = buffer[:first] + tail
            room -= len(buffer)
            if room < 0:
                break
            try:
                versions.append(self._indexed(buffer))
            except DataDamaged:  # a person's own broken version is nobody's base
                continue
        return versions

    def _indexed(self, buffer: bytes) -> Version:
        """A version that was looked at when it was new: its values are read when they are asked for."""
        try:
            return Version(buffer, self._path, scan(buffer))
        except Unsure:
            return version_of(buffer, self._path)
