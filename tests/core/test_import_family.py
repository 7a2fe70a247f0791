"""Wild variants of this family's logs: what can be known is mapped, the rest kept and reported, nothing guessed."""

import copy
from typing import Any

from headway.core.imports.family import is_family, is_own, marked, migrate
from headway.core.log_check import check_log
from headway.core.log_findings import Severity
from tests.core.test_log_check import a_log, foreign


def wild() -> dict[str, Any]:
    """A log that leaves the schema in the ways that were seen."""
    return {
        "spec": "smooth",
        "run_id": "2026-08-07T22-37-22Z",
        "started_at": "2026-08-07T22-37-22Z",
        "superseded_baseline": {"timestamp": "2026-08-07T20:00:00Z"},
        "baseline": {"raw_primary": [20, 22, 22], "diagnostics": {"p95_ms": 22}, "noise_warning": "wide"},
        "experiments": [
            {"iteration": 1, "batch": 1, "hypothesis": "a", "category": "x", "outcome": "kept", "primary_delta": 14},
            {
                "iteration": 2,
                "batch": 1,
                "hypothesis": "b",
                "category": "x",
                "outcome": "rejected",
                "commit": "abc1234",
            },
            {"iteration": 3, "batch": 2, "hypothesis": "c", "category": "x", "outcome": "retained_non_metric"},
            {"iteration": 4, "batch": 2, "hypothesis": "d", "category": "x", "outcome": "awaiting_human_judgment"},
            {"iteration": 5, "batch": 3, "hypothesis": "e", "category": "x", "outcome": "half_baked"},
            {"iteration": 5, "batch": 3, "hypothesis": "f", "category": "x", "outcome": "kept", "primary": {"ms": 3.5}},
        ],
        "best": {"iteration": 1, "metrics": {"p95_ms": 19}},
        "hypothesis_backlog": [{"description": "g", "priority": "high", "dep_status": "on_a_gpu"}],
    }


def test_words_and_values_of_plain_meaning_go_where_they_belong() -> None:
    """Each with its own word kept."""
    entries = migrate(wild()).rows["experiments"]
    assert [entry["outcome"] for entry in entries] == ["kept", "reverted", "kept", "measured", "half_baked", "kept"]
    assert entries[1]["headway"]["imported"]["rest"] == {"commit": "abc1234", "outcome": "rejected"}
    assert entries[0]["primary_delta"] == "+14"
    assert entries[5]["metrics"] == {"ms": 3.5}
    assert migrate(wild()).rows["started_at"] == "2026-08-07T22:37:22Z"


def test_what_the_schema_does_not_know_is_kept_and_reported() -> None:
    """Nothing is lost, nothing is left where nobody reads it."""
    done = migrate(wild())
    assert done.rows["baseline"]["headway"]["imported"]["rest"].keys() == {
        "superseded_baseline",
        "raw_primary",
        "noise_warning",
    }
    assert done.rows["hypothesis_backlog"][0] == {
        "description": "g",
        "priority": "high",
        "headway": {"imported": {"rest": {"dep_status": "on_a_gpu"}}},
    }
    assert any("half_baked" in kept for kept in done.kept)
    assert any("superseded_baseline" in kept for kept in done.kept)


def test_the_primary_is_found_among_the_diagnostics_only_by_its_name() -> None:
    """Without the spec nobody knows which of them it is."""
    assert "metrics" not in migrate(wild()).rows["baseline"]
    named = migrate(wild(), "p95_ms").rows["baseline"]
    assert named["metrics"] == {"p95_ms": {"aggregate": 22, "samples": [20, 22, 22]}}
    assert named["diagnostics"] == {"p95_ms": 22}


def test_a_number_that_stands_twice_is_given_a_free_one() -> None:
    """The first keeps it; the other's is kept beside."""
    entries = migrate(wild()).rows["experiments"]
    assert [entry["iteration"] for entry in entries] == [1, 2, 3, 4, 5, 6]
    assert entries[5]["headway"]["imported"]["rest"]["iteration"] == 5


def test_a_log_that_is_right_is_left_alone() -> None:
    """One of ours, and another tool's that keeps to the schema."""
    for log in (a_log(), foreign(a_log())):
        done = migrate(log)
        assert done.changes == []
        assert done.rows == log


def test_a_migrated_log_has_nothing_left_to_migrate_and_no_errors() -> None:
    """Its one unknown verdict stays a warning."""
    before = wild()
    kept = copy.deepcopy(before)
    rows = marked(migrate(before, "p95_ms"), {"format": "ce-optimize", "migrated": True})
    assert before == kept
    assert migrate(rows, "p95_ms").changes == []
    found = check_log(rows, [(None, row) for row in rows["experiments"]])
    assert [finding for finding in found if finding.severity is Severity.ERROR] == []
    assert "experiments[4].outcome" in {finding.where for finding in found}


def test_what_is_no_mapping_is_kept_and_told() -> None:
    """An item of experiments that is a text."""
    done = migrate({"experiments": ["broken", {"iteration": 1}], "baseline": {}})
    assert [found.reason for found in done.skipped] == ["item 1 of `experiments` is no mapping"]
    assert done.rows["baseline"]["headway"]["imported"]["rest"] == {"experiments_that_are_none": ["broken"]}


def test_which_documents_are_logs_and_whose() -> None:
    """A spec is none; a `headway` key says that it is ours."""
    assert not is_family({"name": "x", "metric": {}})
    assert is_family({"experiments": []})
    assert is_own(a_log())
    assert not is_own(foreign(a_log()))
