"""A run's figures: what was tried, what was kept, how much better the best is, and what it cost.

Every number comes from the log alone. Gains are signed so that positive is better, whatever the metric's direction.
What the log does not say is None here, never zero.

Source: DESIGN sections 9 and 10; promise 5.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from headway.core.claims import Claims, GainRange, claims_of
from headway.core.log_view import Log
from headway.core.records import Comparison, ComparisonKind, Entry, Outcome, Snapshot
from headway.core.spec import Spec
from headway.core.statistics import signed_change
from headway.core.stopping import totals_of
from headway.core.validity_words import forgeable_of, forgeable_words

NOT_CHECKED = "the run's end, or `headway wrap-up --final-check`, measures them side by side"
AS_STORED = "best against baseline, each as stored when it was measured; not measured again side by side"


@dataclass(frozen=True)
class Value:
    """One value of the primary metric, and the samples that it was made of.

    `iteration` is the experiment that it belongs to, 0 for the baseline; `value` is None where it is unknown.
    """

    iteration: int
    value: float | None
    samples: tuple[float, ...]


@dataclass(frozen=True)
class Keep:
    """One kept experiment; `gain` is against the reference of its own session, None where it is unknown.

    `forgeable` says whether the harness that measured it believes code that prints its own value; None: not known.
    """

    iteration: int
    outcome: str
    hypothesis: str
    gain: GainRange | None
    commit: str | None
    forgeable: bool | None


@dataclass(frozen=True)
class RunFigures:
    """What a run came to so far.

    Args:
        base: commit that the run started from.
        experiments: entries in the log, deferred ones among them.
        counts: entries by outcome; None where the log does not say.
        kept: experiments whose commit is on the branch; None where the log does not say.
        gain: of the best against the baseline, as a share of the baseline; None where either is unknown or the
            baseline is 0. `gain_basis` says what that comparison is worth: where a final check was made, it is that.
        keeps: newest entries only; `keeps_not_listed` says how many earlier ones the view of the log does not hold.
        noise: relative spread of each objective over repeated measurements of the untouched code.
        cost_usd: None while a part is unknown; `cost_known_usd` is the part that is known.
        harness: whether the harness can be forged, in words.
        gain_range: of the final check, with its 95% interval; None without one.
        claims: under `sequential`: what stands behind the keeps.
    """

    spec: str
    run_id: str
    base: str | None
    metric: str
    direction: str
    experiments: int
    counts: Mapping[str, int] | None
    kept: int | None
    baseline: Value
    best: Value
    gain: float | None
    gain_basis: str
    keeps: tuple[Keep, ...]
    keeps_not_listed: int
    noise: Mapping[str, float]
    active_seconds: float
    cost_usd: float | None
    cost_known_usd: float | None
    cost_basis: str
    stop_reason: str | None
    stop_detail: str | None
    harness: str
    gain_range: GainRange | None = None
    claims: Claims | None = None

    def to_json(self) -> dict[str, Any]:
        """Give the figures as plain data."""
        return asdict(self)


SAME_VALUE_LEAST = 3


def unmoved_words(log: Log, spec: Spec) -> str:
    """Say that no candidate's code ever changed the primary, from three candidates on; empty while one did.

    No proof of anything (a count may well stay the same), but so does a harness look that measures another copy of
    the code than the checkout it starts in (BR-71).
    """
    primary = spec.metric.primary.name
    baseline = _value(0, log.baseline.metrics, primary)
    values = [_value(n, e.metrics, primary) for n, e in sorted(log.recent.items()) if e.metrics and n]
    found = [v for v in values if v.value is not None]
    if len(found) < SAME_VALUE_LEAST or any(
        {v.value, *v.samples} != {baseline.value, *baseline.samples} for v in found
    ):
        return ""
    return (
        f"all of the newest {len(found)} measured candidates gave exactly the same value as the baseline "
        f"({primary} {baseline.value:g}): see that the harness reads the checkout that it starts in, by no "
        "absolute path and from no installed copy"
    )


def run_figures(log: Log, spec: Spec) -> RunFigures:
    """Give a run's figures.

    Args:
        log: the log.
        spec: the frozen spec: which metric is the primary, and which way is better.
    """
    primary = spec.metric.primary
    baseline = _value(0, log.baseline.metrics, primary.name)
    best = _value(log.best.iteration or 0, log.best.metrics, primary.name)
    counts = _counts(log)
    kept = None if counts is None else sum(n for outcome, n in counts.items() if Outcome(outcome).is_keep)
    forgeable = forgeable_of(log.harness_validation)
    keeps = tuple(keep_of(entry, spec, forgeable) for _, entry in sorted(log.recent.items()) if entry.outcome.is_keep)
    stop = log.run_state.headway.stop if log.run_state and log.run_state.headway else None
    claims = claims_of(log, spec)
    checked = claims.final_check if claims is not None else None
    gain_range = checked.gain if checked is not None else None
    spread = log.baseline.headway.relative_spread if log.baseline.headway else None
    known, unknown_parts = log.best.total_run_cost_usd, _unknown_spend(log)
    return RunFigures(
        spec=log.spec,
        run_id=log.run_id,
        base=log.baseline.headway.commit if log.baseline.headway else None,
        metric=primary.name,
        direction=str(primary.direction),
        experiments=log.count,
        counts=counts,
        kept=kept,
        baseline=baseline,
        best=best,
        gain=gain_range.estimate if gain_range else _gain(baseline.value, best.value, primary.direction.sign),
        gain_basis=_basis(claims),
        keeps=keeps,
        keeps_not_listed=max(0, (kept or 0) - len(keeps)),
        noise=dict(spread or {}),
        active_seconds=log.active_seconds,
        cost_usd=None if unknown_parts else known,
        cost_known_usd=known,
        cost_basis=log.best.run_cost_basis or "the log does not say what was spent",
        stop_reason=stop.reason if stop else None,
        stop_detail=stop.detail if stop else None,
        harness=forgeable_words(log.harness_validation),
        gain_range=gain_range,
        claims=claims,
    )


def _basis(claims: Claims | None) -> str:
    """Say what the total gain rests on."""
    checked = claims.final_check if claims is not None else None
    if claims is None:
        return AS_STORED
    if checked is None:
        return f"{AS_STORED}; {NOT_CHECKED}"
    if checked.gain is None:
        return f"{AS_STORED}; the final check gave no number: {checked.reason or 'too few pairs'}"
    proven = {"better": "", "worse": ", and it is worse", "not_proven": ", not proven"}[checked.verdict]
    return f"final check: best and untouched code in {checked.pairs} fresh pairs, 95% interval{proven}"


def keep_of(entry: Entry, spec: Spec, forgeable: bool | None) -> Keep:
    """Give what is shown of a kept experiment; a combined runner-up's gain is that of its combined session."""
    return Keep(entry.iteration, str(entry.outcome), entry.hypothesis, gain_of(entry, spec), entry.commit, forgeable)


def gain_of(entry: Entry, spec: Spec) -> GainRange | None:
    """Give an experiment's gain: of the session that its outcome rests on; None where it is unknown."""
    if entry.outcome in (Outcome.RUNNER_UP_KEPT, Outcome.RUNNER_UP_REVERTED):
        pair = next((c for c in entry.comparisons if c.kind is ComparisonKind.INTEGRATED), None)
        own = pair.headway.gain if pair is not None and pair.headway else None
        if own is not None:
            return GainRange(own.estimate, own.low, own.high)
        return None if pair is None else _pair_gain(pair, spec)
    gain = entry.headway.gain if entry.headway else None
    return None if gain is None else GainRange(gain.estimate, gain.low, gain.high)


def _pair_gain(pair: Comparison, spec: Spec) -> GainRange | None:
    primary = spec.metric.primary
    if pair.reference is None or pair.candidate is None:
        return None
    reference = _value(0, pair.reference.metrics, primary.name)
    candidate = _value(0, pair.candidate.metrics, primary.name)
    sign = primary.direction.sign
    estimate = _gain(reference.value, candidate.value, sign)
    if estimate is None:
        return None
    measured_side_by_side = pair.reference.headway is not None
    both = zip(reference.samples, candidate.samples, strict=False) if measured_side_by_side else ()
    gains = [g for r, c in both if (g := _gain(r, c, sign)) is not None]
    return GainRange(estimate, min(gains), max(gains)) if len(gains) > 1 else GainRange(estimate, None, None)


def _value(iteration: int, metrics: Mapping[str, Any] | None, name: str) -> Value:
    value = (metrics or {}).get(name)
    if isinstance(value, Snapshot):
        return Value(iteration, value.aggregate, tuple(value.samples or ()))
    return Value(iteration, value if isinstance(value, int | float) else None, ())


def _gain(reference: float | None, candidate: float | None, sign: int) -> float | None:
    if reference is None or candidate is None or reference == 0:
        return None
    return signed_change(reference, candidate, sign) / abs(reference)


def _counts(log: Log) -> dict[str, int] | None:
    """Give the entries by outcome: from the totals, else by counting, where the view holds every entry."""
    counts = totals_of(log).counts
    if counts or not log.count:
        return {str(outcome): n for outcome, n in counts.items() if n}
    if len(log.recent) == log.count:
        return dict(Counter(str(entry.outcome) for entry in log.recent.values()))
    return None


def _unknown_spend(log: Log) -> bool:
    cost = totals_of(log).cost
    return bool(cost and cost.unknown)


def without_holdout(row: Mapping[str, Any]) -> dict[str, Any]:
    """Give an experiment's row as it may be shown: a holdout comparison keeps its verdict and loses its values.

    Source: CONTRACTS section 5 (Holdout).
    """
    comparisons = row.get("comparisons")
    if not isinstance(comparisons, list):
        return dict(row)
    return {**row, "comparisons": [_veiled(c) for c in comparisons]}


def _veiled(comparison: Any) -> Any:
    if not isinstance(comparison, Mapping) or comparison.get("kind") != ComparisonKind.HOLDOUT:
        return comparison
    return {key: value for key, value in comparison.items() if key not in ("reference", "candidate", "uncertainty")}
