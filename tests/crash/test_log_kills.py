"""Real kills of a process that commits to the log, and readers and editors beside it."""

import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from headway.core.edits import AppendExperiment, SetSection
from headway.store.log import LogFile
from headway.store.strategies import StrategyName, discard_spare
from tests.store.logs import a_row, agreed, by_pyyaml, log_rows, numbers, save

pytestmark = pytest.mark.crash

WRITER = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from headway.core.edits import AppendExperiment, ReplaceExperiment, SetSection
    from headway.store import strategies
    from headway.store.log import LogFile
    from tests.store.logs import a_row
    if sys.argv[2] == "copy":
        strategies.probe = lambda folder: strategies.StrategyReport(strategies.StrategyName.COPY, "a test asks for it")
    log = LogFile.open(Path(sys.argv[1]))
    number = log.iterations()[-1]
    while True:
        number += 1
        log.commit([AppendExperiment(a_row(number, outcome="measured")), SetSection("run_state", {"tick": number})])
        print("appended", number, flush=True)
        log.commit([ReplaceExperiment(number, a_row(number)), SetSection("best", {"iteration": number})])
        print("replaced", number, flush=True)
    """
)


BOTH_WAYS = pytest.mark.parametrize("way", list(StrategyName))


def a_writer(path: Path, way: StrategyName) -> "subprocess.Popen[str]":
    """A process that commits as fast as it can and says what was acknowledged."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", WRITER, str(path), way]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


@BOTH_WAYS
def test_no_acknowledged_commit_is_lost_by_a_kill(tmp_path: Path, way: StrategyName) -> None:
    """Killed at random moments, again and again: the file is whole at once, and holds all that was acknowledged."""
    path = tmp_path / "log.yaml"
    LogFile.create(path, log_rows(3))
    chance = random.Random(7)
    acknowledged = 0
    for _ in range(12):
        writer = a_writer(path, way)
        assert writer.stdout is not None
        first = writer.stdout.readline()
        time.sleep(chance.random() * 0.15)
        writer.send_signal(signal.SIGKILL)
        said = [line.split() for line in [first, *writer.stdout] if line.endswith("\n")]
        writer.wait()
        writer.stdout.close()
        document = agreed(path)
        rows = document["experiments"]
        assert numbers(rows) == list(range(1, len(rows) + 1))
        for word, number in said:
            assert rows[int(number) - 1]["iteration"] == int(number)
            if word == "replaced":
                assert rows[int(number) - 1] == a_row(int(number))
        acknowledged += len(said)
        assert document["run_state"]["tick"] == len(rows)
    assert acknowledged > 12
    LogFile.open(path).commit([AppendExperiment(a_row(10_000))])
    discard_spare(path)
    assert os.listdir(tmp_path) == ["log.yaml"]


@BOTH_WAYS
def test_readers_always_see_a_whole_document(tmp_path: Path, way: StrategyName) -> None:
    """A reader that loads the file over and over while it is written never meets a part of it."""
    path = tmp_path / "log.yaml"
    LogFile.create(path, log_rows(3))
    writer = a_writer(path, way)
    assert writer.stdout is not None
    try:
        end = time.monotonic() + 1.5
        last = reads = 0
        while time.monotonic() < end:
            document = by_pyyaml(path.read_bytes())
            rows = numbers(document["experiments"])
            assert rows == list(range(1, len(rows) + 1))
            assert document["run_state"]["tick"] == len(rows)
            assert len(rows) >= last
            last, reads = len(rows), reads + 1
    finally:
        writer.kill()
        writer.stdout.read()
        writer.stdout.close()
        writer.wait()
    assert reads > 5
    assert last > 4


def test_an_editor_racing_with_commits_loses_no_experiment(tmp_path: Path) -> None:
    """Saves with stale reads, many a second: every acknowledged experiment is in the log at the end."""
    path = tmp_path / "log.yaml"
    log = LogFile.create(path, log_rows(3))
    stop = threading.Event()

    def edit() -> None:
        count = 0
        while not stop.is_set():
            text = path.read_bytes()
            time.sleep(0.03)
            count += 1
            save(path, text.replace(b"baseline:", f"# remark {count}\nbaseline:".encode(), 1))
            time.sleep(0.1)

    editor = threading.Thread(target=edit)
    editor.start()
    try:
        for number in range(4, 24):
            log.commit([AppendExperiment(a_row(number)), SetSection("run_state", {"tick": number})])
            time.sleep(0.01)
    finally:
        stop.set()
        editor.join()
    log.commit([SetSection("run_state", {"tick": 99})])
    assert numbers(agreed(path)["experiments"]) == list(range(1, 24))
    assert b"# remark " in path.read_bytes()
