"""What is told once the calibration is measured: what a run can find, what that takes, and what it may gain.

The one source for `run`, `check`, the gate and `status`, so that the four never disagree.
Source: issue 4 item 3; DECISIONS, the table of efforts, and section 6.
"""

from dataclasses import asdict, dataclass
from typing import Any, Final

from headway.core.deciding import LEAN_IS_OPEN, choice_of, closed_history, planned_of, planned_of_budget
from headway.core.log_view import Log
from headway.core.records import Baseline
from headway.core.sequential.auto import Choice, ExpectedGains, expected_gains, first_choice
from headway.core.sequential.settings import Settings, settings_of
from headway.core.sequential.told import ObjectiveTold, Told, calibration_problems, told_before
from headway.core.spec import ComparisonMethod, Spec
from headway.core.spec_parts import Effort
from headway.core.spec_rules import SpecProblem

USUAL_TURN_SECONDS: Final = 120.0
"""What an agent's turn took in the simulated nights."""


@dataclass(frozen=True)
class Forecast:
    """What the calibration foretells.

    Args:
        told: noise, smallest gain and measurements by the effort in force.
        effort: that effort, `reason` why.
        seconds: of one measurement, median; None: not known.
        planned: candidates that the error budget is divided by; None: no bound.
        night: what a night may gain by effort, at the nearest simulated ratio of turn to measurement; None where the
            effort is no choice, or the time of a measurement is not known.
    """

    told: Told
    effort: str
    reason: str
    seconds: float | None
    planned: int | None
    night: ExpectedGains | None

    @property
    def experiment_seconds(self) -> float | None:
        """Give what measuring one candidate takes on average."""
        return None if self.seconds is None else self.seconds * self.told.measurements

    def to_json(self) -> dict[str, Any]:
        """Give it as plain data."""
        return {**asdict(self), "experiment_seconds": self.experiment_seconds}


def forecast_of(log: Log, spec: Spec) -> Forecast | None:
    """Give what a log's calibration foretells; None under the older methods."""
    if spec.measurement.stability.comparison.method is not ComparisonMethod.SEQUENTIAL:
        return None
    facts = log.baseline.headway
    settings = settings_of(spec)
    return _forecast(
        settings,
        log.baseline,
        facts.commit if facts and facts.commit else "",
        facts.median_seconds if facts else None,
        planned_of(log) or planned_of_budget(spec, log),
        choice_of(settings, log),
    )


def forecast_from(spec: Spec, baseline: Baseline, base: str, seconds: float) -> Forecast | None:
    """Give what a calibration foretells that no log holds; None under the older methods.

    Args:
        spec: the spec.
        baseline: its samples, as a log would hold them.
        base: the commit that was measured.
        seconds: median of one measurement.
    """
    if spec.measurement.stability.comparison.method is not ComparisonMethod.SEQUENTIAL:
        return None
    settings = settings_of(spec)
    named = Choice(settings.effort, 1.0, True, "as the spec says")
    choice = first_choice([seconds], lean_is_open=LEAN_IS_OPEN) if settings.effort is Effort.AUTO else named
    return _forecast(settings, baseline, base, seconds, spec.stopping.max_iterations, choice)


def problems_of(spec: Spec, baseline: Baseline, base: str) -> tuple[SpecProblem, ...]:
    """Say which thresholds of a spec mean nothing for what the calibration measured; empty under the older methods."""
    if spec.measurement.stability.comparison.method is not ComparisonMethod.SEQUENTIAL:
        return ()
    settings = settings_of(spec)
    return calibration_problems(settings, closed_history(baseline, (), _names(settings), base))


def _names(settings: Settings) -> list[str]:
    return [objective.name for objective in settings.objectives]


def _forecast(
    settings: Settings, baseline: Baseline, base: str, seconds: float | None, planned: int | None, choice: Choice
) -> Forecast:
    told = told_before(
        settings, closed_history(baseline, (), _names(settings), base), choice.effort, planned, incumbent=base
    )
    is_choice = settings.effort is Effort.AUTO and not all(o.noise == 0 for o in told.objectives)
    night = expected_gains(USUAL_TURN_SECONDS / seconds) if is_choice and seconds else None
    return Forecast(told, str(choice.effort), choice.reason, seconds, planned, night)


def forecast_words(forecast: Forecast) -> list[str]:
    """Give a forecast as lines, warnings last, each of those beginning with `warning: `."""
    lines = [_objective(told, forecast) for told in forecast.told.objectives]
    lines.append(_cost(forecast))
    lines.append(f"effort {forecast.effort}: {forecast.reason}")
    if forecast.night is not None:
        lines.append(_night(forecast.night))
    return [*lines, *(f"warning: {warning}" for warning in forecast.told.warnings)]


def _objective(told: ObjectiveTold, forecast: Forecast) -> str:
    if told.noise is None or told.smallest is None or told.thorough is None:
        return f"noise of {told.name}: not known yet, there were too few measurements"
    if told.noise == 0:
        least = f"better by more than {_size(told.smallest, told)}" if told.smallest else "better"
        return f"{told.name} repeats exactly: whatever is {least} is kept, once it repeats"
    more = ""
    if forecast.effort != Effort.THOROUGH and told.thorough < told.smallest:
        more = f"; effort thorough would bring that to {_size(told.thorough, told)}"
    return (
        f"noise of {told.name}: {_size(told.noise, told)} of one measurement; gains under "
        f"{_size(told.smallest, told)} will mostly not be kept{more}"
    )


def _size(value: float, told: ObjectiveTold) -> str:
    return f"{100 * value:.3g}%" if told.is_share else f"{value:.4g}"


def _cost(forecast: Forecast) -> str:
    many = forecast.told.measurements
    seconds = forecast.experiment_seconds
    time = "" if seconds is None else f", {seconds:.3g} s"
    planned = "no number of" if forecast.planned is None else str(forecast.planned)
    return f"an experiment takes about {many:.3g} measurements{time}; {planned} candidates are planned for"


def _night(night: ExpectedGains) -> str:
    return (
        f"simulated for a night of 8 hours, turns of 2 minutes, noise 1% (turn over measurement {night.ratio:g}): "
        f"{night.lean:g} log-% with lean, {night.standard:g} with standard, {night.thorough:g} with thorough"
    )
