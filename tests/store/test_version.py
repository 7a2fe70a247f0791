"""Experiments found by their numbers, in logs of headway and of other tools."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from headway.core.edits import AppendExperiment, ReplaceExperiment
from headway.store.log import LogFile
from headway.store.version import version_of
from tests.store.logs import a_row, lines, log_rows, numbers


@given(st.lists(st.integers(0, 9), max_size=8), st.integers(-1, 10))
def test_an_experiment_is_found_by_its_number_whatever_the_order(found: list[int], wanted: int) -> None:
    """The last one, where an older log has the number twice; none, where it has not."""
    text = lines("spec: demo", "experiments:" if found else "experiments: []", *(f"- iteration: {n}" for n in found))
    version = version_of(text + lines("best: {}"), Path("log.yaml"))
    expected = max((at for at, number in enumerate(found) if number == wanted), default=None)
    assert version.index_of(wanted) == expected
    assert version.holds_twice(wanted) == (found.count(wanted) > 1)


def test_a_number_out_of_order_is_found_after_it_was_appended(tmp_path: Path) -> None:
    """The index that a commit takes over knows that numbers no longer ascend."""
    path = tmp_path / "log.yaml"
    log = LogFile.create(path, log_rows(3))
    for number in (9, 5, 7):
        log.commit([AppendExperiment(a_row(number))])
    for number in (1, 9, 5, 7):
        log.commit([ReplaceExperiment(number, a_row(number, note="again"))])
        assert log.entry(number)["note"] == "again"
    assert numbers(LogFile.open(path).rows()) == [1, 2, 3, 9, 5, 7]
