"""What `log check` looks up beyond one place: order, what a keep rests on, and a measurement that changed."""

from collections.abc import Callable
from typing import Any

import pytest

from headway.core.log_check import check_log
from headway.core.log_references import Surroundings, kept_commits
from tests.core.test_log_check import a_log, brief

Document = dict[str, Any]


def found(log: Document, around: Surroundings | None = None) -> list[tuple[str, str]]:
    """Severity and place of each finding that is not about totals."""
    rows = [(index, row) for index, row in enumerate(log["experiments"])]
    return [place for place in brief(check_log(log, rows, around)) if "totals" not in place[1]]


def paired(log: Document, reference: int, candidate: int, order: str) -> None:
    """Give the first keep's session this many samples a side."""
    pairing = log["experiments"][0]["comparisons"][0]
    for side, many in (("reference", reference), ("candidate", candidate)):
        samples = [float(i) for i in range(many)]
        pairing[side] = {"metrics": {"time": {"aggregate": 1.0, "samples": samples}}, "headway": {"order": order}}


def _backwards(log: Document) -> None:
    log["experiments"][2]["batch"] = 3


def _drifted(log: Document) -> None:
    log["baseline"]["headway"] = {"workload": "selection:aaaa"}


def _without_pairing(log: Document) -> None:
    del log["experiments"][0]["comparisons"]


def _one_sided(log: Document) -> None:
    log["experiments"][0]["comparisons"][0]["candidate"] = {"metrics": {}}


@pytest.mark.parametrize(
    ("fault", "where"),
    [
        (_backwards, "experiments[3].batch"),
        (_drifted, "experiments[0].comparisons[0].workload"),
        (_without_pairing, "experiments[0].comparisons"),
        (_one_sided, "experiments[0].comparisons[0].candidate.metrics"),
        (lambda log: paired(log, 3, 4, "B A A B B A A B"), "experiments[0].comparisons[0].candidate.metrics.time"),
    ],
    ids=["an older batch behind a newer", "another workload", "a keep without pairing", "an empty side", "odd pairs"],
)
def test_each_break_is_found_where_it_is(fault: Callable[[Document], None], where: str) -> None:
    """In a log of ours, which always writes these."""
    log = a_log()
    fault(log)
    assert ("warning", where) in found(log)


@pytest.mark.parametrize(
    ("reference", "candidate", "order"), [(4, 4, "B A A B B A A B"), (1, 3, "B B B"), (1, 2, "B A B")]
)
def test_samples_that_were_never_pairs_are_not_asked_for(reference: int, candidate: int, order: str) -> None:
    """Other methods measure the sides apart."""
    log = a_log()
    paired(log, reference, candidate, order)
    assert found(log) == []


def test_a_spec_that_measures_otherwise_than_the_baseline_is_told() -> None:
    """The frozen spec beside the log."""
    log = a_log()
    log["baseline"]["headway"] = {"workload": "selection:aaaa"}
    for entry in log["experiments"]:
        for pairing in entry.get("comparisons", ()):
            pairing["workload"] = "selection:aaaa"
    assert found(log, Surroundings("selection:aaaa")) == []
    assert found(log, Surroundings("selection:bbbb")) == [("warning", "baseline.headway.workload")]


def test_a_kept_commit_that_nobody_has_is_an_error() -> None:
    """Nothing else holds that code; what was not kept needs none."""
    log = a_log()
    assert kept_commits(log["experiments"]) == ["b1", "c1"]
    assert found(log, Surroundings(unresolved={"b1"})) == [("error", "experiments[0].commit")]
    assert found(log, Surroundings(unresolved=set())) == []


def test_nothing_of_this_is_asked_of_an_imported_log() -> None:
    """What another tool did not record is unknown; its departures are warnings."""
    log = a_log()
    log["baseline"]["headway"] = {"imported": {"format": "aide"}}
    _backwards(log)
    _without_pairing(log)
    log["experiments"][2]["batch"] = 3
    del log["experiments"][2]["category"]
    assert found(log) == [("warning", "experiments[2].category")]
