"""Refs of one repository: read, list, and move by compare-and-swap."""

import time
from dataclasses import dataclass
from pathlib import Path

from headway.adapters.git import LOCK_WAIT_SECONDS, Place, run_git
from headway.errors import GitFailed, GitLocked, RefMoved


@dataclass(frozen=True)
class Refs:
    """The refs of the repository at `place`, by full name (`refs/...`).

    In a repository that is headway's alone (`is_own`) a lock that outlasts the wait was left by a git that died: it is
    removed and the update tried once more. In the user's it is named and left.
    """

    place: Place
    is_own: bool = False

    def read(self, ref: str) -> str | None:
        """Give the commit that a ref stands at, None where there is no such ref."""
        try:
            return run_git(self.place, "show-ref", "--verify", "--hash", ref).text
        except GitFailed as problem:
            if "not a valid ref" in problem.said:
                return None
            raise

    def all(self, prefix: str) -> dict[str, str]:
        """Give every ref under a prefix (`refs/headway/tune/`) with its commit, in the order of their names."""
        lines = run_git(self.place, "for-each-ref", "--format=%(objectname) %(refname)", prefix).text.splitlines()
        return {name: commit for commit, name in (line.split(" ", 1) for line in lines)}

    def put(self, ref: str, commit: str) -> None:
        """Put a ref at a commit, wherever it stood. Raises: GitLocked, GitFailed."""
        self._update("update-ref", "--no-deref", ref, commit)

    def move(self, ref: str, new: str, old: str | None) -> None:
        """Move a ref from `old` to `new`, or make it where `old` is None; no reflog, no hook.

        Raises: RefMoved when it is not at `old` (nothing was changed); GitLocked; GitFailed.
        """
        self._swap(ref, old, "update-ref", "--no-deref", ref, new, old or "0" * len(new))

    def delete(self, ref: str, old: str) -> None:
        """Delete a ref that stands at `old`. Raises: RefMoved, GitLocked, GitFailed."""
        self._swap(ref, old, "update-ref", "--no-deref", "-d", ref, old)

    def _swap(self, ref: str, old: str | None, *words: str) -> None:
        """Run an update and tell a moved ref from any other failure."""
        try:
            self._update(*words)
        except GitFailed as problem:
            found = self.read(ref)
            if found != old:
                raise RefMoved(ref, old or "", found or "", str(self.place.folder)) from problem
            raise

    def _update(self, *words: str) -> None:
        """Run an update; a dead lock of our own is cleared away."""
        try:
            run_git(self.place, *words)
        except GitLocked as problem:
            if not self.is_own or not _is_dead(Path(problem.lock)):
                raise
            Path(problem.lock).unlink(missing_ok=True)
            run_git(self.place, *words)


def _is_dead(lock: Path) -> bool:
    """Say whether a lock is older than any update of a ref can take."""
    try:
        return time.time() - lock.stat().st_mtime >= LOCK_WAIT_SECONDS
    except FileNotFoundError:
        return True
