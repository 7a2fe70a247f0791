"""A whole log analysed, and several set side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from headway.core.analysis.attribution import Attribution, attribution_of
from headway.core.analysis.chance import Chance, chance_of
from headway.core.analysis.commonalities import Theme, Trait, themes_of, traits_of
from headway.core.analysis.facts import Facts
from headway.core.analysis.near_misses import Combination, NearMiss, combination_of, near_misses_of
from headway.core.analysis.objectives import (
    Objective,
    imported_of,
    main_segment,
    number_of,
    objectives_of,
    samples_of,
)
from headway.core.analysis.rates import By, Rates, rates_by, rates_of
from headway.core.analysis.tried import Fate, Tried, tried_of
from headway.core.log_reading import ReadLog
from headway.core.spec import Spec


@dataclass(frozen=True)
class Analysis:
    """What a log amounts to.

    Args:
        experiments: all of them, in the log's order.
        baselines, bests: each objective's value of the untouched code and of the best, as stored when measured.
        calibration: each objective's samples of the untouched code.
        best_iteration: 0 where nothing was kept; None: not known.
        active_seconds: of the whole run; None where the log does not say.
        notes: what a reader should know of these figures.
    """

    spec: str | None
    run_id: str | None
    objectives: tuple[Objective, ...]
    experiments: tuple[Tried, ...]
    baselines: tuple[float | None, ...]
    calibration: tuple[tuple[float, ...], ...]
    bests: tuple[float | None, ...]
    best_iteration: int | None
    active_seconds: float | None
    rates: Rates
    attribution: Attribution
    chance: Chance
    near_misses: tuple[NearMiss, ...]
    combination: Combination | None
    traits: tuple[Trait, ...]
    themes: tuple[Theme, ...]
    notes: tuple[str, ...]

    @property
    def primary(self) -> Objective | None:
        """Give the objective that the run is about; None where the log has no values."""
        return self.objectives[0] if self.objectives else None

    @property
    def baseline(self) -> float | None:
        """Give the primary's value of the untouched code; None where it is unknown."""
        return self.baselines[0] if self.baselines else None

    @property
    def best(self) -> float | None:
        """Give the primary's value of the best; None where it is unknown."""
        return self.bests[0] if self.bests else None

    @property
    def gain(self) -> float | None:
        """Give best against baseline, each as stored, relative, positive is better; None where it is unknown."""
        return self.attribution.as_stored

    def by(self, dimension: By) -> tuple[Rates, ...]:
        """Give the rates of each category, agent, file, hour, outcome or batch."""
        return rates_by(dimension, self.experiments)

    def to_json(self) -> dict[str, Any]:
        """Give all of it as plain data, the groups by each dimension included."""
        whole = asdict(replace(self, experiments=tuple(replace(one, stretches=()) for one in self.experiments)))
        whole["by"] = {str(by): [asdict(rates) for rates in self.by(by)] for by in By if by is not By.BATCH}
        return whole


def analyse(
    log: ReadLog, spec: Spec | None = None, facts: Mapping[int, Facts] | None = None, notes: Sequence[str] = ()
) -> Analysis:
    """Say what a log amounts to.

    Args:
        log: the whole log, whoever wrote it; holdout values left out already.
        spec: its spec; None where there is none.
        facts: what the records tell, by number; None or a missing number: nothing is known beyond the log.
        notes: what else a reader should know, as of files that could not be read.
    """
    objectives = objectives_of(log, spec)
    experiments = tried_of(log, spec, facts or {})
    misses = near_misses_of(experiments)
    primary = objectives[0] if objectives else None
    untouched = (log.baseline.metrics if log.baseline else None) or {}
    best = (log.best.metrics if log.best else None) or {}
    seconds = log.run_state.active_seconds if log.run_state else None
    return Analysis(
        spec=log.spec,
        run_id=log.run_id,
        objectives=objectives,
        experiments=experiments,
        baselines=tuple(number_of(untouched.get(objective.name)) for objective in objectives),
        calibration=tuple(samples_of(untouched.get(objective.name)) for objective in objectives),
        bests=tuple(number_of(best.get(objective.name)) for objective in objectives),
        best_iteration=log.best.iteration if log.best else None,
        active_seconds=None if seconds is None else float(seconds),
        rates=rates_of("all", experiments),
        attribution=attribution_of(log, experiments, objectives),
        chance=chance_of(log, spec, experiments),
        near_misses=misses,
        combination=combination_of(misses, primary),
        traits=traits_of(experiments),
        themes=themes_of(experiments),
        notes=(*_notes(log, spec, experiments), *notes),
    )


def _notes(log: ReadLog, spec: Spec | None, experiments: Sequence[Tried]) -> tuple[str, ...]:
    notes: list[str] = []
    imported, segment = imported_of(log), main_segment(log)
    if imported is not None:
        notes.append(f"this log was imported ({imported.format}); what the other tool did not record is unknown here")
    if imported is not None and segment is not None and len(imported.segments) > 1:
        where = f"experiments {segment.first} to {segment.last}"
        notes.append(f"it has {len(imported.segments)} segments; values and gains are those of {where}")
    if any(one.gain_is_stored for one in experiments):
        notes.append("gains marked as stored compare values that were measured at different times")
    if spec is None and imported is None:
        notes.append("no spec lies beside this log: which way is better, and how decisions were made, is not known")
    if log.unread:
        notes.append(f"{len(log.unread)} values of the log are not what their fields say and were left out")
    open_ = sum(one.fate is Fate.OPEN for one in experiments)
    if open_:
        notes.append(f"{open_} of the experiments are not decided yet")
    return tuple(notes)


@dataclass(frozen=True)
class Compared:
    """One run beside others; figures as in `Analysis` and `Rates`."""

    label: str
    metric: str | None
    experiments: int
    kept: int
    keep_rate: float | None
    keep_rate_low: float | None
    keep_rate_high: float | None
    baseline: float | None
    best: float | None
    gain: float | None
    first_keep: int | None
    active_seconds: float | None
    seconds_per_keep: float | None
    usd: float | None
    usd_per_keep: float | None


def compared(label: str, analysis: Analysis) -> Compared:
    """Give one run's figures as a row beside other runs."""
    rates = analysis.rates
    seconds = analysis.active_seconds if analysis.active_seconds is not None else rates.seconds
    whole = analysis.active_seconds
    return Compared(
        label=label,
        metric=analysis.primary.name if analysis.primary else None,
        experiments=rates.experiments,
        kept=rates.kept,
        keep_rate=rates.keep_rate,
        keep_rate_low=rates.keep_rate_low,
        keep_rate_high=rates.keep_rate_high,
        baseline=analysis.baseline,
        best=analysis.best,
        gain=analysis.gain,
        first_keep=next((one.position for one in analysis.experiments if one.fate is Fate.KEPT), None),
        active_seconds=seconds,
        seconds_per_keep=whole / rates.kept if whole is not None and rates.kept else rates.seconds_per_keep,
        usd=None if rates.usd_unknown else rates.usd,
        usd_per_keep=rates.usd_per_keep,
    )
