"""The charts, defined once, with Vega-Altair (the extra `report`): for the report, for files, and for notebooks.

Every mark that stands for an experiment links to `#e<position>`, its row in the report. Colours are told apart by
every kind of colour blindness, and shapes say the same; the page's dark colours are laid over these by CSS.
"""

import importlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from headway.core.analysis.charting import ChartData, GainBar, Progress
from headway.core.analysis.palette import BAND, COLOURS, GRID, INK, LANES, TARGET
from headway.core.analysis.tried import Fate
from headway.errors import ExtraMissing

if TYPE_CHECKING:
    import altair as alt

SHAPES = {
    Fate.KEPT: "circle",
    Fate.INCONCLUSIVE: "square",
    Fate.REVERTED: "triangle-down",
    Fate.FAILED: "cross",
    Fate.OPEN: "diamond",
    Fate.DEFERRED: "stroke",
}
WIDTH, HEIGHT = 720, 300
FEW = 40
"""Bars up to which each gets a line of its own with its number."""


def charts_of(data: ChartData) -> "dict[str, alt.LayerChart | alt.Chart]":
    """Give the charts by name, in the order in which a report shows them; what has no data has no chart.

    Raises: ExtraMissing, where Altair is not installed.
    """
    alt = _altair()
    charts: dict[str, Any] = {}
    for index, progress in enumerate(data.progress):
        charts["progress" if index == 0 else f"progress-{index + 1}"] = _progress(alt, progress)
    if data.gains:
        charts["gains"] = _gains(alt, data.gains, "Gain of each kept experiment, %")
    if data.near_misses:
        charts["near-misses"] = _gains(alt, data.near_misses, "Gain that was not proven, %")
    if data.categories:
        charts["categories"] = _categories(alt, data)
    if any(spent.time or spent.usd for spent in data.spent):
        charts["spent"] = _spent(alt, data)
    if data.busy:
        charts["timeline"] = _timeline(alt, data)
    return {name: _styled(chart) for name, chart in charts.items()}


def _altair() -> Any:
    try:
        return importlib.import_module("altair")
    except ImportError:
        raise ExtraMissing("no charts here", "altair", "report") from None


def _styled(chart: Any) -> Any:
    return (
        chart.configure(background="transparent", font="sans-serif")
        .configure_axis(
            labelColor=INK, titleColor=INK, gridColor=GRID, domainColor=INK, tickColor=INK, labelFontSize=12,
            titleFontSize=12, titleFontWeight="normal", labelLimit=220,
        )
        .configure_legend(labelColor=INK, titleColor=INK, labelFontSize=12, orient="bottom", title=None)
        .configure_view(stroke=None)
    )  # fmt: skip


def _rows(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Give rows as a chart's data: a plain mapping, for Altair would validate every value of its own data class."""
    return {"values": list(rows)}


def _link(position: int) -> str:
    return f"#e{position}"


def _fates(present: Iterable[Fate]) -> list[Fate]:
    found = set(present)
    return [fate for fate in Fate if fate in found]


def _fate_colour(alt: Any, fates: list[Fate]) -> Any:
    scale = alt.Scale(domain=[str(fate) for fate in fates], range=[COLOURS[fate] for fate in fates])
    return alt.Color("fate:N", scale=scale)


def _progress(alt: Any, progress: Progress) -> Any:
    """Draw one objective over the experiments: points by fate, the kept state, baseline, target, noise band."""
    objective = progress.objective
    last = max([point.position for point in progress.points] + [position for position, _ in progress.kept], default=1)
    x = alt.X("position:Q", title="experiment", scale=alt.Scale(domain=[0, last + 1], nice=False), axis=_whole(alt))
    judged = ", judged" if objective.is_judged else ""
    title = f"{objective.name} ({objective.direction_words}{judged})"
    y = alt.Y("y:Q", title=title, scale=alt.Scale(domain=list(progress.scale), nice=False, zero=False))
    layers = []
    if progress.band is not None:
        low, high = progress.band
        band = _rows([{"low": low, "high": high, "line": "noise of the untouched code"}])
        layers.append(
            alt.Chart(band).mark_rect(color=BAND, opacity=0.25, aria=False).encode(y=alt.Y("low:Q"), y2="high:Q")
        )
    layers += _rules(alt, progress)
    layers.append(_points(alt, progress, x, y))
    if progress.kept:
        steps = _rows([{"position": position, "y": value} for position, value in progress.kept])
        line = alt.Chart(steps).mark_line(interpolate="step-after", color=COLOURS[Fate.KEPT], strokeWidth=2, aria=False)
        layers.append(line.encode(x=x, y=y))
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)


def _whole(alt: Any) -> Any:
    return alt.Axis(format="d", tickMinStep=1, grid=False)


def _rules(alt: Any, progress: Progress) -> list[Any]:
    lines = []
    for value, colour, words in (
        (progress.baseline, INK, "baseline"),
        (progress.objective.target, TARGET, "target"),
    ):
        if value is not None:
            data = _rows([{"y": value, "words": words}])
            rule = alt.Chart(data).mark_rule(color=colour, strokeDash=[5, 4], aria=False).encode(y="y:Q")
            label = alt.Chart(data).mark_text(align="right", dy=-6, color=colour, fontSize=12, aria=False)
            lines += [rule, label.encode(x=alt.value(WIDTH - 4), y="y:Q", text="words:N")]
    return lines


def _points(alt: Any, progress: Progress, x: Any, y: Any) -> Any:
    fates = _fates(point.fate for point in progress.points)
    many = len(progress.points) > 1000
    data = _rows(
        [
            {"position": p.position, "y": p.y, "fate": str(p.fate), "outside": p.is_outside, "link": _link(p.position)}
            for p in progress.points
        ],
    )
    shape = alt.Shape(
        "fate:N", scale=alt.Scale(domain=[str(fate) for fate in fates], range=[SHAPES[fate] for fate in fates])
    )
    size = alt.condition("datum.fate == 'kept'", alt.value(70), alt.value(12 if many else 40))
    opacity = alt.condition("datum.outside", alt.value(0.6), alt.value(1))
    marks = alt.Chart(data).mark_point(filled=True, aria=False)
    return marks.encode(
        x=x, y=y, color=_fate_colour(alt, fates), shape=shape, size=size, opacity=opacity, href="link:N"
    )


def _gains(alt: Any, bars: Iterable[GainBar], title: str) -> Any:
    """Draw gains with their intervals: a line each with its number while they are few, else over the experiments."""
    bars = list(bars)
    data = _rows([{**asdict(bar), "link": _link(bar.position)} for bar in bars])
    few = len(bars) <= FEW
    x = alt.X("gain:Q", title=title)
    y: Any = alt.Y("position:Q", title="experiment", scale=alt.Scale(reverse=True, zero=False))
    if few:
        order = [f"{bar.position}" for bar in bars]
        words = {f"{bar.position}": bar.label for bar in bars}
        axis = alt.Axis(labelExpr=f"({json.dumps(words)})[datum.value]")
        y = alt.Y("position:N", title="experiment", sort=order, axis=axis)
    zero = alt.Chart(_rows([{"gain": 0}])).mark_rule(color=INK, aria=False).encode(x="gain:Q")
    spans = alt.Chart(data).transform_filter("datum.low != null && datum.high != null")
    stroke = {"strokeWidth": 2, "opacity": 1} if few else {"strokeWidth": 1, "opacity": 0.3}
    span = spans.mark_rule(color=COLOURS[Fate.KEPT], aria=False, **stroke).encode(x="low:Q", x2="high:Q", y=y)
    point = alt.Chart(data).mark_point(
        filled=True, opacity=1, size=70 if few else 20, color=COLOURS[Fate.KEPT], aria=False
    )
    height = {"height": {"step": 22}} if few else {"height": HEIGHT}
    return alt.layer(zero, span, point.encode(x=x, y=y, href="link:N")).properties(width=WIDTH - 80, **height)


def _categories(alt: Any, data: ChartData) -> Any:
    shares = [{"name": share.name, "fate": str(share.fate), "count": share.count} for share in data.categories]
    order = list(dict.fromkeys(share["name"] for share in shares))
    fates = _fates(share.fate for share in data.categories)
    bars = alt.Chart(_rows(shares)).mark_bar(aria=False)
    return bars.encode(
        x=alt.X("sum(count):Q", title="experiments", axis=_whole(alt)),
        y=alt.Y("name:N", title=None, sort=order),
        color=_fate_colour(alt, fates),
        order=alt.Order("fate:N"),
    ).properties(width=WIDTH - 160, height={"step": 24})


def _spent(alt: Any, data: ChartData) -> Any:
    """Draw time and dollars up to each experiment, beside each other; what is unknown is not drawn."""
    parts = []
    rows = [asdict(spent) for spent in data.spent]
    for name, title, colour in (
        ("time", f"{data.time_unit} so far", LANES["agent"]),
        ("usd", "USD so far", COLOURS[Fate.KEPT]),
    ):
        known = [row for row in rows if row[name] is not None]
        if known and known[-1][name]:
            line = alt.Chart(_rows(known)).mark_line(interpolate="step-after", color=colour, aria=False)
            x = alt.X("position:Q", title="experiment", axis=_whole(alt))
            parts.append(
                line.encode(x=x, y=alt.Y(f"{name}:Q", title=title)).properties(width=WIDTH // 2 - 50, height=180)
            )
    return alt.hconcat(*parts)


def _timeline(alt: Any, data: ChartData) -> Any:
    bars = alt.Chart(_rows([asdict(busy) for busy in data.busy])).mark_bar(aria=False)
    names = list(LANES)
    colour = alt.Color("lane:N", scale=alt.Scale(domain=names, range=[LANES[name] for name in names]), legend=None)
    opacity = alt.Opacity("share:Q", scale=alt.Scale(domain=[0, 1], range=[0, 1]), legend=None)
    x = alt.X("start:Q", title=f"{data.time_unit} since the start")
    y = alt.Y("lane:N", title=None, sort=names)
    marks = bars.encode(x=x, x2="end:Q", y=y, color=colour, opacity=opacity)
    return marks.properties(width=WIDTH - 80, height={"step": 40})
