"""Commit through a second copy that lags one version behind: only what changed since is written, whatever the size.

The spare file is brought up to date from the first byte that differs, flushed, and changes names with the log in one
step; the log of before becomes the spare of the next commit. Nobody may be reading the spare while it is written, as
they would see two versions mixed: a lease makes sure of that, and whatever stands in its way (a reader, a mapping, a
second link, an edit, another process's spare) costs a whole copy instead. A spare that a crash left is never used; one
whose process ends in peace is removed.
Source: LOG-STORE section 3 ("D4, precise protocol"); ADR 0006.
"""

import contextlib
import os
import weakref
from dataclasses import dataclass
from pathlib import Path

from headway.errors import DiskFailed
from headway.store.aside import move_aside
from headway.store.atomic import disk_failure, write_fully
from headway.store.replace import Identity, Overtaken, Step, confirm, identified, identity_of, is_same_save, write_draft
from headway.store.strategies.kernel import end_lease, exchange, take_lease

_SPARE_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class _Pair:
    """The log and its spare as the last commit left them, and the first byte in which they may differ."""

    log: Identity
    spare: Identity
    differ_from: int


@dataclass(frozen=True)
class _Written:
    """A spare that holds the next version: which file it is, and its bytes from `first` on, to compare."""

    identity: Identity
    first: int
    data: bytes


def spare_of(path: Path) -> Path:
    """Where the spare copy of a log lies: hidden, beside it. Nothing but the shadow strategy may read it."""
    return path.with_name(f".{path.name}.prev")


class Shadow:
    """The shadow strategy for one file.

    Attributes:
        copies: how many commits had no usable spare and wrote the file whole.
    """

    def __init__(self, path: Path, kept: list[Path]) -> None:
        """Args:
        path: the file, links resolved.
        kept: gets each save that was displaced and could not be put back, by where it was set aside.
        """
        self._path = path
        self._spare = spare_of(path)
        self._pair: _Pair | None = None
        self._kept = kept
        self.copies = 0
        self._made: list[Identity] = []  # the spare that is ours to remove, if there is one
        weakref.finalize(self, _remove, self._spare, self._made)

    def commit(self, step: Step) -> Identity:
        """Make the file hold what a step leads to, durably and at once, if it still is the version expected.

        Returns: the identity of the new version.
        Raises: Overtaken, when a person saved in the meantime: their save has the name; Unavailable, when names
            cannot be exchanged here: nothing has changed, and no spare is left; DiskFailed, as `Copying.commit`.
        """
        pair, self._pair = self._pair, None  # an interrupted commit leaves no spare to trust
        self._made.clear()
        try:
            written = self._caught_up(pair, step) if pair is not None else None
            written = written or self._copied(step)
            self._publish(written, step)
            displaced = identity_of(self._spare)
            if step.expected is None or displaced is None or not is_same_save(step.expected, displaced):
                self._give_back(written)
                raise Overtaken
            found = confirm(self._path, written.first, written.data, written.identity)
        except OSError as error:
            raise disk_failure(error, self._path) from error
        self._pair = _Pair(found, displaced, step.first if step.from_disk else 0)
        self._made.append(displaced)
        return found

    def _caught_up(self, pair: _Pair, step: Step) -> _Written | None:
        """Write what the spare lacks into it; None when it must not be used."""
        is_next = step.from_disk and step.expected == pair.log and pair.spare[1] >= min(pair.differ_from, step.first)
        try:
            handle = os.open(self._spare, _SPARE_FLAGS)
        except OSError:
            return None
        try:
            if not self._is_ours(handle, pair) or not is_next or not take_lease(handle):
                return None
            written = _bring_up_to_date(handle, pair, step)
            return written if end_lease(handle) else None
        except BaseException:
            self._drop_spare()
            raise
        finally:
            os.close(handle)

    def _is_ours(self, handle: int, pair: _Pair) -> bool:
        """Whether a spare is untouched; what a person saved into it, having opened it when it was the log, is kept."""
        status = os.fstat(handle)
        found = identified(status)
        if found[0] == pair.spare[0] and not is_same_save(pair.spare, found):
            self._kept.append(move_aside(self._path, self._spare))
        return found == pair.spare and status.st_nlink == 1

    def _copied(self, step: Step) -> _Written:
        self.copies += 1
        return _Written(write_draft(self._spare, self._path, step), step.first, step.data)

    def _publish(self, written: _Written, step: Step) -> None:
        """Give the spare the log's name, unless somebody saved the log meanwhile or touched the spare."""
        try:
            if identity_of(self._path) != step.expected or not is_same_save(written.identity, identity_of(self._spare)):
                raise Overtaken
            exchange(self._spare, self._path)
        except FileNotFoundError as error:  # the log was removed at this moment
            self._drop_spare()
            raise Overtaken from error
        except BaseException:
            self._drop_spare()
            raise

    def _give_back(self, written: _Written) -> None:
        """Give a person's save its name back; of saves in quick succession the last has it, the one before is kept."""
        expected: Identity | None = written.identity
        while True:
            given = identity_of(self._spare)
            try:
                exchange(self._spare, self._path)
            except FileNotFoundError:  # the log was removed in between
                break
            if expected is not None and is_same_save(expected, identity_of(self._spare)):
                break
            expected = given  # the exchange has displaced a newer save
        if is_same_save(written.identity, identity_of(self._spare)):
            self._drop_spare()
        else:
            self._kept.append(move_aside(self._path, self._spare))

    def _drop_spare(self) -> None:
        with contextlib.suppress(OSError):
            self._spare.unlink()


def _remove(spare: Path, made: list[Identity]) -> None:
    """Remove a spare that nobody has touched since it was made."""
    with contextlib.suppress(OSError, DiskFailed):
        if made and identity_of(spare) == made[0]:
            spare.unlink()


def _bring_up_to_date(handle: int, pair: _Pair, step: Step) -> _Written:
    first = min(pair.differ_from, step.first)
    data = bytes(step.buffer[first : step.first]) + step.data
    os.lseek(handle, first, os.SEEK_SET)
    write_fully(handle, data)
    os.ftruncate(handle, first + len(data))
    os.fsync(handle)
    return _Written(identified(os.fstat(handle)), first, data)
