"""The checked-in schemas are what the code gives, and they describe what the code accepts."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from headway.core.spec import Spec, SpecPart
from headway.core.spec_problems import read_spec
from headway.core.spec_schema import spec_schema
from headway.errors import UsageWrong
from headway.store.schema_files import SCHEMAS, main, schema_folder, schema_text
from tests.builders import a_spec_mapping


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_the_checked_in_schema_is_the_generated_one(name: str) -> None:
    """A change of the models changes the file in the same commit (`python -m headway.store.schema_files`)."""
    assert (schema_folder() / name).read_text(encoding="utf-8") == schema_text(name)


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_a_schema_is_valid_and_names_its_draft(name: str) -> None:
    """Any validator can use the file."""
    schema = json.loads(schema_text(name))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"]
    assert "$id" not in schema
    Draft202012Validator.check_schema(schema)


def test_every_schema_is_written_to_the_folder_that_was_named(tmp_path: Path) -> None:
    """The command writes all schemas and nothing else; a folder that is not there is refused."""
    main([str(tmp_path)])
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == {
        name: schema_text(name) for name in SCHEMAS
    }
    with pytest.raises(UsageWrong):
        main([str(tmp_path / "none")])
    with pytest.raises(UsageWrong):
        main([str(tmp_path), "more"])


def accepted_by_schema(mapping: dict[str, Any]) -> bool:
    return bool(Draft202012Validator(spec_schema()).is_valid(mapping))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"agent": None, "constraints": None, "stopping": None, "execution": {"max_concurrent": None}},
        {"metric": {"primary": {"baseline": {"any": [1]}}, "judge": {"max_total_cost_usd": None}}},
        {"stopping": {"plateau_iterations": "none"}},
        {"execution": {"backend": "remote", "max_concurrent": 50}},
        {"measurement": {"output_format": "regex", "extract": {"seconds": "x"}, "working_directory": "a/b"}},
        {"agent": {"type": "patches", "options": {"folder": "p"}}, "parallel": {"port_strategy": "none"}},
        {"hypotheses": [{"description": "d", "priority": "high"}], "notify": {"url": "u"}},
    ],
)
def test_what_the_code_accepts_its_schema_accepts(changes: dict[str, Any]) -> None:
    """An editor marks no spec that headway loads."""
    mapping = a_spec_mapping(**changes)
    assert read_spec(mapping)[1] == ()
    assert accepted_by_schema(mapping)


@pytest.mark.parametrize(
    "changes",
    [
        {"unknown": 1},
        {"name": "Upper"},
        {"scope": {"mutable": []}},
        {"scope": None},
        {"metric": {"degenerate_gates": [{"name": "g", "check": "about 1"}]}},
        {"metric": {"primary": {"direction": "up"}}},
        {"metric": {"primary": {"type": "judge"}}},
        {"metric": {"primary": {"type": "judge"}, "judge": {"rubric": "r"}}},
        {"metric": {"judge": {"singleton_sample": 2}}},
        {"measurement": {"command": " "}},
        {"measurement": {"timeout_seconds": 0}},
        {"measurement": {"output_format": "regex"}},
        {"execution": {"max_concurrent": 7}},
        {"parallel": {"port_strategy": "parameterized"}},
        {"agent": {"type": "command"}},
        {"stopping": {"plateau_iterations": 0}},
    ],
)
def test_what_the_schema_can_say_it_refuses_as_the_code_does(changes: dict[str, Any]) -> None:
    """An editor marks these mistakes while they are typed."""
    mapping = a_spec_mapping(**changes)
    assert read_spec(mapping)[1] != ()
    assert not accepted_by_schema(mapping)


def test_every_key_of_the_spec_is_described() -> None:
    """Whoever hovers over a key in an editor learns what it is for."""
    levels: list[type[SpecPart]] = [Spec, *SpecPart.__subclasses__()]
    bare = [
        f"{level.__name__}.{name}"
        for level in levels
        for name, key in level.model_fields.items()
        if not key.description
    ]
    assert bare == []
