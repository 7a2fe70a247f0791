"""`headway analyze` and `headway.analysis`: on real files, through the program's own door."""

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from headway import analysis
from headway.cli.main import main
from headway.errors import OutsideFailed
from headway.store.log import LogFile
from tests.core.imports_samples import config, lines, run
from tests.core.test_analysis import a_document, tried

SAMPLE = Path(__file__).parents[2] / "state" / "sample" / "textindex"
Out = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _outside_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests may themselves be run by a job."""
    monkeypatch.delenv("HEADWAY_JOB", raising=False)


def written(folder: Path, *rows: dict[str, Any], **sections: Any) -> Path:
    """A log on disk."""
    path = folder / "log.yaml"
    LogFile.create(path, a_document(rows, **sections))
    return path


def test_the_sample_run_is_told_in_one_page(capsys: Out) -> None:
    """Every part that the run has something for."""
    assert main(["analyze", "--state-root", str(SAMPLE)]) == 0
    out = capsys.readouterr().out
    parts = (
        "kept         5 of 13 tried",
        "by category",
        "where the gain came from",
        "near misses",
        "failures:",
        "a keep",
    )
    assert [part for part in parts if part not in out] == []


def test_json_holds_all_of_it(capsys: Out) -> None:
    """For scripts; one document."""
    assert main(["analyze", "--state-root", str(SAMPLE), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["rates"]["kept"] == 5
    assert sum(keep["share"] for keep in document["attribution"]["keeps"]) == pytest.approx(1)
    assert {group["name"] for group in document["by"]["agent"]} == {"patches"}


@pytest.mark.parametrize("by", ["category", "agent", "file", "hour", "outcome", "batch"])
def test_every_dimension_groups_all_experiments(by: str, capsys: Out) -> None:
    """As CSV, with as many tried as there are (the sample changes one file each)."""
    assert main(["analyze", "--state-root", str(SAMPLE), "--by", by, "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert sum(int(row["experiments"]) for row in rows) == 13
    assert by in rows[0]
    assert main(["analyze", "--state-root", str(SAMPLE), "--by", by]) == 0


def test_without_a_dimension_a_table_has_one_row_an_experiment(tmp_path: Path, capsys: Out) -> None:
    """CSV, JSON and Parquet hold the same."""
    pytest.importorskip("pyarrow")
    root = ["analyze", "--state-root", str(SAMPLE)]
    assert main([*root, "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert (len(rows), rows[0]["value.build_seconds"], rows[0]["fate"]) == (13, 0.197602, "kept")
    assert main([*root, "--format", "parquet", "-o", str(tmp_path / "t.parquet")]) == 0
    assert main([*root, "--format", "csv", "-o", str(tmp_path / "t.csv")]) == 0
    assert len(list(csv.reader(io.StringIO((tmp_path / "t.csv").read_text("utf-8"))))) == 14
    assert (tmp_path / "t.parquet").read_bytes().startswith(b"PAR1")


def test_runs_are_set_side_by_side(tmp_path: Path, capsys: Out) -> None:
    """A log and a state root; as text and as data."""
    path = written(tmp_path, tried(1, "kept", 0.5), tried(2, "reverted"))
    assert main(["analyze", "--log", str(path), "--against", str(SAMPLE)]) == 0
    out = capsys.readouterr().out
    assert "2 and 1" in out
    assert "13 and 5" in out
    assert main(["analyze", "--log", str(path), "--against", str(SAMPLE), "--format", "json"]) == 0
    assert [row["kept"] for row in json.loads(capsys.readouterr().out)] == [1, 5]


def test_words_that_it_does_not_know_are_refused(capsys: Out) -> None:
    """With those that it knows."""
    assert main(["analyze", "--state-root", str(SAMPLE), "--by", "moon"]) == 2
    assert "category" in capsys.readouterr().err
    assert main(["analyze", "--state-root", str(SAMPLE), "--format", "xls"]) == 2
    assert main(["analyze", "--state-root", str(SAMPLE), "-o", "x"]) == 2
    assert main(["analyze", "--state-root", str(SAMPLE), "--format", "parquet"]) == 2


def test_an_imported_log_is_analysed(tmp_path: Path, capsys: Out) -> None:
    """What the other tool did not record is said to be unknown."""
    source = tmp_path / "a.jsonl"
    source.write_text(lines(config(), run(1, "keep", 10), run(2, "keep", 5), run(3, "crash", 0)), encoding="utf-8")
    assert main(["log", "import", str(source), "-o", str(tmp_path / "log.yaml")]) == 0
    capsys.readouterr()
    assert main(["analyze", "--log", str(tmp_path / "log.yaml")]) == 0
    out = capsys.readouterr().out
    assert "+50.0% as stored" in out
    assert "unknown in all" in out
    assert "imported" in out


def test_a_damaged_record_is_named_and_does_not_hide_the_rest(tmp_path: Path, capsys: Out) -> None:
    """A log is worth more than the records beside it."""
    root = tmp_path / "root"
    shutil.copytree(SAMPLE, root)
    records = root / "runs" / "20261130_201822" / "experiments" / "exp0002" / "events.jsonl"
    records.write_text("{broken\n")
    assert main(["analyze", "--state-root", str(root)]) == 0
    out = capsys.readouterr().out
    assert "5 of 13 tried" in out
    assert "records of experiment 2 cannot be read" in out


def test_a_run_without_a_log_says_how_to_go_on(tmp_path: Path, capsys: Out) -> None:
    """CP-1 was not reached."""
    (tmp_path / "spec.yaml").write_bytes((SAMPLE / "spec.yaml").read_bytes())
    assert main(["analyze", "--state-root", str(tmp_path)]) == 1
    assert "headway resume" in capsys.readouterr().err


def test_text_of_others_changes_nothing_but_letters(tmp_path: Path, capsys: Out) -> None:
    """Escape sequences in a hypothesis are shown, not obeyed."""
    path = written(tmp_path, tried(1, "kept", 0.5, hypothesis="red \x1b[31m", category="c\x1b]0;x\x07"))
    assert main(["analyze", "--log", str(path)]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_holdout_values_are_not_analysed(tmp_path: Path, capsys: Out) -> None:
    """Not in any table."""
    secret = {"metrics": {"seconds": {"aggregate": 0.987654321}}}
    pair: dict[str, Any] = {
        "kind": "holdout",
        "reference_revision": "a",
        "candidate_revision": "b",
        "candidate": secret,
    }
    path = written(
        tmp_path, tried(1, "kept", 0.5, comparisons=[{**pair, "reference": secret, "uncertainty": "0.9876"}])
    )
    assert main(["analyze", "--log", str(path), "--json"]) == 0
    assert "0.9876" not in capsys.readouterr().out


# From Python


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_frames_have_one_row_a_thing(backend: str) -> None:
    """Unknown stays unknown, and columns have types."""
    pytest.importorskip(backend)
    run = analysis.read(SAMPLE)
    frame = analysis.experiments(run, backend)
    assert frame.shape[0] == 13
    assert int(frame["gain"].count()) == sum(one.gain is not None for one in run.experiments)
    assert analysis.groups(run, "category", backend).shape[0] == len(run.by(analysis.By.CATEGORY))
    assert analysis.keeps(run, backend).shape[0] == 5
    assert analysis.near_misses(run, backend).shape[0] == len(run.near_misses)
    assert list(analysis.compare({"a": run, "b": run}, backend)["label"]) == ["a", "b"]


def test_a_frame_without_its_package_names_the_extra() -> None:
    """Not a traceback of an import."""
    with pytest.raises(OutsideFailed, match="headway\\[analysis\\]"):
        analysis.experiments(analysis.read(SAMPLE), "no-such-package")


def test_a_log_alone_can_be_read_from_python() -> None:
    """By its file; the spec beside it is found."""
    run = analysis.read(SAMPLE / "experiment-log.yaml")
    assert run.primary is not None
    assert run.primary.sign == -1
