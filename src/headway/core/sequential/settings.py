"""From the spec to what the sequential method goes by.

The fields of the older methods keep a meaning: only thresholds that were written become the smallest gain worth
keeping, `mode` says how much is declared, the ladder's numbers bound the pairs.
Source: DECISIONS 2.10; CONTRACTS section 3.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from headway.core.decide_payload import DecisionRequest, SpecFields, read_payload
from headway.core.loose_numbers import finite_number, positive_integer
from headway.core.sequential.error_control import default_control
from headway.core.sequential.rules import ALPHA, BOUNDS, Bounds, Futility, Objective, Rules, spending_of
from headway.core.sequential.scale import Threshold
from headway.core.sequential.simpler import is_built_in
from headway.core.spec import Spec
from headway.core.spec_parts import Effort, ErrorControl, StabilityMode
from headway.core.verdicts import ObjectiveRule
from headway.errors import PayloadWrong

CALIBRATION: Final = 8
SHORT_CALIBRATION: Final = 3
"""Samples of the untouched code; the short one where a measurement is dear, it grows from candidates' repeats."""
DEAR_SECONDS: Final = 60.0
"""Seconds above which a measurement is dear."""
FAMILY_REPEATS: Final = 3
"""The ladder's `confirmation_repeats` up to here is the family's, and says nothing about pairs."""
WORSE_FACTOR: Final = 1.2
COMPARISON: Final = "spec.measurement.stability.comparison"


@dataclass(frozen=True)
class Simpler:
    """`accept_simpler`: the built-in metric of size, and the share by which a smaller candidate may be worse."""

    metric: str
    margin: float


@dataclass(frozen=True)
class Settings:
    """The spec's part of all decisions: what stays the same over the run.

    `effort` is as asked for; `control` and `max_pairs` are None where their default counts, `alpha` where it was not
    written; `repeats` is the fixed number of pairs of `mode: repeat`.
    """

    objectives: tuple[Objective, ...]
    mode: StabilityMode
    effort: Effort
    control: ErrorControl | None
    alpha: float | None
    max_pairs: int | None
    has_screen: bool
    futile_from: int
    futility: Futility | None
    repeats: int
    calibration: int
    simpler: Simpler | None

    def calibration_samples(self, first_seconds: float) -> int:
        """Give how many samples of the untouched code are taken, once the first one took this many seconds."""
        is_short = first_seconds > DEAR_SECONDS or self.effort is Effort.LEAN
        return min(self.calibration, SHORT_CALIBRATION) if is_short else self.calibration


def settings_of(spec: Spec) -> Settings:
    """Read a spec whose method is `sequential`.

    Args:
        spec: the spec; what it leaves out is not taken for written.
    Returns: the settings.
    """
    written = spec.written()
    return settings_from(read_payload({"spec": {name: written[name] for name in ("metric", "measurement")}}))


def settings_from(request: DecisionRequest) -> Settings:
    """Read the settings of a payload.

    Args:
        request: from `read_payload`.
    Returns: the settings. Raises: PayloadWrong, for a word or a bound that no rule covers.
    """
    fields = request.fields
    comparison = fields.comparison
    repeats = positive_integer(_first(fields.spec.get("repeat_count"), fields.stability.get("repeat_count")), 0)
    mode = StabilityMode.LADDER if fields.is_ladder else StabilityMode(fields.mode or StabilityMode.STABLE)
    return Settings(
        objectives=tuple(_objective(objective, fields) for objective in request.objectives),
        mode=mode,
        effort=Effort(_word("effort", comparison, tuple(Effort), Effort.AUTO)),
        control=None if (control := _control(comparison)) is None else ErrorControl(control),
        alpha=_alpha(comparison),
        max_pairs=_max_pairs(fields),
        has_screen=comparison.get("screen") not in ("off", False),
        futile_from=positive_integer(fields.ladder.get("exploratory_pairs"), 1),
        futility=_futility(fields.ladder) if mode is StabilityMode.LADDER else None,
        repeats=repeats or 5,
        calibration=max(positive_integer(comparison.get("calibration"), CALIBRATION), repeats),
        simpler=_simpler(comparison),
    )


def rules_for(settings: Settings, effort: Effort, planned: int | None, *, is_simpler: bool = False) -> Rules:
    """Give what a candidate is decided by.

    Args:
        settings: from the spec.
        effort: the one in force; `auto` counts as `standard` where nothing was chosen.
        planned: how many candidates the run was approved for.
        is_simpler: whether the candidate is simpler by `accept_simpler`, so that it only must not be worse.
    Returns: the rules. Raises: ValueError, for `lean`, which decides over groups.
    """
    if effort is Effort.LEAN:
        raise ValueError("effort lean decides over groups of candidates, not one by one")
    known = Effort.STANDARD if effort is Effort.AUTO else effort
    fallback = ErrorControl.NONE if known is Effort.QUICK else default_control(planned)
    return Rules(
        objectives=settings.objectives,
        bounds=_bounds(settings, BOUNDS[known]),
        spending=spending_of(known, settings.control or fallback, settings.alpha),
        is_declared_stable=settings.mode is StabilityMode.STABLE,
        futility=settings.futility,
        margin=settings.simpler.margin if is_simpler and settings.simpler else None,
    )


def lean_share(settings: Settings, share: float = 1.0) -> float:
    """Give the part of its 5% that `lean` may spend: what `LeanRun` takes.

    Args:
        settings: from the spec; its alpha, where it was written, replaces the 5%.
        share: the part that the choice of the effort leaves (`auto.Choice.share`).
    """
    return share * (ALPHA if settings.alpha is None else settings.alpha) / ALPHA


def _bounds(settings: Settings, usual: Bounds) -> Bounds:
    if settings.mode is StabilityMode.REPEAT:
        n = settings.repeats
        return Bounds(looks=1, min_pairs=n, max_pairs=n, theta=usual.theta, screen=None, is_fixed=True)
    most = settings.max_pairs or usual.max_pairs
    return replace(
        usual,
        max_pairs=most,
        min_pairs=min(usual.min_pairs, most),
        screen=usual.screen if settings.has_screen else None,
        futile_from=settings.futile_from,
    )


def _objective(rule: ObjectiveRule, fields: SpecFields) -> Objective:
    bound = rule.max_regression
    return Objective(
        name=rule.name,
        sign=rule.sign,
        min_effect=_min_effect(rule, fields),
        max_regression=None if bound is None else Threshold(bound.is_relative, bound.value),
        target=rule.target,
    )


def _min_effect(rule: ObjectiveRule, fields: SpecFields) -> Threshold | None:
    """The smallest gain worth keeping: `min_effect`, else the first threshold of the family that was written."""
    comparison = fields.comparison
    given = comparison.get("min_effect")
    if given is not None:
        return _threshold(given)
    least = _written("minimum_improvement", comparison, fields.spec, fields.judge)
    if rule.is_judged and least is not None:
        return Threshold(False, least)
    noise = _written("noise_threshold", comparison, fields.spec, fields.stability)
    if noise is not None:
        return Threshold(False, noise)
    relative = _written("relative_threshold", comparison)
    return None if relative is None else Threshold(True, relative)


def _threshold(given: Any) -> Threshold:
    value = finite_number(given.get("value")) if isinstance(given, Mapping) else None
    kind = given.get("type") if isinstance(given, Mapping) else None
    if value is None or value < 0 or kind not in ("relative", "absolute"):
        raise PayloadWrong(
            f"{given!r} is no smallest gain",
            f"{COMPARISON}.min_effect",
            "write {type: absolute|relative, value: number, at least 0}",
        )
    return Threshold(kind == "relative", value)


def _written(name: str, *places: Mapping[str, Any]) -> float | None:
    numbers = (finite_number(place.get(name)) for place in places)
    return next((number for number in numbers if number is not None and number >= 0), None)


def _control(comparison: Mapping[str, Any]) -> str | None:
    return None if comparison.get("error_control") is None else _word("error_control", comparison, tuple(ErrorControl))


def _word(name: str, comparison: Mapping[str, Any], known: tuple[str, ...], fallback: str = "") -> str:
    word = comparison.get(name)
    if word is None:
        return fallback
    if not isinstance(word, str) or word not in known:
        raise PayloadWrong(f"{word!r} is no {name}", f"{COMPARISON}.{name}", f"use one of {', '.join(known)}")
    return word


def _alpha(comparison: Mapping[str, Any]) -> float | None:
    if comparison.get("alpha") is None:
        return None
    alpha = finite_number(comparison["alpha"])
    if alpha is None or not 0 < alpha < 1:
        raise PayloadWrong(f"{comparison['alpha']!r} is no chance", f"{COMPARISON}.alpha", "write one between 0 and 1")
    return alpha


def _max_pairs(fields: SpecFields) -> int | None:
    own = positive_integer(fields.comparison.get("max_pairs"), 0)
    ladder = positive_integer(fields.ladder.get("confirmation_repeats"), 0)
    return own or (ladder if ladder > FAMILY_REPEATS else None)


def _futility(ladder: Mapping[str, Any]) -> Futility | None:
    futility = ladder.get("futility")
    if not isinstance(futility, Mapping):
        return None
    factor = finite_number(futility.get("worse_factor"))
    after = finite_number(futility.get("after_elapsed_seconds"))
    return Futility(WORSE_FACTOR if factor is None else factor, after if after is not None and after > 0 else None)


def _simpler(comparison: Mapping[str, Any]) -> Simpler | None:
    given = comparison.get("accept_simpler")
    if given is None:
        return None
    margin = finite_number(given.get("margin")) if isinstance(given, Mapping) else None
    metric = given.get("metric") if isinstance(given, Mapping) else None
    if margin is None or not 0 < margin < 1 or not isinstance(metric, str) or not is_built_in(metric):
        raise PayloadWrong(
            f"{given!r} does not say when a simpler candidate is accepted",
            f"{COMPARISON}.accept_simpler",
            "write {metric: headway.lines_net | headway.bytes(PATH) | headway.tokens(PATH), margin: a share above 0}",
        )
    return Simpler(metric, margin)


def _first(flat: Any, nested: Any) -> Any:
    return nested if flat is None else flat
