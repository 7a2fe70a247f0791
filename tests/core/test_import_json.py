"""AIDE's journals and OpenEvolve's programs: what they record, and no verdict that they do not."""

import json
from typing import Any

from headway.core.imports.aide import read_aide
from headway.core.imports.detect import format_of
from headway.core.imports.openevolve import read_openevolve
from tests.core.imports_samples import made, rows, told


def node(step: int, value: float | None, is_buggy: bool = False, **more: Any) -> dict[str, Any]:
    """A node of a journal."""
    metric = {"value": value, "maximize": True}
    return {"step": step, "id": f"n{step}", "plan": f"plan {step}", "metric": metric, "is_buggy": is_buggy, **more}


def test_a_journal_gives_its_nodes_and_claims_no_keep() -> None:
    """A solution that runs is measured; a buggy one failed, whatever its value."""
    nodes = [node(0, 0.5), node(1, None, True, execution_info={"exc_type": "KeyError", "exec_time": 2.5}), node(2, 0.0)]
    imported = made(read_aide({"nodes": nodes}))
    assert [row["outcome"] for row in rows(imported)] == ["measured", "error", "measured"]
    assert rows(imported)[2]["metrics"] == {"metric": 0.0}
    assert rows(imported)[1]["error_message"] == "recorded as buggy: KeyError"
    assert rows(imported)[1]["diagnostics"] == {"exec_time": 2.5}
    assert imported.rows["best"]["iteration"] == 0
    buggy = rows(made(read_aide({"nodes": [node(0, 0.75, True)]})))[0]
    assert "metrics" not in buggy
    assert told(buggy)["metric"] == 0.75


def test_a_journal_that_is_text_in_json_is_read_too() -> None:
    """It is encoded twice where a sandbox hands it out."""
    assert read_aide(json.dumps({"nodes": [node(0, 1.0)]})).runs[0].description == "plan 0"


def test_the_parent_is_kept_by_name_not_whole() -> None:
    """The tool repeats the whole parent in each child."""
    assert told(rows(made(read_aide({"nodes": [node(1, 1.0, parent=node(0, 0.5))]})))[0])["rest"]["parent"] == "n0"


def test_what_is_no_journal_is_told() -> None:
    """And imports as nothing."""
    documents: list[Any] = [{"steps": []}, [], "no json", None]
    for document in documents:
        assert [found.line for found in read_aide(document).skipped] == [1]
    assert read_aide({"nodes": [7, node(0, 1.0)]}).skipped[0].reason == "node 1 is no object"


def program(ident: str, score: float | None, **more: Any) -> dict[str, Any]:
    """A program of OpenEvolve."""
    metrics = {"validity": 1.0, **({"combined_score": score} if score is not None else {})}
    return {"id": ident, "code": "x", "generation": 1, "metrics": metrics, "timestamp": 1_790_000_000.5, **more}


def test_a_best_program_is_the_one_verdict_that_is_recorded() -> None:
    """Of all others the tool says that they were evaluated."""
    documents = [
        ("a.json", program("a", 0.5, iteration_found=0)),
        ("b.json", program("b", 0.75, iteration_found=3)),
        ("metadata.json", {"islands": [["a", "b", "c"]], "best_program_id": "b"}),
    ]
    imported = made(read_openevolve(documents))
    assert [(row["outcome"], row["metrics"]) for row in rows(imported)] == [
        ("measured", {"combined_score": 0.5}),
        ("kept", {"combined_score": 0.75}),
    ]
    assert imported.rows["best"]["iteration"] == 2
    assert any("1 programs that are not here" in note for note in imported.notes)


def test_a_program_without_a_combined_score_has_no_known_metric() -> None:
    """Its other values stay what they are."""
    row = rows(made(read_openevolve([("best_program_info.json", program("a", None, saved_at=1))])))[0]
    assert "metrics" not in row
    assert (row["outcome"], row["diagnostics"]) == ("kept", {"validity": 1.0})


def test_other_documents_are_told() -> None:
    """With the file's name, where a folder was given."""
    read = read_openevolve([("x.json", [1]), ("y.json", {"a": 1})])
    assert [found.reason.split(":")[0] for found in read.skipped] == ["x.json", "y.json"]


def test_a_file_says_what_it_is() -> None:
    """By its suffix, else by how it begins."""
    assert format_of(".jsonl", "") == "pi-autoresearch"
    assert format_of(".TSV", "") == "autoresearch-tsv"
    assert format_of(".yml", "") == "ce-optimize"
    assert format_of(".json", '{"nodes": []}') == "aide"
    assert format_of(".json", '"{\\"nodes\\": []}"') == "aide"
    assert format_of(".json", '{"id": 1}') == "openevolve"
    assert format_of("", '{"run": 1}\n{"run": 2}\n') == "pi-autoresearch"
    assert format_of(".txt", "commit\tstatus\n") == "autoresearch-tsv"
    assert format_of(".log", "spec: x\nexperiments:\n") == "ce-optimize"
    assert format_of(".txt", "hello") is None
