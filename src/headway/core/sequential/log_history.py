"""Rebuilds what a run knows about noise from its log: raw values are there, and nowhere else.

Source: issue 4 item 1; CONTRACTS sections 2 and 5 (which samples stand where).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from headway.core.records import Baseline, Comparison, ComparisonKind, Entry, Outcome, Snapshot
from headway.core.sequential.history import Repeats, RunHistory, run_history


def history_of(
    baseline: Baseline, entries: Iterable[Entry], names: Sequence[str], base: str, before_k: int | None = None
) -> RunHistory:
    """Build the history of a run from its log.

    Args:
        baseline: the log's section; its samples are the calibration.
        entries: the experiments, in any order; those without a timed measurement are passed over.
        names: the required objectives.
        base: the commit that the run started from, which is the current best until something is kept.
        before_k: the session under way; it and later ones are left out. None: nothing is.
    Returns: the history: the same that the run held when it wrote them.
    """
    lists = repeats_of(baseline, entries, names, base)
    return run_history(each for each in lists if before_k is None or each.k < before_k)


def repeats_of(baseline: Baseline, entries: Iterable[Entry], names: Sequence[str], base: str) -> tuple[Repeats, ...]:
    """Give all lists of repeated measurements, in the order of their sessions; arguments as in `history_of`."""
    found = [repeats for entry in entries for repeats in _of_entry(entry, names)]
    found.sort(key=lambda repeats: repeats.k)  # stable: within a session the reference stays before the candidate
    start = _values(baseline.metrics, names)
    return (Repeats(base, start), *found) if start else tuple(found)


def _of_entry(entry: Entry, names: Sequence[str]) -> Iterator[Repeats]:
    own = next((c for c in entry.comparisons if c.kind == ComparisonKind.STANDALONE), None)
    k = entry.headway.k if entry.headway else None
    if k is not None:
        yield from _reference(own, k, names)
        values = _values(entry.metrics, names)
        revision = own.candidate_revision if own else (entry.headway.candidate if entry.headway else None)
        if values and revision:
            yield Repeats(revision, values, k, is_reference=False, was_kept=entry.outcome == Outcome.KEPT)
    for comparison in entry.comparisons:
        if comparison.kind == ComparisonKind.INTEGRATED and comparison.headway and comparison.headway.k is not None:
            yield from _integrated(comparison, comparison.headway.k, names, entry.outcome == Outcome.RUNNER_UP_KEPT)


def _integrated(comparison: Comparison, k: int, names: Sequence[str], was_kept: bool) -> Iterator[Repeats]:
    yield from _reference(comparison, k, names)
    values = _values(comparison.candidate.metrics if comparison.candidate else None, names)
    if values:
        yield Repeats(comparison.candidate_revision, values, k, is_reference=False, was_kept=was_kept)


def _reference(comparison: Comparison | None, k: int, names: Sequence[str]) -> Iterator[Repeats]:
    """The reference's own fresh samples; stored ones, which carry no conditions of measurement, are not repeats."""
    side = comparison.reference if comparison else None
    if comparison is None or side is None or side.headway is None:
        return
    values = _values(side.metrics, names)
    if values:
        yield Repeats(comparison.reference_revision, values, k)


def _values(metrics: Mapping[str, Any] | None, names: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """Give the raw samples of all objectives; empty where one has none."""
    found: dict[str, tuple[float, ...]] = {}
    for name in names:
        snapshot = (metrics or {}).get(name)
        if not isinstance(snapshot, Snapshot) or not snapshot.samples:
            return {}
        found[name] = tuple(float(value) for value in snapshot.samples)
    return found
