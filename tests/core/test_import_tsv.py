"""Results tables: any header or none, ragged rows, cells that are no numbers, and a direction that is said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.imports.found import Reading
from headway.core.imports.tsv import read_tsv
from headway.core.imports.words import outcome_of
from headway.core.log_check import check_log
from headway.core.log_findings import Severity
from tests.core.imports_samples import made, rows, told

HEADER = "commit\tval_loss\tmemory_gb\tstatus\tdescription"


def table(*lines: str) -> Reading:
    """Read these lines."""
    return read_tsv("".join(f"{line}\n" for line in lines))


def test_a_classical_table_is_read_by_its_header() -> None:
    """Verdict, value, commit, what was tried, and the other measured values."""
    imported = made(table(HEADER, "abc1234\t1.5\t10.5\tkeep\tbaseline", "abc1235\t1.75\t10.5\tdiscard\twider"))
    first, second = rows(imported)
    assert (first["outcome"], first["metrics"], first["commit"]) == ("kept", {"val_loss": 1.5}, "abc1234")
    assert first["diagnostics"] == {"memory_gb": 10.5}
    assert (second["outcome"], second["hypothesis"], told(second)["line"]) == ("reverted", "wider", 3)
    assert imported.rows["best"] == {"iteration": 1, "metrics": {"val_loss": 1.5}}


@pytest.mark.parametrize(
    ("header", "row", "metric"),
    [
        ("timestamp\tcommit\tstatus\tscore\tdescription", "2026-11-30T10:00:00Z\tabc1234\tkeep\t97.5\tx", "score"),
        (
            "iteration\tcommit\tmetric\tdelta\tguard\tstatus\tdescription",
            "1\tabc1234\t97.5\t+1\tpass\tkeep\tx",
            "metric",
        ),
        ("commit\tmetric_before\tmetric_after\tstatus\tdescription", "abc1234\t90\t97.5\tkeep\tx", "metric_after"),
        ("commit\tmodel\tparams_B\ttok_sec\tstatus\tdescription", "abc1234\tbig\t120\t97.5\tkeep\tx", "tok_sec"),
        ("commit\tsize_before\tsize_after\tstatus\tnotes", "abc1234\t99\t97.5\tkeep\tx", "size_after"),
        ("name\twer\tstatus\tnotes", "x\t97.5\tkeep\t", "wer"),
    ],
)
def test_header_variants_name_their_metric(header: str, row: str, metric: str) -> None:
    """No order is fixed; settings and identities are no metrics."""
    imported = made(table(header, row))
    assert rows(imported)[0]["metrics"] == {metric: 97.5}
    assert rows(imported)[0]["outcome"] == "kept"
    assert any(f"`{metric}`" in note for note in imported.notes)


def test_the_metric_can_be_named() -> None:
    """Whoever imports knows better; a name that no column has is said, and the metric unknown."""
    text = f"{HEADER}\nabc1234\t1.5\t10.5\tkeep\tx\n"
    assert rows(made(read_tsv(text, "memory_gb")))[0]["metrics"] == {"memory_gb": 10.5}
    unknown = made(read_tsv(text, "speed"))
    assert "metrics" not in rows(unknown)[0]
    assert any("no column is called `speed`" in note for note in unknown.notes)


def test_a_table_without_a_header_is_told_apart_by_its_cells() -> None:
    """Its columns have no names, and that is said."""
    imported = made(table("abc1234\t22890\ttrue\tdiscard\tmore files", "abc1235\t22815\ttrue\tkeep\tfewer"))
    assert [row["outcome"] for row in rows(imported)] == ["reverted", "kept"]
    assert rows(imported)[1]["metrics"] == {"column 2": 22815}
    assert rows(imported)[1]["hypothesis"] == "fewer"
    assert any("no header" in note for note in imported.notes)


def test_a_row_whose_verdict_is_not_in_its_column_has_an_unknown_one() -> None:
    """A second schema under the first header: its cells are kept, and nothing is read into them."""
    imported = made(table(HEADER, "2026-11-30 10:00:00\t20274\t112.5\t180.0\ttrue\tnull\t", "abc1234\t1.5\t9\tkeep\tx"))
    odd = rows(imported)[0]
    assert odd["outcome"] == "measured"
    assert "metrics" not in odd
    assert told(odd)["rest"]["cells"][:2] == ["2026-11-30 10:00:00", "20274"]
    assert any("line 2: another number of cells" in note for note in imported.notes)


def test_a_short_row_with_its_verdict_in_place_is_a_run() -> None:
    """A missing description is a description that is not recorded."""
    row = rows(made(table(HEADER, "abc1234\t1.5\t9\tkeep")))[0]
    assert (row["outcome"], row["hypothesis"]) == ("kept", "not recorded")


def test_a_line_of_one_cell_is_told_and_is_no_run() -> None:
    """Text of a description that holds line ends."""
    reading = table(HEADER, "abc1234\t1.5\t9\tkeep\timports", "import os", "", "abc1235\t1.4\t9\tkeep\tx")
    assert [(found.line, found.reason.split(":")[0]) for found in reading.skipped] == [
        (3, "one cell where a row has several")
    ]
    assert [run.line for run in reading.runs] == [2, 5]


def test_tabs_that_were_written_as_text_are_read_as_tabs_and_said() -> None:
    """`echo` without `-e` writes them so."""
    imported = made(table(HEADER, "abc1234\\t1.5\\t9\\tkeep\\tx"))
    assert rows(imported)[0]["metrics"] == {"val_loss": 1.5}
    assert any("line 2: its tabs are written as" in note for note in imported.notes)


@pytest.mark.parametrize("cell", ["-", "", "DIVERGED", "nan", "inf", "tests=17", "1.2.3", "0x10", "١٢"])
def test_a_cell_that_is_no_number_is_no_value(cell: str) -> None:
    """Unknown stays unknown; the cell is kept as it stands."""
    row = rows(made(table(HEADER, "abc1234\t1.5\t9\tkeep\tx", f"abc1235\t{cell}\t9\tkeep\ty")))[1]
    assert "metrics" not in row
    assert told(row).get("metric") == (cell or None)


@pytest.mark.parametrize(("cell", "value"), [("27%", 27.0), ("1,234.5", 1234.5), ("-3", -3), ("1e-3", 0.001), ("0", 0)])
def test_numbers_are_read_as_people_write_them(cell: str, value: float) -> None:
    """Zero among them."""
    row = rows(made(table(HEADER, f"abc1235\t{cell}\t9\tkeep\ty")))[0]
    assert row["metrics"] == {"val_loss": value}


def test_a_crash_has_no_value_even_where_one_is_written() -> None:
    """Writers fill in zero there."""
    row = rows(made(table(HEADER, "abc1234\t0.000\t0\tcrash\tx")))[0]
    assert "metrics" not in row
    assert (row["outcome"], told(row)["metric"]) == ("error", "0.000")


@pytest.mark.parametrize(
    ("word", "outcome"),
    [
        ("KEEP", "kept"),
        ("NEW_BEST", "kept"),
        ("keep*", "kept"),
        ("保留✔✔", "kept"),
        ("基线（第一）", "kept"),
        ("REVERT", "reverted"),
        ("回滚(交易<10)", "reverted"),
        ("OOM", "error"),
        ("TIMEOUT", "timeout"),
        ("running", None),
        ("curriculum_0.67", None),
        ("2435 passed", None),
        ("", None),
    ],
)
def test_verdict_words(word: str, outcome: str | None) -> None:
    """Only a plain meaning is a meaning."""
    assert outcome_of(word) == outcome


def test_a_recorded_direction_is_taken_and_comments_are_told() -> None:
    """One family writes it above the header."""
    imported = made(table("# metric_direction: higher_is_better", "# by hand", HEADER, "abc1234\t1.5\t9\tkeep\tx"))
    segment = told(imported.rows["baseline"])["segments"][0]
    assert (segment["direction"], segment["direction_by"]) == ("higher", "recorded")
    assert [found.line for found in imported.skipped] == [2]


def test_a_second_header_begins_a_second_table_and_the_same_one_again_does_not() -> None:
    """Files that were put together."""
    reading = table(
        HEADER, "abc1234\t1.5\t9\tkeep\tx", HEADER, "abc1235\t1.4\t9\tkeep\ty", "commit\tscore\tstatus", "abc\t9\tkeep"
    )
    assert [run.segment for run in reading.runs] == [0, 0, 1]
    assert [found.reason for found in reading.skipped] == ["the header again"]


@given(st.lists(st.lists(st.text(alphabet="0a.-\t\\\r#keep%, é", max_size=6), max_size=6).map("\t".join), max_size=8))
def test_whatever_stands_in_the_cells_the_log_checks_out(lines: list[str]) -> None:
    """No table makes an import fall over."""
    imported = made(read_tsv("\n".join(lines)))
    found = check_log(imported.rows, [(None, row) for row in rows(imported)])
    assert [finding for finding in found if finding.severity is Severity.ERROR] == []
