"""Repair and migration of a log file: a copy of what was there is durable before a byte of it changes.

Source: issue 3, items 5 and 6 (nothing is overwritten before that).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from headway.errors import DataDamaged, RequestWrong
from headway.store.atomic import write_atomic, write_no_clobber
from headway.store.log import LogFile
from headway.store.parked import take_up
from headway.store.replace import read_whole
from headway.store.rewrite import whole_log
from headway.store.salvage import Salvaged, salvage


@dataclass(frozen=True)
class Repaired:
    """What became of a log.

    Args:
        salvaged: what was kept and what was set aside; None: the log could be read, nothing was set aside.
        backup: the copy of the whole file as it was; None where nothing was changed.
        aside: the file that holds the damaged parts alone.
        pending: what became of a parked change, in words; empty: there was none.
        notices: what else a reader should know.
    """

    salvaged: Salvaged | None = None
    backup: Path | None = None
    aside: Path | None = None
    pending: str = ""
    notices: tuple[str, ...] = ()


def repair(path: Path, now: datetime) -> Repaired:
    """Make a log readable again, and take up a change that an earlier process could not write.

    Args:
        path: the log; its run is not live.
        now: for the names of what is set aside.
    Returns: what was done; a log that is right is left alone.
    Raises: DataDamaged, when nothing of it can be read; RequestWrong, when there is no such file; DiskFailed.
    """
    path = path.resolve()
    try:
        file = LogFile.open(path)
        salvaged, backup, aside = None, None, None
    except DataDamaged:
        data = bytes(read_whole(path)[0])
        salvaged = salvage(data, path)
        backup = set_aside(path, "damaged", data, now)
        aside = set_aside(path, "unreadable", b"".join(part.data for part in salvaged.lost), now)
        write_atomic(path, salvaged.data)
        file = LogFile.open(path)
    return Repaired(salvaged, backup, aside, take_up(file), tuple(notice.text for notice in file.notices))


def rewrite_with_backup(path: Path, rows: Mapping[str, Any], now: datetime) -> Path:
    """Write a log anew in headway's layout; its bytes as they were are kept beside it first.

    Args:
        path: the log.
        rows: every section by name.
        now: for the backup's name.
    Returns: the backup. Raises: RequestWrong, when a value has no safe text (nothing was written); DiskFailed.
    """
    path = path.resolve()
    text = whole_log(rows)
    backup = set_aside(path, "before-migration", bytes(read_whole(path)[0]), now)
    write_atomic(path, text)
    return backup


def set_aside(path: Path, why: str, data: bytes, now: datetime) -> Path:
    """Keep bytes beside a log, durably, under a name that is not taken.

    Args:
        path: the log.
        why: a word for the name.
        data: what is kept.
        now: in the name.
    """
    stamp = now.strftime("%Y%m%dT%H%M%SZ")
    for count in range(1, 1000):
        tag = stamp if count == 1 else f"{stamp}_{count}"
        beside = path.with_name(f"{path.stem}.{why}-{tag}{path.suffix}")
        if not beside.exists() and write_no_clobber(beside, data):
            return beside
    raise RequestWrong("too many copies of this log lie beside it", str(path), "move the older ones away")
