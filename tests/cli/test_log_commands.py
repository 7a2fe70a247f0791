"""`headway log import | export | migrate | repair | show`: on real files, through the program's own door."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

import headway
from headway.cli.main import main
from headway.store.lock import RunLock
from headway.store.rewrite import whole_log
from tests.core.imports_samples import config, lines, run
from tests.core.test_import_family import wild
from tests.store.logs import agreed, log_rows

Out = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _outside_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests may themselves be run by a job."""
    monkeypatch.delenv("HEADWAY_JOB", raising=False)


def answer(capsys: Out, *words: str) -> tuple[int, Any]:
    """Exit code and the JSON document of a command."""
    code = main([*words])
    return code, json.loads(capsys.readouterr().out)


def written(path: Path, text: str) -> str:
    """A file with this text, as a word of the command line."""
    path.write_text(text, encoding="utf-8")
    return str(path)


# import


def test_an_import_counts_every_run_and_tells_every_other_line(tmp_path: Path, capsys: Out) -> None:
    """The contract with scripts: `experiments` and `skipped`."""
    source = written(tmp_path / "a.jsonl", lines(config(), run(1), run(1, "crash", 0), {"type": "hook"}, "{"))
    code, document = answer(capsys, "log", "import", source, "-o", str(tmp_path / "log.yaml"), "--json")
    assert code == 0
    assert document["experiments"] == 2
    assert [found["line"] for found in document["skipped"]] == [4, 5]
    assert main(["log", "check", str(tmp_path / "log.yaml")]) == 0
    agreed(tmp_path / "log.yaml")


def test_an_imported_log_is_read_by_the_public_reader(tmp_path: Path, capsys: Out) -> None:
    """And says where it came from."""
    source = written(tmp_path / "a.jsonl", lines(config(), run(1, "keep", 0), run(2, "discard", 3)))
    assert main(["log", "import", source, "-o", str(tmp_path / "log.yaml")]) == 0
    log = headway.read_log(tmp_path / "log.yaml")
    assert log.unread == ()
    assert log.baseline is not None
    assert log.baseline.headway is not None
    assert log.baseline.headway.imported is not None
    assert log.baseline.headway.imported.file == "a.jsonl"
    assert [entry.metrics for entry in log.experiments] == [{"wall_ms": 0}, {"wall_ms": 3}]
    assert list(headway.read_records(tmp_path / "none.jsonl")) == []


@pytest.mark.parametrize("name", ["a.jsonl", "a.tsv", "a.json", "a.yaml"])
def test_a_file_without_runs_imports_as_none_with_a_warning(name: str, tmp_path: Path, capsys: Out) -> None:
    """A known suffix is no promise."""
    text = '{"some": "thing"}\n' if name in ("a.jsonl", "a.json") else ("name: x\n" if name == "a.yaml" else "")
    source = written(tmp_path / name, text)
    assert main(["log", "import", source, "-o", str(tmp_path / "log.yaml"), "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["experiments"] == 0
    assert "holds no run records" in err
    assert main(["log", "check", str(tmp_path / "log.yaml")]) == 0


def test_a_log_that_is_there_is_never_overwritten(tmp_path: Path, capsys: Out) -> None:
    """Whatever it is."""
    source = written(tmp_path / "a.jsonl", lines(run(1)))
    target = written(tmp_path / "log.yaml", "mine: 1\n")
    assert main(["log", "import", source, "-o", target]) == 1
    assert "never overwritten" in capsys.readouterr().err
    assert Path(target).read_text() == "mine: 1\n"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["none.jsonl"], 1, "there is no such file"),
        (["a.txt"], 1, "--format pi-autoresearch|"),
        (["a.txt", "--format", "wandb"], 2, "`wandb` is none of"),
        (["a.txt", "--direction", "up"], 2, "`up` is none of lower, higher"),
        (["b.yaml"], 6, "line"),
    ],
)
def test_what_cannot_be_imported_is_said_with_its_mend(
    words: list[str], code: int, said: str, tmp_path: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing is written."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "a.txt", "hello\n")
    written(tmp_path / "b.yaml", "experiments: [\n")
    assert main(["log", "import", *words, "-o", "log.yaml"]) == code
    err = capsys.readouterr().err
    assert said in err
    assert "mend:" in err
    assert not (tmp_path / "log.yaml").exists()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_obeyed(encoding: str, tmp_path: Path, capsys: Out) -> None:
    """Some shells write one."""
    (tmp_path / "a.tsv").write_bytes("commit\tscore\tstatus\nabc1234\t5\tkeep\n".encode(encoding))
    words = ["log", "import", str(tmp_path / "a.tsv"), "-o", str(tmp_path / "log.yaml"), "--json"]
    assert answer(capsys, *words)[1]["outcomes"] == {"kept": 1}


def test_a_checkpoints_folder_is_read_whole(tmp_path: Path, capsys: Out) -> None:
    """Its programs, and which of them is the best."""
    (tmp_path / "cp" / "programs").mkdir(parents=True)
    for ident, score in (("a", 0.5), ("b", 0.75)):
        program = {"id": ident, "metrics": {"combined_score": score}, "iteration_found": 1}
        written(tmp_path / "cp" / "programs" / f"{ident}.json", json.dumps(program))
    written(tmp_path / "cp" / "metadata.json", json.dumps({"islands": [["a", "b"]], "best_program_id": "b"}))
    code, document = answer(capsys, "log", "import", str(tmp_path / "cp"), "-o", str(tmp_path / "log.yaml"), "--json")
    assert (code, document["outcomes"]) == (0, {"measured": 1, "kept": 1})


def test_a_familys_log_finds_its_metric_in_the_spec_beside_it(tmp_path: Path, capsys: Out) -> None:
    """If that spec bears the log's name."""
    source = written(tmp_path / "old.yaml", json.dumps(wild()))
    written(tmp_path / "spec.yaml", "name: smooth\nmetric: {primary: {name: p95_ms}}\n")
    assert main(["log", "import", source, "-o", str(tmp_path / "log.yaml")]) == 0
    assert agreed(tmp_path / "log.yaml")["baseline"]["metrics"]["p95_ms"]["samples"] == [20, 22, 22]


# migrate


def test_a_wild_log_is_migrated_in_place_and_kept_as_it_was(tmp_path: Path, capsys: Out) -> None:
    """What was mapped and what was kept is told."""
    path = tmp_path / "experiment-log.yaml"
    text = json.dumps(wild())
    code, document = answer(capsys, "log", "migrate", written(path, text), "--json")
    assert code == 0
    assert document["is_changed"] is True
    assert any("`rejected` as `reverted`" in change for change in document["changes"])
    assert any("half_baked" in kept for kept in document["kept"])
    assert Path(document["backup"]).read_text() == text
    assert agreed(path)["experiments"][1]["outcome"] == "reverted"
    after = path.read_bytes()
    assert answer(capsys, "log", "migrate", str(path), "--json")[1]["is_changed"] is False
    assert path.read_bytes() == after


def test_a_log_that_is_right_is_left_alone(tmp_path: Path, capsys: Out) -> None:
    """One of ours."""
    path = tmp_path / "experiment-log.yaml"
    path.write_bytes(whole_log(log_rows(2)))
    assert main(["log", "migrate", str(path)]) == 0
    assert "nothing was changed" in capsys.readouterr().out
    assert path.read_bytes() == whole_log(log_rows(2))
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_a_migration_to_another_file_leaves_the_old_one(tmp_path: Path, capsys: Out) -> None:
    """And says what it is not for."""
    source = written(tmp_path / "old.yaml", json.dumps(wild()))
    before = Path(source).read_bytes()
    assert main(["log", "migrate", source, "-o", str(tmp_path / "new.yaml")]) == 0
    assert Path(source).read_bytes() == before
    assert main(["log", "check", str(tmp_path / "new.yaml")]) == 0
    assert main(["log", "migrate", written(tmp_path / "x.yaml", "name: x\n")]) == 1
    assert "headway log import" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["repair", "migrate"])
def test_the_log_of_a_live_run_is_left_to_it(command: str, tmp_path: Path, capsys: Out) -> None:
    """One writer."""
    path = tmp_path / "experiment-log.yaml"
    written(path, json.dumps(wild()))
    written(tmp_path / "spec.yaml", "name: other\n")
    before = path.read_bytes()
    with RunLock(tmp_path / "lock") as lock:
        lock.acquire("headway run")
        assert main(["log", command, str(path)]) == 5
    assert path.read_bytes() == before


# repair


def test_a_repair_says_what_it_kept_and_where_the_rest_is(tmp_path: Path, capsys: Out) -> None:
    """The log opens again, and every byte is somewhere."""
    path = tmp_path / "experiment-log.yaml"
    whole = whole_log(log_rows(3))
    path.write_bytes(whole[: whole.index(b"- iteration: 3") + 40])
    assert main(["log", "check", str(path)]) == 6
    assert main(["log", "repair", str(path)]) == 0
    out = capsys.readouterr().out
    assert "kept: 2 experiments, and the sections spec, run_id" in out
    assert "set aside: experiment 3, lines" in out
    assert main(["log", "show", "2", "--log", str(path)]) == 0
    assert main(["log", "show", "3", "--log", str(path)]) == 1
    capsys.readouterr()
    assert len(list(tmp_path.glob("experiment-log.damaged-*.yaml"))) == 1
    document = answer(capsys, "log", "repair", str(path), "--json")[1]
    assert (document["is_changed"], document["set_aside"]) == (False, [])


# export


def test_an_export_gives_each_form(tmp_path: Path, capsys: Out) -> None:
    """JSON whole, JSON lines and CSV one row an experiment."""
    path = tmp_path / "experiment-log.yaml"
    path.write_bytes(whole_log(log_rows(2)))
    capsys.readouterr()
    assert answer(capsys, "log", "export", str(path))[1] == log_rows(2)
    assert main(["log", "export", str(path), "--format", "jsonl"]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == log_rows(2)["experiments"]
    assert main(["log", "export", str(path), "--format", "csv", "-o", str(tmp_path / "log.csv")]) == 0
    table = list(csv.DictReader(io.StringIO((tmp_path / "log.csv").read_text("utf-8"), newline="")))
    assert [(row["iteration"], row["metrics.p95_ms"], row["gates_passed"]) for row in table] == [
        ("1", "1.5", "true"),
        ("2", "1.5", "true"),
    ]
    assert table[0]["learnings"] == log_rows(1)["experiments"][0]["learnings"]


def test_no_export_holds_holdout_values(tmp_path: Path, capsys: Out) -> None:
    """They are shown nowhere but at a terminal that asks."""
    rows = log_rows(1)
    side = {"metrics": {"p95_ms": 777.25}}
    rows["experiments"][0]["comparisons"] = [{"kind": "holdout", "reference": side, "candidate": side}]
    path = tmp_path / "experiment-log.yaml"
    path.write_bytes(whole_log(rows))
    for form in ("json", "jsonl", "csv"):
        assert main(["log", "export", str(path), "--format", form]) == 0
        assert "777.25" not in capsys.readouterr().out


def test_parquet_needs_its_package_and_a_file(tmp_path: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused in words, before anything is written."""
    path = tmp_path / "experiment-log.yaml"
    path.write_bytes(whole_log(log_rows(1)))
    assert main(["log", "export", str(path), "--format", "parquet"]) == 2
    assert "-o FILE" in capsys.readouterr().err
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    assert main(["log", "export", str(path), "--format", "parquet", "-o", str(tmp_path / "x")]) == 4
    assert "headway[analysis]" in capsys.readouterr().err
    assert main(["log", "export", str(path), "--format", "xlsx"]) == 2
    assert not (tmp_path / "x").exists()


def test_parquet_reads_back_as_the_same_table(tmp_path: Path) -> None:
    """Numbers as numbers, unknown as null."""
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "experiment-log.yaml"
    rows = log_rows(2)
    rows["experiments"][1]["gates"] = {"count": 2.5}
    path.write_bytes(whole_log(rows))
    assert main(["log", "export", str(path), "--format", "parquet", "-o", str(tmp_path / "x.parquet")]) == 0
    table = parquet.read_table(tmp_path / "x.parquet").to_pydict()
    assert table["gates.count"] == [1.0, 2.5]
    assert table["gates.error_rate"] == [1e-07, None]
    assert table["outcome"] == ["kept", "kept"]


# show


def test_log_show_gives_all_that_an_entry_holds(tmp_path: Path, capsys: Out) -> None:
    """Why it was worth a try, its worst cases, a judge's words, a person's verdict, and where it came from."""
    rows = log_rows(1)
    rows["experiments"][0] |= {
        "opportunity": {"evidence": "a hot loop", "expected_benefit": "5%"},
        "worst_cases": [{"case_id": "c7", "score": "2", "reason": "cut short"}],
        "judge": {"clarity": 4, "items": [{"item_id": "i1", "feedback": "say why"}]},
        "changes": ["src/a.py"],
        "headway": {
            "override": {"by": "ann", "why": "seen by eye"},
            "imported": {"status": "keep", "rest": {"run": 7}},
        },
    }
    path = tmp_path / "experiment-log.yaml"
    path.write_bytes(whole_log(rows))
    assert main(["log", "show", "1", "--log", str(path)]) == 0
    out = capsys.readouterr().out
    for said in (
        "a hot loop",
        "worst cases:",
        "c7  2  cut short",
        "clarity 4",
        "i1: say why",
        "by ann",
        "status keep",
        "run: 7",
    ):
        assert said in out
    assert "not shown, for it is not what its field says" in out
    assert "changes[0]" in out
