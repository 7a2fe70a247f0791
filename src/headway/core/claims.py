"""What a run under `sequential` says of its own keeps: how many of them chance may have made, and the total gain.

Source: issue 4 item 3; DECISIONS 2.6 and 2.9.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway.core.deciding import choice_of, planned_of
from headway.core.final_checking import finished_check
from headway.core.log_view import Log
from headway.core.records import Snapshot
from headway.core.sequential.auto import Choice, first_choice
from headway.core.sequential.error_control import alpha_of
from headway.core.sequential.settings import Settings, rules_for, settings_of
from headway.core.spec import ComparisonMethod, Spec
from headway.core.spec_parts import Effort, StabilityMode
from headway.core.stopping import totals_of


@dataclass(frozen=True)
class GainRange:
    """A relative gain, positive is better, and its bounds; None where there are none.

    Under `sequential` the estimate is shrunken, the bounds are a 95% interval; else they are the worst and best pair.
    """

    estimate: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Checked:
    """A final check: `verdict` is `better`, `worse`, `not_proven` or `failed`, `gain` a share of the baseline."""

    verdict: str
    pairs: int
    gain: GainRange | None
    reason: str


@dataclass(frozen=True)
class Claims:
    """What stands behind a run's keeps.

    Args:
        effort, effort_reason: in force now; `effort_is_final` where `auto` will not change it any more.
        sessions: candidates and combinations that were decided, or could be.
        planned: how many the error budget is divided by; None: no bound.
        by_chance: at most so many keeps in expectation, had no candidate been better; 0 where repeats are equal.
        environment: what the run was measured on last.
        final_check: the best against the untouched code; None where it was not made.
    """

    effort: str
    effort_reason: str
    effort_is_final: bool
    sessions: int
    planned: int | None
    by_chance: float
    environment: Mapping[str, Any] | None
    final_check: Checked | None


@dataclass(frozen=True)
class Conditions:
    """How one session was decided: its number, the effort in force and why, its chance, and what it was measured on."""

    k: int
    effort: str
    effort_reason: str
    chance: float
    environment: Mapping[str, Any] | None


def conditions_of(log: Log, spec: Spec, k: int | None) -> Conditions | None:
    """Give how session k was decided; None without a number, and under the older methods."""
    if k is None or spec.measurement.stability.comparison.method is not ComparisonMethod.SEQUENTIAL:
        return None
    choice = choice_at(settings_of(spec), log, k)
    return Conditions(k, str(choice.effort), choice.reason, chance_of(log, spec, k), environment_of(log, k))


def claims_of(log: Log, spec: Spec) -> Claims | None:
    """Give what stands behind a run's keeps; None under the older methods, which say nothing of chance."""
    if spec.measurement.stability.comparison.method is not ComparisonMethod.SEQUENTIAL:
        return None
    settings, totals = settings_of(spec), totals_of(log)
    choice = choice_of(settings, log)
    return Claims(
        effort=str(choice.effort),
        effort_reason=choice.reason,
        effort_is_final=choice.is_final,
        sessions=totals.k,
        planned=planned_of(log),
        by_chance=sum(chance_of(log, spec, k) for k in range(1, totals.k + 1)),
        environment=environment_of(log),
        final_check=_checked(log),
    )


def chance_of(log: Log, spec: Spec, k: int) -> float:
    """Give the chance of a false keep that session k had at most; 0 where repeats are equal.

    Args:
        log: gives the plan, the keeps, and the effort in force at each session.
        spec: under `sequential`.
        k: number of the session, from 1.
    """
    settings = settings_of(spec)
    if settings.mode is StabilityMode.STABLE or _repeats_exactly(log, settings):
        return 0.0
    choice, planned = choice_at(settings, log, k), planned_of(log)
    rules = rules_for(settings, Effort.STANDARD if choice.effort is Effort.LEAN else choice.effort, planned)
    keeps = tuple(kept for kept in totals_of(log).keeps if kept < k)
    return choice.share * alpha_of(rules.spending, k, planned, keeps)


def choice_at(settings: Settings, log: Log, k: int) -> Choice:
    """Give the effort that was in force at session k: under `auto` the first choice, until the one on record."""
    extension = log.run_state.headway if log.run_state else None
    row = extension.effort if extension else None
    if settings.effort is not Effort.AUTO or row is None or k > row.since_k:
        return choice_of(settings, log)
    seconds = log.baseline.headway.median_seconds if log.baseline.headway else None
    return first_choice([] if seconds is None else [seconds], lean_is_open=False)


def environment_of(log: Log, k: int | None = None) -> Mapping[str, Any] | None:
    """Give what session k was measured on, the newest where it is None; None where the log does not say."""
    facts = log.baseline.headway
    extension = log.run_state.headway if log.run_state else None
    met = [*([facts.environment] if facts and facts.environment else []), *(extension.environment if extension else ())]
    known = [each for each in met if k is None or int(each.get("since_k") or 0) < k]
    return known[-1] if known else None


def _repeats_exactly(log: Log, settings: Settings) -> bool:
    """Say whether calibration and best show no difference at all: then nothing is left to chance."""
    found: list[bool] = []
    for objective in settings.objectives:
        value = (log.baseline.metrics or {}).get(objective.name)
        samples = (value.samples or ()) if isinstance(value, Snapshot) else ()
        found.append(len(samples) > 2 and len(set(samples)) == 1)
    return bool(found) and all(found)


def _checked(log: Log) -> Checked | None:
    row = finished_check(log)
    if row is None:
        return None
    gain = None if row.gain is None else GainRange(row.gain.estimate, row.gain.low, row.gain.high)
    return Checked(row.verdict or "", row.pairs or 0, gain, row.reason or "")
