"""The measurement contract: what a harness printed becomes one sample, or the reason why it is none.

The last whole JSON object on standard output counts, or of `metrics_file` where one is declared. Numbers are finite
ints or floats and nothing else; booleans count as 1 and 0 for gates and cases only. What is not declared in the spec
never enters anything. A name that stands twice in one object: the last one counts and a note says so.
Source: DESIGN section 6; CONTRACTS section 3 (`metric_lines`, `regex`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from headway.core import gates
from headway.core.json_objects import find_objects, without_escapes
from headway.core.json_strict import number_text, read_strictly, shown
from headway.core.spec import MetricType, Objective, OutputFormat, Spec

SECTIONS: Final = ("metrics", "gates", "diagnostics")
METRIC_LINE: Final = re.compile(r"^[ \t]*METRIC[ \t]+([^\s=]+)[ \t]*=[ \t]*([^\r\n]*)", re.MULTILINE)
MOST_WORST_CASES: Final = 10
MOST_NAMES: Final = 20
LONGEST_TEXT: Final = 500
FAILED_STATUS: Final = "error"
COST_NAMES: Final = ("usd", "tokens", "latency_seconds")


@dataclass(frozen=True)
class RawOutput:
    """What stood in a harness's output, before anything is looked up in it.

    `values` is the object that counts, `None` with the `problem` where there is none; `others` are objects or lines
    before it; `unmatched` are patterns of `extract` that matched nothing; `repeated` are names that stand twice in
    `values`.
    """

    values: Mapping[str, Any] | None
    problem: str = ""
    others: tuple[Mapping[str, Any], ...] = ()
    unmatched: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    from_file: bool = False


@dataclass(frozen=True)
class Sample:
    """One valid measurement; `ambiguous` when the output named the primary with different values.

    A sample whose gate fails may lack metrics: it ends its candidate, whatever else it says.
    """

    gates: Mapping[str, Any]
    metrics: Mapping[str, float]
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    cases: Mapping[str, Any] | None = None
    worst_cases: tuple[Mapping[str, Any], ...] = ()
    cost: Mapping[str, Any] = field(default_factory=dict)
    ambiguous: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class InvalidSample:
    """A measurement without a value, and why."""

    reason: str


def read_metrics(
    text: str, *, output_format: str, extract: Mapping[str, str], metrics_text: str | None = None
) -> RawOutput:
    """Find the values in a harness's output.

    Args:
        text: standard output, decoded with replacement; the caller bounds it (head and tail).
        output_format: `json`, `metric_lines` (lines `METRIC name=value`) or `regex`.
        extract: for `regex`: value's name to a pattern; its first group, or all of it, of its last match is the value.
        metrics_text: content of the declared `metrics_file`; it takes the place of `text`.
    Returns: the values as they stand, unchecked.
    """
    source = without_escapes(text if metrics_text is None else metrics_text)
    place = "standard output" if metrics_text is None else "the metrics file"
    from_file = metrics_text is not None
    match OutputFormat(output_format):
        case OutputFormat.JSON:
            return _from_json(source, place, from_file)
        case OutputFormat.METRIC_LINES:
            return _from_lines(source, place, from_file)
        case OutputFormat.REGEX:
            return _from_patterns(source, extract, from_file)


def to_sample(raw: RawOutput, spec: Spec) -> Sample | InvalidSample:
    """Make a sample of what a harness printed.

    Args:
        raw: from `read_metrics`.
        spec: declares the gates, objectives and diagnostics, and whether there are cases.
    Returns: the sample, or the reason why it is none. The exit status is the caller's to judge.
    """
    if spec.measurement.metrics_file and not raw.from_file:
        return InvalidSample(f"the metrics file {spec.measurement.metrics_file} was not written")
    if raw.values is None:
        return InvalidSample(raw.problem)
    reported = _reported_error(raw.values, spec)
    if reported:
        return InvalidSample(f"the harness reported an error: {reported}")
    found_gates = _gate_values(raw.values, spec)
    problem = "" if _fails_a_gate(found_gates, spec) else _problem(raw, spec, found_gates)
    return InvalidSample(problem) if problem else _sample(raw, spec, found_gates)


def required_metrics(spec: Spec) -> list[str]:
    """Name the metrics that a sample must have: the primary, then the other objectives that decide."""
    return list(dict.fromkeys(one.name for one in spec.required_objectives if one.type is MetricType.HARD))


def _from_json(source: str, place: str, from_file: bool) -> RawOutput:
    found = find_objects(source)
    if not found.objects:
        why = f"no JSON object on {place}" if not from_file else f"no JSON object in {place}"
        if not source.strip():
            why = f"{place} is empty"
        elif found.has_broken:
            why += "; what looks like one breaks off or is no strict JSON"
        return RawOutput(None, why, from_file=from_file)
    values, repeated = read_strictly(found.objects[-1].text)
    others = tuple(one.value for one in found.objects[:-1])
    return RawOutput(values, others=others, repeated=repeated, from_file=from_file)


def _from_lines(source: str, place: str, from_file: bool) -> RawOutput:
    lines = [(name, number_text(text)) for name, text in METRIC_LINE.findall(source.replace("\r", "\n"))]
    if not lines:
        return RawOutput(None, f"no line `METRIC name=value` on {place}", from_file=from_file)
    values = dict(lines)
    return RawOutput(values, others=tuple({name: value} for name, value in lines), from_file=from_file)


def _from_patterns(source: str, extract: Mapping[str, str], from_file: bool) -> RawOutput:
    values: dict[str, Any] = {}
    for name, pattern in extract.items():
        for match in re.finditer(pattern, source, re.MULTILINE):
            values[name] = number_text((match[1] if match.re.groups else match[0]) or "")
    unmatched = tuple(name for name in extract if name not in values)
    return RawOutput(values, unmatched=unmatched, from_file=from_file)


def _reported_error(values: Mapping[str, Any], spec: Spec) -> str:
    """What the fields `error` and `status` say, unless they are declared values; empty if they tell of no failure.

    `status: error` is one whatever the `error` beside it, for what was raised may have been null, 0 or false. So is the
    empty text, which is how an exception without a message prints; a harness that always prints the field says null.
    """
    declared = {one.name for one in _objectives(spec)} | set(_gate_names(spec))
    declared |= {one.name for one in spec.metric.diagnostics}
    told = {name: values[name] for name in ("error", "status") if name in values and name not in declared}
    error, status = told.get("error"), told.get("status")
    if error:
        return shown(error)
    if isinstance(status, str) and status.strip().lower() == FAILED_STATUS:
        return f"status is {shown(status)}, without a message"
    return 'error is "", a failure without a message; where there is none print null' if error == "" else ""


def _problem(raw: RawOutput, spec: Spec, found_gates: Mapping[str, Any]) -> str:
    """Why the output is no sample: the first unusable gate or objective, or all that are missing."""
    values = raw.values or {}
    required = required_metrics(spec)
    unmatched = [name for name in raw.unmatched if name in required or name in _gate_names(spec)]
    if unmatched:
        return "the pattern matched nothing for " + ", ".join(unmatched)
    for name, value in found_gates.items():
        if not _is_gate_value(value):
            return f"gate {name} must be a finite number or a boolean, and is {shown(value)}"
    for name in required:
        value = _look_up(values, "metrics", name)
        if value is not None and not _is_number(value.found):
            return f"{name} must be a finite number, and is {shown(value.found)}"
    missing = [name for name in required if _look_up(values, "metrics", name) is None]
    return _missing(missing, raw) if missing else ""


def _missing(missing: Sequence[str], raw: RawOutput) -> str:
    names = list(_all_names(raw.values or {}))
    there = ", ".join(shown(name) for name in names[:MOST_NAMES]) or "none"
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    reason = f"the output lacks {', '.join(missing)}; names there: {there}{more}"
    if any(all(_look_up(other, "metrics", name) for name in missing) for other in raw.others):
        reason += "; an earlier object has it, and the last one counts: print the metrics last"
    return reason


def _sample(raw: RawOutput, spec: Spec, found_gates: Mapping[str, Any]) -> Sample:
    values = raw.values or {}
    different = _primary_values(raw, spec.metric.primary.name)
    notes = [f"{name} stands twice in the output; the last one counts" for name in raw.repeated]
    if len(different) > 1:
        listed = " and ".join(shown(value) for value in different[-MOST_NAMES:])
        notes.append(
            f"the output names {spec.metric.primary.name} with different values: {listed}; the last one counts"
        )
    return Sample(
        gates=MappingProxyType({name: value for name, value in found_gates.items() if _is_gate_value(value)}),
        metrics=MappingProxyType(_metric_values(values, spec)),
        diagnostics=MappingProxyType(_diagnostic_values(values, spec)),
        cases=_cases(values) if spec.measurement.per_case else None,
        worst_cases=_worst_cases(values),
        cost=MappingProxyType(_cost(values)),
        ambiguous=len(different) > 1 or spec.metric.primary.name in raw.repeated,
        notes=tuple(notes),
    )


def _primary_values(raw: RawOutput, name: str) -> list[Any]:
    """The different values under which the output names the primary, the one that counts last."""
    different: list[Any] = []
    for values in (*raw.others, raw.values or {}):
        for value in _places(values, "metrics", name):
            if value in different:
                different.remove(value)
            different.append(value)
    return different


def _metric_values(values: Mapping[str, Any], spec: Spec) -> dict[str, float]:
    found = {one.name: _look_up(values, "metrics", one.name) for one in _objectives(spec)}
    return {name: float(one.found) for name, one in found.items() if one is not None and _is_number(one.found)}


def _gate_values(values: Mapping[str, Any], spec: Spec) -> dict[str, Any]:
    found = {name: _look_up(values, "gates", name) for name in _gate_names(spec)}
    return {name: one.found for name, one in found.items() if one is not None}


def _diagnostic_values(values: Mapping[str, Any], spec: Spec) -> dict[str, Any]:
    found = {one.name: _look_up(values, "diagnostics", one.name) for one in spec.metric.diagnostics}
    return {name: _plain(one.found) for name, one in found.items() if one is not None}


def _cases(values: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Pass or score by case id; what is neither has not passed."""
    cases = values.get("cases")
    if not isinstance(cases, Mapping):
        return None
    return MappingProxyType({_plain_text(case): _case(value) for case, value in cases.items()})


def _case(value: Any) -> Any:
    return _plain(value) if isinstance(value, bool | str) or _is_number(value) else False


def _worst_cases(values: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    given = values.get("worst_cases")
    rows = [row for row in given if isinstance(row, Mapping)] if isinstance(given, list) else []
    keys = ("case_id", "score", "reason")
    return tuple({key: _plain(row[key]) for key in keys if key in row} for row in rows[:MOST_WORST_CASES])


def _cost(values: Mapping[str, Any]) -> dict[str, Any]:
    given = values.get("cost")
    if not isinstance(given, Mapping):
        return {}
    return {name: given[name] for name in COST_NAMES if _is_number(given.get(name))}


@dataclass(frozen=True)
class _Found:
    """A value that is there, if only as null."""

    found: Any


def _look_up(values: Mapping[str, Any], section: str, name: str) -> _Found | None:
    return next((_Found(value) for value in _places(values, section, name)), None)


def _places(values: Mapping[str, Any], section: str, name: str) -> Iterator[Any]:
    """Every value of a name: in its own section, in the others, then at the top level."""
    for place in (section, *(other for other in SECTIONS if other != section)):
        inner = values.get(place)
        if isinstance(inner, Mapping) and name in inner:
            yield inner[name]
    if name in values and not (name in SECTIONS and isinstance(values[name], Mapping)):
        yield values[name]


def _all_names(values: Mapping[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        yield from value if name in SECTIONS and isinstance(value, Mapping) else [name]


def _objectives(spec: Spec) -> list[Objective]:
    return [one for one in spec.all_objectives if one.type is MetricType.HARD]


def _gate_names(spec: Spec) -> list[str]:
    return list(dict.fromkeys(gate.name for gate in spec.metric.degenerate_gates))


def _fails_a_gate(found_gates: Mapping[str, Any], spec: Spec) -> bool:
    """Whether a gate has a usable value that does not hold; that ends a candidate even if its metrics are missing."""
    usable = {name for name, value in found_gates.items() if _is_gate_value(value)}
    return not gates.check([gate for gate in spec.metric.degenerate_gates if gate.name in usable], found_gates).passed


def _is_gate_value(value: Any) -> bool:
    return _is_number(value) or isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    """A value that JSON and YAML can hold: numbers and booleans as they are, everything else as a short text."""
    if value is None or isinstance(value, bool) or _is_number(value):
        return value
    return _plain_text(value if isinstance(value, str) else shown(value))


def _plain_text(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")[:LONGEST_TEXT]
