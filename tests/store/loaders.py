"""Three loaders that nobody here wrote, and what it takes for a value to mean the same to all of them."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ryaml
import yaml

from headway.store.emit import emit_entry, emit_mapping
from headway.store.read import Unsure, read_mapping
from tests.store.logs import by_pyyaml, by_ruamel

SCALARS = Path(__file__).with_name("scalars.json")
LOADERS: dict[str, Callable[[str], Any]] = {
    "ruamel.yaml, YAML 1.2": by_ruamel,
    "PyYAML, YAML 1.1": by_pyyaml,
    "PyYAML in C": lambda text: yaml.load(text, yaml.CSafeLoader),
    "ryaml, in Rust": ryaml.loads,  # type: ignore[attr-defined]  # its stubs forget what it exports
}


def hard_values() -> list[Any]:
    """Every text and value of the data file."""
    data = json.loads(SCALARS.read_bytes())
    texts = [text for group in data["texts"].values() for text in group]
    return [*(text if isinstance(text, str) else text["of"] * text["times"] for text in texts), *data["values"]]


def refused_values() -> list[tuple[Any, str]]:
    """What no file can hold for every loader, with the words of the refusal."""
    data = json.loads(SCALARS.read_bytes())
    return [(value, words) for words, values in data["refused"].items() for value in values]


def places_of(value: Any) -> Iterator[dict[Any, Any]]:
    """Mappings with a value in every kind of place, and as a key where it can be one."""
    yield {"v": value, "w": 1}
    yield {"a": {"b": {"c": value}}, "d": [value, [value, {"e": value, "f": [value]}], value], "g": 0}
    if not isinstance(value, (list, dict)):
        yield {value: value, "z": 1}
        yield {"a": {value: 1, "b": [{value: {value: [value]}}]}}


def disagreements(value: Any) -> list[str]:
    """Which loader reads a value otherwise than it was written, in which place; and what headway's reader says."""
    found: list[str] = []
    for place in places_of(value):
        texts = {emit_mapping(place): place, emit_entry(place): [place], emit_entry(place, indent=2): [place]}
        for text, expected in texts.items():
            for name, load in LOADERS.items():
                if repr(load(text)) != repr(expected):
                    found.append(f"{name}: {ascii(text)[:200]}")
        try:
            if repr(read_mapping(emit_mapping(place))) != repr(place):
                found.append(f"headway: {ascii(emit_mapping(place))[:200]}")
        except Unsure:
            continue
    return found
