"""pi-autoresearch logs: every record kind and segment, the verdict as recorded, and nothing invented."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.imports.pi import read_pi
from headway.core.log_check import check_log
from headway.core.log_findings import Severity
from headway.core.records import Entry
from headway.core.rows import Row
from tests.core.imports_samples import config, lines, made, rows, run, told


def outcomes(text: str) -> list[str]:
    """The outcomes of a log's runs, in order."""
    return [row["outcome"] for row in rows(made(read_pi(text)))]


def test_each_verdict_is_taken_as_recorded() -> None:
    """A keep is no claim that it is better; a word without plain meaning says that something was run, no more."""
    words = ["keep", "discard", "crash", "checks_failed", "pondering"]
    text = lines(config(), *(run(i, word) for i, word in enumerate(words, 1)))
    assert outcomes(text) == ["kept", "reverted", "error", "degenerate", "measured"]
    assert [told(row)["status"] for row in rows(made(read_pi(text)))] == words


def test_zero_is_a_value_and_a_crash_is_no_measurement() -> None:
    """A kept zero is the best there can be; the zero of a crash is kept beside it as recorded."""
    imported = made(read_pi(lines(config(), run(1, "keep", 3), run(2, "keep", 0), run(3, "crash", 0))))
    kept, crashed = rows(imported)[1], rows(imported)[2]
    assert kept["metrics"] == {"wall_ms": 0}
    assert imported.rows["best"] == {"iteration": 2, "metrics": {"wall_ms": 0}}
    assert "metrics" not in crashed
    assert told(crashed)["metric"] == 0


def test_the_best_is_a_kept_one_however_good_the_others_are() -> None:
    """What was discarded for its checks or for gaming is never the best."""
    imported = made(
        read_pi(lines(config(), run(1, "keep", 9), run(2, "discard", 1), run(3, "keep", 7), run(4, "keep", 8)))
    )
    assert imported.rows["best"]["iteration"] == 3


def test_every_line_that_is_no_run_is_told_with_its_number_and_reason() -> None:
    """Hooks, other schemas, damaged lines and values that are no records; blank lines say nothing."""
    reading = read_pi(
        lines(
            config(),
            "",
            {"type": "hook", "stage": "before"},
            {"f1": 0.5},
            '{"run": 1, "sta',
            "7",
            run(1),
            {"status": "x"},
        )
    )
    assert [(found.line, found.reason.split(",")[0]) for found in reading.skipped] == [
        (3, "a record of the kind `hook`"),
        (4, "another schema's record (keys f1...): it lacks `run` or `status`"),
        (5, "not a whole JSON value: the line is cut off or damaged"),
        (6, "a JSON value that is no record"),
        (8, "another schema's record (keys status...): it lacks `run` or `status`"),
    ]
    assert len(reading.runs) == 1


def test_run_numbers_that_are_used_again_keep_all_their_runs() -> None:
    """Merged sessions repeat numbers: each line is an experiment, numbered by its place."""
    imported = made(read_pi(lines(config(), run(1), run(2), run(2), run(1))))
    assert [row["iteration"] for row in rows(imported)] == [1, 2, 3, 4]
    assert [told(row)["rest"]["run"] for row in rows(imported)] == [1, 2, 2, 1]
    assert "2 run numbers are used again in their segment" in imported.notes


def test_a_config_line_begins_a_segment_whatever_the_field_says() -> None:
    """Some writers leave `segment` at 0 for good."""
    text = lines(config("a"), run(1, segment=0), config("b", "higher"), run(2, segment=0), run(3, segment=0))
    imported = made(read_pi(text))
    assert [row.get("metrics") for row in rows(imported)] == [{"a": 10.0}, {"b": 10.0}, {"b": 10.0}]
    segments = told(imported.rows["baseline"])["segments"]
    assert [(s["metric"], s["direction"], s["first"], s["last"]) for s in segments] == [
        ("a", "lower", 1, 1),
        ("b", "higher", 2, 3),
    ]


def test_merged_sessions_that_take_turns_stay_in_their_segments() -> None:
    """The field leads back to the segment that it stood for."""
    text = lines(config("a"), run(1, segment=0), config("b"), run(2, segment=1), run(3, segment=0), run(4, segment=1))
    assert [next(iter(row["metrics"])) for row in rows(made(read_pi(text)))] == ["a", "b", "a", "b"]


def test_the_field_alone_begins_segments_where_no_config_line_does() -> None:
    """Without a declaration the metric's name is unknown, and its segments are still apart."""
    imported = made(read_pi(lines(run(1, segment=0), run(2, segment=0), run(3, segment=1), run(4))))
    assert [told(row)["segment"] for row in rows(imported)] == [0, 0, 1, 1]
    assert list(rows(imported)[0]["metrics"]) == ["metric"]


def test_a_declaration_without_runs_is_no_segment() -> None:
    """The log's baseline and best are those of runs."""
    imported = made(read_pi(lines(config("a"), config("b"), run(1), config("c"))))
    assert [s["metric"] for s in told(imported.rows["baseline"])["segments"]] == ["b"]
    assert made(read_pi(lines(config()))).rows["experiments"] == []


def test_confidence_is_computed_against_the_first_run_that_measured_something() -> None:
    """The tool's own figure takes a crash for the baseline; ours does not, and counts zeros as values."""
    text = lines(
        config(), run(1, "crash", 0, confidence=99), run(2, "keep", 10), run(3, "keep", 8), run(4, "discard", 9)
    )
    found = [told(row)["confidence"] for row in rows(made(read_pi(text)))]
    assert found == [None, None, None, 2.0]  # |8 - 10| / median deviation of 10, 8, 9
    zeros = lines(config(), run(1, "keep", 4), run(2, "keep", 0), run(3, "discard", 2))
    assert told(rows(made(read_pi(zeros)))[2])["confidence"] == 2.0
    assert told(rows(made(read_pi(text)))[0])["rest"]["confidence"] == 99


def test_equal_values_have_no_confidence() -> None:
    """Without scatter nothing can stand out of it."""
    text = lines(config(), *(run(i, "keep", 5) for i in range(1, 6)))
    assert {told(row)["confidence"] for row in rows(made(read_pi(text)))} == {None}


@pytest.mark.parametrize("commit", ["", None, "HEAD", "TBD", "none"])
def test_a_commit_that_is_none_is_kept_beside_and_not_claimed(commit: str | None) -> None:
    """Placeholders resolve to nothing."""
    row = rows(made(read_pi(lines(config(), run(1, commit=commit)))))[0]
    assert "commit" not in row
    assert told(row).get("commit") == commit


def test_a_discard_names_no_commit_on_the_branch() -> None:
    """There it is its parent's."""
    row = rows(made(read_pi(lines(config(), run(1, "discard")))))[0]
    assert "commit" not in row
    assert told(row)["commit"] == "0000001"


def test_an_unknown_direction_is_inferred_or_left_unknown_and_said() -> None:
    """By the metric's name; else by what was kept; else unknown, with the last keep as the best."""
    named = made(read_pi(lines(config("latency_ms", None), run(1), run(2, "keep", 5))))
    assert "experiments 1 to 2: lower `latency_ms` is taken for better, inferred from the metric's name" in named.notes
    kept = made(read_pi(lines(config("x", None), *(run(i, "keep", i) for i in range(1, 7)))))
    assert told(kept.rows["baseline"])["segments"][0]["direction_by"] == "keeps"
    assert kept.rows["best"]["iteration"] == 6
    unknown = made(read_pi(lines(config("x", None), run(1, "keep", 9), run(2, "keep", 1), run(3, "keep", 5))))
    assert unknown.rows["best"]["iteration"] == 3
    assert any("--direction says it" in note for note in unknown.notes)
    assert made(read_pi(lines(config("x", None), run(1, "keep", 9), run(2, "keep", 1))), "higher").rows["best"] == {
        "iteration": 1,
        "metrics": {"x": 9},
    }


def test_values_that_no_log_can_hold_are_kept_as_text() -> None:
    """Integers over 64 bits, halves of characters, and what JSON does not have."""
    text = lines(
        '{"run": 1, "status": "keep", "metric": 1e999, "description": "\\ud83d x", "n": 99999999999999999999, "z": NaN}'
    )
    row = rows(made(read_pi(text)))[0]
    assert "metrics" not in row
    assert row["hypothesis"] == "\\ud83d x"
    assert told(row)["rest"] == {"run": 1, "n": "99999999999999999999", "z": "NaN"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


def _is_no_text(value: object) -> bool:
    return not isinstance(value, str)  # `lines` takes a text for a line as it stands


RECORDS = st.fixed_dictionaries(
    {"run": JSON, "status": st.sampled_from(["keep", "discard", "crash", "checks_failed"]) | JSON},
    optional=dict.fromkeys(("metric", "commit", "description", "timestamp", "metrics", "segment", "asi"), JSON),
)


@given(
    st.lists(
        RECORDS
        | st.fixed_dictionaries({"type": st.just("config")}, optional={"metricName": JSON})
        | JSON.filter(_is_no_text),
        max_size=8,
    )
)
def test_whatever_stands_in_the_lines_the_log_checks_out(records: list[object]) -> None:
    """No record makes an import fall over, and every line is an experiment, a declaration or told."""
    reading = read_pi(lines(*records))
    imported = made(reading)
    declared = sum(isinstance(r, dict) and r.get("type") == "config" for r in records)
    assert len(reading.runs) + len(reading.skipped) + declared == len(records)
    found = check_log(imported.rows, [(None, row) for row in rows(imported)])
    assert [finding for finding in found if finding.severity is Severity.ERROR] == []
    for row in rows(imported):
        entry: Row = Entry.model_validate(row)
        assert entry
        assert all(math.isfinite(value) for value in row.get("metrics", {}).values())
