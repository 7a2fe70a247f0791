"""What a report tells, gathered from the log, its analysis, and the records beside it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.core.analysis.objectives import number_of
from headway.core.analysis.tried import Fate, Tried, moment
from headway.core.analysis.whole import Analysis
from headway.core.log_reading import ReadExperiment, ReadLog
from headway.core.log_words import ComparisonKind
from headway.core.measurements import WorstCase
from headway.core.records import Comparison
from headway.core.spec import Spec
from headway.core.validity_words import forgeable_words, probe_rows

MOST_EVENTS = 200
MOST_DETAIL_BYTES = 2_000_000
"""Room for hypotheses, reasons and diffs written out: a report of ten thousand experiments stays under 8 MB."""
MOST_DIFF = 40_000


@dataclass(frozen=True)
class RunEvent:
    """Something that happened to the run itself."""

    at: str
    what: str
    words: str


@dataclass(frozen=True)
class HoldoutRow:
    """A holdout verdict beside the selection gain; the values are None unless they were asked for."""

    position: int
    iteration: int | None
    selection: float | None
    verdict: str
    reference: float | None
    candidate: float | None


@dataclass(frozen=True)
class WorstPair:
    """One case before and after; None where it was not among the worst there."""

    case: str
    before: WorstCase | None
    after: WorstCase | None


@dataclass(frozen=True)
class Detail:
    """One experiment written out; `diff` is cut where `diff_cut` says how many characters are left out."""

    one: Tried
    experiment: ReadExperiment
    diff: str
    diff_cut: int


@dataclass(frozen=True)
class Report:
    """All that a report tells.

    Args:
        status: where the run stands, in the log's word; None: the log does not say.
        stop: why it stopped; None: it did not, or the log does not say.
        environment: name and value, for each machine state met.
        probes: what the gate found of the harness.
        details: of the experiments that there was room for.
    """

    log: ReadLog
    spec: Spec | None
    analysis: Analysis
    status: str | None
    stop: str | None
    harness: str
    probes: tuple[tuple[str, str], ...]
    noise: Mapping[str, float]
    holdout: tuple[HoldoutRow, ...]
    worst: tuple[WorstPair, ...]
    events: tuple[RunEvent, ...]
    events_left_out: int
    environment: tuple[tuple[tuple[str, str], ...], ...]
    details: tuple[Detail, ...]


def report_of(
    log: ReadLog,
    spec: Spec | None,
    analysis: Analysis,
    run_records: Iterable[Mapping[str, Any]],
    diff: Callable[[int | None], str],
) -> Report:
    """Gather what a report tells.

    Args:
        log: the whole log, holdout values left out unless they were asked for.
        spec: its spec; None where there is none.
        analysis: of this log.
        run_records: facts of the run itself, as they stand in `run.jsonl`.
        diff: gives an experiment's patch by its number; empty where there is none.
    """
    state = log.run_state
    ours = state.headway if state else None
    stop = ours.stop if ours else None
    events = _events(run_records, analysis.experiments)
    validation = log.harness_validation
    spread = log.baseline.headway.relative_spread if log.baseline and log.baseline.headway else None
    return Report(
        log=log,
        spec=spec,
        analysis=analysis,
        status=str(state.status) if state else None,
        stop=None if stop is None else ": ".join(filter(None, (stop.reason, stop.detail))),
        harness=forgeable_words(validation),
        probes=tuple(probe_rows(validation)) if validation else (),
        noise={name: float(value) for name, value in (spread or {}).items()},
        holdout=_holdout(log, analysis),
        worst=_worst(log),
        events=events[-MOST_EVENTS:],
        events_left_out=max(0, len(events) - MOST_EVENTS),
        environment=tuple(_flat(machine) for machine in (ours.environment if ours else ())),
        details=_details(log, analysis, diff),
    )


def _events(records: Iterable[Mapping[str, Any]], experiments: Sequence[Tried]) -> tuple[RunEvent, ...]:
    found = []
    for record in records:
        data = record.get("data")
        words = _EVENT_WORDS.get(str(record.get("kind")))
        if words is not None and isinstance(data, Mapping):
            found.append(RunEvent(str(record.get("at") or ""), words[0], words[1](data)))
    for one in experiments:
        if one.lost:
            told = f"experiment {one.iteration}: {one.lost} killed from outside, taken again"
            found.append(RunEvent(one.started_at or "", "measurements lost", told))
    return tuple(sorted(found, key=lambda event: event.at))


def _resumed(data: Mapping[str, Any]) -> str:
    notices = data.get("notices")
    told = "; ".join(str(notice) for notice in notices) if isinstance(notices, Sequence) else ""
    return told or "a process took the run up again"


_EVENT_WORDS: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], str]]] = {
    "run_resumed": ("resumed", _resumed),
    "run_stopped": ("stopped", lambda data: f"{data.get('reason')}: {data.get('detail')}"),
    "notice_given": ("notice", lambda data: str(data.get("text") or "")),
    "gate_reached": ("gate", lambda data: "waited for a person's approval"),
}


def _holdout(log: ReadLog, analysis: Analysis) -> tuple[HoldoutRow, ...]:
    primary = analysis.primary
    found = []
    for one, experiment in zip(analysis.experiments, log.experiments, strict=True):
        for pair in experiment.comparisons:
            if pair.kind is ComparisonKind.HOLDOUT:
                verdict = (pair.headway.decision if pair.headway else None) or "not recorded"
                values = [_value(pair, side, primary.name if primary else "") for side in ("reference", "candidate")]
                gain = one.gain.estimate if one.gain else None
                found.append(HoldoutRow(one.position, one.iteration, gain, verdict, values[0], values[1]))
    return tuple(found)


def _value(pair: Comparison, side: str, name: str) -> float | None:
    found = pair.reference if side == "reference" else pair.candidate
    return number_of((found.metrics or {}).get(name)) if found else None


def _worst(log: ReadLog) -> tuple[WorstPair, ...]:
    best = log.experiment(log.best.iteration) if log.best and log.best.iteration else None
    before = _cases(log.baseline.worst_cases if log.baseline else None)
    after = _cases(best.worst_cases if best else None)
    return tuple(WorstPair(case, before.get(case), after.get(case)) for case in dict.fromkeys((*before, *after)))


def _cases(worst: Iterable[WorstCase] | None) -> dict[str, WorstCase]:
    return {case.case_id or f"case {number}": case for number, case in enumerate(worst or (), 1)}


def _flat(value: Mapping[str, Any], path: str = "") -> tuple[tuple[str, str], ...]:
    rows: list[tuple[str, str]] = []
    for name, inner in value.items():
        if isinstance(inner, Mapping):
            rows += _flat(inner, f"{path}{name}.")
        else:
            rows.append((f"{path}{name}", str(inner)))
    return tuple(rows)


def _details(log: ReadLog, analysis: Analysis, diff: Callable[[int | None], str]) -> tuple[Detail, ...]:
    """Write out as many experiments as there is room for: keeps, near misses, then the newest; in the log's order."""
    experiments = analysis.experiments
    near = [miss.position for miss in analysis.near_misses]
    kept = [one.position for one in experiments if one.fate is Fate.KEPT]
    order = dict.fromkeys((*reversed(kept), *near, *(one.position for one in reversed(experiments))))
    room, found = MOST_DETAIL_BYTES, []
    for position in order:
        one, experiment = experiments[position - 1], log.experiments[position - 1]
        patch = diff(one.iteration)
        shown = patch[:MOST_DIFF]
        room -= 2 * len(shown) + 1000
        if room < 0:
            break
        found.append(Detail(one, experiment, shown, len(patch) - len(shown)))
    return tuple(sorted(found, key=lambda detail: detail.one.position))


def day_and_time(at: str | None) -> str:
    """Give a time as a person reads it, in its own zone; the text itself where it is none."""
    found = moment(at)
    return found.strftime("%Y-%m-%d %H:%M:%S %Z").strip() if found else at or "not recorded"
