"""Dead before or behind any effect, a run resumes to the log of an undisturbed one.

Each run keeps, combines, reverts, fails, repeats, sets aside, comes back and drops; see `edges.HYPOTHESES`. There are
about five hundred edges: a few runs die dozens of times each, at edges drawn at random, and single deaths are tried
around dispatch and integration.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from headway.core.log_check import check_log
from headway.core.log_findings import Severity
from headway.store.log import LogFile
from headway.store.records import read_records
from tests.crash.edges import IN_PAIRS, SEQUENTIAL, THREE_AT_ONCE, Crash, EdgeRun, an_edge_run

pytestmark = pytest.mark.crash

KINDS: Mapping[str, Mapping[str, Any]] = {"alone": {}, "in pairs": IN_PAIRS, "three at once": THREE_AT_ONCE}
LONGEST_LIFE = 40
"""Most edges that a process of a run that dies again and again passes."""
LONGEST_LIFE_WITH_POWER_CUTS = 150
"""Likewise, enough to come to a commit now and then: what no commit rests on need not be synced."""
DELICATE = ("publish", "integration_started", "candidate_integrated", "hypothesis_dispatched", "sync", "commit")
SINGLES = 6


@cache
def calm(kind: str) -> tuple[dict[str, Any], tuple[str, ...], list[tuple[str, str]]]:
    """Give what an undisturbed run leaves, the edges that it passes, and its outcomes."""
    with TemporaryDirectory() as folder:
        run = an_edge_run(Path(folder) / "run", **KINDS[kind])
        run.to_the_end()
        return run.result(), tuple(run.edges.names), run.outcomes()


def assert_same(run: EdgeRun, kind: str, died: object) -> None:
    """Compare a run part by part with the undisturbed one, so that a failure names the part."""
    found, expected = run.result(), calm(kind)[0]
    for part, value in expected.items():
        assert found[part] == value, f"{part} differs after a death at {died}"


def test_the_undisturbed_run_has_everything_that_can_happen_in_it() -> None:
    """Else the deaths below would prove less than they say."""
    outcomes = calm("alone")[2]
    assert outcomes == [
        ("wins: a.first = 7", "kept"),
        ("combines: b.first = 8", "runner_up_kept"),
        ("comes back: a.second = 9", "not_selected"),
        ("wins on the same file: a.first = 5", "kept"),
        ("comes back: a.second = 9", "kept"),
        ("worse: b.second = 12", "reverted"),
        ("prints nonsense: a.first = nonsense", "error"),
        ("same again, worse: b.second = 12", "reverted"),
        ("refuses", "error"),
        ("fails its gate: b.first = 1; b.second = unsorted", "degenerate"),
        ("and again: b.second = 12", "inconclusive"),
        ("wins and tampers outside: b.second = 7", "kept"),
        ("shaky: b.second = 11.99; a.second = 9.01", "reverted"),
        ("needs approval: a.first = 1", "deferred_needs_approval"),
    ]
    sections = calm("alone")[0]["sections"]
    assert [d["description"] for d in sections["run_state"]["headway"]["dropped"]] == ["changes nothing"]


@pytest.mark.parametrize(
    ("kind", "seed", "power_fails"),
    [("alone", 1, False), ("alone", 2, True), ("in pairs", 3, True), ("three at once", 4, False)],
)
def test_a_run_that_dies_again_and_again_ends_as_one_that_never_died(
    tmp_path: Path, kind: str, seed: int, power_fails: bool
) -> None:
    """However often and wherever: the same log, branch, digest and experiment files, times and free numbers aside.

    Where the power fails, records that were not synced are lost with the process.
    """
    run, chance, deaths = an_edge_run(tmp_path / "run", **KINDS[kind]), Random(seed), list[str]()
    run.power_fails, longest = power_fails, LONGEST_LIFE_WITH_POWER_CUTS if power_fails else LONGEST_LIFE
    while True:
        try:
            run.to_the_end(dies_at=chance.randint(1, longest))
            break
        except Crash as crash:
            deaths.append(str(crash))
    assert len(deaths) > 8
    assert_same(run, kind, deaths)


def delicate_edges(kind: str) -> list[int]:
    """Draw edges around dispatch and integration, the same ones every time."""
    names = calm(kind)[1]
    found = [number for number, name in enumerate(names, 1) if name.endswith(DELICATE)]
    return sorted(Random(8).sample(found, SINGLES))


@pytest.mark.parametrize("which", range(SINGLES))
def test_a_run_that_died_once_ends_as_one_that_never_died(tmp_path: Path, which: int) -> None:
    """Dead before or behind a dispatch, an integration or a commit: nothing is lost and nothing counted twice."""
    edge, run = delicate_edges("alone")[which], an_edge_run(tmp_path / "run")
    with pytest.raises(Crash) as crash:
        run.to_the_end(dies_at=edge)
    run.to_the_end()
    assert_same(run, "alone", crash.value)


def test_a_dispatch_that_was_not_committed_was_no_dispatch(tmp_path: Path) -> None:
    """A batch is dispatched whole or not at all; the numbers that it had taken are never used again."""
    run = an_edge_run(tmp_path / "run")
    with pytest.raises(Crash):
        run.to_the_end(dies_at="behind record hypothesis_dispatched")
    run.to_the_end(max_ticks=1)
    rows = list(LogFile.open(run.state.log).rows())
    assert [(row["batch"], row["hypothesis"]) for row in rows[:2]] == [
        (1, "wins: a.first = 7"),
        (1, "combines: b.first = 8"),
    ]
    assert [row["iteration"] for row in rows[:2]] == [3, 4]


@pytest.mark.parametrize("moment", ["before", "behind"])
@pytest.mark.parametrize("effect", ["copy_objects", "publish", "record candidate_integrated"])
def test_a_keep_whose_process_died_around_the_branchs_move_is_kept_once(
    tmp_path: Path, effect: str, moment: str
) -> None:
    """Whether the branch had moved or not, the log ends with one keep and the branch at its commit."""
    run = an_edge_run(tmp_path / "run")
    with pytest.raises(Crash):
        run.to_the_end(dies_at=f"{moment} {effect}")
    run.to_the_end(max_ticks=1)
    rows = list(LogFile.open(run.state.log).rows())
    commits = run.repository.git("rev-list", "--reverse", "HEAD..optimize/edges").split()
    assert [row["commit"] for row in rows] == commits
    assert [row["outcome"] for row in rows] == ["kept", "runner_up_kept"]


def test_a_digest_that_a_death_left_unwritten_is_written_at_the_next_start(tmp_path: Path) -> None:
    """The next hypotheses never start from an older digest than the log."""
    run = an_edge_run(tmp_path / "run")
    with pytest.raises(Crash):
        run.to_the_end(dies_at="before write strategy-digest.md")
    assert not run.state.digest.exists()
    with pytest.raises(Crash):
        run.to_the_end(dies_at="before record hypothesis_dispatched")
    assert "wins: a.first = 7" in run.state.digest.read_text()


def test_records_name_no_fact_twice_and_the_log_passes_its_check_after_any_death(tmp_path: Path) -> None:
    """What is done again after a death is recognised by its name; `log check` finds no error."""
    run, chance = an_edge_run(tmp_path / "run"), Random(6)
    for _ in range(12):
        with pytest.raises(Crash):
            run.to_the_end(dies_at=chance.randint(20, LONGEST_LIFE))
        file = LogFile.open(run.state.log)
        found = check_log(file.sections(), [(None, row) for row in file.rows()])
        assert [f for f in found if f.severity is Severity.ERROR] == []
        for path in run.state.root.glob("runs/*/experiments/*/events.jsonl"):
            names = [record["event_id"] for record in read_records(path)]
            assert len(names) == len(set(names)), path


# In pairs, with noise


@cache
def calm_sequential() -> tuple[dict[str, Any], tuple[str, ...]]:
    """Give what an undisturbed run in noisy pairs leaves, and the edges that it passes."""
    with TemporaryDirectory() as folder:
        run = a_sequential_run(Path(folder))
        run.to_the_end()
        return end_of(run), tuple(run.edges.names)


def a_sequential_run(folder: Path) -> EdgeRun:
    """Give a run whose measurements differ by 0.2% and whose gains are ten times that and more."""
    return an_edge_run(folder / "run", noise=0.002, **SEQUENTIAL)


def end_of(run: EdgeRun) -> dict[str, Any]:
    """Give what does not hang on how often the reference was measured anew: a resumed process does it once more.

    A candidate that one look calls worse may be given up after a pair instead: that is no gain either way.
    """
    result = run.result()
    rows = result["rows"]
    return {
        "outcomes": [(text, "no gain" if o in ("reverted", "inconclusive") else o) for text, o in run.outcomes()],
        "texts": result["texts"],
        "branch": result["branch"],
        "commits": [row.get("commit") for row in rows],
        "backlog": result["sections"]["hypothesis_backlog"],
        "k": [(row.get("headway") or {}).get("k") for row in rows],
        "final check": result["sections"]["best"]["headway"]["final_check"]["verdict"],
        "totals": {name: result["sections"]["run_state"]["headway"]["totals"][name] for name in ("k", "keeps")},
    }


def assert_ended_alike(run: EdgeRun, died: object) -> None:
    """Compare with the undisturbed run; no sample was measured twice."""
    assert max(run.counted.values()) == 1, f"a sample was measured twice after a death at {died}"
    found, expected = end_of(run), calm_sequential()[0]
    for part, value in expected.items():
        assert found[part] == value, f"{part} differs after a death at {died}"


def test_a_run_in_noisy_pairs_keeps_combines_and_reverts() -> None:
    """Else the deaths below would prove less than they say."""
    outcomes = [outcome for _, outcome in calm_sequential()[0]["outcomes"]]
    assert {"kept", "runner_up_kept", "not_selected", "no gain", "error", "degenerate"} <= set(outcomes)


@pytest.mark.parametrize(("seed", "power_fails"), [(11, False), (12, True)])
def test_a_run_in_noisy_pairs_that_dies_again_and_again_ends_as_one_that_never_died(
    tmp_path: Path, seed: int, power_fails: bool
) -> None:
    """The same outcomes, branch, texts, numbers and totals, and every sample measured once."""
    run, chance, deaths = a_sequential_run(tmp_path), Random(seed), list[str]()
    run.power_fails, longest = power_fails, LONGEST_LIFE_WITH_POWER_CUTS if power_fails else LONGEST_LIFE
    while True:
        try:
            run.to_the_end(dies_at=chance.randint(1, longest))
            break
        except Crash as crash:
            deaths.append(str(crash))
    assert len(deaths) > 8
    assert_ended_alike(run, deaths)


def edges_of_samples() -> list[int]:
    """Draw edges around samples, their records and the commits behind them, the same ones every time."""
    names = calm_sequential()[1]
    found = [n for n, name in enumerate(names, 1) if name.endswith(("sample", "sample_taken", "session_ended"))]
    return sorted(Random(9).sample(found, SINGLES))


@pytest.mark.parametrize("which", range(SINGLES))
def test_a_death_between_two_samples_of_a_session_loses_none_and_repeats_none(tmp_path: Path, which: int) -> None:
    """Dead before or behind a measurement, its record or its decision."""
    edge, run = edges_of_samples()[which], a_sequential_run(tmp_path)
    with pytest.raises(Crash) as crash:
        run.to_the_end(dies_at=edge)
    run.to_the_end()
    assert_ended_alike(run, crash.value)


def test_the_users_checkout_is_untouched_by_a_run_that_died_and_resumed(tmp_path: Path) -> None:
    """Files, index, configuration and refs of the user's; headway's own refs and objects aside."""
    run, chance = an_edge_run(tmp_path / "run"), Random(7)
    status = run.repository.git("status", "--porcelain"), run.repository.git("rev-parse", "main")
    for _ in range(5):
        with pytest.raises(Crash):
            run.to_the_end(dies_at=chance.randint(20, 60))
    assert (run.repository.git("status", "--porcelain"), run.repository.git("rev-parse", "main")) == status
    assert run.repository.git("fsck", "--connectivity-only") == ""
