"""What differs between two specs, and what of it needs a fresh start."""

from typing import Any

import pytest

from headway.core.spec_changes import changes_between, is_free
from tests.core.heart import a_run_spec


def test_equal_specs_differ_in_nothing() -> None:
    """The same spec is no change."""
    assert changes_between(a_run_spec(), a_run_spec()) == ()


@pytest.mark.parametrize(
    ("changes", "paths"),
    [
        ({"stopping": {"max_iterations": 7}}, ("stopping.max_iterations",)),
        ({"execution": {"max_concurrent": 4}}, ("execution.max_concurrent",)),
        ({"agent": {"model": "small", "max_repairs": 2}}, ("agent.model", "agent.max_repairs")),
        ({"proposer": {"type": "list"}}, ("proposer",)),
        ({"hypotheses": [{"description": "one more"}]}, ("hypotheses",)),
        ({"shield": {"t_allow": 0.1}}, ("shield.t_allow",)),
    ],
)
def test_what_changes_no_measurement_and_no_decision_is_free(changes: dict[str, Any], paths: tuple[str, ...]) -> None:
    """Limits, concurrency, agent, proposer and added hypotheses may change behind the gate."""
    found = changes_between(a_run_spec(), a_run_spec(**changes))
    assert found == paths
    assert all(is_free(path) for path in found)


@pytest.mark.parametrize(
    "changes",
    [
        {"measurement": {"command": "python other.py"}},
        {"measurement": {"stability": {"noise_threshold": 0.5}}},
        {"metric": {"primary": {"direction": "maximize"}}},
        {"metric": {"degenerate_gates": [{"name": "sorted", "check": ">= 0"}]}},
        {"scope": {"mutable": ["src/"]}},
        {"execution": {"backend": "remote"}},
        {"shield": {"mode": "enforce"}},
        {"dependencies": {"approved": ["numpy"]}},
    ],
)
def test_what_measures_or_decides_needs_a_fresh_start(changes: dict[str, Any]) -> None:
    """One field that is not free is enough."""
    found = changes_between(a_run_spec(), a_run_spec(**changes))
    assert len(found) == 1
    assert not is_free(found[0])


def test_a_field_is_not_free_because_its_name_begins_like_a_free_one() -> None:
    """`agent` frees `agent.model`, not `agent_like`."""
    assert is_free("agent.model")
    assert not is_free("agentlike")
    assert not is_free("execution")
