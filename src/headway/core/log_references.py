"""What `log check` looks up: order, what a keep rests on, and whether the measurement stayed the same.

Source: CONTRACTS sections 2 (order of entries) and 5 (samples in pairs) and 6 (comparisons, kept commits).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.core.log_findings import Finding, Severity
from headway.core.log_words import ComparisonKind, Outcome
from headway.core.rows import EXTENSION

_KEEPS = (Outcome.KEPT, Outcome.RUNNER_UP_KEPT)


@dataclass(frozen=True)
class Surroundings:
    """What lies around a log and can be compared with it.

    Args:
        workload: identity of the frozen spec's harness command and its inputs; None: there is no spec to compare with.
        unresolved: kept commits that the run's repository does not have; None: there is no repository to ask.
    """

    workload: str | None = None
    unresolved: Collection[str] | None = None


def kept_commits(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Give the commits that a log says are on the branch, each once."""
    named = (row.get("commit") for row in rows if row.get("outcome") in _KEEPS)
    return list(dict.fromkeys(commit for commit in named if isinstance(commit, str) and commit))


def is_imported(sections: Mapping[str, Any]) -> bool:
    """Say whether a log was made of another tool's: then its departures are what that tool did not record."""
    baseline = sections.get("baseline")
    ours = baseline.get(EXTENSION) if isinstance(baseline, Mapping) else None
    return isinstance(ours, Mapping) and isinstance(ours.get("imported"), Mapping)


def check_references(
    sections: Mapping[str, Any],
    experiments: Sequence[tuple[int | None, Mapping[str, Any]]],
    around: Surroundings,
    *,
    is_own: bool,
) -> list[Finding]:
    """Report where a log's parts do not bear each other out.

    Args:
        sections: the top-level sections, plain.
        experiments: line and row of each, plain, in the file's order.
        around: what can be compared with the log.
        is_own: headway wrote this log, so that what it always writes may be asked for.
    """
    found: list[Finding] = []
    workload = _workload(sections)
    before = 0
    for index, (line, row) in enumerate(experiments):
        where = f"experiments[{index}]"
        number = row.get("iteration")
        about = (number if isinstance(number, int) and not isinstance(number, bool) else None, line)
        batch = row.get("batch")
        if isinstance(batch, int) and is_own:
            if batch < before:
                what = (
                    f"batch {batch} stands behind batch {before}: entries stand in the order in which they were written"
                )
                found.append(Finding(Severity.WARNING, f"{where}.batch", what, "", *about))
            before = max(before, batch)
        found += (
            Finding(severity, f"{where}.{place}", what, mend, *about)
            for severity, place, what, mend in _of_row(row, workload, around, is_own)
        )
    if around.workload is not None and workload is not None and around.workload != workload:
        what = "the spec beside this log measures by another command or other inputs than the baseline was measured by"
        found.append(
            Finding(Severity.WARNING, f"baseline.{EXTENSION}.workload", what, "compare nothing across the two")
        )
    return found


def _workload(sections: Mapping[str, Any]) -> str | None:
    baseline = sections.get("baseline")
    ours = baseline.get(EXTENSION) if isinstance(baseline, Mapping) else None
    found = ours.get("workload") if isinstance(ours, Mapping) else None
    return found if isinstance(found, str) else None


Told = tuple[Severity, str, str, str]


def _of_row(row: Mapping[str, Any], workload: str | None, around: Surroundings, is_own: bool) -> Iterator[Told]:
    commit = row.get("commit")
    if around.unresolved is not None and row.get("outcome") in _KEEPS and commit in around.unresolved:
        mend = "fetch it back, or restore the run's repository from a copy: nothing else holds this code"
        yield Severity.ERROR, "commit", f"{commit} is in none of the run's repositories", mend
    comparisons = row.get("comparisons")
    pairings = [p for p in comparisons if isinstance(p, Mapping)] if isinstance(comparisons, list) else []
    if is_own and row.get("outcome") == Outcome.KEPT and not pairings:
        yield Severity.WARNING, "comparisons", "kept, and no comparison shows why", ""
    for index, pairing in enumerate(pairings):
        yield from _of_pairing(pairing, f"comparisons[{index}]", workload, is_own)


def _of_pairing(pairing: Mapping[str, Any], place: str, workload: str | None, is_own: bool) -> Iterator[Told]:
    is_holdout = pairing.get("kind") == ComparisonKind.HOLDOUT
    measured_by = pairing.get("workload")
    if not is_holdout and workload is not None and isinstance(measured_by, str) and measured_by != workload:
        what = f"measured by {measured_by}, the baseline by {workload}: another command or other inputs"
        yield Severity.WARNING, f"{place}.workload", what, "compare nothing across the two"
    if is_holdout or not is_own:
        return
    sides = {name: pairing[name] for name in ("reference", "candidate") if isinstance(pairing.get(name), Mapping)}
    metrics = {name: side.get("metrics") for name, side in sides.items()}
    for name, values in metrics.items():
        if not isinstance(values, Mapping) or not values:
            yield Severity.WARNING, f"{place}.{name}.metrics", "this side has no value, so nothing was compared", ""
    yield from _of_pairs(sides, place)


def _of_pairs(sides: Mapping[str, Mapping[str, Any]], place: str) -> Iterator[Told]:
    """In a session of pairs, sample i of one side belongs to sample i of the other."""
    if len(sides) < 2 or not all(_is_paired(side) for side in sides.values()):
        return
    reference, candidate = (_samples(sides[name]) for name in ("reference", "candidate"))
    for name in sorted(reference.keys() & candidate.keys()):
        if reference[name] != candidate[name]:
            what = f"{reference[name]} samples of `{name}` on one side and {candidate[name]} on the other are no pairs"
            yield Severity.WARNING, f"{place}.candidate.metrics.{name}", what, ""


def _is_paired(side: Mapping[str, Any]) -> bool:
    ours = side.get(EXTENSION)
    order = ours.get("order") if isinstance(ours, Mapping) else None
    letters = order.split() if isinstance(order, str) else []
    return 0 < letters.count("A") == letters.count("B")


def _samples(side: Mapping[str, Any]) -> dict[str, int]:
    metrics = side.get("metrics")
    return {
        name: len(value["samples"])
        for name, value in (metrics.items() if isinstance(metrics, Mapping) else ())
        if isinstance(value, Mapping) and isinstance(value.get("samples"), list)
    }
