"""The report in a real browser: charts are drawn, nothing runs, nothing is out of reach."""

from pathlib import Path
from typing import Any

import pytest

from headway.cli.main import main
from tests.browser import axe_source, in_browser, needs_chromium, violations
from tests.cli.test_analyze_command import SAMPLE
from tests.cli.test_report_command import IN_THE_PAGE
from tests.core.test_analysis import a_document, tried
from tests.core.test_page import CLOSED, HOSTILE, a_full_document, a_page, hostile

pytestmark = [needs_chromium(), pytest.mark.e2e]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The sample run's report."""
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    path = tmp_path_factory.mktemp("page") / "r.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("HEADWAY_JOB", raising=False)
        assert main(["report", "--state-root", str(SAMPLE), "-o", str(path)]) == 0
    return path.read_text("utf-8")


@pytest.mark.parametrize(("width", "is_dark"), [(1200, False), (1200, True), (390, False)])
def test_the_accessibility_checker_finds_nothing(page: str, width: int, is_dark: bool, tmp_path: Path) -> None:
    """On a wide screen, in the dark, on a phone."""
    assert violations(page, tmp_path, axe_source(), width=width, is_dark=is_dark) == []


def test_the_accessibility_checker_would_find_something(page: str, tmp_path: Path) -> None:
    """It runs: a page without a language is told."""
    found = violations(page.replace('<html lang="en">', "<html>"), tmp_path, axe_source())
    assert any(line.startswith("html-has-lang") for line in found)


def test_charts_are_drawn(page: str, tmp_path: Path) -> None:
    """Every chart has a size, and marks inside its frame; each experiment's mark stands in the first one."""
    drawn = in_browser(
        page,
        tmp_path,
        """Promise.resolve([...document.querySelectorAll('svg[data-chart]')].map(svg => {
             const box = svg.getBoundingClientRect();
             const marks = [...svg.querySelectorAll('path, line, rect')].map(m => m.getBoundingClientRect());
             const inside = marks.filter(m => m.width + m.height > 0 && m.left >= box.left - 1
               && m.right <= box.right + 1 && m.top >= box.top - 1 && m.bottom <= box.bottom + 1);
             return [svg.dataset.chart, box.width, box.height, inside.length, svg.querySelectorAll('a').length];
           }))""",
    )
    assert [name for name, *_ in drawn] == IN_THE_PAGE
    assert all(width > 200 and height > 60 and inside > 5 for _, width, height, inside, _ in drawn)
    assert drawn[0][4] == 13


@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_itself_is_never_scrolled_sideways(page: str, width: int, tmp_path: Path) -> None:
    """Wide tables and charts scroll in a place of their own, reached by the keyboard."""
    told = in_browser(
        page,
        tmp_path,
        """Promise.resolve([document.documentElement.scrollWidth - document.documentElement.clientWidth,
             [...document.querySelectorAll('.wide, pre')].filter(e => e.scrollWidth > e.clientWidth + 1
               && e.tabIndex !== 0).length])""",
        width=width,
    )
    assert told == [0, 0]


def test_the_dark_page_has_dark_ground_and_light_marks(page: str, tmp_path: Path) -> None:
    """Charts included: a kept mark is another blue than by day."""
    expression = """Promise.resolve([getComputedStyle(document.body).backgroundColor,
        getComputedStyle(document.querySelector('svg [fill="#0072b2"]')).fill])"""
    assert in_browser(page, tmp_path, expression) == ["rgb(255, 255, 255)", "rgb(0, 114, 178)"]
    assert in_browser(page, tmp_path, expression, is_dark=True) == ["rgb(13, 17, 23)", "rgb(88, 179, 240)"]


def test_hostile_text_runs_nothing(tmp_path: Path) -> None:
    """Even without the page's own policy, which the test takes out to be able to ask."""
    document: dict[str, Any] = hostile(a_full_document(), CLOSED)
    shown = a_page(document, diffs={1: HOSTILE}).replace("alert(", "hit(")
    told = in_browser(
        shown,
        tmp_path,
        "new Promise(done => setTimeout(() => done([window.hits, document.querySelectorAll('img').length, "
        "document.body.innerText.includes('<script>hit(2)')]), 500))",
        before="window.hits = 0; window.hit = () => { window.hits += 1 }",
    )
    assert told == [0, 0, True]


def test_every_row_of_a_long_run_can_be_reached(tmp_path: Path) -> None:
    """A link from a chart to a row far down scrolls there, though rows are laid out only when they are looked at."""
    document = a_document([tried(n, "reverted", -0.1) for n in range(1, 1601)])
    told = in_browser(
        a_page(document),
        tmp_path,
        "new Promise(done => { location.hash = '#e1500'; setTimeout(() => { const box = "
        "document.getElementById('e1500').getBoundingClientRect(); done(box.top >= 0 && box.top < innerHeight) "
        "}, 1500) })",
    )
    assert told is True
