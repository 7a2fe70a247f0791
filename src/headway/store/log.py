"""The experiment log: one YAML file, the single source of truth, changed by one writer in atomic commits.

A commit splices the changed bytes and puts the new version in the log's place in one flushed step (`strategies`), then
opens the log anew by its name and compares. A reader sees the old document or the new one. A person may save the file
between two commits; what they may change is merged, what they may not is put back.
The bytes of the last version are kept in memory: they are what a person's save is compared with.
Source: DESIGN section 5, CONTRACTS section 2, LOG-STORE sections 3 to 5, ADR 0006.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from headway.core.edits import Edit
from headway.errors import DataDamaged, OutsideFailed, RequestWrong
from headway.store.aside import write_aside
from headway.store.atomic import write_atomic, write_no_clobber
from headway.store.merge import merge
from headway.store.notices import Notice, doubts_about_end, notices_of, overtaken_save, recreated, written_anew
from headway.store.read import Unsure
from headway.store.remembered import Remembered
from headway.store.replace import Identity, Overtaken, Step, identity_of, read_whole
from headway.store.rewrite import parked, reads_right, rewritten, whole_log
from headway.store.scan import EXPERIMENTS, NO_ITERATION
from headway.store.splice import Change, compose, spliced, splices_of
from headway.store.strategies import Committer, StrategyReport
from headway.store.version import Version, version_of

_MOST_TRIES = 60
_PATIENT_TRIES = 2
_MOST_LATER_MERGES = 3
_SETTLE_SECONDS = 0.05
_LONGEST_SETTLING = 0.5


class _Base(NamedTuple):
    """What a commit starts from: a version, what is on disk, and what a person is told once it is written."""

    version: Version
    identity: Identity | None
    is_on_disk: bool
    theirs: Version | None
    notices: list[Notice]


class _Plan(NamedTuple):
    """The first changed byte, all bytes from there on, and whether the whole layout is given up."""

    first: int
    data: bytes
    gives_up_layout: bool


class LogFile:
    """One experiment log, open for reading and for commits by its one writer.

    Attributes:
        notices: what happened to the log from outside; the caller drains the list and tells.
        pending: the side file of a change that an earlier process could not write; None when there is none.
    """

    def __init__(self, path: Path, version: Version, identity: Identity | None) -> None:
        """Use `open` or `create`."""
        self._path = path
        self._version = version
        self._identity = identity
        self._committer = Committer(path)
        self._remembered = Remembered(path)
        self.notices: list[Notice] = list(doubts_about_end(version))
        self.pending: Path | None = self._pending_path if self._pending_path.exists() else None

    @classmethod
    def create(cls, path: Path, rows: Mapping[str, Any]) -> Self:
        """Write a new log and open it.

        Args:
            path: where it shall lie; its folder exists.
            rows: every section by name, `experiments` as the list of its rows; written in the seed's order.
        Raises: RequestWrong, when something stands there already, or a value has no safe text; DiskFailed.
        """
        if not write_no_clobber(path, whole_log(rows)):
            raise RequestWrong(
                "a log is there already, and is never overwritten", str(path), "resume it, or use --fresh"
            )
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Index an existing log; only its sections and its newest experiments are parsed.

        Args:
            path: the log; a symbolic link is followed once, here.
        Raises: RequestWrong, when there is none; DataDamaged, with file, line and mend; DiskFailed.
        """
        real = path.resolve()
        buffer, identity = read_whole(real)
        return cls(real, version_of(buffer, real), identity)

    @property
    def path(self) -> Path:
        """Where the log lies, links resolved."""
        return self._path

    @property
    def strategy(self) -> StrategyReport:
        """The way in which commits are made, and why."""
        return self._committer.report

    @property
    def count(self) -> int:
        """How many experiments the log holds."""
        return self._version.count

    @property
    def has_experiments(self) -> bool:
        """Whether the log has the section `experiments`, empty or not."""
        return EXPERIMENTS in self._version.names

    def sections(self) -> dict[str, Any]:
        """All sections but `experiments`, by name, in the file's order.

        Raises: DataDamaged, with the line.
        """
        return {name: self._version.section(name) for name in self._version.names if name != EXPERIMENTS}

    def section(self, name: str) -> Any:
        """One section's value; None when it is absent, or is `experiments`.

        Raises: DataDamaged, with the line.
        """
        return None if name == EXPERIMENTS else self._version.section(name)

    def iterations(self) -> list[int]:
        """The experiments' numbers in the log's order; those of an older log that have none are left out."""
        return [number for number in self._version.layout.iterations if number != NO_ITERATION]

    def entry(self, iteration: int) -> dict[str, Any]:
        """The row of one experiment.

        Raises: RequestWrong, when the log has no such number; DataDamaged, with the line.
        """
        return self._version.row(self._index_of(iteration))

    def tail(self, count: int) -> list[dict[str, Any]]:
        """The last rows, oldest first; fewer when the log has fewer.

        Raises: DataDamaged, with the line.
        """
        return [self._version.row(index) for index in range(max(self.count - count, 0), self.count)]

    def rows(self) -> Iterator[dict[str, Any]]:
        """All rows in the log's order; one at a time is in memory.

        Raises: DataDamaged, with the line.
        """
        index = 0
        while index < self.count:
            yield self._version.fresh_row(index)
            index += 1

    def marks(self) -> Iterator[tuple[int, str]]:
        """The number and the mark of every experiment that has a number, in the log's order, without parsing any.

        Two texts with the same mark are the same; an empty mark is like no other.
        """
        for index, number in enumerate(self._version.layout.iterations):
            if number != NO_ITERATION:
                yield number, self._version.mark(index)

    def mark_of(self, iteration: int) -> str:
        """The mark of one experiment's text. Raises: RequestWrong, when the log has no such number."""
        return self._version.mark(self._index_of(iteration))

    def fresh_entry(self, iteration: int) -> dict[str, Any]:
        """As `entry`, without keeping it for a later call."""
        return self._version.fresh_row(self._index_of(iteration))

    def line_of(self, iteration: int) -> int:
        """The number of the line where an experiment begins.

        Raises: RequestWrong, when the log has no such number.
        """
        return self._version.line_of(self._index_of(iteration))

    def changed_outside(self) -> bool:
        """Whether the file holds other bytes than this process last read or wrote.

        Raises: DiskFailed.
        """
        identity = identity_of(self._path)
        if identity == self._identity:
            return False
        if identity is None:
            return True
        buffer, identity = read_whole(self._path)
        if buffer == self._version.buffer:
            self._identity = identity
            return False
        return True

    def reload(self) -> None:
        """Forget what is in memory and read the file, as `open` does; remembered versions are kept.

        Raises: as `open`.
        """
        buffer, identity = read_whole(self._path)
        version = version_of(buffer, self._path)
        self._adopt(version, identity)
        self.notices.extend(doubts_about_end(version))

    def commit(self, edits: Sequence[Edit]) -> None:
        """Carry out edits in one durable step, and read them back.

        A person's save since the last commit is merged first. When nothing can be written, the log on disk is
        what it was and the change is parked beside it as `experiment-log.pending.yaml`, where that is possible.

        Args:
            edits: carried out in order; none at all is no commit.
        Raises: RequestWrong, when an edit cannot be carried out (nothing was written); DataDamaged, when a
            person's save cannot be read (it is left alone); DiskFailed, when the disk refuses.
        """
        if not edits:
            return
        compose(edits, self._version)
        try:
            self._commit(edits)
        except (DataDamaged, OutsideFailed):
            self._park(edits)
            raise
        if self.pending is not None:
            self.pending.unlink(missing_ok=True)
            self.pending = None

    def _commit(self, edits: Sequence[Edit]) -> None:
        """Commit, over again when a person saves in between; then bring in what was saved right behind us."""
        for tried in range(_MOST_TRIES):
            try:
                self._commit_once(edits, is_hurried=tried >= _PATIENT_TRIES)
                break
            except Overtaken:
                continue
            finally:
                self.notices.extend(map(overtaken_save, self._committer.drain_kept()))
        else:
            raise OutsideFailed(
                "another program keeps changing the log while headway writes it",
                str(self._path),
                "close the editor or tool that has the log open, then try again",
            )
        for _ in range(_MOST_LATER_MERGES):
            try:
                if not self.changed_outside():
                    return
                self._commit_once([])
            except Overtaken:
                continue

    def _commit_once(self, edits: Sequence[Edit], *, is_hurried: bool = False) -> None:
        base = self._base(is_hurried)
        plan = self._planned(base.version, compose(edits, base.version))
        if plan is None and base.is_on_disk:
            self._adopt(base.version, base.identity)
        else:
            self._write(base, plan or _Plan(len(base.version.buffer), b"", False))
        self.notices.extend(base.notices)

    def _base(self, is_hurried: bool) -> _Base:
        """What the next commit starts from; a person's save is merged into it."""
        if not self.changed_outside():
            return _Base(self._version, self._identity, True, None, [])
        theirs, identity = self._settled(is_hurried)
        if theirs is None:
            return _Base(self._version, None, False, None, [recreated()])
        merged = merge(self._version, theirs, self._remembered.versions(self._version.buffer))
        aside = write_aside(self._path, bytes(theirs.buffer)) if merged.facts or merged.lost_layout else None
        is_on_disk = merged.buffer == theirs.buffer
        version = theirs if is_on_disk else version_of(bytearray(merged.buffer), self._path)
        return _Base(version, identity, is_on_disk, theirs, list(notices_of(merged, aside)))

    def _planned(self, base: Version, change: Change) -> _Plan | None:
        """What to write; None when nothing changes."""
        if not base.may_be_spliced:
            return _Plan(0, rewritten(base, change), True) if change else None
        splices = splices_of(change, base)
        if not splices:
            return None
        first, data = spliced(base, splices)
        if not base.layout.is_sure and not reads_right(base, change, base.buffer[:first] + data):
            return _Plan(0, rewritten(base, change), True)
        return _Plan(first, data, False)

    def _write(self, base: _Base, plan: _Plan) -> None:
        """Put a version on disk and make it ours."""
        version, (first, data, gives_up_layout) = base.version, plan
        if gives_up_layout:
            saved = base.theirs or version
            base.notices.append(written_anew(write_aside(self._path, bytes(saved.buffer))))
        identity = self._committer.commit(Step(version.buffer, first, data, base.identity, base.is_on_disk))
        if version is self._version and isinstance(version.buffer, bytearray):
            buffer = version.buffer  # changed in place: a log may be large, its changes are small
            self._remembered.add(first, bytes(buffer[first:]))
            del buffer[first:]
            buffer += data
            self._version, self._identity = self._next_version(version, buffer, first), identity
        else:
            self._adopt(self._next_version(version, bytearray(version.buffer[:first]) + data, first), identity)

    def _next_version(self, base: Version, buffer: bytearray, first: int) -> Version:
        """Index the bytes from the first changed place on; what stands before is known."""
        try:
            return base.followed_by(buffer, first)
        except Unsure:
            return version_of(buffer, self._path)

    def _adopt(self, version: Version, identity: Identity | None) -> None:
        if version is not self._version:
            first = _common_length(self._version.buffer, version.buffer)
            self._remembered.add(first, bytes(self._version.buffer[first:]))
        self._version, self._identity = version, identity

    def _index_of(self, iteration: int) -> int:
        index = self._version.index_of(iteration)
        if index is None:
            raise RequestWrong(
                f"the log has no experiment {iteration}", str(self._path), "`headway log show` lists those that it has"
            )
        return index

    def _settled(self, is_hurried: bool) -> tuple[Version | None, Identity | None]:
        """What a person saved, read once it holds still: some editors empty the file before they fill it.

        Args:
            is_hurried: whether saves follow each other so fast that the file is read at once while it reads well.
        Returns: nothing, when the file is gone.
        Raises: DataDamaged, when it stays unreadable.
        """
        deadline = time.monotonic() + _LONGEST_SETTLING
        while True:
            before = identity_of(self._path)
            if not is_hurried:
                time.sleep(_SETTLE_SECONDS)
            is_last = time.monotonic() > deadline
            if identity_of(self._path) != before and not is_last:
                continue
            if identity_of(self._path) is None:
                return None, None
            try:
                buffer, identity = read_whole(self._path)
                return version_of(buffer, self._path), identity
            except DataDamaged:
                if is_last:
                    raise
                is_hurried = False

    @property
    def _pending_path(self) -> Path:
        return self._path.with_name(f"{self._path.stem}.pending.yaml")

    def _park(self, edits: Sequence[Edit]) -> None:
        """Keep a change that could not be written beside the log, if the disk takes this at least."""
        try:
            write_atomic(self._pending_path, parked(edits))
        except RequestWrong:  # the failure that led here is the one to tell
            return
        self.pending = self._pending_path


def _common_length(one: bytes | bytearray, other: bytes | bytearray) -> int:
    low, high = 0, min(len(one), len(other))
    with memoryview(one) as first, memoryview(other) as second:
        while low < high:
            middle = (low + high + 1) // 2
            if first[low:middle] == second[low:middle]:
                low = middle
            else:
                high = middle - 1
    return low
