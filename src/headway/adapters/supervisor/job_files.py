"""The files of a job's folder: their names, how they get there, and the seal that tells a keeper's from another."""

import contextlib
import errno
import json
import os
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from .system_calls import write_all

JOB_FILE, EXIT_FILE, STDOUT_FILE, STDERR_FILE = "job.json", "exit.json", "stdout", "stderr"
SEAL = "seal"
SEAL_BYTES = 16


def line(message: Mapping[str, Any]) -> bytes:
    """One message as one line; odd bytes in paths survive as escaped surrogates."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def job_key(master: bytes, name: str) -> str:
    """The secret of one job, drawn from that of its run.

    Args:
        master: the run's secret, at most 64 bytes.
        name: says which job it is, within the run.
    """
    return blake2b(os.fsencode(name), key=master, digest_size=32).hexdigest()


def seal_of(content: Mapping[str, Any], file: str, key: str) -> str:
    """What stands under `seal` in a file that somebody who knows the job's secret wrote.

    Args:
        content: the file's JSON object; its own `seal` counts as absent.
        file: the file's name, so that none passes for the other.
        key: the job's secret.
    """
    told = json.dumps({name: value for name, value in content.items() if name != SEAL}, sort_keys=True)
    return blake2b(f"{file}\n{told}".encode(), key=bytes.fromhex(key), digest_size=SEAL_BYTES).hexdigest()


def publish(folder: str, name: str, content: Mapping[str, Any], key: str, with_folder: bool = True) -> None:
    """Put a whole, sealed, durable file into the folder, never over another one.

    Args:
        folder: the job's.
        name: of the file.
        content: a JSON object.
        key: the job's secret.
        with_folder: make the name durable too. A claim does without: a job that lost its claim with the machine's
            power died with it, and its end makes all names of the folder durable.

    Raises: FileExistsError, if the name is taken; OSError, if the disk refuses.
    """
    hidden = os.path.join(folder, f".{name}.{os.getpid()}")
    try:
        descriptor = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            write_all(descriptor, line({**content, SEAL: seal_of(content, name, key)}))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.link(hidden, os.path.join(folder, name))
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(hidden)
    if with_folder:
        sync_folder(folder)


def sync_folder(folder: str) -> None:
    """Make the folder's names durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as problem:
        if problem.errno != errno.EINVAL:  # some file systems cannot flush a folder and need not
            raise
    finally:
        os.close(descriptor)
