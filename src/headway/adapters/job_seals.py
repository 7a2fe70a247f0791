"""The secret that a run's jobs are sealed with: tells what a keeper wrote from what a command put in its place.

A job's command knows its own folder and may find those of others; without a sandbox it could write a claim or an exit
there, of a job that is still to run. The secret lies in the run's folder, for the user alone (0600), because the
headway that resumes a run must know it. So this is evidence and no wall: a process of the same user can read that file
when it sets out to. One that a sandbox hides the state root from cannot.
"""

import contextlib
import os
import secrets
import threading
from pathlib import Path

from headway.adapters import supervisor
from headway.store.atomic import disk_failure, fsync_folder, open_temporary, write_fully

KEY_FILE = "jobs.key"
KEY_BYTES = 32


class Seals:
    """Gives the secret of each job of a run, from any thread.

    Args:
        folder: the run's; the secret is made there when the first one is wanted.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / KEY_FILE
        self._place = os.path.realpath(folder)
        self._asking = threading.Lock()
        self._master: bytes | None = None

    def key(self, job_folder: Path) -> str:
        """The secret of the job of a folder: of that very place in the run, wherever the run lies now.

        Raises: DiskFailed, when the run's secret can be neither read nor made.
        """
        with self._asking:
            if self._master is None:
                try:
                    self._master = self._read() or self._make()
                except OSError as problem:
                    raise disk_failure(problem, self._file) from problem
        return supervisor.job_key(self._master, os.path.relpath(os.path.realpath(job_folder), self._place))

    def _read(self) -> bytes | None:
        """The secret; None if there is none, or one that a dying machine cut short: nothing was sealed with it."""
        with contextlib.suppress(FileNotFoundError):
            master = self._file.read_bytes()
            return master if len(master) == KEY_BYTES else None
        return None

    def _make(self) -> bytes:
        """Make the secret, durable before anything is sealed with it."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        master = secrets.token_bytes(KEY_BYTES)
        handle, draft = open_temporary(self._file)  # made with mode 0600
        try:
            write_fully(handle, master)
            os.fsync(handle)
            draft.replace(self._file)
        finally:
            os.close(handle)
        fsync_folder(self._file.parent)
        return master
