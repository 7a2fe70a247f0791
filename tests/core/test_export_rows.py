"""A log as a table: one row an experiment, empty where nothing is known."""

import pytest

from headway.core.export_rows import Cell, table_of, typed


def test_values_stand_in_columns_of_their_names() -> None:
    """Snapshots give their aggregate, their samples and how many there are; absent is empty."""
    names, cells = table_of(
        [
            {
                "iteration": 1,
                "outcome": "kept",
                "hypothesis": "a, b",
                "metrics": {"ms": {"aggregate": 1.5, "samples": [1, 2]}, "size": 0},
                "gates": {"ok": True},
                "cost": {"usd": 0.25},
                "headway": {"gain": {"estimate": 0.5, "low": None}, "k": 3, "imported": {"rest": {"run": 7}}},
            },
            {"iteration": 2, "outcome": "error", "error_message": "exit 1"},
        ]
    )
    first = dict(zip(names, cells[0], strict=True))
    assert first == {
        "iteration": 1,
        "outcome": "kept",
        "hypothesis": "a, b",
        "metrics.ms": 1.5,
        "metrics.ms.n": 2,
        "metrics.ms.samples": "[1, 2]",
        "metrics.size": 0,
        "gates.ok": True,
        "cost.usd": 0.25,
        "gain.estimate": 0.5,
        "error_message": None,
        "k": 3,
        "imported.rest": '{"run": 7}',
    }
    assert names[:3] == ["iteration", "outcome", "hypothesis"]
    assert dict(zip(names, cells[1], strict=True))["metrics.size"] is None


def test_no_rows_make_no_columns() -> None:
    """An empty log is an empty table."""
    assert table_of([]) == ([], [])


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([1, None, 2], [1, None, 2]),
        ([1, 2.5], [1.0, 2.5]),
        ([2**70, 1], [float(2**70), 1.0]),
        (["a", None, 1, True], ["a", None, "1", "true"]),
        ([True, None], [True, None]),
        ([None], [None]),
    ],
)
def test_a_column_has_one_type(column: list[Cell], expected: list[Cell]) -> None:
    """As a data frame needs it; unknown stays unknown."""
    found = typed(column)
    assert found == expected
    assert [type(cell) for cell in found] == [type(cell) for cell in expected]
