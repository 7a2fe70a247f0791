"""Which of the two ways to commit a log is used, and why.

*copy* writes the whole next version beside the log and renames it; it is right everywhere. *shadow* writes only what
changed, into a second copy; it needs what not every system has. Any doubt means *copy*.
Source: ADR 0006.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from headway.store.atomic import disk_failure
from headway.store.replace import Identity, Step
from headway.store.strategies.copying import Copying, draft_of
from headway.store.strategies.kernel import Unavailable, local_kind, refuse_system
from headway.store.strategies.shadow import Shadow, spare_of


class StrategyName(StrEnum):
    """The two ways to commit."""

    COPY = "copy"
    SHADOW = "shadow"


@dataclass(frozen=True)
class StrategyReport:
    """Which way commits in a folder take.

    Attributes:
        name: the way.
        why: a clause that says why this one.
    """

    name: StrategyName
    why: str

    def __str__(self) -> str:
        return f"{self.name}: {self.why}"


def probe(folder: Path) -> StrategyReport:
    """Say which way commits to a log in a folder take; writes nothing there.

    Args:
        folder: the log's own, links resolved; one that cannot be looked at counts as in doubt.
    Source: ADR 0006.
    """
    try:
        refuse_system()
        kind = local_kind(folder)
    except Unavailable as reason:
        return StrategyReport(StrategyName.COPY, str(reason))
    except OSError as error:
        return StrategyReport(StrategyName.COPY, f"the folder cannot be looked at ({error.strerror})")
    return StrategyReport(StrategyName.SHADOW, f"{kind} has leases on open files and exchanges two names at once")


class Committer:
    """Commits the versions of one file, each in the way that fits.

    Attributes:
        report: the way in use, and why; it changes when the system turns out to lack something.
    """

    def __init__(self, path: Path) -> None:
        """Args:
        path: the file, links resolved.
        """
        self.report = probe(path.parent)
        self._kept: list[Path] = []
        self._copying = Copying(path)
        self._shadow = Shadow(path, self._kept) if self.report.name is StrategyName.SHADOW else None

    @property
    def copies(self) -> int | None:
        """How many commits of the shadow strategy wrote the file whole; None where it is not in use."""
        return self._shadow.copies if self._shadow else None

    def commit(self, step: Step) -> Identity:
        """Make the file hold what a step leads to, durably and at once, if it still is the version expected.

        Returns: the identity of the new version.
        Raises: Overtaken, when the file is another one by now; DiskFailed, when the disk refuses or does not give
            back what it was given. In both cases no temporary file is left.
        """
        if self._shadow is not None and step.expected is not None:
            try:
                return self._shadow.commit(step)
            except Unavailable as reason:
                self._shadow = None
                self.report = StrategyReport(StrategyName.COPY, str(reason))
        return self._copying.commit(step)

    def drain_kept(self) -> list[Path]:
        """Saves that were displaced and set aside since the last call."""
        kept = list(self._kept)
        self._kept.clear()
        return kept


def discard_spare(path: Path) -> None:
    """Remove what the shadow strategy and a crash may have left beside a log that is going away.

    Raises: DiskFailed.
    """
    for leftover in (spare_of(path), draft_of(path)):
        try:
            leftover.unlink(missing_ok=True)
        except OSError as error:
            raise disk_failure(error, leftover) from error
