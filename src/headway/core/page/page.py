"""The whole page."""

from collections.abc import Mapping

from headway.core.page.content import Report, day_and_time
from headway.core.page.experiments import details, rows
from headway.core.page.frame import Page
from headway.core.page.gains import notes, summary
from headway.core.page.html import Safe, joined, tag
from headway.core.page.sections import sections
from headway.core.page.style import style_sheet
from headway.core.page.tables import items

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""The page runs nothing and loads nothing; its only style is its own."""


def page_of(report: Report, charts: Mapping[str, str], chart_note: str = "") -> str:
    """Write a report as one page that needs nothing outside itself.

    Args:
        report: what it tells.
        charts: inert SVG by name, as `adapters/drawings.py` draws it.
        chart_note: why there are no charts; empty where there are.
    Returns: the document, UTF-8 text.
    """
    page = Page(report, {name: Safe(svg) for name, svg in charts.items()})
    spec = report.log.spec or "a run"
    told = sections(page)
    listed = [("experiments", "All experiments", rows(page)), ("details", "Details and diffs", details(page))]
    if report.analysis.experiments:
        told += listed
    body = tag(
        "body",
        tag("a", "Skip to the report", class_="skip", href="#main"),
        tag(
            "header",
            tag("h1", f"headway report: {spec}"),
            tag("p", _subtitle(report), class_="soft"),
            tag("nav", items(tag("a", title, href=f"#{name}") for name, title, _ in told), aria_label="Sections"),
        ),
        tag(
            "main",
            tag("h2", "Summary"),
            summary(page),
            notes(page),
            tag("p", chart_note, class_="note") if chart_note else None,
            *(tag("section", tag("h2", title, id=f"{name}-h"), content, id=name, aria_labelledby=f"{name}-h")
              for name, title, content in told),
            id="main",
        ),
        tag("footer", tag("p", "Made by headway from the log and its records; gains are positive where it got better.",
                          class_="soft")),
    )  # fmt: skip
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"headway report: {spec}"),
        tag("style", Safe(style_sheet())),
    )
    return joined([Safe("<!doctype html>\n"), tag("html", head, body, lang="en"), Safe("\n")])


def _subtitle(report: Report) -> str:
    description = report.spec.description if report.spec else None
    parts = [
        description,
        f"run {report.log.run_id or 'not recorded'}",
        f"started {day_and_time(report.log.started_at)}",
    ]
    return " · ".join(part for part in parts if part)
