"""Kills, readers and an editor beside a process that commits to a log as fast as it can."""

import contextlib
import functools
import mmap
import os
import random
import signal
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from store_samples import a_checked_row, checked_log, checked_state, opened, read_checked

from headway.core.edits import AppendExperiment, ReplaceExperiment, SetSection
from headway.store.log import LogFile
from headway.store.notices import NoticeKind
from headway.store.strategies import StrategyName

LONGEST = 60
ACK = struct.Struct("<cqq")


def in_child(work: Callable[[int], None]) -> tuple[int, int]:
    """Run something in a forked process; its number, and the end of a pipe that it writes to."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        with contextlib.suppress(KeyboardInterrupt):
            os.close(reader)
            work(writer)
            status = 0
        os._exit(status)
    os.close(writer)
    return child, reader


def everything(reader: int) -> bytes:
    """All that comes through a pipe until its end."""
    with open(reader, "rb") as pipe:
        return pipe.read()


def commit_for(log: LogFile, acknowledge: Callable[[bytes, int, int], None], seed: int, seconds: float) -> int:
    """Append, replace recent experiments and change the state, at random; how many commits that were."""
    chance = random.Random(seed)
    count, done, end = log.count, 0, time.monotonic() + seconds
    tick = int(log.section("run_state")["tick"])
    while time.monotonic() < end:
        done += 1
        revision = seed * 100_000 + done
        kind = chance.random()
        if kind < 0.4:
            count += 1
            log.commit([AppendExperiment(a_checked_row(count, revision))])
            acknowledge(b"e", count, revision)
        elif kind < 0.7:
            number = count - chance.randrange(min(count, 5))
            log.commit([ReplaceExperiment(number, a_checked_row(number, revision))])
            acknowledge(b"e", number, revision)
        else:
            tick += 1
            log.commit([SetSection("run_state", checked_state(tick))])
            acknowledge(b"t", tick, 0)
    return done


def fresh(path: Path, count: int = 8) -> None:
    """Put a short log in the place of what is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(checked_log([(number, 0) for number in range(1, count + 1)], 0))


def kills(path: Path, wanted: int) -> dict[str, int]:
    """Kill a committing process at random moments; count what it had acknowledged and what of it is lost.

    Every fifth process copies; all others go the way that fits.
    """
    chance = random.Random(11)
    found = {"kills": 0, "acknowledged": 0, "lost": 0, "unreadable": 0}
    fresh(path)
    for round_ in range(wanted):
        way = StrategyName.COPY if round_ % 5 == 4 else None

        def work(pipe: int, seed: int = round_ + 1, way: StrategyName | None = way) -> None:
            commit_for(opened(path, way), functools.partial(_say, pipe), seed, 60)

        child, reader = in_child(work)
        time.sleep(0.005 + chance.random() * 0.08)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        said = everything(reader)
        acknowledged = [ACK.unpack_from(said, place) for place in range(0, len(said) - ACK.size + 1, ACK.size)]
        found["kills"] += 1
        found["acknowledged"] += len(acknowledged)
        state = read_checked(path.read_bytes())
        if state is None:
            found["unreadable"] += 1
            fresh(path)
            continue
        found["lost"] += _lost(acknowledged, dict(state[0]), state[1])
        if len(state[0]) > LONGEST:
            fresh(path)
    return found


def _say(pipe: int, kind: bytes, number: int, revision: int) -> None:
    os.write(pipe, ACK.pack(kind, number, revision))


def _lost(acknowledged: list[tuple[bytes, int, int]], revisions: dict[int, int], tick: int) -> int:
    """How many acknowledged commits are neither in the log nor overwritten by a later one."""
    return sum(
        (revisions.get(number, -1) < revision) if kind == b"e" else tick < number
        for kind, number, revision in acknowledged
    )


def readers(path: Path, seconds: float) -> dict[str, Any]:
    """Let three kinds of readers look at a log while it is written; count the versions that were not whole."""
    fresh(path)
    kinds = {"hammer": _read_at_once, "slow": _read_slowly, "mapped": _read_mapped}
    children = {name: in_child(functools.partial(_read_on, path, kind, seconds)) for name, kind in kinds.items()}
    log = opened(path)
    commits = commit_for(log, lambda *_: None, 1, seconds)
    found: dict[str, Any] = {"commits": commits, "whole_copies": log._committer.copies, "reader_incomplete": 0}
    for name, (child, reader) in children.items():
        reads, incomplete = struct.unpack("<qq", everything(reader))
        os.waitpid(child, 0)
        found[f"{name}_reads"] = reads
        found["reader_incomplete"] += incomplete
    return found


def _read_on(path: Path, kind: Callable[[Path], bytes], seconds: float, pipe: int) -> None:
    reads = incomplete = last = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            state = read_checked(kind(path))
        except FileNotFoundError:
            state = None
        count = len(state[0]) if state else 0
        reads += 1
        incomplete += state is None or count < last
        last = max(last, count)
    os.write(pipe, struct.pack("<qq", reads, incomplete))


def _read_at_once(path: Path) -> bytes:
    return path.read_bytes()


def _read_slowly(path: Path) -> bytes:
    """Half of the file now, half some commits later."""
    with path.open("rb", buffering=0) as file:
        half = file.read(os.fstat(file.fileno()).st_size // 2)
        time.sleep(0.03)
        return half + file.readall()


def _read_mapped(path: Path) -> bytes:
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    with mapped:
        time.sleep(0.03)
        return mapped[:]


def race(path: Path, seconds: float) -> dict[str, int]:
    """Let an editor save a remark 25 times a second, each on what it read just before, while experiments are added."""
    fresh(path)
    log = opened(path)
    child, reader = in_child(lambda pipe: _edit_on(pipe, path, seconds))
    number, end, told = log.count, time.monotonic() + seconds + 0.5, b""
    while time.monotonic() < end:
        number += 1
        log.commit([AppendExperiment(a_checked_row(number, number))])
        told += _told(log)
        time.sleep(0.005)
    edits = struct.unpack("<q", everything(reader))[0]
    os.waitpid(child, 0)
    log.commit([SetSection("run_state", checked_state(1))])
    told += _told(log)
    data = path.read_bytes()
    lost = [count for count in range(1, edits + 1) if b"# remark %d\n" % count not in data]
    held = {row["iteration"] for row in opened(path).rows()}
    return {
        "edits": edits,
        "edits_lost": len(lost),
        "edits_lost_untold": sum(b"# remark %d\n" % count not in told for count in lost),
        "entries": number,
        "entries_lost": len(set(range(1, number + 1)) - held),
    }


def _told(log: LogFile) -> bytes:
    """The saves that were set aside with a word, and no more."""
    kinds = (NoticeKind.SAVE_OVERTAKEN, NoticeKind.LAYOUT_LOST)
    found = [notice.set_aside.read_bytes() for notice in log.notices if notice.kind in kinds and notice.set_aside]
    log.notices.clear()
    return b"".join(found)


def _edit_on(pipe: int, path: Path, seconds: float) -> None:
    chance = random.Random(3)
    begun, count = time.monotonic(), 0
    while (now := time.monotonic()) < begun + seconds:
        text = path.read_bytes()
        time.sleep(chance.random() * 0.02)
        count += 1
        beside = path.with_name(f"{path.name}~")
        beside.write_bytes(text.replace(b"run_id:", b"# remark %d\nrun_id:" % count, 1))
        beside.rename(path)
        time.sleep(max(0.0, now + 0.04 - time.monotonic()))
    os.write(pipe, struct.pack("<q", count))
