"""The summary for pull requests and chats, in Markdown: it renders anywhere, and nothing of a log is markup in it."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from headway.core.page import words
from headway.core.page.content import Report
from headway.core.shown_text import counted, one_line, visible

MOST_KEEPS: Final = 20
MOST_NEAR_MISSES: Final = 5
_MARKUP: Final = re.compile(r"([\\`*_\[\]<>|~&$]|^[-+.])")
_MENTION: Final = re.compile(r"([@#])")
_ADDRESS: Final = re.compile(r"(?i)\b(https?|ftp|www)([:.])")


def markdown_of(report: Report) -> str:
    """Write the summary.

    Args:
        report: what it tells.
    Returns: Markdown (CommonMark with tables), ending with a line end.
    """
    analysis, rates = report.analysis, report.analysis.rates
    primary = analysis.primary
    title = f"## headway: {plain(report.log.spec or 'a run')}"
    result = (
        f"**{words.percent(analysis.gain)}** on {plain(primary.name)} ({words.number(analysis.baseline)} → "
        f"{words.number(analysis.best)}, {primary.direction_words}; best against baseline as stored)."
        if primary
        else "No metric is recorded."
    )
    tried = f"{rates.kept} kept of {rates.tried} tried: {words.rate(rates)}."
    chance = analysis.chance
    expected = (
        f"Keeps expected by chance: {words.UNKNOWN if chance.expected is None else f'{chance.expected:.2g}'} "
        f"({plain(chance.basis)})."
    )
    seconds = analysis.active_seconds if analysis.active_seconds is not None else rates.seconds
    cost = f"Time {words.time(seconds)}; cost {words.dollars(None if rates.usd_unknown else rates.usd)}."
    harness = f"Harness: {plain(report.harness)}."
    state = f"State: {plain(' – '.join(filter(None, (report.status, report.stop))) or 'not recorded')}."
    blocks = [title, result, "\n".join(f"- {line}" for line in (tried, expected, cost, harness, state))]
    blocks += [block for block in (_keeps(report), _near_misses(report), _worst(report), _notes(report)) if block]
    return "\n\n".join(blocks) + "\n"


def plain(text: str, most: int = 160) -> str:
    """Give a text in one line, in which nothing is markup, a mention or a link."""
    apart = _ADDRESS.sub(lambda found: f"{found[1]}\u200b{found[2]}", one_line(visible(text), most))
    return _MENTION.sub("\\1\u200b", _MARKUP.sub(r"\\\1", apart))


def _keeps(report: Report) -> str:
    keeps = report.analysis.attribution.keeps
    ranked = sorted(keeps, key=lambda keep: -(keep.gain.estimate if keep.gain else -1.0))
    rows = [
        (
            str(keep.iteration),
            words.percent(keep.gain.estimate if keep.gain else None),
            words.interval(keep.gain),
            "" if keep.share is None else f"{keep.share:.0%}",
            "" if keep.lines_added is None else f"+{keep.lines_added} −{keep.lines_removed or 0}",
            f"`{keep.commit[:10]}`" if keep.commit and keep.commit.isalnum() else "",
            plain(keep.hypothesis),
        )
        for keep in ranked[:MOST_KEEPS]
    ]
    left = len(keeps) - len(rows)
    more = f"\n\n{counted(left, 'more keep')} not listed." if left > 0 else ""
    heads = ("#", "gain", "pairs", "share", "lines", "commit", "what")
    return f"### Kept\n\n{_table(heads, rows)}{more}" if rows else ""


def _near_misses(report: Report) -> str:
    misses = report.analysis.near_misses[:MOST_NEAR_MISSES]
    rows = [
        (str(miss.iteration), words.percent(miss.gain.estimate), words.interval(miss.gain), plain(miss.hypothesis))
        for miss in misses
    ]
    return f"### Better, not proven\n\n{_table(('#', 'gain', 'pairs', 'what'), rows)}" if rows else ""


def _worst(report: Report) -> str:
    rows = [
        (
            plain(pair.case, 60),
            plain(pair.before.score or "?", 40) if pair.before else "",
            plain(pair.after.score or "?", 40) if pair.after else "",
        )
        for pair in report.worst[:5]
    ]
    return f"### Worst cases\n\n{_table(('case', 'before', 'after'), rows)}" if rows else ""


def _notes(report: Report) -> str:
    notes = report.analysis.notes
    return "### Notes\n\n" + "\n".join(f"- {plain(note, 300)}" for note in notes) if notes else ""


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
