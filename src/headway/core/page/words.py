"""Numbers, gains and times as the page and the Markdown summary say them."""

from headway.core.analysis.palette import MARKS
from headway.core.analysis.rates import Rates
from headway.core.analysis.tried import Fate
from headway.core.claims import GainRange
from headway.core.shown_text import duration, number, percent

UNKNOWN = "unknown"

__all__ = ["UNKNOWN", "dollars", "fate", "gain", "interval", "number", "percent", "rate", "time"]


def gain(found: GainRange | None) -> str:
    """Give a gain with its range, where it has one."""
    if found is None:
        return UNKNOWN
    return percent(found.estimate) + (f" ({interval(found)})" if found.low is not None else "")


def interval(found: GainRange | None) -> str:
    """Give a gain's range; empty where it has none."""
    if found is None or found.low is None or found.high is None:
        return ""
    return f"{percent(found.low)} to {percent(found.high)}"


def time(seconds: float | None) -> str:
    """Give a time span in the unit that suits it, or `unknown`."""
    return UNKNOWN if seconds is None else duration(seconds)


def dollars(usd: float | None) -> str:
    """Give an amount, or `unknown`."""
    return UNKNOWN if usd is None else f"{usd:.2f} USD"


def rate(rates: Rates) -> str:
    """Give a keep rate with its 95% interval."""
    if rates.keep_rate is None or rates.keep_rate_low is None or rates.keep_rate_high is None:
        return "nothing tried"
    return f"{rates.keep_rate:.0%} (95%: {rates.keep_rate_low:.0%} to {rates.keep_rate_high:.0%})"


def fate(of: Fate, word: str) -> str:
    """Give an outcome with the mark of its kind, so that it is not told by colour alone."""
    return f"{MARKS[of]} {word.replace('_', ' ')}"
