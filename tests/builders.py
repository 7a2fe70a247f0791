"""Builders that fill in what a test is not about."""

import io
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

from ruamel.yaml import YAML

from headway.core.spec import Spec

MINIMAL_SPEC: Final[Mapping[str, Any]] = {
    "name": "faster-sort",
    "description": "Make the sort faster.",
    "metric": {
        "primary": {"type": "hard", "name": "seconds", "direction": "minimize"},
        "degenerate_gates": [{"name": "sorted", "check": "== 1"}],
    },
    "measurement": {"command": "python bench.py"},
    "scope": {"mutable": ["src/sort.py"], "immutable": ["bench.py"]},
    "stopping": {"plateau_iterations": 60},
}
"""The least that a spec needs, and a plateau, so that it loads without a warning."""


def merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Lay one mapping over another: mappings are merged key by key, all else is replaced."""
    result = deepcopy(dict(under))
    for key, value in over.items():
        below = result.get(key)
        result[key] = merged(below, value) if isinstance(below, dict) and isinstance(value, Mapping) else value
    return result


def a_spec_mapping(**changes: Any) -> dict[str, Any]:
    """Give a minimal spec as plain data, with changes laid over it."""
    return merged(MINIMAL_SPEC, changes)


def a_spec(**changes: Any) -> Spec:
    """Give a minimal spec with changes laid over it: `a_spec(stopping={"max_iterations": 3})`."""
    return Spec.model_validate(a_spec_mapping(**changes))


def a_spec_text(**changes: Any) -> str:
    """Give the YAML text of a minimal spec with changes laid over it."""
    text = io.StringIO()
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.dump(a_spec_mapping(**changes), text)
    return text.getvalue()
