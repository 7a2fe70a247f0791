"""The recorded run under `state/sample/` is whole, and holds nothing of the machine that it was made on."""

import re
from pathlib import Path

from headway.core.log_check import check_log
from headway.store.log import LogFile
from headway.store.records import read_records

SAMPLE = Path(__file__).resolve().parents[2] / "state" / "sample" / "textindex"
ABSOLUTE = re.compile(rb"(?<![\w.>/-])/(?:root|home|tmp|Users|var|work|private)/[\w.-]+")


def test_the_sample_passes_the_logs_own_check() -> None:
    """Thirteen experiments, among them at least three keeps; no finding."""
    log = LogFile.open(SAMPLE / "experiment-log.yaml")
    rows = list(log.rows())
    assert check_log(log.sections(), [(None, row) for row in rows]) == []
    outcomes = [row["outcome"] for row in rows]
    assert len(outcomes) == 13
    assert outcomes.count("kept") >= 3
    assert {"degenerate", "timeout", "error"} <= set(outcomes)


def test_every_experiment_has_its_folder_with_readable_records() -> None:
    """Row, records, marker or reason, and patch of each experiment are there."""
    (run,) = (SAMPLE / "runs").iterdir()
    log = LogFile.open(SAMPLE / "experiment-log.yaml")
    for iteration in log.iterations():
        folder = run / "experiments" / f"exp{iteration:04d}"
        kinds = [record["kind"] for record in read_records(folder / "events.jsonl")]
        assert kinds[0] == "hypothesis_dispatched"
        assert (folder / "experiment.json").is_file()
        assert (folder / "assets" / "diff.patch").is_file()
    assert (run / "_DONE").is_file()


def test_the_sample_names_no_place_of_a_machine() -> None:
    """No absolute path stands in any of its files."""
    found = {
        str(path.relative_to(SAMPLE)): match[0]
        for path in SAMPLE.rglob("*")
        if path.is_file() and (match := ABSOLUTE.search(path.read_bytes()))
    }
    assert found == {}
