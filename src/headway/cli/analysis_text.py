"""An analysis as text."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headway.cli.screen import counted, duration, gain_text, number, one_line, percent, table

if TYPE_CHECKING:
    from headway.core.analysis.attribution import KeptGain
    from headway.core.analysis.near_misses import NearMiss
    from headway.core.analysis.rates import By, Rates
    from headway.core.analysis.whole import Analysis, Compared

SHOWN = 12


def analysis_lines(analysis: "Analysis") -> list[str]:
    """Give what a run amounts to, as one page of text."""
    from headway.core.analysis.rates import By

    return [
        f"{analysis.spec or 'spec not recorded'}, run {analysis.run_id or 'not recorded'}",
        *_overview(analysis),
        *group_lines(By.CATEGORY, analysis.by(By.CATEGORY)),
        *_keep_lines(analysis),
        *_near_miss_lines(analysis),
        *_trait_lines(analysis),
        *_theme_lines(analysis),
        *(f"note: {note}" for note in analysis.notes),
    ]


def _overview(analysis: "Analysis") -> list[str]:
    rates, chance = analysis.rates, analysis.chance
    primary = analysis.primary
    values = "unknown" if primary is None else f"{primary.name} {number(analysis.baseline)} to {number(analysis.best)}"
    expected = "unknown" if chance.expected is None else f"{'at most ' * chance.is_bound}{chance.expected:.2g}"
    seconds = analysis.active_seconds if analysis.active_seconds is not None else rates.seconds
    rows = [
        ("experiments", f"{rates.experiments}: {_fates(rates)}"),
        ("kept", f"{rates.kept} of {rates.tried} tried: {_rate(rates)}"),
        ("primary", f"{values}; {percent(analysis.gain)} as stored, positive is better"),
        ("by chance", f"{expected} of {counted(chance.kept, 'keep')} expected; {chance.basis}"),
        (
            "time",
            f"{'unknown' if seconds is None else duration(seconds)} in all, {_time(rates.seconds_per_keep)} a keep",
        ),
        ("cost", f"{_usd(rates)} in all, {_dollars(rates.usd_per_keep)} a keep"),
    ]
    return table(rows)


def _fates(rates: "Rates") -> str:
    parts = {
        "kept": rates.kept,
        "reverted": rates.reverted,
        "inconclusive": rates.inconclusive,
        "failed": rates.failed,
        "not tried or not decided": rates.experiments - rates.tried,
    }
    return ", ".join(f"{count} {name}" for name, count in parts.items() if count) or "none"


def _rate(rates: "Rates") -> str:
    if rates.keep_rate is None or rates.keep_rate_low is None or rates.keep_rate_high is None:
        return "no rate"
    return f"{rates.keep_rate:.0%} (95%: {rates.keep_rate_low:.0%} to {rates.keep_rate_high:.0%})"


def _time(seconds: float | None) -> str:
    return "unknown" if seconds is None else duration(seconds)


def _dollars(usd: float | None) -> str:
    return "unknown" if usd is None else f"{usd:.2f} USD"


def _usd(rates: "Rates") -> str:
    if rates.usd is None:
        return "unknown"
    unknown = f", {counted(rates.usd_unknown, 'experiment')} unknown" if rates.usd_unknown else ""
    return f"{rates.usd:.2f} USD{unknown}"


def group_lines(by: "By", groups: Sequence["Rates"], most: int | None = SHOWN) -> list[str]:
    """Give the rates of groups, a line each.

    Args:
        by: what they are grouped by.
        groups: in the order to be shown.
        most: lines shown; None: all.
    """
    shown = groups if most is None else groups[:most]
    head = (f"by {by}", "tried", "kept", "rate", "best gain", "time a keep", "cost a keep")
    rows = [
        (
            one_line(group.name, 40),
            str(group.tried),
            str(group.kept),
            "-" if group.keep_rate is None else f"{group.keep_rate:.0%}",
            "-" if group.best_gain is None else percent(group.best_gain),
            "-" if group.seconds_per_keep is None else duration(group.seconds_per_keep),
            "-" if group.usd_per_keep is None else _dollars(group.usd_per_keep),
        )
        for group in shown
    ]
    more = [f"  ... and {len(groups) - len(shown)} more; `--by {by}` lists all"] if len(groups) > len(shown) else []
    return [*table([head, *rows]), *more] if rows else []


def _keep_lines(analysis: "Analysis") -> list[str]:
    keeps = analysis.attribution.keeps
    if not keeps:
        return []
    ranked = sorted(keeps, key=lambda keep: -(keep.gain.estimate if keep.gain else -1.0))[:SHOWN]
    together = percent(analysis.attribution.compounded)
    head = f"where the gain came from ({together} together; the largest first):"
    more = [f"  ... and {len(keeps) - SHOWN} more"] if len(keeps) > SHOWN else []
    return [head, *(f"  {line}" for line in table(_keep_row(keep) for keep in ranked)), *more]


def _keep_row(keep: "KeptGain") -> tuple[str, ...]:
    gain = keep.gain
    words = gain_text(gain.estimate, gain.low, gain.high) if gain else "gain not recorded"
    again = keep.recheck
    later = "not measured again" if again is None else f"again later (n={again.samples}): {percent(again.difference)}"
    return (
        str(keep.iteration),
        words + (" as stored" if gain and keep.gain_is_stored else ""),
        "-" if keep.share is None else f"{keep.share:.0%} of all",
        later,
        one_line(keep.hypothesis, 60),
    )


def _near_miss_lines(analysis: "Analysis") -> list[str]:
    misses = analysis.near_misses
    if not misses:
        return []
    lines = ["near misses (better, not proven):", *(f"  {line}" for line in table(map(_near_miss_row, misses[:SHOWN])))]
    if len(misses) > SHOWN:
        lines.append(f"  ... and {len(misses) - SHOWN} more")
    worth = analysis.combination
    if worth is not None:
        numbers = ", ".join(str(n) for n in worth.iterations)
        lines.append(f"  worth measuring together, for they touch different files: {numbers}")
        lines.append(f"  if all of it is real and adds up: {percent(worth.gain)}")
    return lines


def _near_miss_row(miss: "NearMiss") -> tuple[str, ...]:
    gain = miss.gain
    return (
        str(miss.iteration),
        miss.outcome,
        gain_text(gain.estimate, gain.low, gain.high),
        one_line(miss.hypothesis, 60),
    )


def _trait_lines(analysis: "Analysis") -> list[str]:
    rows = [
        (
            f"{trait.kind} {one_line(trait.name, 40)}",
            f"{trait.reverted} of {trait.compared} reverted",
            f"{trait.expected:.1f} expected",
            f"by chance {trait.chance:.2g}",
        )
        for trait in analysis.traits
    ]
    return ["what reverted ones have in common:", *(f"  {line}" for line in table(rows))] if rows else []


def _theme_lines(analysis: "Analysis") -> list[str]:
    rows = [(f"{theme.count} x", theme.outcome, one_line(theme.cause, 100)) for theme in analysis.themes[:SHOWN]]
    return ["failures:", *(f"  {line}" for line in table(rows))] if rows else []


def run_lines(runs: Sequence["Compared"]) -> list[str]:
    """Give runs side by side, a line each."""
    head = ("run", "tried and kept", "rate", "best", "gain", "first keep", "time", "cost")
    rows = [
        (
            one_line(run.label, 50),
            f"{run.experiments} and {run.kept}",
            "-" if run.keep_rate is None else f"{run.keep_rate:.0%}",
            f"{run.metric or 'no metric'} {number(run.best)}",
            percent(run.gain),
            "-" if run.first_keep is None else str(run.first_keep),
            _time(run.active_seconds),
            _dollars(run.usd),
        )
        for run in runs
    ]
    return table([head, *rows])
