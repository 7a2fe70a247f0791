"""Commit by a whole copy: the next version is written beside the file and renamed over it. Right everywhere.

Source: LOG-STORE section 3 (design D1): temporary file, flush, rename, flush the folder, read back by name.
"""

import contextlib
from pathlib import Path

from headway.store.atomic import disk_failure
from headway.store.replace import Identity, Overtaken, Step, confirm, identity_of, write_draft


def draft_of(path: Path) -> Path:
    """Where the next version of a log is written: one writer, one name, so what a crash leaves is overwritten."""
    return path.with_name(f".{path.name}.new")


class Copying:
    """The copy strategy for one file. Its cost grows with the file."""

    def __init__(self, path: Path) -> None:
        """Args:
        path: the file, links resolved.
        """
        self._path = path
        self._draft = draft_of(path)

    def commit(self, step: Step) -> Identity:
        """Make the file hold what a step leads to, durably and at once, if it still is the version expected.

        Returns: the identity of the new version.
        Raises: Overtaken, when the file is another one by now; DiskFailed, when the disk refuses or does not give
            back what it was given. In both cases no temporary file is left.
        """
        path, draft = self._path, self._draft
        try:
            written = write_draft(draft, path, step)
            try:
                if identity_of(path) != step.expected:
                    raise Overtaken
                draft.rename(path)
            except BaseException:
                with contextlib.suppress(OSError):
                    draft.unlink()
                raise
            return confirm(path, step.first, step.data, written)
        except OSError as error:
            raise disk_failure(error, path) from error
