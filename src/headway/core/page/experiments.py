"""All experiments as rows, and those written out with their diffs."""

from collections.abc import Sequence

from headway.core.analysis.tried import Tried
from headway.core.log_reading import ReadExperiment
from headway.core.log_words import ComparisonKind
from headway.core.measurements import MetricValue, Snapshot
from headway.core.page import words
from headway.core.page.content import Detail
from headway.core.page.frame import Page
from headway.core.page.html import Part, Safe, joined, tag, text
from headway.core.page.tables import facts, items, scrolled
from headway.core.shown_text import one_line

ROWS_A_TABLE = 250
"""A full table is laid out when it comes near: the style sheet has about its height."""
MANY = 1000
SAMPLES = 12
_HEADS = ("Experiment", "Outcome", "Gain", "Value", "Category", "Agent", "Time", "Cost", "Hypothesis")


def rows(page: Page) -> Safe:
    """Build the tables of all experiments, in parts that a browser lays out only when they are looked at."""
    experiments = page.report.analysis.experiments
    written_out = {detail.one.position for detail in page.report.details}
    most = 200 if len(experiments) <= MANY else 100
    parts = [experiments[start : start + ROWS_A_TABLE] for start in range(0, len(experiments), ROWS_A_TABLE)]
    return joined(_table(page, part, written_out, most) for part in parts)


def _table(page: Page, part: Sequence[Tried], written_out: set[int], most: int) -> Safe:
    name = page.ids.new("t")
    head = tag("tr", *(tag("th", head, scope="col") for head in _HEADS))
    body = Safe("".join(_row(one, one.position in written_out, most) for one in part))
    caption = tag("caption", f"Experiments {part[0].position} to {part[-1].position} of the log", id=name)
    table = tag("table", caption, tag("thead", head), tag("tbody", body))
    return tag("div", scrolled(table, name), class_="chunk" if len(part) == ROWS_A_TABLE else None)


def _row(one: Tried, is_written_out: bool, most: int) -> str:
    """Build a row; end tags that HTML does not need are left out, for there may be ten thousand."""
    number = text("?" if one.iteration is None else one.iteration)
    label = f'<a href="#d{one.position}">{number}</a>' if is_written_out else number
    gain = "" if one.gain is None else words.percent(one.gain.estimate)
    value = "" if one.value is None else words.number(one.value)
    return (
        f'<tr id="e{one.position}" class="{one.fate}"><th scope="row">{label}<td class="o">'
        f'{text(words.fate(one.fate, one.outcome))}<td class="n">{text(gain)}<td class="n">{text(value)}'
        f"<td>{text(one_line(one.category, 40))}<td>{text(one_line(one.agent, 30))}"
        f'<td class="n">{"" if one.seconds is None else text(words.time(one.seconds))}'
        f'<td class="n">{"" if one.usd is None else f"{one.usd:.2f}"}<td>{text(one_line(one.hypothesis, most))}\n'
    )


def details(page: Page) -> Safe:
    """Write out the experiments that there is room for."""
    left = len(page.report.analysis.experiments) - len(page.report.details)
    told = [] if not left else [tag("p", f"{left} more are not written out here; `headway show N` does.")]
    return joined([*told, *(_article(page, detail) for detail in page.report.details)])


def _article(page: Page, detail: Detail) -> Safe:
    one, experiment = detail.one, detail.experiment
    title = f"Experiment {one.iteration}: {one.outcome.replace('_', ' ')}"
    ours = experiment.headway
    told: list[tuple[str, Part]] = [
        ("Why", one.reason),
        ("Gain", words.gain(one.gain) + (", as stored" if one.gain_is_stored else "") if one.gain else None),
        ("Samples", _samples(one)),
        ("Others", _others(experiment.metrics, page)),
        ("Gates", _gates(experiment.gates, experiment.gates_passed)),
        ("Verdicts", ", ".join(f"{n}: {r.verdict}" for n, r in (experiment.objective_results or {}).items())),
        ("Compared", _compared(experiment)),
        ("Regressions", ", ".join(experiment.regressions or ())),
        ("Learnings", experiment.learnings if experiment.learnings != one.reason else None),
        ("Commit", one.commit or (ours.candidate if ours else None)),
        ("Repeats", f"experiment {one.repeat_of}" if one.repeat_of else None),
        ("Combined with", f"experiment {experiment.merged_with}" if experiment.merged_with else None),
        ("Files", ", ".join(one.files)),
        ("Left out as not its own", ", ".join(t.path for t in (ours.tamper if ours else ()))),
    ]
    shown = [(name, value) for name, value in told if value]
    back = tag("a", "row", href=f"#e{one.position}", aria_label=f"row of experiment {one.iteration}")
    return tag(
        "article",
        tag("h3", title),
        tag("p", one.hypothesis, " (", back, ")"),
        facts(shown) if shown else None,
        _judged(detail),
        _patch(page, detail),
        id=f"d{one.position}",
    )


def _compared(experiment: ReadExperiment) -> str:
    """Say how it was compared; a holdout comparison says nothing here."""
    shown = (pair.uncertainty for pair in experiment.comparisons if pair.kind is not ComparisonKind.HOLDOUT)
    return "; ".join(filter(None, shown))


def _samples(one: Tried) -> str:
    if not one.samples:
        return ""
    more = f" … {len(one.samples) - SAMPLES} more" if len(one.samples) > SAMPLES else ""
    return " ".join(words.number(value) for value in one.samples[:SAMPLES]) + f"{more} (n={len(one.samples)})"


def _others(metrics: dict[str, MetricValue] | None, page: Page) -> str:
    primary = page.report.analysis.primary
    found = [f"{n} {_shown(v)}" for n, v in (metrics or {}).items() if primary is None or n != primary.name]
    return ", ".join(found)


def _shown(value: MetricValue) -> str:
    if isinstance(value, Snapshot):
        return words.number(float(value.aggregate))
    return value if isinstance(value, str) else words.number(float(value))


def _gates(gates: dict[str, object] | None, passed: bool | None) -> str:
    known = {True: "all passed", False: "failed", None: "not known whether they passed"}[passed]
    return f"{', '.join(f'{name} {value}' for name, value in gates.items())}: {known}" if gates else ""


def _judged(detail: Detail) -> Safe:
    judged = detail.experiment.judge.items if detail.experiment.judge else None
    lines = [f"{i.item_id or 'item'}: {i.feedback or i.reason or 'no words'}" for i in (judged or ())[:SAMPLES]]
    return joined([tag("h4", "Judge's words"), items(lines)]) if lines else Safe()


def _patch(page: Page, detail: Detail) -> Safe:
    if not detail.diff:
        return Safe()
    name = page.ids.new("p")
    lines: list[Part] = [_line(line) for line in detail.diff.splitlines()]
    if detail.diff_cut:
        lines.append(f"… {detail.diff_cut} characters more; `headway diff {detail.one.iteration}` prints all")
    pre = tag("pre", *lines, role="region", aria_labelledby=name, tabindex=0)
    return joined([tag("h4", f"Diff of experiment {detail.one.iteration}", id=name), pre])


def _line(line: str) -> Part:
    kind = {"+": "a", "-": "d"}.get(line[:1])
    return joined([tag("span", line, class_=kind), "\n"]) if kind else joined([line, "\n"])
