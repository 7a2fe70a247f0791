"""What this version cannot carry out is refused by name."""

from typing import Any

import pytest

from headway.core.spec_support import REFUSALS, refusals
from tests.builders import a_spec

JUDGE = {"rubric": "r", "scoring": {"primary": "quality"}}
PATCHES = {"type": "patches", "options": {"folder": "p"}}


def comparing(**changes: Any) -> dict[str, Any]:
    return {"measurement": {"stability": {"comparison": changes}}}


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"metric": {"primary": {"type": "judge"}, "judge": JUDGE}}, "metric.primary.type", "judging"),
    (
        {"metric": {"objectives": [{"name": "style", "direction": "maximize", "type": "judge"}], "judge": JUDGE}},
        "metric.objectives",
        "style",
    ),
    ({"measurement": {"holdout": {"command": "score"}}}, "measurement.holdout.command", "the holdout"),
    ({"measurement": {"clean_home": True}}, "measurement.clean_home", "home"),
    (comparing(method="sequential", effort="lean"), "measurement.stability.comparison.effort", "groups"),
    (comparing(alpha=0.05), "measurement.stability.comparison.alpha", "sequential"),
    (comparing(effort="auto"), "measurement.stability.comparison.effort", "sequential"),
    (comparing(error_control="run"), "measurement.stability.comparison.error_control", "sequential"),
    (
        comparing(min_effect={"type": "absolute", "value": 1}),
        "measurement.stability.comparison.min_effect",
        "sequential",
    ),
    (comparing(max_pairs=3), "measurement.stability.comparison.max_pairs", "sequential"),
    (comparing(screen=False), "measurement.stability.comparison.screen", "sequential"),
    (comparing(calibration=8), "measurement.stability.comparison.calibration", "sequential"),
    (
        comparing(accept_simpler={"metric": "headway.lines_net", "margin": 0.01}),
        "measurement.stability.comparison.accept_simpler",
        "sequential",
    ),
    ({"execution": {"backend": "dask"}}, "execution.backend", "'dask'"),
    ({"execution": {"slots": 2}}, "execution.slots", "slots"),
    ({"parallel": {"port_strategy": "offset"}}, "parallel.port_strategy", "'offset'"),
    ({"agent": {"type": "command", "command": "edit", "max_turns": 3}}, "agent.max_turns", "turns"),
    ({"agent": {"type": "codex", "max_cost_usd": 3}}, "agent.max_cost_usd", "price"),
    ({"agent": {**PATCHES, "model": "m"}}, "agent.model", "'patches'"),
    ({"agent": {**PATCHES, "instructions_file": "AGENTS.md"}}, "agent.instructions_file", "'patches'"),
    ({"agent": {**PATCHES, "env": ["TOKEN"]}}, "agent.env", "'patches'"),
    ({"proposer": {"type": "list", "batch_size": 3}}, "proposer.batch_size", "at once"),
    ({"agent": PATCHES, "proposer": {"type": "patches", "max_backlog": 3}}, "proposer.max_backlog", "at once"),
    ({"shield": {"mode": "shadow"}}, "shield.mode", "'shadow'"),
    ({"notify": {"command": "c"}}, "notify", "telling"),
    ({"sandbox": "require"}, "sandbox", "sandbox"),
]


@pytest.mark.parametrize(("changes", "path", "words"), REFUSED)
def test_what_cannot_be_carried_out_is_refused_by_name(changes: dict[str, Any], path: str, words: str) -> None:
    """Such a spec loads, and starting it is refused with the key, what it asked for, and the mend."""
    (refusal,) = refusals(a_spec(**changes))
    assert refusal.path == path
    assert words in refusal.what
    assert refusal.mend


def test_every_entry_of_the_table_fires() -> None:
    """No refusal stands in the table untested."""
    assert {path for _, path, _ in REFUSED} == {refusal.path for refusal in REFUSALS}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"agent": PATCHES, "proposer": {"type": "patches"}},
        {"agent": {**PATCHES, "max_repairs": 0, "timeout_seconds": 5}},
        {"agent": {"type": "command", "command": "edit", "model": "m", "max_cost_usd": 1, "env": ["TOKEN"]}},
        {"agent": {"type": "claude-code", "max_turns": 40, "max_cost_usd": 2}},
        {"agent": {"type": "codex", "max_cost_usd": 2, "model": "gpt-5.5"}},
        {"proposer": {"type": "list"}},
        {"metric": {"judge": JUDGE}},
        {"measurement": {"holdout": {}, "stability": {"mode": "ladder", "comparison": {"method": "paired"}}}},
        {"parallel": {"port_strategy": "parameterized", "port_env_var": "PORT"}},
        {"sandbox": "auto"},
        {"shield": {"t_allow": 0.1}},
        {"exemplars": {"known_good": [], "trivial": [{"patch": "p"}]}},
    ],
)
def test_what_can_be_carried_out_is_not_refused(changes: dict[str, Any]) -> None:
    """A spec that asks for nothing beyond this version may start."""
    assert refusals(a_spec(**changes)) == ()
