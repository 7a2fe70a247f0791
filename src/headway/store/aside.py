"""Set a save of the log aside under a free name beside it: what a person wrote is never destroyed."""

import contextlib
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from headway.store.atomic import write_no_clobber


def write_aside(path: Path, data: bytes) -> Path:
    """Keep bytes beside the log at `path`; where.

    Raises: DiskFailed.
    """
    return next(name for name in _free_names(path) if write_no_clobber(name, data))


def move_aside(path: Path, file: Path) -> Path:
    """Give a file beside the log at `path` a name that a person finds; whoever has it open may go on writing it.

    Raises: OSError.
    """
    for name in _free_names(path):
        with contextlib.suppress(FileExistsError):
            os.link(file, name)
            file.unlink()
            return name
    raise AssertionError("names never end")


def _free_names(path: Path) -> Iterator[Path]:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    count = 1
    while True:
        tag = stamp if count == 1 else f"{stamp}_{count}"
        name = path.with_name(f"{path.stem}.edited-{tag}.yaml")
        if not name.exists():
            yield name
        count += 1
