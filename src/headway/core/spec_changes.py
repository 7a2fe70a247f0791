"""What differs between two specs, and what of that a run may take over without a fresh start.

Source: CONTRACTS section 3 (Approval).
"""

from typing import Any

from headway.core.spec import Spec

FREE = (
    "stopping",
    "execution.max_concurrent",
    "execution.mode",
    "agent",
    "proposer",
    "notify",
    "metric.judge.max_total_cost_usd",
    "shield.t_allow",
    "shield.t_block",
    "shield.timeout_seconds",
    "hypotheses",
)
"""Fields that a run may take over once the gate is cleared again: they change no measurement and no decision."""


def changes_between(old: Spec, new: Spec) -> tuple[str, ...]:
    """Name the fields that differ, as dotted paths, the deepest that tell them apart."""
    return tuple(_differences("", old.model_dump(mode="json"), new.model_dump(mode="json")))


def _differences(path: str, old: Any, new: Any) -> list[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        names = list(dict.fromkeys([*old, *new]))
        return [p for n in names for p in _differences(f"{path}.{n}".lstrip("."), old.get(n), new.get(n))]
    return [] if old == new else [path]


def is_free(path: str) -> bool:
    """Say whether a changed field needs no fresh start."""
    return any(path == free or path.startswith(free + ".") for free in FREE)
