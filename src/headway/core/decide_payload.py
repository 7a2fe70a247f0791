"""Reads the payload of `headway decide` into typed values.

The payload is `{spec, baseline, candidate, holdout?}`; in `spec` the fields stand nested as in the YAML, or flat as
some tools write them. `null` counts as absent throughout. Thresholds that are negative or no numbers are refused: the
next place, then the default, counts.
Source: `cases/decide.jsonl` in the shared design, and the rule of this spec family that it was made with.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from headway.core.gates import parse_check
from headway.core.loose_numbers import finite_number, positive_integer, to_number
from headway.core.statistics import AGGREGATES
from headway.core.verdicts import METHODS, ObjectiveRule, RegressionBound, Thresholds
from headway.errors import MethodMissing, PayloadWrong

SIGNS: Final = {"maximize": 1, "minimize": -1}
NO_FACTOR: Final = 1.0
SEQUENTIAL: Final = "sequential"


@dataclass(frozen=True)
class GateRule:
    """A degenerate gate whose check is known to be readable."""

    name: str
    check: str


@dataclass(frozen=True)
class Futility:
    """The predeclared bound beyond which a candidate is dropped unconfirmed.

    `factor` is how many times worse the primary may be (above 1, else there is no bound); `after_seconds` ends any
    candidate that is not better by then (infinite where none is set); `most_samples` is the number of samples up to
    which `factor` applies.
    """

    factor: float
    after_seconds: float
    most_samples: float


@dataclass(frozen=True)
class Ladder:
    """How many samples the ladder asks for; `smoke` says that a smoke command is set."""

    smoke: bool
    exploratory_pairs: int
    confirmation_repeats: int
    futility: Futility | None


@dataclass(frozen=True)
class DecisionRequest:
    """All that one decision rests on; `ladder` is `None` in the other modes, `objectives[0]` is the primary.

    `fields` is the spec as written and `run` where the run stands: what `sequential` reads besides.
    """

    objectives: tuple[ObjectiveRule, ...]
    gates: tuple[GateRule, ...]
    thresholds: Thresholds
    aggregation: str
    ladder: Ladder | None
    holdout_configured: bool
    baseline: Mapping[str, Any]
    candidate: Mapping[str, Any]
    holdout: Mapping[str, Any] | None
    fields: "SpecFields"
    run: Mapping[str, Any]

    @property
    def is_sequential(self) -> bool:
        return self.thresholds.method == SEQUENTIAL


def read_payload(payload: Any) -> DecisionRequest:
    """Read a payload, or say what is wrong with it.

    Args:
        payload: the parsed JSON, of any shape.
    Returns: the request.
    Raises: PayloadWrong (MethodMissing, GateCheckWrong) with the field and the mend.
    """
    if not isinstance(payload, Mapping):
        raise PayloadWrong(
            f"a payload must be a JSON object, and this is {_kind(payload)}",
            "the payload",
            'send {"spec": {...}, "baseline": {...}, "candidate": {...}}',
        )
    fields = SpecFields(_mapping(payload, "spec", "spec"))
    return DecisionRequest(
        objectives=_objectives(fields),
        gates=_gates(fields),
        thresholds=_thresholds(fields),
        aggregation=_aggregation(fields),
        ladder=_ladder(fields),
        holdout_configured=bool(_mapping(fields.measurement, "holdout", "spec.measurement.holdout").get("command")),
        baseline=_side(payload, "baseline", "baseline"),
        candidate=_side(payload, "candidate", "candidate"),
        holdout=_holdout(payload),
        fields=fields,
        run=_mapping(payload, "run", "run"),
    )


class SpecFields:
    """The parts of a spec, found flat or nested, as they were written."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        metric = _mapping(spec, "metric", "spec.metric")
        self.spec = spec
        self.measurement = _mapping(spec, "measurement", "spec.measurement")
        self.stability = _either(spec, self.measurement, "stability", "spec.measurement.stability")
        self.primary = _either(spec, metric, "primary", "spec.metric.primary")
        self.judge = _either(spec, metric, "judge", "spec.metric.judge")
        self.comparison = _either(spec, self.stability, "comparison", "spec.measurement.stability.comparison")
        self.ladder = _either(spec, self.stability, "ladder", "spec.measurement.stability.ladder")
        self.objectives = _list(_first(spec, metric, "objectives"), "spec.metric.objectives")
        self.gates = _list(_first(spec, metric, "degenerate_gates"), "spec.metric.degenerate_gates")

    @property
    def is_judged(self) -> bool:
        """Whether a judge has a say, which gives improvements a minimum by default."""
        return self.primary.get("type") == "judge" or bool(self.judge)

    @property
    def mode(self) -> Any:
        """How often is measured, as written; `None` where nothing is."""
        flat = self.spec.get("stability_mode")
        return self.stability.get("mode") if flat is None else flat

    @property
    def is_ladder(self) -> bool:
        return bool(self.ladder.get("enabled")) or _mode(self) == "ladder"


def _mode(fields: SpecFields) -> Any:
    mode = fields.mode
    if mode not in (None, "stable", "repeat", "ladder"):
        raise PayloadWrong(
            f"{mode!r} is no stability mode", "spec.measurement.stability.mode", "use stable, repeat or ladder"
        )
    return mode


def _objectives(fields: SpecFields) -> tuple[ObjectiveRule, ...]:
    """The primary first, as its own section describes it, then the listed objectives that are not secondary."""
    primary = _given(fields.primary)
    name = primary.get("name")
    if not isinstance(name, str) or not name:
        raise PayloadWrong(
            "the payload names no primary metric", "spec.metric.primary.name", "name the metric that decides"
        )
    direction = primary.get("direction", "maximize")
    listed = [_described(row, f"spec.metric.objectives[{at}]", direction) for at, row in enumerate(fields.objectives)]
    required = [row for row in listed if row["role"] != "secondary"]
    own = next((row for row in required if row["name"] == name), {})
    first = {**own, **primary, "max_regression": own.get("max_regression") or primary.get("max_regression")}
    rows = [_described(first, "spec.metric.primary", direction), *(row for row in required if row["name"] != name)]
    return tuple(_objective(row) for row in rows)


def _described(row: Any, where: str, direction: Any) -> dict[str, Any]:
    if not isinstance(row, Mapping):
        raise PayloadWrong(f"an objective must be an object, and this is {_kind(row)}", where, "write name, direction")
    given = _given(row)
    if not isinstance(given.get("name"), str):
        raise PayloadWrong("an objective has no name", f"{where}.name", "name the metric that it reads")
    return {"direction": direction, "role": "required", "type": "hard", **given, "where": where}


def _objective(row: Mapping[str, Any]) -> ObjectiveRule:
    where = row["where"]
    if not isinstance(row["direction"], str) or row["direction"] not in SIGNS:
        raise PayloadWrong(f"{row['direction']!r} is no direction", f"{where}.direction", "use " + " or ".join(SIGNS))
    if row["type"] not in ("hard", "judge"):
        raise PayloadWrong(f"{row['type']!r} is no type of metric", f"{where}.type", "use hard or judge")
    return ObjectiveRule(
        name=row["name"],
        sign=SIGNS[row["direction"]],
        is_judged=row["type"] == "judge",
        target=to_number(row["target"]) if "target" in row else None,
        max_regression=_regression_bound(row.get("max_regression"), f"{where}.max_regression"),
    )


def _regression_bound(bound: Any, where: str) -> RegressionBound | None:
    """Absent, negative and non-numeric bounds leave the threshold in force."""
    if bound is None:
        return None
    if not isinstance(bound, Mapping) or bound.get("type", "absolute") not in ("absolute", "relative", None):
        raise PayloadWrong(
            f"{bound!r} is no bound on regressions", where, "write {type: absolute|relative, value: number}"
        )
    value = to_number(bound["value"]) if "value" in bound else math.nan
    if not math.isfinite(value) or value < 0:
        return None
    return RegressionBound(is_relative=bound.get("type") == "relative", value=value)


def _gates(fields: SpecFields) -> tuple[GateRule, ...]:
    rules = []
    for at, row in enumerate(fields.gates):
        where = f"spec.metric.degenerate_gates[{at}]"
        if not isinstance(row, Mapping) or not isinstance(row.get("name"), str):
            raise PayloadWrong("a gate has no name", where, "write {name: ..., check: '>= 0.9'}")
        text = str(row.get("check"))
        parse_check(text, row["name"])
        rules.append(GateRule(row["name"], text))
    return tuple(rules)


def _thresholds(fields: SpecFields) -> Thresholds:
    method = fields.comparison.get("method")
    method = "absolute" if method is None else method
    if not isinstance(method, str) or method not in (*METHODS, SEQUENTIAL):
        raise MethodMissing(str(method), (*METHODS, SEQUENTIAL))
    noise = _threshold("noise_threshold", fields.comparison, fields.spec, fields.stability)
    relative = _threshold("relative_threshold", fields.comparison)
    least = _threshold("minimum_improvement", fields.comparison, fields.spec, fields.judge)
    return Thresholds(
        method=method,
        noise=0.02 if noise is None else noise,
        relative=0.05 if relative is None else relative,
        minimum_improvement=0.3 if least is None and fields.is_judged else least,
    )


def _threshold(name: str, *places: Mapping[str, Any]) -> float | None:
    numbers = (finite_number(place.get(name)) for place in places)
    return next((number for number in numbers if number is not None and number >= 0), None)


def _aggregation(fields: SpecFields) -> str:
    flat = fields.spec.get("aggregation")
    name = fields.stability.get("aggregation") if flat is None else flat
    if name is None:
        return "median"
    if not isinstance(name, str) or name not in AGGREGATES:
        raise PayloadWrong(
            f"{name!r} is no aggregation",
            "spec.measurement.stability.aggregation",
            "use one of " + ", ".join(AGGREGATES),
        )
    return name


def _ladder(fields: SpecFields) -> Ladder | None:
    if not fields.is_ladder:
        return None
    pairs = positive_integer(fields.ladder.get("exploratory_pairs"), 1)
    repeats = fields.ladder.get("confirmation_repeats")
    if repeats is None:
        flat = fields.spec.get("repeat_count")
        repeats = fields.stability.get("repeat_count") if flat is None else flat
    return Ladder(
        smoke=bool(fields.ladder.get("smoke_command")),
        exploratory_pairs=pairs,
        confirmation_repeats=max(positive_integer(repeats, 5), pairs),
        futility=_futility(fields.ladder),
    )


def _futility(ladder: Mapping[str, Any]) -> Futility | None:
    """An empty `futility` turns the bound on with its defaults; an absent one leaves it off."""
    futility = ladder.get("futility")
    if not isinstance(futility, Mapping):
        return None
    factor = futility.get("worse_factor")
    after = finite_number(futility.get("after_elapsed_seconds"))
    pairs = ladder.get("exploratory_pairs")
    return Futility(
        factor=finite_number(1.2 if factor is None else factor) or NO_FACTOR,
        after_seconds=after if after is not None and after > 0 else math.inf,
        most_samples=1 if pairs is None else to_number(pairs),  # unlike above, 0 stays 0: no sample count qualifies
    )


def _side(payload: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    side = _mapping(payload, key, where)
    for part in ("metrics", "judge", "diagnostics", "gates"):
        _mapping(side, part, f"{where}.{part}")
    return side


def _holdout(payload: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if payload.get("holdout") is None:
        return None
    holdout = _mapping(payload, "holdout", "holdout")
    return {key: _side(holdout, key, f"holdout.{key}") for key in ("baseline", "candidate")}


def _given(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if value is not None}


def _first(flat: Mapping[str, Any], nested: Mapping[str, Any], key: str) -> Any:
    value = flat.get(key)
    return nested.get(key) if value is None else value


def _either(flat: Mapping[str, Any], nested: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    return _as_mapping(_first(flat, nested, key), where)


def _mapping(holder: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    return _as_mapping(holder.get(key), where)


def _as_mapping(value: Any, where: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise PayloadWrong(f"{where} must be an object, and this is {_kind(value)}", where, "write an object there")
    return value


def _list(value: Any, where: str) -> Sequence[Any]:
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise PayloadWrong(f"{where} must be a list, and this is {_kind(value)}", where, "write a list there")
    return value


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a text", list: "a list", dict: "an object"}
    return names.get(type(value), type(value).__name__)
