"""The schemas of the log and of the files beside it: the seed's fields, all of them, and nothing else but `headway`."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from headway.core.records import EXTENSION, JudgeCache, Log, Marker, Row, to_row
from headway.store.schema_files import SCHEMAS, schema_folder, schema_text
from tests.strategies import rows_of

OF_THE_LOG = "experiment-log.schema.json"
OF_MARKERS = "result-marker.schema.json"
OF_THE_CACHE = "judge-cache.schema.json"
FILES: dict[str, type[Row]] = {OF_THE_LOG: Log, OF_MARKERS: Marker, OF_THE_CACHE: JudgeCache}

# The seed (004), field by field, in its order: type, then the words of an enum. `?` marks what the seed lets be null.
SEED: dict[str, dict[str, str]] = {
    "": {
        "spec": "string",
        "run_id": "string",
        "started_at": "time",
        "baseline": "object",
        "harness_validation": "object",
        "experiments": "array of object",
        "best": "object",
        "approval": "object",
        "run_state": "object",
        "hypothesis_backlog": "array of object",
    },
    "baseline": {
        "timestamp": "time",
        "gates": "object",
        "metrics": "object",
        "diagnostics": "object",
        "worst_cases": "array of object",
        "judge": "object",
    },
    "baseline.worst_cases[]": {"case_id": "string", "score": "string", "reason": "string"},
    "baseline.judge": {"sample_seed": "integer", "judge_cost_usd": "number"},
    "harness_validation": {
        "timestamp": "time",
        "separates_known_good_from_bad": "boolean?",
        "rejects_trivial_shortcut": "boolean?",
        "judge_agreement": "number?",
        "calibration": "string: passed waived not_run not_applicable",
        "waiver": "string",
        "holdout_configured": "boolean",
        "probes": "array of object",
    },
    "best": {
        "iteration": "integer",
        "metrics": "object",
        "judge": "object",
        "total_judge_cost_usd": "number",
        "total_run_cost_usd": "number",
        "run_cost_basis": "string",
    },
    "approval": {"approved_at": "time", "spec_sha256": "string", "caps": "object"},
    "approval.caps": {"stopping": "object", "metric": "object", "execution": "object"},
    "approval.caps.metric": {"judge": "object"},
    "approval.caps.metric.judge": {"max_total_cost_usd": "number?"},
    "approval.caps.execution": {"max_concurrent": "integer"},
    "run_state": {
        "status": "string: running waiting blocked final",
        "tick": "integer",
        "phase3_started_at": "time",
        "active_seconds": "number",
        "pending_waits": "array of object",
    },
    "run_state.pending_waits[]": {
        "item": "string",
        "arrives_as": "string",
        "wake": "string",
        "on_arrival": "string",
    },
    "hypothesis_backlog[]": {
        "description": "string",
        "category": "string",
        "priority": "string: high medium low",
        "dep_status": "string: approved needs_approval not_applicable",
        "required_deps": "array of string",
        "opportunity": "object",
    },
    "hypothesis_backlog[].opportunity": {
        "workload": "string",
        "baseline": "string",
        "evidence": "string",
        "expected_benefit": "string",
        "confidence": "string",
        "cost_and_risk": "string",
    },
    "experiments[]": {
        "iteration": "integer",
        "batch": "integer",
        "hypothesis": "string",
        "category": "string",
        "outcome": (
            "string: measured promising kept not_selected reverted inconclusive censored degenerate error "
            "deferred_needs_approval timeout runner_up_kept runner_up_reverted"
        ),
        "opportunity": "object",
        "comparisons": "array of object",
        "changes": "array of object",
        "gates": "object",
        "gates_passed": "boolean",
        "diagnostics": "object",
        "metrics": "object",
        "judge": "object",
        "cost": "object",
        "regressions": "array of string",
        "worst_cases": "array of object",
        "primary_delta": "string",
        "objective_results": "object",
        "sample_count": "integer",
        "next_measurement": "string: none smoke exploratory add_sample confirm holdout",
        "learnings": "string",
        "commit": "string",
        "deferred_reason": "string",
        "error_message": "string",
        "merged_with": "integer",
    },
    "experiments[].opportunity": {
        "workload": "string",
        "baseline": "string",
        "evidence": "string",
        "expected_benefit": "string",
        "confidence": "string",
        "cost_and_risk": "string",
    },
    "experiments[].comparisons[]": {
        "kind": "string: standalone integrated holdout",
        "reference_revision": "string",
        "candidate_revision": "string",
        "workload": "string",
        "machine": "string",
        "measured_by": "string: orchestrator worker confirmation_worker",
        "reference": "object",
        "candidate": "object",
        "uncertainty": "string",
        "correctness": "string",
    },
    # "existing snapshot shape": the baseline's, which a marker's sides spell out as gates, metrics, diagnostics
    "experiments[].comparisons[].reference": {
        "gates": "object",
        "metrics": "object",
        "diagnostics": "object",
        "judge": "object",
    },
    "experiments[].comparisons[].candidate": {
        "gates": "object",
        "metrics": "object",
        "diagnostics": "object",
        "judge": "object",
    },
    "experiments[].changes[]": {"file": "string", "summary": "string"},
    "experiments[].judge": {"judge_cost_usd": "number", "items": "array of object"},
    "experiments[].judge.items[]": {
        "item_id": "string",
        "content_hash": "string",
        "reason": "string",
        "feedback": "string",
        "ambiguous": "boolean",
    },
    "experiments[].cost": {"usd": "number", "tokens": "integer", "latency_seconds": "number"},
    "experiments[].worst_cases[]": {"case_id": "string", "score": "string", "reason": "string"},
}
SEED_OF_MARKERS: dict[str, dict[str, str]] = {
    "": {
        "experiment": "integer",
        "base_sha": "string",
        "head_sha": "string",
        "machine": "string",
        "measured_at": "time",
        "baseline": "object",
        "candidate": "object",
        "correctness": "string",
    },
    "baseline": {"gates": "object", "metrics": "object", "diagnostics": "object", "judge": "object"},
    "candidate": {"gates": "object", "metrics": "object", "diagnostics": "object", "judge": "object"},
}
# `required: true` and `required_children` of the seed ...
REQUIRED = {
    "": {"spec", "run_id", "started_at", "baseline", "experiments", "best"},
    "experiments[]": {"iteration", "batch", "hypothesis", "category", "outcome"},
}
# ... and fields without which a record says nothing
REQUIRED_BY_US = {
    "best": {"iteration"},
    "approval": {"approved_at", "spec_sha256", "caps"},
    "approval.caps.metric": {"judge"},
    "approval.caps.metric.judge": {"max_total_cost_usd"},
    "approval.caps.execution": {"max_concurrent"},
    "run_state": {"status"},
    "run_state.pending_waits[]": {"item"},
    "hypothesis_backlog[]": {"description"},
    "experiments[].comparisons[]": {"kind", "reference_revision", "candidate_revision"},
    "experiments[].changes[]": {"file"},
}
# CONTRACTS 2: what stands under `headway`, exactly
EXTENSIONS: dict[str, set[str]] = {
    "hypothesis_backlog[]": {"id", "source", "payload", "retry_of", "attempts"},
    "experiments[]": {
        "hypothesis_id",
        "base",
        "candidate",
        "agent",
        "k",
        "effort",
        "usage",
        "gain",
        "shield",
        "tamper",
        "repeat_of",
        "override",
        "imported",  # not listed there: ADR on imported logs
    },
    "experiments[].comparisons[]": {"k", "decision", "gain"},  # gain: ADR 0007
    "experiments[].comparisons[].candidate": {"order", "started_at", "seeds"},
    "experiments[].comparisons[].reference": {"order", "started_at", "seeds"},
    # effort, planned: not listed there: ADR 0007
    "run_state": {"totals", "stop", "dropped", "notices", "environment", "approved_deps", "thresholds", "effort"},
    "run_state.pending_waits[]": {"hypothesis", "iteration", "batch"},
    "approval": {"approved_by", "uncapped_spend", "planned"},
    # not listed there: what else CP-1 has to keep for the rest of the run
    "baseline": {
        "order",
        "started_at",
        "seeds",
        "commit",
        "workload",
        "timeout_seconds",
        "median_seconds",
        "relative_spread",
        "environment",
        "imported",
    },
    "harness_validation": {"forgeable", "forged_by", "failed"},
    "best": {"final_check"},  # ADR 0011
}


@cache
def schema(name: str) -> dict[str, Any]:
    """Give a schema as the code makes it."""
    found: dict[str, Any] = json.loads(schema_text(name))
    return found


def followed(described: Mapping[str, Any], whole: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow a reference, and what remains of a choice once null is out."""
    choices = [choice for choice in described.get("anyOf", []) if choice != {"type": "null"}]
    if len(choices) == 1:
        return followed(choices[0], whole)
    if "$ref" in described:
        found: Mapping[str, Any] = whole["$defs"][described["$ref"].rpartition("/")[2]]
        return found
    return described


def at(place: str, whole: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give the schema of a place: `experiments[].judge`."""
    here: Mapping[str, Any] = whole
    for step in filter(None, place.split(".")):
        here = followed(here["properties"][step.removesuffix("[]")], whole)
        if step.endswith("[]"):
            here = followed(here["items"], whole)
    return here


def in_the_seeds_words(described: Mapping[str, Any], whole: Mapping[str, Any]) -> str:
    """Give a field's type as the tables above write it."""
    nullable = "?" if {"type": "null"} in described.get("anyOf", []) else ""
    found = followed(described, whole)
    kind = str(found.get("type"))
    if "enum" in found:
        kind += ": " + " ".join(found["enum"])
    if found.get("format") == "date-time":
        kind = "time"
    if kind == "array":
        kind += f" of {followed(found['items'], whole).get('type')}"
    return kind + nullable


def listed(seed: dict[str, dict[str, str]]) -> list[str]:
    return sorted(seed)


@pytest.mark.parametrize("place", listed(SEED))
def test_the_log_has_the_seeds_fields_and_headway(place: str) -> None:
    """Names, order, types and enums are the seed's; one key more, `headway`, and it is the last."""
    assert_same_fields(place, SEED, schema(OF_THE_LOG), EXTENSIONS)


@pytest.mark.parametrize("place", listed(SEED_OF_MARKERS))
def test_a_marker_has_the_seeds_fields_and_headway(place: str) -> None:
    """The marker likewise."""
    ours: dict[str, set[str]] = {"": set(), "baseline": set(), "candidate": set()}
    assert_same_fields(place, SEED_OF_MARKERS, schema(OF_MARKERS), ours)


def assert_same_fields(
    place: str, seed: dict[str, dict[str, str]], whole: Mapping[str, Any], ours: Mapping[str, set[str]]
) -> None:
    fields = {name: in_the_seeds_words(found, whole) for name, found in at(place, whole)["properties"].items()}
    expected = {**seed[place], EXTENSION: "object"} if place in ours else seed[place]
    assert fields == expected
    assert list(fields) == list(expected)


def test_what_is_required_is_what_the_seed_requires_and_what_a_record_is_nothing_without() -> None:
    """Everything else may be absent, and absent means unknown."""
    whole = schema(OF_THE_LOG)
    wanted = {place: REQUIRED.get(place, set()) | REQUIRED_BY_US.get(place, set()) for place in SEED}
    assert {place: set(at(place, whole).get("required", [])) for place in SEED} == wanted
    assert schema(OF_MARKERS)["required"] == ["experiment"]


@pytest.mark.parametrize("place", sorted(place for place, ours in EXTENSIONS.items() if ours))
def test_an_extension_holds_what_the_contract_lists(place: str) -> None:
    """What the seed does not know stands under `headway`, under these names."""
    whole = schema(OF_THE_LOG)
    assert set(at(f"{place}.{EXTENSION}".strip("."), whole)["properties"]) == EXTENSIONS[place]


@pytest.mark.parametrize(
    ("place", "names"),
    [
        ("experiments[].headway.usage", {"tokens", "usd"}),
        ("experiments[].headway.gain", {"estimate", "low", "high"}),
        ("experiments[].headway.tamper[]", {"path", "kind", "expected_sha256", "found_sha256", "action"}),
        ("experiments[].headway.override", {"by", "why"}),
        ("run_state.headway.stop", {"reason", "detail", "continue_with"}),
        ("run_state.headway.dropped[]", {"hypothesis_id", "description", "reason", "usage"}),
        ("run_state.headway.notices[]", {"at", "text"}),
        ("run_state.headway.totals.cost", {"agents_usd", "judges_usd", "harness_usd", "unknown"}),
        (
            "run_state.headway.totals",
            {"counts", "k", "keeps", "measured_since_keep", "failures_in_a_row", "cost", "scale", "marks"},
        ),
    ],
)
def test_the_parts_of_extensions_are_spelt_as_agreed(place: str, names: set[str]) -> None:
    """Other parts of the program, and other programs, read these names."""
    assert set(at(place, schema(OF_THE_LOG))["properties"]) == names


def test_stopping_caps_are_the_specs_stopping_fields() -> None:
    """Every limit that a spec can set is one that a person approves."""
    of_the_spec = schema("optimize-spec.schema.json")["$defs"]["Stopping"]["properties"]
    assert list(at("approval.caps.stopping", schema(OF_THE_LOG))["properties"]) == list(of_the_spec)


def test_an_older_log_fits_as_far_as_it_goes() -> None:
    """A log with the seed's required fields alone, written by another tool, is a log."""
    entry = {"iteration": 1, "batch": 1, "hypothesis": "h", "category": "c", "outcome": "kept", "evidence": "seen"}
    log = {"spec": "s", "run_id": "r", "started_at": "2026-08-07T13:40:00Z", "baseline": {}, "best": {"iteration": 1}}
    validator = Draft202012Validator(schema(OF_THE_LOG))
    assert validator.is_valid({**log, "experiments": [entry]})
    assert not validator.is_valid({**log, "experiments": [{**entry, "outcome": "rejected"}]})
    assert not validator.is_valid({**log, "experiments": [{**entry, "commit": None}]})
    assert not validator.is_valid({**log, "experiments": [{"iteration": 1}]})
    assert not validator.is_valid(log)


@pytest.mark.parametrize("name", sorted(FILES))
def test_the_file_is_what_the_models_say(name: str) -> None:
    """The checked-in schema is the one that the code gives: rewrite it with `python -m headway.store.schema_files`."""
    assert name in SCHEMAS
    assert (schema_folder() / name).read_text(encoding="utf-8") == schema_text(name)
    Draft202012Validator.check_schema(schema(name))


@pytest.mark.parametrize("name", sorted(FILES))
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_what_core_can_build_its_schema_accepts(name: str, data: st.DataObject) -> None:
    """No record that headway writes is refused by the schema that headway hands out."""
    row = to_row(FILES[name].model_validate(data.draw(rows_of(FILES[name]))))
    errors = [error.message for error in Draft202012Validator(schema(name)).iter_errors(row)]
    assert errors == []
