"""The example notebook runs, from its first cell to its last."""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOK = EXAMPLES / "analyse_a_run.ipynb"


def _cells() -> list[dict[str, Any]]:
    return list(json.loads(NOTEBOOK.read_text("utf-8"))["cells"])


@pytest.fixture
def _packages() -> None:
    """What the notebook's first cell names."""
    for name in ("pandas", "altair"):
        pytest.importorskip(name)


@pytest.mark.usefixtures("_packages")
def test_the_notebooks_code_runs_as_a_script(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Jupyter: the cells in their order, in the folder that they are in."""
    monkeypatch.chdir(EXAMPLES)
    known: dict[str, Any] = {}
    for number, cell in enumerate(_cells()):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"cell {number}", "exec"), known)
    assert known["run"].rates.kept == 5
    assert "progress" in known["charts"]


@pytest.mark.usefixtures("_packages")
@pytest.mark.filterwarnings("default")
def test_the_notebook_runs_in_jupyter() -> None:
    """Charts and data frames are shown there, in a kernel of its own."""
    for name in ("nbclient", "nbformat", "ipykernel"):
        pytest.importorskip(name)
    nbclient, nbformat = (importlib.import_module(name) for name in ("nbclient", "nbformat"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(EXAMPLES)}}).execute()
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    pages = ["".join(output.get("data", {}).get("text/html", "")) for output in shown]
    assert sum("vega" in page for page in pages) == 2
    assert sum("<table" in page for page in pages) >= 4


def test_the_notebook_is_kept_without_outputs() -> None:
    """A change of it can be read, and it holds no path of whoever ran it."""
    code = [cell for cell in _cells() if cell["cell_type"] == "code"]
    assert code
    assert [cell for cell in code if cell["outputs"] or cell["execution_count"] is not None] == []
