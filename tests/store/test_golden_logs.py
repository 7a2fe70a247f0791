"""Logs of released formats keep loading, to the value. They are never made anew: a new format gets files of its own."""

import json
from pathlib import Path
from typing import Any

import pytest

from headway.core.edits import AppendExperiment, SetSection
from headway.core.log_check import check_log
from headway.core.log_findings import Severity
from headway.orchestrator.reading import entry_of, view_of
from headway.store.document import read_document
from headway.store.log import LogFile
from headway.store.version import canonical

GOLDEN = sorted(Path(__file__).with_name("golden").glob("*.yaml"))


def expected(path: Path) -> dict[str, Any]:
    """The values of a golden log, as they were written down when its format was released."""
    document: dict[str, Any] = json.loads(path.with_suffix(".json").read_bytes())
    return document


@pytest.fixture(params=GOLDEN, ids=lambda path: path.stem)
def golden(request: pytest.FixtureRequest) -> Path:
    """One golden log."""
    path = request.param
    assert isinstance(path, Path)
    return path


def test_there_is_a_golden_log_of_every_kind() -> None:
    """As a run leaves it, at the gate, and after a person's hand."""
    assert {path.stem for path in GOLDEN} >= {"0.1.0-run", "0.1.0-gate", "0.1.0-edited"}


def test_a_golden_log_reads_as_it_was_written(golden: Path) -> None:
    """Section by section, row by row, and whole."""
    log = LogFile.open(golden)
    document = expected(golden)
    assert canonical(read_document(golden)) == canonical(document)
    rows = document.pop("experiments") or []
    assert canonical(log.sections()) == canonical(document)
    assert canonical(list(log.rows())) == canonical(rows)
    assert log.notices == []


def test_a_golden_log_still_has_a_meaning(golden: Path) -> None:
    """Its records are typed, its view can be taken, and the check finds no fault in it."""
    log = LogFile.open(golden)
    rows = expected(golden)["experiments"] or []
    entries = [entry_of(log, row) for row in rows]
    assert [entry.iteration for entry in entries if entry is not None] == [row["iteration"] for row in rows]
    assert view_of(log).run_id == expected(golden)["run_id"]
    found = check_log(log.sections(), ((None, row) for row in log.rows()))
    assert [finding for finding in found if finding.severity is Severity.ERROR] == []


def test_a_golden_log_can_be_gone_on_with(golden: Path, tmp_path: Path) -> None:
    """A commit changes what it says and no other byte."""
    path = tmp_path / "log.yaml"
    before = golden.read_bytes()
    path.write_bytes(before)
    row = {"iteration": 900, "hypothesis": "a: b", "outcome": "error", "error_message": "x\ny\n"}
    log = LogFile.open(path)
    log.commit([AppendExperiment(row)])
    document = expected(golden)
    document["experiments"] = [*(document["experiments"] or []), row]
    assert canonical(read_document(path)) == canonical(document)
    after = path.read_bytes()
    start = next(at for at, (a, b) in enumerate(zip(before, after, strict=False)) if a != b)
    if expected(golden)["experiments"]:
        assert after == before[:start] + after[start : start + len(after) - len(before)] + before[start:]
    log.commit([SetSection("run_state", {"status": "running", "tick": 900})])
    assert after[: after.index(b"run_id:")] == path.read_bytes()[: after.index(b"run_id:")]
    assert canonical(read_document(path)) == canonical({**document, "run_state": {"status": "running", "tick": 900}})
