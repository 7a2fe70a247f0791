"""Which way is better, where a log does not say it.

Source: STYLE section 1 (a rule that cannot be evaluated never falls back): unknown is an answer here.
"""

import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

from headway.core.imports.found import HIGHER, LOWER, Direction, Found
from headway.core.log_words import Outcome

_LOWER = re.compile(
    r"loss|error|rmse|mse\b|mae\b|bpb|ppl|perplexity|latency|_ms\b|_us\b|_ns\b|seconds|duration|elapsed|_time\b|time_"
    r"|bytes|_kb\b|_mb\b|_gb\b|memory|failures|failed|miss_ratio|\bfid|_fid|wer\b|cer\b|cost|regret|gaps\b|warnings"
)
_HIGHER = re.compile(
    r"accuracy|\bacc\b|_acc\b|score|tok_s|tok_per_s|tok_sec|per_sec|_per_s\b|throughput|tflops|reward|sharpe|win_rate"
    r"|pass_rate|passed|passing|auc\b|\bf1|_f1\b|f05\b|precision|recall|psnr|ssim|speedup|coverage|map50|performance"
)
_FEWEST_KEEPS = 4
_CLEAR = 0.8


class Guess(NamedTuple):
    """A direction and how it is known: `recorded`, `asked`, `name`, `keeps` or `unknown`."""

    direction: Direction | None
    by: str


def direction_of(
    recorded: Direction | None, asked: Direction | None, metric: str | None, runs: Sequence[Found]
) -> Guess:
    """Give the direction of one segment, and say how it is known.

    Args:
        recorded: what the log says.
        asked: what whoever imports it says; it wins.
        metric: the primary metric's name.
        runs: the segment's runs, in order: what was kept tells which way the tool took for better.
    """
    if asked is not None:
        return Guess(asked, "asked")
    if recorded is not None:
        return Guess(recorded, "recorded")
    named = _by_name(metric or "")
    if named is not None:
        return Guess(named, "name")
    kept = _by_keeps(runs)
    return Guess(kept, "keeps") if kept else Guess(None, "unknown")


def _by_name(metric: str) -> Direction | None:
    name = metric.casefold()
    is_lower, is_higher = bool(_LOWER.search(name)), bool(_HIGHER.search(name))
    if is_lower == is_higher:
        return None
    return LOWER if is_lower else HIGHER


def _by_keeps(runs: Sequence[Found]) -> Direction | None:
    """Follow the steps from keep to keep; unknown unless four fifths of at least four go one way."""
    kept = [run.metric for run in runs if run.outcome is Outcome.KEPT and run.metric is not None]
    steps = [after - before for before, after in itertools.pairwise(kept) if after != before]
    down = sum(step < 0 for step in steps)
    if len(steps) < _FEWEST_KEEPS:
        return None
    if down >= _CLEAR * len(steps):
        return LOWER
    return HIGHER if len(steps) - down >= _CLEAR * len(steps) else None
