"""Single bytes: cut anywhere in the last entry, or changed anywhere, a log is found out or means what it says."""

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from headway.core.edits import AppendExperiment, SetSection
from headway.errors import DataDamaged, RunOwned
from headway.store.document import read_document
from headway.store.lock import RunLock
from headway.store.log import LogFile
from headway.store.notices import NoticeKind
from headway.store.version import canonical, version_of
from tests.store.faults import ROOT
from tests.store.logs import a_row, agreed, by_ruamel, log_rows, notices, numbers, save

PERSONS_OWN = {"hypothesis_backlog"}
ROW = {"iteration": 2, "hypothesis": "a: b", "outcome": "kept", "learnings": "x\ny\n", "commit": "12e4567"}
SMALL: dict[str, Any] = {
    "spec": "demo",
    "run_id": "r1",
    "experiments": [{"iteration": 1, "outcome": "kept", "metrics": {"p95": {"samples": [1e-07, 2]}}}, ROW],
    "best": {"iteration": 1},
    "run_state": {"tick": 2},
    "hypothesis_backlog": [{"description": "no", "priority": "low"}],
}
"""As short as a log can be that holds one of each thing: every byte of it is tried."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a log goes."""
    return tmp_path / "log.yaml"


def flips(data: bytes, start: int, end: int, seed: int) -> list[bytes]:
    """The file with one byte changed: each place between two, one bit of each, chosen by the seed."""
    chance = random.Random(seed)
    return [data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :] for at in range(start, end)]


def test_a_changed_byte_is_found_or_reads_as_it_stands(path: Path) -> None:
    """Opened with any one byte changed: damage with its line, or exactly what a parser reads in the changed file."""
    LogFile.create(path, SMALL)
    whole = path.read_bytes()
    found = 0
    for data in flips(whole, 0, len(whole), seed=1):
        try:
            version = version_of(data, path)
            rows = list(version.rows())
        except DataDamaged as problem:
            found += 1
            assert 1 <= int(problem.where.rpartition(" ")[2]) <= data.count(b"\n") + 1
            continue
        expected = _parsed(data)
        assert canonical([version.section(name) for name in version.names if name != "experiments"]) == canonical(
            [value for name, value in expected.items() if name != "experiments"]
        )
        assert canonical(rows) == canonical(expected.get("experiments") or [])
    assert found > len(whole) / 20


def _parsed(data: bytes) -> dict[str, Any]:
    """What a parser that is not headway's reads; moments as text, as headway reads them."""
    from ruamel.yaml import YAML
    from ruamel.yaml.constructor import SafeConstructor

    class Texts(SafeConstructor):
        """Leaves moments the text that they are."""

    Texts.add_constructor("tag:yaml.org,2002:timestamp", SafeConstructor.construct_yaml_str)
    parser = YAML(typ="safe", pure=True)
    parser.Constructor = Texts
    return dict(parser.load(data.decode()))


def test_a_byte_changed_under_a_live_run_is_put_back_or_was_a_persons_to_change(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the last entry and around it: the fact is restored and told, the save set aside; learnings stay."""
    monkeypatch.setattr("headway.store.log._SETTLE_SECONDS", 0.0)
    monkeypatch.setattr("headway.store.log._LONGEST_SETTLING", 0.0)
    log = LogFile.create(path, SMALL)
    good = path.read_bytes()
    start, end = good.index(b"- iteration: 2"), good.index(b"hypothesis_backlog:")
    for at, data in enumerate(flips(good, start, end, seed=3)):
        save(path, data)
        try:
            log.commit([SetSection("run_state", {"tick": at})])
        except DataDamaged:
            assert path.read_bytes() == data
            save(path, good)
            log = LogFile.open(path)
            continue
        document = by_ruamel(path.read_bytes())
        expected = {**SMALL, "run_state": {"tick": at}}
        kinds = notices(log)
        for row, recorded in zip(document["experiments"], expected["experiments"], strict=True):
            assert {**row, "learnings": ""} == {**recorded, "learnings": ""}, data
        for name in set(expected) - PERSONS_OWN - {"experiments"}:
            assert canonical(document[name]) == canonical(expected[name]), data
        if kinds == [NoticeKind.FACTS_RESTORED]:
            assert data in [copy.read_bytes() for copy in path.parent.glob("log.edited-*.yaml")]
        assert kinds
        for aside in path.parent.glob("log.edited-*.yaml"):
            aside.unlink()
        save(path, good)
        log = LogFile.open(path)


def test_a_log_cut_anywhere_in_its_last_entry_never_reads_as_another(path: Path) -> None:
    """The loader for whole documents too: what it gives is what a parser gives, or it is damage."""
    LogFile.create(path, SMALL)
    whole = path.read_bytes()
    for cut in range(whole.index(b"- iteration: 2"), whole.index(b"best:")):
        path.write_bytes(whole[:cut])
        try:
            document = read_document(path)
        except DataDamaged as problem:
            assert problem.where.startswith(f"{path}, line ")
            with pytest.raises(yaml.YAMLError):
                yaml.safe_load(whole[:cut])
            continue
        assert canonical(document) == canonical(_parsed(whole[:cut]))


WRITER = """
import sys
from pathlib import Path
from headway.core.edits import AppendExperiment, SetSection
from headway.errors import RunOwned
from headway.store.lock import RunLock
from headway.store.log import LogFile
from tests.store.logs import a_row
path, me, wanted = Path(sys.argv[1]), int(sys.argv[2]), 8
while wanted:
    lock = RunLock(path.with_name("lock"))
    try:
        lock.acquire(f"writer {me}")
    except RunOwned:
        continue
    log = LogFile.open(path)
    number = max(log.iterations()) + 1
    log.commit([AppendExperiment(a_row(number, batch=me)), SetSection("run_state", {"tick": number})])
    lock.release()
    wanted -= 1
    print(number, flush=True)
"""


def test_two_processes_that_take_turns_lose_nothing(path: Path) -> None:
    """The lock keeps them apart: every number is taken once, every acknowledged entry is there."""
    LogFile.create(path, log_rows(1))
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(me)], stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        for me in (1, 2)
    ]
    said = [writer.communicate(timeout=120)[0].split() for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0]
    rows = agreed(path)["experiments"]
    assert numbers(rows) == list(range(1, 18))
    for me, taken in enumerate(said, start=1):
        assert [row["iteration"] for row in rows[1:] if row["batch"] == me] == list(map(int, taken))


def test_a_second_process_does_not_write_while_the_first_owns_the_run(path: Path) -> None:
    """Two open logs in two processes are no danger as long as one of them holds the lock."""
    log = LogFile.create(path, log_rows(1))
    with RunLock(path.with_name("lock")) as lock:
        lock.acquire("first")
        with pytest.raises(RunOwned):
            RunLock(path.with_name("lock")).acquire("second")
        log.commit([AppendExperiment(a_row(2))])
    assert numbers(agreed(path)["experiments"]) == [1, 2]
