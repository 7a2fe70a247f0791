"""`headway report`: on real files, through the program's own door."""

import importlib
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from headway.adapters import drawings
from headway.adapters.charts import charts_of
from headway.cli.main import main
from headway.core.analysis.charting import chart_data
from headway.core.analysis.whole import analyse
from headway.core.log_reading import log_from
from headway.errors import InternalFault
from tests.builders import a_spec
from tests.cli.test_analyze_command import SAMPLE, written
from tests.core.imports_samples import config, lines, run
from tests.core.test_analysis import a_document, tried
from tests.core.test_page import HOSTILE
from tests.core.test_report import a_value

IN_THE_PAGE = ["progress", "gains", "spent", "categories", "near-misses", "timeline"]
Out = pytest.CaptureFixture[str]
WORSE = f"{HOSTILE}\x00\ufffe\uffff\x0b"
CHARTS = ["progress", "gains", "near-misses", "categories", "spent", "timeline"]


@pytest.fixture(autouse=True)
def _outside_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests may themselves be run by a job."""
    monkeypatch.delenv("HEADWAY_JOB", raising=False)


@pytest.fixture
def _drawing() -> None:
    """Charts can be drawn here."""
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")


@pytest.fixture
def _undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra `report` is not installed."""
    real = importlib.import_module

    def without(name: str, package: str | None = None) -> Any:
        if name in ("altair", "vl_convert"):
            raise ImportError(name)
        return real(name, package)

    monkeypatch.setattr(importlib, "import_module", without)


@pytest.mark.usefixtures("_drawing")
def test_a_report_holds_every_chart_and_every_experiment(tmp_path: Path, capsys: Out) -> None:
    """One file, no address outside but the names of XML's own vocabularies."""
    page = tmp_path / "r.html"
    assert main(["report", "--state-root", str(SAMPLE), "-o", str(page), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    text = page.read_text("utf-8")
    assert (told["experiments"], told["charts"], told["bytes"]) == (13, CHARTS, len(text.encode()))
    assert re.findall(r'<svg [^>]*data-chart="([^"]*)"', text) == IN_THE_PAGE
    assert set(re.findall(r"https?://[^\s\"'<]*", text)) == {"http://www.w3.org/2000/svg"}
    assert set(re.findall(r'<a href="#e(\d+)" tabindex="-1">', text)) == {str(n) for n in range(1, 14)}
    assert "Count line ends up to the offset" in text


@pytest.mark.usefixtures("_drawing")
def test_pictures_are_written_where_asked(tmp_path: Path, capsys: Out) -> None:
    """PNG and SVG of every chart."""
    page, folder = tmp_path / "r.html", tmp_path / "pictures"
    assert main(["report", "--state-root", str(SAMPLE), "-o", str(page), "--charts", str(folder)]) == 0
    assert sorted(p.name for p in folder.iterdir()) == sorted(f"{n}.{s}" for n in CHARTS for s in ("png", "svg"))
    assert (folder / "progress.png").read_bytes().startswith(b"\x89PNG")
    ET.parse(folder / "gains.svg")


@pytest.mark.usefixtures("_undrawn")
def test_without_the_extra_there_is_a_page_that_says_so(tmp_path: Path, capsys: Out) -> None:
    """Tables and text are worth having; pictures that were asked for are not silently left out."""
    page = tmp_path / "r.html"
    assert main(["report", "--state-root", str(SAMPLE), "-o", str(page)]) == 0
    assert "headway[report]" in capsys.readouterr().err
    text = page.read_text("utf-8")
    assert "headway[report]" in text
    assert "<svg" not in text
    assert main(["report", "--state-root", str(SAMPLE), "-o", str(page), "--charts", str(tmp_path)]) == 4
    assert "headway[report]" in capsys.readouterr().err


@pytest.mark.usefixtures("_undrawn")
def test_the_usual_place_is_the_state_root_or_beside_a_log_that_lies_alone(tmp_path: Path, capsys: Out) -> None:
    """Never the folder that somebody happens to stand in."""
    root = tmp_path / "root"
    shutil.copytree(SAMPLE, root)
    assert main(["report", "--state-root", str(root)]) == 0
    assert (root / "report.html").is_file()
    alone = tmp_path / "alone"
    alone.mkdir()
    path = written(alone, tried(1, "kept", 0.5))
    assert main(["report", "--log", str(path)]) == 0
    assert (alone / "log.yaml.report.html").is_file()
    capsys.readouterr()
    assert main(["report", "--log", str(path), "-o", "-"]) == 0
    assert capsys.readouterr().out.startswith("<!doctype html>")


def test_a_summary_goes_to_standard_output_or_a_file(tmp_path: Path, capsys: Out) -> None:
    """For a pull request."""
    assert main(["report", "--state-root", str(SAMPLE), "--markdown"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("## headway: textindex\n\n**+74.3%** on build\\_seconds")
    assert main(["report", "--state-root", str(SAMPLE), "--markdown", "-o", str(tmp_path / "s.md")]) == 0
    assert (tmp_path / "s.md").read_text("utf-8") == out
    assert main(["report", "--state-root", str(SAMPLE), "--markdown", "--json"]) == 2


@pytest.mark.usefixtures("_undrawn")
@pytest.mark.parametrize(
    "rows",
    [[], [tried(1, "kept", 0.5)], [tried(1, "error"), tried(2, "timeout")], [tried(1, "measured")]],
    ids=["empty", "one entry", "crash only", "half finished"],
)
def test_any_log_has_a_report(rows: list[dict[str, Any]], tmp_path: Path, capsys: Out) -> None:
    """Whatever came of the run."""
    path = written(tmp_path, *rows)
    assert main(["report", "--log", str(path)]) == 0
    assert f"{len(rows)} experiment" in capsys.readouterr().out


@pytest.mark.usefixtures("_drawing")
def test_an_imported_log_has_a_report_with_charts(tmp_path: Path, capsys: Out) -> None:
    """Values of the other tool, marked as stored."""
    source = tmp_path / "a.jsonl"
    source.write_text(lines(config(), *(run(n, "keep", 100 - n) for n in range(1, 60))), encoding="utf-8")
    assert main(["log", "import", str(source), "-o", str(tmp_path / "log.yaml")]) == 0
    assert main(["report", "--log", str(tmp_path / "log.yaml")]) == 0
    text = (tmp_path / "log.yaml.report.html").read_text("utf-8")
    assert 'data-chart="progress"' in text
    assert "(stored)" in text


def test_holdout_values_need_a_terminal(tmp_path: Path, capsys: Out) -> None:
    """A script or an agent is refused; at a terminal the values are in the page."""
    side = {"metrics": {"seconds": a_value(0.7654321)}}
    pair = {"kind": "holdout", "reference_revision": "a", "candidate_revision": "b", "candidate": side}
    path = written(tmp_path, tried(1, "kept", 0.5, comparisons=[{**pair, "reference": side}]))
    (tmp_path / "spec.yaml").write_bytes(b"")
    assert main(["report", "--log", str(path), "--holdout"]) == 2
    assert "terminal" in capsys.readouterr().err
    command = [sys.executable, "-m", "headway.cli.main", "report", "--log", str(path), "-o"]
    quiet = {name: value for name, value in os.environ.items() if name != "HEADWAY_JOB"}
    subprocess.run([*command, str(tmp_path / "without.html")], check=True, env=quiet, capture_output=True)
    assert "0.765432" not in (tmp_path / "without.html").read_text("utf-8")
    leader, follower = pty.openpty()
    try:
        asked = [*command, str(tmp_path / "with.html"), "--holdout"]
        subprocess.run(asked, check=True, env=quiet, stdin=follower, stdout=follower, stderr=follower, timeout=120)
    finally:
        os.close(leader)
        os.close(follower)
    assert "0.765432" in (tmp_path / "with.html").read_text("utf-8")


@pytest.mark.usefixtures("_drawing")
def test_hostile_names_in_charts_stay_text() -> None:
    """A category and a metric that look like markup; and no link but to a row."""
    rows = [
        tried(1, "kept", 0.5, category=WORSE, metrics={WORSE: 1.0, "seconds": 2.0}),
        tried(2, "inconclusive", 0.1, category=WORSE, metrics={"seconds": 2.0}),
    ]
    spec = a_spec(metric={"objectives": [{"name": WORSE, "direction": "minimize", "role": "required"}]})
    run = analyse(log_from(a_document(rows)), spec)
    for name, chart in charts_of(chart_data(run)).items():
        root = ET.fromstring(drawings.page_svg(chart, name, {1: WORSE + "\ud800"}))
        for element in root.iter():
            assert element.tag.removeprefix("{http://www.w3.org/2000/svg}") in drawings.DRAWING
            assert not [key for key in element.attrib if key.startswith("on")]
            assert element.attrib.get("href", "#e1").startswith("#e")


@pytest.mark.parametrize(
    "svg",
    [
        "<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>",
        "<svg xmlns='http://www.w3.org/2000/svg'><g onclick='x'/></svg>",
        "<svg xmlns='http://www.w3.org/2000/svg'><rect fill='url(http://x)'/></svg>",
        "<svg xmlns='http://www.w3.org/2000/svg'><image/></svg>",
        "<svg",
    ],
)
def test_a_drawing_that_could_do_something_is_refused(svg: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the library that drew it does one day."""
    monkeypatch.setattr(drawings, "svg_of", lambda chart: svg)
    with pytest.raises(InternalFault):
        drawings.page_svg(None, "x", {})


def test_a_link_that_leads_outside_is_taken_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its text stays."""
    link = "<svg xmlns='http://www.w3.org/2000/svg'><a href='http://x.test/'><text>t</text></a></svg>"
    monkeypatch.setattr(drawings, "svg_of", lambda chart: link)
    assert "x.test" not in drawings.page_svg(None, "x", {})
