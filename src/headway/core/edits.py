"""The three ways in which the log changes.

Pure functions in core make lists of these; the store applies a list in one commit.
Source: DESIGN section 5 (a change is an edit list).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class AppendExperiment:
    """Add one experiment's row behind the last."""

    row: Mapping[str, Any]


@dataclass(frozen=True)
class ReplaceExperiment:
    """Put a new row in the place of the experiment with this number."""

    iteration: int
    row: Mapping[str, Any]


@dataclass(frozen=True)
class SetSection:
    """Set a top-level section; `None` removes it."""

    name: str
    value: Any


Edit = AppendExperiment | ReplaceExperiment | SetSection

SECTION_ORDER = (
    "spec",
    "run_id",
    "started_at",
    "baseline",
    "harness_validation",
    "experiments",
    "best",
    "approval",
    "run_state",
    "hypothesis_backlog",
)
"""The seed's key order; all that changes stands near the end."""
