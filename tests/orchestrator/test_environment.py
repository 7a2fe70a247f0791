"""A run that is taken up on another machine: named in the log, and old values are never compared with new ones."""

from pathlib import Path
from typing import Any

import pytest

from headway.core.edits import SetSection
from headway.core.records import Entry
from headway.core.spec_parts import ComparisonMethod
from headway.errors import RequestWrong
from headway.orchestrator.environment import environment_now, environment_seen, moved_at_k, refuse_other_ground
from headway.orchestrator.reading import view_of
from headway.store.log import LogFile
from tests.core.heart import a_log
from tests.crash.edges import IN_PAIRS, SEQUENTIAL, Crash, EdgeRun, an_edge_run

HERE = environment_now("w")
THERE = {**HERE, "cpu": "another processor"}


def log_that_met(*met: dict[str, Any], baseline: dict[str, Any] | None = None, k: int = 0) -> Any:
    state = {"status": "running", "headway": {"totals": {"k": k}, "environment": list(met)}}
    return a_log(run_state=state, baseline={"headway": {} if baseline is None else {"environment": baseline}})


def test_the_first_ground_is_noted_and_the_same_one_is_not_noted_again() -> None:
    """Also where the baseline's was noted already: later starts compare with the newest."""
    first = environment_seen(log_that_met(), "w")
    assert first is not None
    assert (first.environment, first.moved) == ({**HERE, "since_k": 0}, "")
    assert environment_seen(log_that_met(first.environment), "w") is None
    second = environment_seen(log_that_met(baseline=HERE), "w")
    assert second is not None
    assert second.moved == ""


def test_what_moved_is_named_with_the_session_after_which_it_counts() -> None:
    """Another processor, or another harness."""
    moved = environment_seen(log_that_met(THERE, k=7), "w")
    assert moved is not None
    assert "cpu was another processor, is" in moved.moved
    assert moved.environment["since_k"] == 7
    harness = environment_seen(log_that_met(HERE), "v")
    assert harness is not None
    assert "workload was w, is v" in harness.moved
    since_baseline = environment_seen(log_that_met(baseline=THERE), "w")
    assert since_baseline is not None
    assert "cpu was another processor" in since_baseline.moved


@pytest.mark.parametrize(
    ("log", "k"),
    [
        (log_that_met(HERE, k=4), None),
        (log_that_met(THERE, k=4), 4),
        (log_that_met(THERE, {**HERE, "since_k": 3}, k=9), 3),
        (log_that_met(HERE, {**THERE, "since_k": 2}, {**HERE, "since_k": 5}, k=9), 5),
        (log_that_met(baseline=THERE, k=0), 0),
        (log_that_met({**HERE, "since_k": 0}, baseline=THERE, k=6), 0),
        (log_that_met(HERE, baseline=HERE, k=6), None),
    ],
)
def test_what_counts_begins_behind_the_last_move(log: Any, k: int | None) -> None:
    """None where the run never moved; 0 where it moved behind its calibration."""
    assert moved_at_k(log, "w") == k


@pytest.mark.parametrize("method", list(ComparisonMethod))
def test_stored_values_of_another_machine_are_refused_by_the_methods_that_compare_with_them(
    method: ComparisonMethod,
) -> None:
    """`paired` and `sequential` measure both sides anew; no method minds the machine that it knows."""
    refuse_other_ground(log_that_met(HERE), "w", method)
    if method in (ComparisonMethod.PAIRED, ComparisonMethod.SEQUENTIAL):
        refuse_other_ground(log_that_met(THERE), "w", method)
        return
    with pytest.raises(RequestWrong) as refused:
        refuse_other_ground(log_that_met(THERE), "w", method)
    assert "cpu was another processor" in refused.value.what
    assert "--fresh" in refused.value.mend
    assert "`sequential`" in refused.value.mend


# A whole run


def as_if_from_elsewhere(run: EdgeRun) -> None:
    """Let the log say that all so far was measured on another machine."""
    file = LogFile.open(run.state.log)
    sections = file.sections()
    baseline = {**sections["baseline"]}
    baseline["headway"] = {**baseline["headway"], "environment": THERE}
    state = sections.get("run_state")
    edits = [SetSection("baseline", baseline)]
    if state is not None:
        met = [{**row, "cpu": THERE["cpu"]} for row in state["headway"]["environment"]]
        edits.append(SetSection("run_state", {**state, "headway": {**state["headway"], "environment": met}}))
    file.commit(edits)


def notices(run: EdgeRun) -> list[str]:
    state = view_of(LogFile.open(run.state.log)).run_state
    assert state is not None
    assert state.headway is not None
    return [notice.text for notice in state.headway.notices]


def test_a_sequential_run_goes_on_elsewhere_with_a_fresh_history_and_says_so(tmp_path: Path) -> None:
    """Every candidate behind the move is compared with the reference measured there."""
    run = an_edge_run(tmp_path / "run", noise=0.002, **SEQUENTIAL)
    run.to_the_end(max_ticks=1)
    kept_before = len(run.outcomes())
    as_if_from_elsewhere(run)
    run.noise = 0.003
    run.to_the_end()
    assert [text for text in notices(run) if "other ground" in text] != []
    entries = [Entry.model_validate(row) for row in LogFile.open(run.state.log).rows()]
    first = next(e for e in entries[kept_before:] if e.headway and e.headway.k)
    assert first.comparisons, "its reference was measured anew before it could be screened out"
    assert ("comes back: a.second = 9", "kept") in run.outcomes()


def test_a_session_that_the_move_caught_half_way_comes_back_and_is_measured_whole(tmp_path: Path) -> None:
    """No pair holds a sample of each machine."""
    run = an_edge_run(tmp_path / "run", noise=0.002, **SEQUENTIAL)
    with pytest.raises(Crash):
        run.to_the_end(dies_at="behind record sample_taken")
    as_if_from_elsewhere(run)
    run.to_the_end(max_ticks=2)
    rows = list(LogFile.open(run.state.log).rows())
    assert (rows[0]["outcome"], rows[0]["sample_count"]) == ("error", 1)
    assert "measured in part on another machine" in rows[0]["error_message"]
    again = next(row for row in rows[1:] if row["hypothesis"] == rows[0]["hypothesis"])
    assert again["outcome"] in ("kept", "not_selected")


def test_an_absolute_run_is_refused_elsewhere_and_its_log_stays_as_it_was(tmp_path: Path) -> None:
    """Nothing is planned, and nobody is paid."""
    run = an_edge_run(tmp_path / "run")
    run.to_the_end(max_ticks=1)
    as_if_from_elsewhere(run)
    before = run.state.log.read_bytes()
    with pytest.raises(RequestWrong):
        run.to_the_end()
    assert run.state.log.read_bytes() == before


def test_pairs_go_on_elsewhere(tmp_path: Path) -> None:
    """Both sides are measured there."""
    run = an_edge_run(tmp_path / "run", **IN_PAIRS)
    run.to_the_end(max_ticks=1)
    as_if_from_elsewhere(run)
    run.to_the_end(max_ticks=1)
    assert any("other ground" in text for text in notices(run))
