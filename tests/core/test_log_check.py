"""`log check`: what it finds, what it leaves alone, and that nothing makes it fall over."""

import copy
import datetime
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headway.core.log_check import check_log
from headway.core.log_findings import Finding, Severity
from headway.core.records import Entry, Log, to_row
from headway.core.totals import recount
from tests.strategies import PLAIN, records_of

Document = dict[str, Any]


def a_log() -> Document:
    """Give a log of headway's own, one that has nothing to find: a keep, a runner-up, a crash, one set aside."""
    pairing = {"reference_revision": "a1", "candidate_revision": "b1", "workload": "selection 9f"}
    sides = {"reference": {"metrics": {"time": 2.0}}, "candidate": {"metrics": {"time": 1.5}}}
    common = {"hypothesis": "cache it", "category": "algorithm"}
    experiments = [
        {
            "iteration": 1,
            "batch": 1,
            **common,
            "outcome": "kept",
            "comparisons": [{"kind": "standalone", **pairing, **sides}],
            "gates_passed": True,
            "metrics": {"time": {"aggregate": 1.5, "samples": [1.5]}},
            "sample_count": 2,
            "commit": "b1",
            "headway": {"k": 1},
        },
        {
            "iteration": 2,
            "batch": 1,
            **common,
            "outcome": "runner_up_kept",
            "comparisons": [
                {"kind": "standalone", **pairing, **sides},
                {"kind": "integrated", **pairing, "candidate_revision": "c1", **sides, "headway": {"k": 3}},
            ],
            "sample_count": 2,
            "commit": "c1",
            "merged_with": 1,
            "headway": {"k": 2},
        },
        {"iteration": 3, "batch": 2, **common, "outcome": "error", "error_message": "exit 1"},
        {"iteration": 4, "batch": 2, **common, "outcome": "deferred_needs_approval", "deferred_reason": "numpy"},
    ]
    totals = to_row(recount(Entry.model_validate(row) for row in experiments))
    return {
        "spec": "faster",
        "run_id": "20261130_174600",
        "started_at": "2026-11-30T17:46:00Z",
        "baseline": {"timestamp": "2026-11-30T17:46:10Z", "gates": {"ok": 1}, "metrics": {"time": 2.0}},
        "harness_validation": {"timestamp": "2026-11-30T17:46:05Z", "calibration": "not_applicable"},
        "experiments": experiments,
        "best": {"iteration": 2, "metrics": {"time": 1.5}},
        "approval": {
            "approved_at": "2026-11-30T17:47:00+00:00",
            "spec_sha256": "00",
            "caps": {"stopping": {"max_iterations": 10}, "execution": {"max_concurrent": 1}},
            "headway": {"approved_by": "ann"},
        },
        "run_state": {
            "status": "waiting",
            "tick": 2,
            "phase3_started_at": "2026-11-30T17:48:00Z",
            "active_seconds": 12.5,
            "pending_waits": [{"item": "exp 5 author 1", "headway": {"iteration": 5, "batch": 3}}],
            "headway": {"totals": totals},
        },
        "hypothesis_backlog": [{"description": "unroll it", "priority": "low", "dep_status": "not_applicable"}],
    }


def findings(log: Document) -> list[Finding]:
    """Check a document, each entry on a line of its own: 100, 200, ..."""
    if "experiments" not in log:
        return check_log(log, None)
    return check_log(log, [(100 * (index + 1), row) for index, row in enumerate(log["experiments"])])


def brief(found: list[Finding]) -> list[tuple[str, str]]:
    """Give severity and place of each finding."""
    return [(str(finding.severity), finding.where) for finding in found]


def foreign(log: Document) -> Document:
    """Give the same log as another tool would have written it: without any `headway` key."""
    bare = copy.deepcopy(log)
    for section in [bare, *bare.values(), *bare["experiments"]]:
        if isinstance(section, dict):
            section.pop("headway", None)
    return bare


def test_a_sound_log_has_nothing_to_find() -> None:
    """Silence means that nothing was found, for a log of ours and for another tool's."""
    assert findings(a_log()) == []
    assert findings(foreign(a_log())) == []


def test_a_log_before_its_first_experiment_is_sound() -> None:
    """CP-1 writes `experiments: []`: an empty section is there."""
    log = a_log()
    log |= {"experiments": [], "best": {"iteration": 0}}
    del log["run_state"]
    assert findings(log) == []


def _entry(index: int, **fields: Any) -> Callable[[Document], None]:
    return lambda log: log["experiments"][index].update(fields)


def _without(*path: Any) -> Callable[[Document], None]:
    def take_out(log: Document) -> None:
        place: Any = log
        for step in path[:-1]:
            place = place[step]
        del place[path[-1]]

    return take_out


def _with(value: Any, *path: Any) -> Callable[[Document], None]:
    def put_in(log: Document) -> None:
        place: Any = log
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return put_in


def _again(*path: Any) -> Callable[[Document], None]:
    """Append a copy of an item to the list that it stands in."""

    def repeat(log: Document) -> None:
        place: Any = log
        for step in path[:-1]:
            place = place[step]
        place.append(copy.deepcopy(place[path[-1]]))

    return repeat


FAULTS: list[tuple[str, Callable[[Document], None], str, str]] = [
    ("a missing section", _without("best"), "error", "best"),
    ("no experiments section", _without("experiments"), "error", "experiments"),
    ("a missing number", _without("experiments", 2, "iteration"), "error", "experiments[2].iteration"),
    ("a missing hypothesis", _without("experiments", 2, "hypothesis"), "error", "experiments[2].hypothesis"),
    ("a missing outcome", _without("experiments", 2, "outcome"), "error", "experiments[2].outcome"),
    ("an unknown outcome", _entry(2, outcome="rejected"), "error", "experiments[2].outcome"),
    ("a number below one", _entry(2, iteration=0), "error", "experiments[2].iteration"),
    ("a number that is text", _entry(2, iteration="3"), "error", "experiments[2].iteration"),
    ("a number used twice", _entry(2, iteration=4), "error", "experiments[3].iteration"),
    ("no hypothesis text", _entry(2, hypothesis=7), "error", "experiments[2].hypothesis"),
    ("an odd sample count", _entry(2, sample_count=-1), "error", "experiments[2].sample_count"),
    ("a metric that is no number", _entry(2, metrics={"time": float("nan")}), "error", "experiments[2].metrics.time"),
    ("a gate that is no number", _entry(2, gates={"ok": float("inf")}), "error", "experiments[2].gates.ok"),
    ("a metric that is a list", _entry(2, metrics={"time": [1]}), "error", "experiments[2].metrics.time"),
    ("a metric that is text", _entry(2, metrics={"time": "1.5"}), "warning", "experiments[2].metrics.time"),
    ("a keep without commit", _without("experiments", 0, "commit"), "error", "experiments[0].commit"),
    ("a commit without keep", _entry(2, commit="d1"), "error", "experiments[2].commit"),
    ("a keep of what was not measured", _entry(0, commit="e9"), "error", "experiments[0].commit"),
    ("a keep whose gate failed", _entry(0, gates_passed=False), "error", "experiments[0].gates_passed"),
    ("a crash without words", _without("experiments", 2, "error_message"), "warning", "experiments[2].error_message"),
    (
        "set aside without words",
        _without("experiments", 3, "deferred_reason"),
        "warning",
        "experiments[3].deferred_reason",
    ),
    ("merged with nobody", _entry(1, merged_with=9), "error", "experiments[1].merged_with"),
    ("merged with itself", _entry(1, merged_with=2), "error", "experiments[1].merged_with"),
    ("merged, and no runner-up", _entry(2, merged_with=1), "warning", "experiments[2].merged_with"),
    ("a runner-up of nobody", _without("experiments", 1, "merged_with"), "warning", "experiments[1].merged_with"),
    ("an unknown key in an entry", _entry(2, evidence="x"), "warning", "experiments[2].evidence"),
    ("an unknown section", _with({}, "notes"), "warning", "notes"),
    ("an unknown key in a section", _with(1, "baseline", "repeats"), "warning", "baseline.repeats"),
    ("an entry that is none", _with("x", "experiments", 2), "error", "experiments[2]"),
    (
        "a pairing without kind",
        _without("experiments", 0, "comparisons", 0, "kind"),
        "error",
        "experiments[0].comparisons[0].kind",
    ),
    (
        "a pairing of an unknown kind",
        _with("quick", "experiments", 0, "comparisons", 0, "kind"),
        "error",
        "experiments[0].comparisons[0].kind",
    ),
    (
        "a pairing without revision",
        _without("experiments", 0, "comparisons", 0, "candidate_revision"),
        "error",
        "experiments[0].comparisons[0].candidate_revision",
    ),
    (
        "a pairing without a side",
        _without("experiments", 0, "comparisons", 0, "reference"),
        "warning",
        "experiments[0].comparisons[0].reference",
    ),
    (
        "a pairing with a strange key",
        _with(1, "experiments", 0, "comparisons", 0, "p_value"),
        "warning",
        "experiments[0].comparisons[0].p_value",
    ),
    ("a pairing twice", _again("experiments", 0, "comparisons", 0), "error", "experiments[0].comparisons[1]"),
    ("a best that is not there", _with(9, "best", "iteration"), "error", "best.iteration"),
    ("a best that was not kept", _with(3, "best", "iteration"), "error", "best.iteration"),
    ("a status that is none", _with("paused", "run_state", "status"), "error", "run_state.status"),
    ("a time that is none", _with("yesterday", "started_at"), "error", "started_at"),
    ("a day for a time", _with("2026-11-30", "baseline", "timestamp"), "error", "baseline.timestamp"),
    ("a run id that is no text", _with(20261130, "run_id"), "error", "run_id"),
    (
        "a wait for what is there",
        _with(3, "run_state", "pending_waits", 0, "headway", "iteration"),
        "error",
        "run_state.pending_waits[0]",
    ),
    ("work outstanding at the end", _with("final", "run_state", "status"), "error", "run_state.pending_waits[0]"),
    ("a backlog that is none", _with("x", "hypothesis_backlog"), "error", "hypothesis_backlog"),
    (
        "an unknown word in the backlog",
        _with("urgent", "hypothesis_backlog", 0, "priority"),
        "error",
        "hypothesis_backlog[0].priority",
    ),
    ("no validation", _without("harness_validation"), "info", "harness_validation"),
    ("no approval", _without("approval"), "info", "approval"),
]


@pytest.mark.parametrize(("fault", "severity", "where"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS])
def test_each_fault_is_found_where_it_is(fault: Callable[[Document], None], severity: str, where: str) -> None:
    """One fault in a sound log gives a finding of its severity at its place."""
    log = a_log()
    fault(log)
    assert (severity, where) in brief(findings(log))


@pytest.mark.parametrize("fault", [row[1] for row in FAULTS], ids=[row[0] for row in FAULTS])
def test_a_fault_is_told_once(fault: Callable[[Document], None]) -> None:
    """Nobody reads a report that says one thing five times."""
    log = a_log()
    fault(log)
    told = [where for where in brief(findings(log)) if "totals" not in where[1]]
    assert len(told) == len(set(told))
    assert len(told) <= 2


def test_an_undecided_experiment_in_a_finished_run_is_found() -> None:
    """Nothing awaits a decision once a run is final."""
    log = a_log()
    log["run_state"] |= {"status": "final", "pending_waits": []}
    log["experiments"][3]["outcome"] = "measured"
    assert ("error", "experiments[3].outcome") in brief(findings(log))


def test_the_line_and_the_number_of_an_entry_are_told() -> None:
    """Whoever mends the file by hand is led to the line."""
    log = a_log()
    log["experiments"][2]["outcome"] = "rejected"
    [finding] = [found for found in findings(log) if found.where == "experiments[2].outcome"]
    assert (finding.iteration, finding.line) == (3, 300)
    assert "'rejected' is none of 'measured', 'promising', 'kept'" in finding.what
    assert finding.mend


def test_departures_in_another_tools_log_are_warnings() -> None:
    """Absent means unknown there, and its words are its own: it loads."""
    log = foreign(a_log())
    del log["best"]
    del log["experiments"][0]["commit"]
    log["experiments"][2] |= {"outcome": "awaiting_human_judgment", "primary": {"ms": 3}, "batch": "one"}
    log["started_at"] = "2026-08-07T13-40-00Z"
    log["hypothesis_backlog"][0]["dep_status"] = "available"
    found = findings(log)
    assert {finding.severity for finding in found} == {Severity.WARNING}
    assert {where for _, where in brief(found)} == {
        "best",
        "experiments[0].commit",
        "experiments[2].outcome",
        "experiments[2].primary",
        "experiments[2].batch",
        "started_at",
        "hypothesis_backlog[0].dep_status",
    }


def test_contradictions_are_errors_in_every_log() -> None:
    """One number for two experiments is not a matter of dialect."""
    log = foreign(a_log())
    log["experiments"][2]["iteration"] = 4
    assert ("error", "experiments[3].iteration") in brief(findings(log))


def test_a_time_that_the_loader_made_a_date_is_a_time() -> None:
    """YAML 1.1 loaders read an unquoted timestamp as a date object; that is no fault of the log."""
    log = a_log()
    log["started_at"] = datetime.datetime(2026, 8, 7, 13, 40, tzinfo=datetime.UTC)
    log["run_id"] = datetime.datetime(2026, 8, 7, 13, 40, tzinfo=datetime.UTC)
    assert findings(log) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("counts", {"kept": 2, "runner_up_kept": 1, "error": 1, "deferred_needs_approval": 1}),
        ("k", 2),
        ("keeps", [1]),
        ("measured_since_keep", 3),
        ("failures_in_a_row", 0),
    ],
)
def test_totals_that_the_entries_do_not_give_are_found(name: str, value: Any) -> None:
    """Totals are counted again from the entries, each of them."""
    log = a_log()
    log["run_state"]["headway"]["totals"][name] = value
    assert f"run_state.headway.totals.{name}" in {finding.where for finding in findings(log)}


def test_an_entry_that_the_totals_miss_is_an_error_and_a_deleted_one_is_not() -> None:
    """Whole finished entries may be deleted by hand; an entry that was never counted is damage."""
    log = a_log()
    gone = copy.deepcopy(log)
    del gone["experiments"][2]
    assert {finding.severity for finding in findings(gone)} == {Severity.WARNING}
    more = copy.deepcopy(log)
    more["experiments"].append({**more["experiments"][2], "iteration": 6})
    assert {finding.severity for finding in findings(more)} == {Severity.ERROR}
    swapped = copy.deepcopy(gone)
    del swapped["experiments"][2]
    swapped["experiments"].append({**log["experiments"][2], "iteration": 6, "outcome": "timeout"})
    assert {finding.severity for finding in findings(swapped)} == {Severity.ERROR}


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(records_of(Log))
def test_what_the_models_can_build_departs_from_nothing(log: Log) -> None:
    """What headway writes fits the schema: the check finds contradictions in random logs, never misfits."""
    row = to_row(log)
    told = [finding for finding in findings(row) if finding.severity is Severity.ERROR]
    assert not [finding for finding in told if "input should" in finding.what or "is none of" in finding.what]


ANYTHING = st.dictionaries(
    st.sampled_from(["iteration", "outcome", "merged_with", "comparisons", "metrics", "headway", "commit", "x"]),
    PLAIN | st.sampled_from(["kept", "error", 1, 2]),
    max_size=6,
)
SECTIONS = st.dictionaries(
    st.sampled_from(
        ["spec", "run_id", "started_at", "baseline", "best", "approval", "run_state", "hypothesis_backlog", "x"]
    ),
    PLAIN | ANYTHING | st.lists(ANYTHING, max_size=2),
    max_size=5,
)
WAITING = st.fixed_dictionaries(
    {"status": PLAIN, "pending_waits": PLAIN | st.lists(ANYTHING, max_size=2), "headway": PLAIN | ANYTHING}
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(SECTIONS, st.lists(ANYTHING | PLAIN, max_size=4), PLAIN | WAITING)
def test_nothing_makes_the_check_fall_over(sections: Document, rows: list[Any], state: Any) -> None:
    """Whatever a file holds, there is a report."""
    assert isinstance(check_log({**sections, "run_state": state}, [(None, row) for row in rows]), list)
