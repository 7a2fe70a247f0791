"""Finds every mistake of a spec at once and says each in words that help.

Pure: the lines of the file are added by the store, which knows them.
"""

import difflib
from collections.abc import Iterator, Mapping
from typing import Any, Final, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from headway.core.spec import RULES_BROKEN, Spec, SpecPart, SpecProblem
from headway.core.spec_parts import ComparisonMethod, ExecutionMode, StabilityMode
from headway.core.spec_rules import Location, broken_rules

CLOSE: Final = 0.6
"""Likeness from which a key is taken for a slip of the keyboard."""


def read_spec(raw: Any) -> tuple[Spec | None, tuple[SpecProblem, ...]]:
    """Make a spec of plain data, or say all that is wrong with it.

    Args:
        raw: the data, as YAML or JSON gives it.
    Returns: the spec and no problems, or None and at least one.
    """
    if not isinstance(raw, Mapping):
        return None, (SpecProblem((), "must be a mapping of keys such as name, metric, measurement and scope"),)
    try:
        return Spec.model_validate(raw), ()
    except ValidationError as wrong:
        single = [_problem(error) for error in wrong.errors(include_url=False) if not _is_told_elsewhere(error)]
        return None, (*single, *broken_rules(raw))


def notices(spec: Spec) -> tuple[SpecProblem, ...]:
    """Say what is allowed in a spec but may not be what its writer expects.

    Args:
        spec: the spec.
    Returns: one problem per notice; empty where there is nothing to say.
    """
    return tuple(notice for source in (_of_the_metric, _of_measuring, _of_the_run) for notice in source(spec))


def _of_the_metric(spec: Spec) -> Iterator[SpecProblem]:
    judge = spec.metric.judge
    if spec.metric.primary.baseline is not None:
        yield SpecProblem(
            ("metric", "primary", "baseline"), "is ignored: the baseline is measured and lives in the log"
        )
    if judge is not None and judge.max_total_cost_usd is None:
        yield SpecProblem(
            ("metric", "judge", "max_total_cost_usd"),
            "is null: judging has no cap",
            "approval asks for an explicit yes",
        )


def _of_measuring(spec: Spec) -> Iterator[SpecProblem]:
    place, stability = ("measurement", "stability"), spec.measurement.stability
    if "ladder" in stability.model_fields_set and stability.mode is not StabilityMode.LADDER:
        yield SpecProblem((*place, "ladder"), f"is not used with mode: {stability.mode}")
    if "repeat_count" in stability.model_fields_set and stability.mode is StabilityMode.STABLE:
        yield SpecProblem((*place, "repeat_count"), "is not used with mode: stable")
    if stability.comparison.method is ComparisonMethod.SEQUENTIAL and stability.mode is StabilityMode.STABLE:
        yield SpecProblem(
            (*place, "mode"),
            "is stable: the metric is declared to repeat exactly, and one sample decides",
            "use ladder where two measurements of the same code may differ",
        )


def _of_the_run(spec: Spec) -> Iterator[SpecProblem]:
    if "plateau_iterations" not in spec.stopping.model_fields_set:
        yield SpecProblem(
            ("stopping", "plateau_iterations"),
            "is left out: the run stops after 10 measured experiments in a row without a keep, often by chance",
            "60 is safer, none is no such limit",
        )
    asked = "mode" in spec.execution.model_fields_set and spec.execution.mode is ExecutionMode.PARALLEL
    if asked and spec.parallel.exclusive_resources:
        named = ", ".join(spec.parallel.exclusive_resources)
        yield SpecProblem(("execution", "mode"), f"is serial all the same: exclusive_resources names {named}")
    for name in ("codex_security", "remote", "cluster"):
        if getattr(spec.execution, name) is not None:
            yield SpecProblem(("execution", name), f"is not used with backend: {spec.execution.backend}")


def _is_told_elsewhere(error: ErrorDetails) -> bool:
    """Say whether an error repeats a broken rule, or calls a list too short only because its entries are wrong."""
    return error["type"] == RULES_BROKEN or (error["type"] == "too_short" and bool(error["input"]))


def _problem(error: ErrorDetails) -> SpecProblem:
    location = tuple(part for part in error["loc"] if part != "[key]")
    kind, given = error["type"], error["input"]
    if kind == "extra_forbidden":
        return _unknown_key(location)
    if kind in SAID:
        return SpecProblem(location, SAID[kind])
    if kind == "enum":
        return _no_such_word(location, given, error["ctx"]["expected"])
    words = error["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    return SpecProblem(location, words if kind == "value_error" else f"{words}, not {given!r}")


SAID: Final[Mapping[str, str]] = {
    "missing": "is required",
    "model_type": "must be a mapping of keys",
    "dict_type": "must be a mapping of keys",
    "tuple_type": "must be a list",
    "too_short": "needs at least one entry",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_from_float": "must be a whole number",
}


def _no_such_word(location: Location, given: Any, expected: str) -> SpecProblem:
    words = [word.strip("'") for word in expected.replace(" or ", ", ").split(", ")]
    near = difflib.get_close_matches(str(given), words, n=1, cutoff=CLOSE)
    mend = f"did you mean {near[0]}?" if near else ""
    return SpecProblem(location, f"must be one of {', '.join(words)}, not {given!r}", mend)


def _unknown_key(location: Location) -> SpecProblem:
    here, key = location[:-1], str(location[-1])
    keys = _keys_at(here)
    close = difflib.get_close_matches(key, keys, n=1, cutoff=CLOSE)
    elsewhere = [path for path in _all_paths(Spec) if path.rsplit(".", 1)[-1] == key]
    if close:
        mend = f"did you mean {close[0]}?"
    elif elsewhere:
        mend = f"did you mean {elsewhere[0]}?"
    else:
        mend = f"the nearest known key is {difflib.get_close_matches(key, keys, n=1, cutoff=0.0)[0]}"
    return SpecProblem(location, "is not a known key", mend)


def _keys_at(location: Location) -> list[str]:
    model: type[SpecPart] = Spec
    for part in location:
        if isinstance(part, str):
            model = _part_of(model.model_fields[part].annotation) or model
    return list(model.model_fields)


def _all_paths(model: type[SpecPart], above: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield above + name
        part = _part_of(field.annotation)
        if part is not None:
            yield from _all_paths(part, f"{above}{name}.")


def _part_of(annotation: Any) -> type[SpecPart] | None:
    """Give the level of the spec that an annotation such as `tuple[Gate, ...]` or `Judge | None` speaks of."""
    if isinstance(annotation, type) and issubclass(annotation, SpecPart):
        return annotation
    return next((found for inner in get_args(annotation) if (found := _part_of(inner))), None)
