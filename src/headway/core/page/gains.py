"""Sections about the result: summary, progress, gains, holdout, near misses, worst cases."""

from headway.core.analysis.rates import Rates
from headway.core.page import words
from headway.core.page.frame import Page, link
from headway.core.page.html import Safe, joined, tag
from headway.core.page.tables import facts, items, paragraphs, table
from headway.core.shown_text import one_line

MOST_ROWS = 40


def summary(page: Page) -> Safe:
    """What the run came to, in a few figures."""
    report, analysis = page.report, page.report.analysis
    rates, chance, primary = analysis.rates, analysis.chance, analysis.primary
    expected = words.UNKNOWN if chance.expected is None else f"{'at most ' * chance.is_bound}{chance.expected:.2g}"
    name = primary.name if primary else "no metric recorded"
    values = f"{words.number(analysis.baseline)} to {words.number(analysis.best)}"
    noise = report.noise.get(name)
    seconds = analysis.active_seconds if analysis.active_seconds is not None else rates.seconds
    way = primary.direction_words if primary else "nothing is known of it"
    cost = report.log.best.total_run_cost_usd if report.log.best else None
    return facts(
        [
            ("Gain, best against baseline as stored", _big(words.percent(analysis.gain), f"{name}: {values}; {way}")),
            ("Kept", _big(str(rates.kept), f"of {rates.tried} tried: {words.rate(rates)}")),
            ("Experiments", _big(str(rates.experiments), _counts(rates))),
            ("Keeps expected by chance", _big(expected, chance.basis)),
            ("Noise of the untouched code", _big("unknown" if noise is None else f"{noise:.1%}", "highest to lowest")),
            ("Time", _big(words.time(seconds), f"{words.time(rates.seconds_per_keep)} a keep")),
            ("Cost", _big(_cost(rates, cost), f"{words.dollars(rates.usd_per_keep)} a keep")),
            ("Harness", report.harness),
            ("State", " – ".join(filter(None, (report.status, report.stop))) or "not recorded"),
        ]
    )


def _big(value: str, more: str) -> Safe:
    return joined([tag("span", value, class_="big"), more])


def _cost(rates: Rates, total: float | None) -> str:
    if rates.usd is None or rates.usd_unknown:
        return f"{words.dollars(total)} known" if total else words.UNKNOWN
    return words.dollars(max(rates.usd, float(total or 0)))


def _counts(rates: Rates) -> str:
    parts = [(rates.kept, "kept"), (rates.reverted, "reverted"), (rates.inconclusive, "inconclusive")]
    parts += [(rates.failed, "failed"), (rates.experiments - rates.tried, "not tried or not decided")]
    return ", ".join(f"{count} {word}" for count, word in parts if count) or "none yet"


def notes(page: Page) -> Safe:
    """What a reader should know of these figures."""
    return tag("div", items(page.report.analysis.notes), class_="note") if page.report.analysis.notes else Safe()


def progress(page: Page) -> Safe:
    """Every experiment's value, and the kept state."""
    figures = []
    for index, objective in enumerate(page.report.analysis.objectives):
        name = "progress" if index == 0 else f"progress-{index + 1}"
        judged = {True: "scored by a judge", False: "measured", None: "as recorded"}[objective.is_judged]
        caption = (
            f"{objective.name}, {judged}, {objective.direction_words}, by experiment. The line is the kept state; "
            "dashed lines are baseline and target, the band is the noise of the untouched code. Marks at the edge lie "
            "outside the scale or have no value. Every mark leads to its row below."
        )
        figures.append(page.figure(name, caption))
    return joined(figures)


def keeps(page: Page) -> Safe:
    """Where the gain came from."""
    found = page.report.analysis.attribution
    rows = [
        (
            link(k.position, k.iteration),
            words.percent(k.gain.estimate if k.gain else None) + (" (stored)" if k.gain_is_stored and k.gain else ""),
            words.interval(k.gain),
            "" if k.share is None else f"{k.share:.0%}",
            words.percent(k.total) if k.total is not None else "",
            "" if k.recheck is None else f"{words.percent(k.recheck.difference)} (n={k.recheck.samples})",
            "" if k.lines_added is None else f"+{k.lines_added} -{k.lines_removed or 0}",
            (k.commit or "")[:10],
            one_line(k.hypothesis, 160),
        )
        for k in found.keeps
    ]
    heads = ("Experiment", "Gain", "Pairs", "Share", "So far", "Again later", "Lines", "Commit", "Hypothesis")
    told = f"All keeps together: {words.percent(found.compounded)}; as stored: {words.percent(found.as_stored)}."
    caption = "Gain of each keep against the reference of its own session; the line spans the worst and best pair."
    again = "Kept experiments. “Again later”: the kept commit as others' reference, against the value it was kept for."
    return (
        joined([page.figure("gains", caption), tag("p", told), table(page.ids, again, heads, rows, "nnnnnnn")])
        if rows
        else Safe()
    )


def holdout(page: Page) -> Safe:
    """Held-out verdicts beside the selection gains."""
    found = page.report.holdout
    if not found:
        spec = page.report.spec
        command = spec.measurement.holdout.command if spec and spec.measurement.holdout else None
        return tag("p", "A holdout is configured; no comparison of it is in the log yet.") if command else Safe()
    shown = any(row.candidate is not None for row in found)
    rows = [
        (
            link(r.position, r.iteration),
            words.percent(r.selection),
            r.verdict,
            *((words.number(r.reference), words.number(r.candidate)) if shown else ()),
        )
        for r in found
    ]
    heads = ["Experiment", "Selection gain", "Holdout verdict", *(["Reference", "Candidate"] if shown else [])]
    return table(page.ids, "Holdout against selection.", heads, rows, "nn")


def near_misses(page: Page) -> Safe:
    """What looked better and was not kept."""
    analysis = page.report.analysis
    rows = [
        (
            link(m.position, m.iteration),
            words.percent(m.gain.estimate),
            words.interval(m.gain),
            m.outcome,
            ", ".join(m.files),
            one_line(m.hypothesis, 160),
        )
        for m in analysis.near_misses[:MOST_ROWS]
    ]
    if not rows:
        return Safe()
    heads = ("Experiment", "Gain", "Pairs", "Outcome", "Files", "Hypothesis")
    chart = page.figure("near-misses", "Gains that were positive and not proven; the line spans worst and best pair.")
    worth = analysis.combination
    told = [] if worth is None else [
        joined(
            [
                "Worth measuring together, for they touch different files: ",
                joined((link(p, i) for p, i in zip(worth.positions, worth.iterations, strict=True)), ", "),
                f". If all of it is real and adds up: {words.percent(worth.gain)}.",
            ]
        )
    ]  # fmt: skip
    return joined([chart, paragraphs(told), table(page.ids, "Near misses: better, not proven.", heads, rows, "nnn")])


def worst(page: Page) -> Safe:
    """The worst cases of the baseline and of the best."""
    rows = [
        (
            pair.case,
            pair.before.score if pair.before else "not among the worst",
            (pair.before.reason if pair.before else None) or "",
            pair.after.score if pair.after else "not among the worst",
            (pair.after.reason if pair.after else None) or "",
        )
        for pair in page.report.worst
    ]
    return table(page.ids, "Worst cases of the baseline and of the best.", _WORST_HEADS, rows)


_WORST_HEADS = ("Case", "Before", "Why", "After", "Why then")
