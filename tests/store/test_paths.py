"""Every file name below a state root."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from headway.errors import RequestWrong
from headway.store.paths import StateRoot, ensure_folder, execution_id, iteration_of, new_run_id, prepare_state_root


def test_places_are_where_the_design_says() -> None:
    """Names are other programs' way in, so they do not move."""
    root = StateRoot(Path("/r"))
    run = root.run("20261130_154335")
    experiment = run.experiment(3)
    assert [
        str(path.relative_to("/r")) for path in (root.spec, root.log, root.digest, root.private_repo, root.lock)
    ] == [
        "spec.yaml",
        "experiment-log.yaml",
        "strategy-digest.md",
        "repo.git",
        "lock",
    ]
    assert str(root.inbox_done) == "/r/inbox/done"
    assert str(root.collected_marker(3)) == "/r/exp-003-result.yaml"
    assert str(run.folder) == "/r/runs/20261130_154335"
    assert [path.name for path in (run.run_json, run.run_records, run.summary, run.done)] == [
        "run.json",
        "run.jsonl",
        "summary.json",
        "_DONE",
    ]
    assert str(experiment.records) == "/r/runs/20261130_154335/experiments/exp0003/events.jsonl"
    assert experiment.marker.name == "result.yaml"


@pytest.mark.parametrize(("iteration", "name"), [(0, "exp0000"), (42, "exp0042"), (12345, "exp12345")])
def test_an_experiments_folder_grows_and_reads_back(iteration: int, name: str) -> None:
    """Numbers are never truncated."""
    assert StateRoot(Path("/r")).run("a").experiment(iteration).folder.name == name
    assert iteration_of(name) == iteration
    assert execution_id("a", iteration) == f"a_{name}"


@pytest.mark.parametrize("name", ["exp003", "exp0003.tmp", "experiment", "exp00x3"])
def test_other_folders_are_no_experiments(name: str) -> None:
    """Only whole names count."""
    assert iteration_of(name) is None


def test_a_run_id_is_the_time_in_utc_and_is_taken_once(tmp_path: Path) -> None:
    """Two starts within a second get two ids."""
    now = datetime(2026, 11, 30, 17, 43, 35, tzinfo=timezone(timedelta(hours=2)))
    root = StateRoot(tmp_path)
    assert [new_run_id(root, now) for _ in range(3)] == ["20261130_154335", "20261130_154335_2", "20261130_154335_3"]
    assert new_run_id(root, now.astimezone(UTC) + timedelta(seconds=1)) == "20261130_154336"


def test_a_state_root_in_the_repository_is_hidden_from_git(tmp_path: Path) -> None:
    """`.headway/` gets a `.gitignore` with `*`; one that is there is left alone; other places get none."""
    inside = prepare_state_root(tmp_path / ".headway" / "spec")
    assert (tmp_path / ".headway" / ".gitignore").read_text() == "*\n"
    assert inside.root.is_dir()
    (tmp_path / ".headway" / ".gitignore").write_text("mine\n")
    prepare_state_root(tmp_path / ".headway" / "other")
    assert (tmp_path / ".headway" / ".gitignore").read_text() == "mine\n"
    elsewhere = prepare_state_root(tmp_path / "elsewhere").root
    assert list(elsewhere.iterdir()) == []


def test_a_file_in_a_folders_place_is_refused(tmp_path: Path) -> None:
    """It is named, and left alone."""
    (tmp_path / "a").write_text("x")
    for folder in (tmp_path / "a", tmp_path / "a" / "b"):
        with pytest.raises(RequestWrong, match="a file stands"):
            ensure_folder(folder)
