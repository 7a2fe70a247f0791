"""Counts over all entries, kept up to date without reading them all.

What is counted, exactly:

- `counts`: entries by outcome.
- `k`: sessions that gave a timed measurement, so that a decision could follow. An entry's standalone session counts
  if `sample_count` >= 1, `gates_passed` is not false and it neither repeats another (`headway.repeat_of`) nor ended
  as deferred, error, timeout or degenerate; each of its comparisons of kind `integrated` counts one more. The next
  session's number is `k` + 1; it stands in the entry's `headway.k`, an integrated session's in its comparison's.
- `keeps`: the numbers of the sessions that led to a keep, ascending: `headway.k` of a `kept` entry, the last
  integrated comparison's of a `runner_up_kept` one. A keep without a number (an imported one) adds none.
- `measured_since_keep`: experiments with `sample_count` >= 1, neither repeats nor deferred, in batches after the last
  batch that holds a keep: a keep sets it to zero, its batch mates included. Crashes of the harness and failed gates
  count here, for a try was measured and nothing came of it; an agent's failure has no sample and does not.
- `failures_in_a_row`: entries that ended as error or timeout since the last one, by number, that ended otherwise.
  Entries without a final outcome, and deferred ones, are passed over.

`cost` and `scale` are not counts: whoever folds sets them, and `totals_after` hands them on.

Source: CONTRACTS sections 2 (totals), 3 (plateau, failures) and 6; DECISIONS 2.6 (k counts neither crashes, nor gate
failures, nor repeats).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from headway.core.records import ComparisonKind, Entry, Marks, Outcome, Totals
from headway.errors import TotalsNeedRecount

NOT_DECIDED = frozenset({Outcome.DEFERRED_NEEDS_APPROVAL, Outcome.ERROR, Outcome.TIMEOUT, Outcome.DEGENERATE})
"""Outcomes whose session ended before the decision engine could have kept anything."""


@dataclass(frozen=True)
class _Share:
    """What one entry adds to the totals."""

    sessions: int = 0
    keeps: tuple[int, ...] = ()
    is_measured: bool = False
    is_keep: bool = False
    is_failure: bool = False
    is_success: bool = False


def _share(entry: Entry | None) -> _Share:
    if entry is None:
        return _Share()
    deferred = entry.outcome is Outcome.DEFERRED_NEEDS_APPROVAL
    measured = (entry.sample_count or 0) >= 1 and repeat_of(entry) is None and not deferred
    decided = measured and entry.gates_passed is not False and entry.outcome not in NOT_DECIDED
    integrated = sum(c.kind is ComparisonKind.INTEGRATED for c in entry.comparisons)
    return _Share(
        sessions=int(decided) + integrated,
        keeps=_keep_numbers(entry),
        is_measured=measured,
        is_keep=entry.outcome.is_keep,
        is_failure=entry.outcome.is_failure,
        is_success=entry.outcome.is_final and not entry.outcome.is_failure and not deferred,
    )


def repeat_of(entry: Entry) -> int | None:
    """Give the number of the experiment whose measurement this one repeats, if it repeats one."""
    return entry.headway.repeat_of if entry.headway else None


def _keep_numbers(entry: Entry) -> tuple[int, ...]:
    if entry.outcome is Outcome.KEPT:
        k = entry.headway.k if entry.headway else None
    elif entry.outcome is Outcome.RUNNER_UP_KEPT:
        sessions = [c.headway for c in entry.comparisons if c.kind is ComparisonKind.INTEGRATED]
        k = sessions[-1].k if sessions and sessions[-1] else None
    else:
        k = None
    return () if k is None else (k,)


def needs_recount(totals: Totals, before: Entry | None, after: Entry) -> bool:
    """Say whether a change reaches behind what the totals remember.

    It does when a keep or another success is withdrawn, or when an entry becomes a keep although later batches have
    begun since. The loop does neither by itself; a person's override may.

    Args:
        totals: the totals with `before` counted.
        before: the entry as it was; None for a new one.
        after: the entry as it becomes; same number and batch.
    """
    gone, come, marks = _share(before), _share(after), totals.marks
    moved = before is not None and before.batch != after.batch
    withdrawn = gone.is_keep and not come.is_keep
    unsaid = gone.is_success and not come.is_success and after.iteration == marks.success
    return moved or withdrawn or unsaid or (come.is_keep and not gone.is_keep and _is_late(marks, after.batch))


def _is_late(marks: Marks, batch: int) -> bool:
    return marks.batch is not None and batch < marks.batch and _is_after_keeps(marks, batch)


def _is_after_keeps(marks: Marks, batch: int) -> bool:
    return marks.keep_batch is None or batch > marks.keep_batch


def totals_after(totals: Totals, before: Entry | None, after: Entry) -> Totals:
    """Give the totals once `after` has taken the place of `before`.

    Args:
        totals: the totals with `before` counted.
        before: the entry as it was; None for a new one.
        after: the entry as it becomes; same number and batch.
    Returns: what `recount` of all entries would give, with `cost` and `scale` handed on.
    Raises: TotalsNeedRecount, where `needs_recount` says so.
    """
    if needs_recount(totals, before, after):
        raise TotalsNeedRecount(after.iteration)
    gone, come = _share(before), _share(after)
    marks = _marks_after(totals.marks, gone, come, after)
    since_keep = 0 if marks.keep_batch != totals.marks.keep_batch else totals.measured_since_keep
    if _is_after_keeps(marks, after.batch):
        since_keep += come.is_measured - gone.is_measured
    return totals.model_copy(
        update={
            "counts": _counts_after(totals, before, after),
            "k": totals.k - gone.sessions + come.sessions,
            "keeps": _keeps_after(totals.keeps, gone.keeps, come.keeps),
            "measured_since_keep": since_keep,
            "failures_in_a_row": len(marks.failing),
            "marks": marks,
        }
    )


def _counts_after(totals: Totals, before: Entry | None, after: Entry) -> dict[Outcome, int]:
    counts = {outcome: totals.counts.get(outcome, 0) for outcome in Outcome}
    if before is not None:
        counts[before.outcome] -= 1
    counts[after.outcome] += 1
    return {outcome: n for outcome, n in counts.items() if n > 0}


def _keeps_after(keeps: tuple[int, ...], gone: tuple[int, ...], come: tuple[int, ...]) -> tuple[int, ...]:
    left = list(keeps)
    for k in gone:
        left.remove(k)
    return tuple(sorted([*left, *come]))


def _marks_after(marks: Marks, gone: _Share, come: _Share, after: Entry) -> Marks:
    success = max(marks.success, after.iteration) if come.is_success else marks.success
    failing = set(marks.failing)
    if gone.is_failure:
        failing.discard(after.iteration)
    if come.is_failure:
        failing.add(after.iteration)
    keeps = [marks.keep_batch, after.batch] if come.is_keep else [marks.keep_batch]
    return Marks(
        batch=_highest(marks.batch, after.batch),
        keep_batch=_highest(*keeps),
        success=success,
        failing=tuple(sorted(iteration for iteration in failing if iteration > success)),
    )


def _highest(*batches: int | None) -> int | None:
    return max((batch for batch in batches if batch is not None), default=None)


def recount(entries: Iterable[Entry], cost_and_scale: Totals | None = None) -> Totals:
    """Count from nothing.

    Args:
        entries: all entries of the log, in any order.
        cost_and_scale: totals whose `cost` and `scale` are handed on.
    Returns: the totals, every counted field set.
    """
    totals = (cost_and_scale or Totals()).model_copy(update=_nothing())
    for entry in sorted(entries, key=lambda entry: (entry.batch, entry.iteration)):
        totals = totals_after(totals, None, entry)
    return totals


def _nothing() -> dict[str, Any]:
    counted = Totals.model_fields.keys() - {"cost", "scale"}
    return {name: Totals.model_fields[name].get_default(call_default_factory=True) for name in counted}
