"""The live view of a run, as rich draws it: one screen, however small, and nothing in it that a log could command."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from headway.cli.colour import STYLES
from headway.cli.screen import BARS, duration, number, one_line, percent, sparkline, visible

if TYPE_CHECKING:
    from headway.app_watch import Look
    from headway.core.report import Budget, Row, Status

NARROW = 70
"""Columns under which the least important ones are left out."""
BAR = 24
SPARKS = 40


def watch_screen(look: "Look", lines: Sequence[str], width: int, height: int, plain_marks: bool = False) -> Group:
    """Draw a run at one moment.

    Args:
        look: the run.
        lines: the newest facts, in words, oldest first; as many as there is room for are shown.
        width, height: of the terminal, in characters.
        plain_marks: the terminal has no letters beyond ASCII.
    """
    status = look.status
    head = [_title(look), *_result(look, plain_marks), *_limits(status, width, plain_marks), *_running(look, width)]
    table = _newest(status, width)
    room = height - len(head) - len(status.recent) - 4
    told = [Text(visible(line), overflow="ellipsis", no_wrap=True) for line in lines[-room:]] if room > 0 else []
    parts: list[RenderableType] = [*head, *([table] if status.recent else [])]
    if told:
        parts += [Text("newest facts", style="bold"), *told]
    return Group(*parts)


def _line(*parts: str | tuple[str, str]) -> Text:
    return Text.assemble(*((visible(p[0]), p[1]) if isinstance(p, tuple) else visible(p) for p in parts))


def _title(look: "Look") -> Text:
    status = look.status
    state = str(status.state).replace("_", " ")
    more = "" if look.is_live else f"; next: {status.next_action.command}"
    return _line((status.spec, "bold"), f": {state}{more}")


def _result(look: "Look", plain_marks: bool) -> list[Text]:
    figures = look.status.figures
    if figures is None:
        return [_line("the baseline is being measured")]
    best = "the baseline" if not figures.best.iteration else f"experiment {figures.best.iteration}"
    spread = figures.noise.get(figures.metric)
    noise = "noise unknown" if spread is None else f"noise {spread:.1%}"
    kept = "unknown" if figures.kept is None else str(figures.kept)
    lines = [
        _line(
            "best ",
            (f"{number(figures.best.value)}", "bold"),
            f" {one_line(figures.metric, 30)} ({best}), ",
            (percent(figures.gain), STYLES["kept"]),
            f" against {number(figures.baseline.value)}; {noise}; {kept} kept of {figures.experiments}",
        )
    ]
    values = _values(look, figures.metric)
    if len(values) > 1 and not plain_marks:
        lines.append(_line(f"newest values {sparkline(values)}"))
    return lines


def _values(look: "Look", metric: str) -> list[float]:
    from headway.core.analysis.objectives import number_of

    recent = sorted(look.log.recent.items()) if look.log else []
    found = [number_of((entry.metrics or {}).get(metric)) for _, entry in recent]
    return [value for value in found if value is not None][-SPARKS:]


def _limits(status: "Status", width: int, plain_marks: bool) -> list[Text]:
    return [
        _limit(limit, plain_marks)
        for limit in status.budget
        if limit.cap and (width >= NARROW or limit.name in ("experiments", "active hours"))
    ]


def _limit(limit: "Budget", plain_marks: bool) -> Text:
    share = min(1.0, (limit.used or 0.0) / limit.cap) if limit.cap else 0.0
    full, empty = ("#", ".") if plain_marks else ("█", "░")
    filled = round(share * BAR)
    used = f"{number(limit.used)} of {number(limit.cap)} {limit.name}"
    return _line((full * filled + empty * (BAR - filled), "blue"), f" {used}")


def _running(look: "Look", width: int) -> list[Text]:
    eta = look.eta
    lines = []
    for open_ in look.status.phase:
        spent = look.running_seconds.get(open_.iteration)
        time = "" if spent is None else f" for {duration(max(0.0, spent))}"
        typical = "" if eta.typical_seconds is None else f" (others took {duration(eta.typical_seconds)})"
        hypothesis = one_line(open_.hypothesis, max(20, width - 30))
        lines.append(_line((f"{open_.iteration} ", "bold"), f"under way{time}{typical}: {open_.stage}"))
        lines.append(_line(f"    {hypothesis}"))
    if look.is_live and eta.at_most_seconds is not None:
        lines.append(_line(f"at most about {duration(eta.at_most_seconds)} more: {eta.bound}"))
    return lines


def _newest(status: "Status", width: int) -> Table:
    table = Table(box=None, pad_edge=False, show_header=True, expand=False, header_style="bold")
    table.add_column("newest", justify="right", no_wrap=True)
    table.add_column("outcome", no_wrap=True)
    table.add_column("gain", justify="right", no_wrap=True)
    if width >= NARROW:
        table.add_column("hypothesis", overflow="ellipsis", no_wrap=True)
    for row in status.recent:
        cells = _cells(row)
        table.add_row(*(cells if width >= NARROW else cells[:3]))
    return table


def _cells(row: "Row") -> list[Text]:
    gain = percent(row.gain.estimate) if row.gain else row.primary_delta or "-"
    words = (str(row.iteration), row.outcome, gain, one_line(row.hypothesis, 120))
    styles = ("", STYLES.get(row.outcome, ""), "", "")
    return [Text(visible(word), style=style) for word, style in zip(words, styles, strict=True)]


def has_marks(encoding: str | None) -> bool:
    """Say whether an encoding has the letters that bars are drawn with."""
    try:
        f"{BARS}█░".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
