"""The report's page and summary: complete, inert, and made of any log."""

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from typing import Any

import pytest

from headway.core.analysis.facts import Facts
from headway.core.analysis.whole import analyse
from headway.core.figures import without_holdout
from headway.core.log_reading import log_from
from headway.core.page.content import MOST_DETAIL_BYTES, MOST_DIFF, Report, report_of
from headway.core.page.html import Safe, joined, tag, text
from headway.core.page.markdown import markdown_of, plain
from headway.core.page.page import page_of
from headway.core.spec import Spec
from tests.builders import a_spec
from tests.core.test_analysis import a_document, a_record, tried
from tests.core.test_report import a_value

HOSTILE = "\"'><img src=x onerror=alert(1)><script>alert(2)</script></title></style>&lt;\x1b[31m\u202e]]>-->|`@ann"
ELEMENTS = frozenset(
    re.findall(
        r"\w+",
        "html head meta title style body a header h1 p nav ul li main section h2 h3 h4 div dl dt dd table caption "
        "thead tbody tr th td figure figcaption span article pre code footer",
    )
)


class Shape(HTMLParser):
    """What a page consists of."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def a_report(
    document: Mapping[str, Any],
    spec: Spec | None = None,
    facts: Mapping[int, Facts] | None = None,
    records: Sequence[Mapping[str, Any]] = (),
    diffs: Mapping[int, str] | None = None,
) -> Report:
    """Gather the report of a document."""
    log = log_from(document)
    analysis = analyse(log, spec, facts)
    return report_of(log, spec, analysis, records, lambda number: (diffs or {}).get(number or 0, ""))


def a_page(document: Mapping[str, Any], spec: Spec | None = None, **beside: Any) -> str:
    """Give the page of a document, without charts."""
    return page_of(a_report(document, spec, **beside), {})


def a_full_document() -> dict[str, Any]:
    """Give a log that has something for every section."""
    side = {"metrics": {"seconds": a_value(1.0, 1.0, 1.1)}, "headway": {"order": "B A"}}
    pair = {"kind": "standalone", "reference_revision": "b" * 40, "candidate_revision": "c" * 40, "reference": side}
    pair |= {"candidate": side, "uncertainty": "method paired", "headway": {"decision": "keep"}}
    rows = [
        tried(
            1,
            "kept",
            0.5,
            commit="c" * 40,
            comparisons=[pair, {**pair, "kind": "holdout"}],
            worst_cases=[{"case_id": "w1", "score": "0.1", "reason": "slow"}],
            judge={"items": [{"item_id": "i1", "feedback": "well done"}]},
            gates={"sorted": 1},
            gates_passed=True,
            objective_results={"seconds": {"verdict": "improved"}},
            regressions=["case-9"],
            learnings="heaps help",
            metrics={"seconds": a_value(1.0), "bytes": 12, "note": "text"},
        ),
        tried(2, "inconclusive", 0.01),
        tried(3, "inconclusive", 0.02),
        tried(4, "error", error_message="no such file"),
        *(tried(n, "reverted", -0.1, category="cache") for n in range(5, 12)),
        *(tried(n, "inconclusive", -0.01, category="loop") for n in range(12, 19)),
    ]
    return a_document(
        rows,
        best={"iteration": 1, "metrics": {"seconds": a_value(1.0)}, "run_cost_basis": "agents as they report"},
        baseline={
            "metrics": {"seconds": a_value(2.0, 1.9, 2.1)},
            "worst_cases": [{"case_id": "w1", "score": "0.9", "reason": "slower"}],
            "headway": {"commit": "b" * 40, "workload": "selection:1", "relative_spread": {"seconds": 0.1}},
        },
        harness_validation={"probes": [{"name": "forgeable", "passed": True}]},
        approval={"approved_at": "2026-01-01T00:00:00Z", "spec_sha256": "f" * 64, "caps": {}},
        run_state={
            "status": "waiting",
            "active_seconds": 60,
            "headway": {"environment": [{"cpu": {"model": "one"}}], "stop": {"reason": "target", "detail": "met"}},
        },
    )


FACTS = {1: Facts(author_seconds=5, measure_seconds=5, agent="command", lost=1, reason="it was better")}
RECORDS = [
    a_record("run_resumed", notices=["took over"]),
    a_record("run_stopped", reason="target", detail="met"),
    a_record("notice_given", text="look"),
]


def test_every_section_is_there() -> None:
    """And every experiment has its row, its details, and links between them."""
    page = a_page(a_full_document(), a_spec(), facts=FACTS, records=RECORDS, diffs={1: "+added\n-gone\n"})
    for name in ("keeps", "holdout", "spending", "categories", "near", "worst", "failures", "timeline", "environment"):
        assert f'<section id="{name}"' in page, name
    for number in range(1, 19):
        assert f'id="e{number}"' in page
        assert f'id="d{number}"' in page
    words = " ".join(Shape(page).words)
    for part in (
        "+50.0%",
        "took over",
        "target: met",
        "killed from outside",
        "cpu.model",
        "well done",
        "case-9",
        "slower",
        "no such file",
        "category cache",
        "it was better",
        "+added",
        "Worth measuring together",
    ):
        assert part in words, part


def test_every_link_leads_somewhere_in_the_page() -> None:
    """No address outside, no dangling one inside."""
    attributes = Shape(a_page(a_full_document(), a_spec(), facts=FACTS, records=RECORDS)).attributes
    targets = {value for name, value in attributes if name == "id"}
    links = {value for name, value in attributes if name == "href"}
    assert links
    assert {link[1:] for link in links if link.startswith("#")} <= targets
    assert all(link.startswith("#") for link in links)
    assert not [name for name, _ in attributes if name in ("src", "action", "srcset", "data")]
    named = [value for name, value in attributes if name == "aria-labelledby"]
    assert set(named) <= targets
    ids = [value for name, value in attributes if name == "id"]
    assert len(ids) == len(set(ids))


def hostile(value: Any, kept: frozenset[str], key: str = "") -> Any:
    """Replace every text of a document by a hostile one, but where only certain words may stand."""
    if isinstance(value, Mapping):
        return {name: hostile(inner, kept, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [hostile(inner, kept, key) for inner in value]
    return HOSTILE if isinstance(value, str) and key not in kept else value


CLOSED = frozenset(("outcome", "kind", "verdict", "status", "next_measurement", "case_id"))


def test_hostile_text_in_every_field_stays_text() -> None:
    """Whatever a log, its records, its diffs and its spec say, the page's elements and attributes are ours."""
    document = hostile(a_full_document(), CLOSED)
    for row in document["experiments"]:
        row["metrics"] = {"seconds": 1.0, HOSTILE: HOSTILE, **(row.get("metrics") or {})}
        row["gates"] = {HOSTILE: HOSTILE}
        row["objective_results"] = {HOSTILE: {"verdict": "improved"}}
    for cases in (document["baseline"]["worst_cases"], document["experiments"][0]["worst_cases"]):
        cases[0]["case_id"] = HOSTILE
    document["baseline"]["headway"]["imported"] = {"format": HOSTILE, "notes": [HOSTILE]}
    document["run_state"]["headway"]["environment"] = [{HOSTILE: {HOSTILE: HOSTILE}}]
    facts = {
        n: Facts(agent=HOSTILE, reason=HOSTILE, started_at=HOSTILE, lost=1, measure_seconds=1) for n in range(1, 5)
    }
    records = [
        a_record("run_resumed", HOSTILE, notices=[HOSTILE]),
        a_record("run_stopped", HOSTILE, reason=HOSTILE, detail=HOSTILE),
        a_record("notice_given", HOSTILE, text=HOSTILE),
    ]
    diffs = dict.fromkeys(range(1, 30), f"+{HOSTILE}\n-{HOSTILE}\n{HOSTILE}")
    spec = a_spec(description=HOSTILE, measurement={"command": HOSTILE})
    for given in (spec, None):
        report = a_report(document, given, facts=facts, records=records, diffs=diffs)
        page = page_of(report, {}, HOSTILE)
        shape = Shape(page)
        assert shape.elements <= ELEMENTS
        assert not [name for name, _ in shape.attributes if name.startswith("on") or name in ("src", "style")]
        assert all(value.startswith("#") for name, value in shape.attributes if name == "href")
        assert page.count("<style>") == page.count("</style>") == page.count("</title>") == 1
        assert "\x1b" not in page
        assert "\u202e" not in page
        assert page.count("alert(1)") > 50, "the hostile text is shown, as text"


def test_markup_is_escaped_wherever_it_enters() -> None:
    """In content and in attributes; only what was built here is markup."""
    assert tag("p", "<b>", title='"x"') == '<p title="&quot;x&quot;">&lt;b&gt;</p>'
    assert tag("p", tag("b", 1), None, class_="k", hidden=True, open=False) == '<p class="k" hidden><b>1</b></p>'
    assert joined(["<", Safe("<")], ",") == "&lt;,<"
    assert text("a\x00\ud800\u202eb\n\t") == "a\\u0000\\ud800\\u202eb\n\t"


def test_a_page_says_that_it_runs_and_loads_nothing() -> None:
    """The browser holds it to that."""
    page = a_page(a_document())
    assert "default-src &#x27;none&#x27;" in page
    assert "<script" not in page


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"experiments": [None, {"iteration": "x"}, {}]},
        a_document(),
        a_document([tried(1, "kept", 0.5)]),
        a_document([tried(1, "error"), tried(2, "timeout"), tried(3, "degenerate")]),
        a_document([tried(1, "measured"), tried(2, "promising")]),
        a_document([tried(1, "kept", 0.5), tried(1, "kept", 0.5)]),
        a_document([tried(1, "kept", metrics={"seconds": "n/a"})], baseline={"metrics": {"seconds": 0}}),
    ],
)
@pytest.mark.parametrize("spec", [None, a_spec()])
def test_any_log_has_a_page_and_a_summary(document: dict[str, Any], spec: Spec | None) -> None:
    """Empty, one entry, crash-only, half-finished, odd."""
    page = a_page(document, spec)
    assert page.startswith("<!doctype html>")
    assert "Summary" in page
    assert markdown_of(a_report(document, spec)).startswith("## headway: ")


def test_holdout_values_are_shown_only_where_they_are_in_the_log() -> None:
    """The reader of the files leaves them out; the verdict stays."""
    document = a_full_document()
    secret = {"metrics": {"seconds": a_value(0.7654321)}}
    document["experiments"][0]["comparisons"][1] |= {"candidate": secret, "uncertainty": "z of the holdout"}
    veiled = {**document, "experiments": [without_holdout(row) for row in document["experiments"]]}
    for shown in (a_page(veiled, a_spec()), markdown_of(a_report(veiled, a_spec()))):
        assert "0.765432" not in shown
    assert "Holdout verdict" in a_page(veiled, a_spec())
    assert "0.765432" in a_page(document, a_spec())
    assert "z of the holdout" not in a_page(document, a_spec())


def test_a_long_run_writes_out_keeps_first_and_says_what_is_left_out() -> None:
    """Rows for all, details for as many as there is room for."""
    many = 120
    diff = "+" + "x" * MOST_DIFF
    document = a_document(
        [tried(n, "kept" if n == 1 else "reverted", 0.1 if n == 1 else -0.1) for n in range(1, many + 1)]
    )
    report = a_report(document, a_spec(), diffs=dict.fromkeys(range(1, many + 1), diff))
    written = [detail.one.iteration for detail in report.details]
    assert written[0] == 1
    assert written[-1] == many
    assert 0 < len(written) < MOST_DETAIL_BYTES // MOST_DIFF
    page = page_of(report, {})
    assert page.count("<tr id=") == many
    assert f"{many - len(written)} more are not written out" in page
    assert "characters more" in page


def test_the_summary_names_keeps_with_gain_and_commit() -> None:
    """What a reviewer wants first."""
    summary = markdown_of(a_report(a_full_document(), a_spec()))
    assert "**+50.0%** on seconds (2 → 1, lower is better" in summary
    assert "| 1 | +50.0% |" in summary
    assert "`cccccccccc`" in summary
    assert "1 kept of 18 tried" in summary


def test_nothing_of_a_log_is_markup_in_the_summary() -> None:
    """No mention, no link, no table broken, no HTML."""
    document = hostile(a_full_document(), CLOSED)
    summary = markdown_of(a_report(document, None))
    assert "@ann" not in summary
    assert re.search(r"(?<!\\)<(img|script)", summary) is None
    rows = [line for line in summary.splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} <= {8, 5, 4}
    assert plain("see https://x.test/#1 [a](b) #12 -x") == ("see https\u200b://x.test/#\u200b1 \\[a\\](b) #\u200b12 -x")


def test_the_page_is_well_formed() -> None:
    """By the checker of another project, where one is installed."""
    tidy = shutil.which("tidy")
    if tidy is None:
        pytest.skip("no tidy here")
    page = a_page(a_full_document(), a_spec(), facts=FACTS, records=RECORDS, diffs={1: "+a\n"})
    told = subprocess.run([tidy, "-q", "-e", "-utf8"], input=page, capture_output=True, text=True, check=False)
    assert [line for line in told.stderr.splitlines() if "Error" in line] == []
