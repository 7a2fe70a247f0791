"""Sections about the run's course: time and cost, categories, failures, timeline, environment."""

from headway.core.analysis.rates import By, Rates
from headway.core.page import words
from headway.core.page.content import day_and_time
from headway.core.page.frame import Page, link
from headway.core.page.html import Part, Safe, joined, tag
from headway.core.page.tables import facts, paragraphs, table
from headway.core.shown_text import counted, one_line

MOST_ROWS = 40


def spending(page: Page) -> Safe:
    """Time and cost, and who spent them."""
    analysis = page.report.analysis
    rows = [_rates_row(rates) for rates in analysis.by(By.AGENT)]
    basis = page.report.log.best.run_cost_basis if page.report.log.best else None
    told = f"What the cost counts: {basis}." if basis else ""
    return joined(
        [
            page.figure("spent", "Time of agents and measurements, and cost, up to each experiment."),
            paragraphs([told] if told else []),
            table(page.ids, "By agent.", _RATE_HEADS, rows, _RATE_KINDS),
        ]
    )


_RATE_HEADS = ("Name", "Tried", "Kept", "Keep rate", "Best gain", "Time", "Time a keep", "Cost", "Cost a keep")
_RATE_KINDS = " nnnnnnnn"


def _rates_row(rates: Rates) -> tuple[Part, ...]:
    return (
        one_line(rates.name, 80),
        rates.tried,
        rates.kept,
        words.rate(rates),
        words.percent(rates.best_gain) if rates.best_gain is not None else "",
        words.time(rates.seconds),
        words.time(rates.seconds_per_keep) if rates.kept else "",
        words.dollars(rates.usd),
        words.dollars(rates.usd_per_keep) if rates.kept else "",
    )


def categories(page: Page) -> Safe:
    """What was tried in which category."""
    groups = page.report.analysis.by(By.CATEGORY)
    if not groups:
        return Safe()
    rows = [_rates_row(rates) for rates in groups[:MOST_ROWS]]
    more = [f"{len(groups) - MOST_ROWS} more are not listed."] if len(groups) > MOST_ROWS else []
    chart = page.figure("categories", "Experiments by category and what became of them.")
    return joined([chart, table(page.ids, "By category.", _RATE_HEADS, rows, _RATE_KINDS), paragraphs(more)])


def failures(page: Page) -> Safe:
    """What failures say, and what reverted ones share."""
    analysis = page.report.analysis
    themes = [
        (t.cause, t.outcome, t.count, joined((link(p, _number(page, p)) for p in t.positions), ", "))
        for t in analysis.themes
    ]
    traits = [
        (f"{t.kind} {t.name}", t.reverted, t.compared, f"{t.expected:.1f}", f"{t.chance:.2g}") for t in analysis.traits
    ]
    heads = ("In common", "Reverted", "Compared", "Expected", "Chance")
    caption = "What reverted experiments share more often than a blind draw; hints, no verdicts."
    return joined(
        [
            table(
                page.ids,
                "Failures that say the same, numbers aside.",
                ("Cause", "Outcome", "Times", "First"),
                themes,
                "  n",
            ),
            table(page.ids, caption, heads, traits, " nnnn"),
        ]
    )


def _number(page: Page, position: int) -> int | None:
    return page.report.analysis.experiments[position - 1].iteration


def timeline(page: Page) -> Safe:
    """When agents and measurements were at work, and what happened to the run."""
    report = page.report
    rows = [(day_and_time(event.at), event.what, event.words) for event in report.events]
    left = [f"{counted(report.events_left_out, 'earlier event')} not listed."] if report.events_left_out else []
    lost = sum(one.lost for one in report.analysis.experiments)
    resumed = sum(event.what == "resumed" for event in report.events)
    told = f"{counted(resumed, 'resumption')}, {counted(lost, 'measurement')} lost from outside and taken again."
    return joined(
        [
            page.figure("timeline", "When agents and measurements were at work; paler is less of the time."),
            tag("p", told),
            table(page.ids, "Events of the run.", ("At", "What", "Words"), rows),
            paragraphs(left),
        ]
    )


def environment(page: Page) -> Safe:
    """Where and how it was measured."""
    report, log = page.report, page.report.log
    ours = log.baseline.headway if log.baseline else None
    approval = log.approval
    pairs: list[tuple[str, Part]] = [
        ("Started", day_and_time(log.started_at)),
        ("Base commit", (ours.commit if ours else None) or "not recorded"),
        ("Workload", (ours.workload if ours else None) or "not recorded"),
        ("Approved", f"{day_and_time(approval.approved_at)}, spec {approval.spec_sha256[:12]}" if approval else "no"),
    ]
    if report.spec is not None:
        pairs.append(("Measured by", tag("code", report.spec.measurement.command)))
        pairs.append(("Decided by", str(report.spec.measurement.stability.comparison.method)))
    machines = [table(page.ids, "Machine.", ("Name", "Value"), rows) for rows in report.environment]
    probes = table(page.ids, "What was found of the harness.", ("Probe", "Result"), report.probes)
    return joined([facts(pairs), *machines, probes])
