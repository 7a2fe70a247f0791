"""Puts headway's own decisions into a simulator that somebody else wrote, to compare with the rules it knows.

Run: python tests/extra/decision_adapter.py FOLDER candidates [simulate.py's options]
     python tests/extra/decision_adapter.py FOLDER budget [simulate_budget.py's options]

FOLDER holds `simulate.py`, `simulate_budget.py` and `efforts.py` of the shared design. They need numpy, which headway
does not: run it with an interpreter that has both. Rules are named `headway-quick`, `headway-standard`,
`headway-thorough`, and `headway-lean`, beside the reference implementation's.
"""

import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from headway.core.sequential.candidate import Decision, decide_candidate
from headway.core.sequential.history import Repeats, RunHistory
from headway.core.sequential.lean import LeanRun
from headway.core.sequential.lean_words import GroupEnded, Measured, Promising
from headway.core.sequential.rules import BOUNDS, Objective, Rules, RunState, spending_of
from headway.core.sequential.sight import Taken
from headway.core.spec_parts import Effort, ErrorControl

METRIC = "metric"
WORDS = {"keep": "improved", "revert": "regressed"}


class CandidateRule:
    """The simulator's rule: samples of both sides in, a verdict and whether to measure on."""

    sampling = "cand_first"
    baseline_n = 8

    def __init__(self, effort: Effort) -> None:
        self.name = f"headway-{effort}"
        self.effort = effort
        self.decision: Decision | None = None

    def __call__(
        self, reference: Sequence[float], candidate: Sequence[float], told: Mapping[str, Any]
    ) -> tuple[str, str]:
        sign = 1 if told["direction"] == "maximize" else -1
        control = ErrorControl.NONE if self.effort is Effort.QUICK else ErrorControl.RUN
        rules = Rules((Objective(METRIC, sign),), BOUNDS[self.effort], spending_of(self.effort, control, None))
        state = RunState(told["k"], str(told["incumbent"]), tuple(told["keeps"]), 100)
        session = {METRIC: Taken(tuple(reference), tuple(candidate))}
        self.decision = decide_candidate(session, self._history(told), rules, state)
        is_log = self.decision.sights[0].history.is_log
        told["_log"] = is_log  # type: ignore[index]  # the simulator reads it back
        return WORDS.get(self.decision.decided, self.decision.decided), self.decision.next_measurement

    def report(self, reference: Sequence[float], candidate: Sequence[float], told: Mapping[str, Any]) -> float:
        """Give what a keep claims, on the working scale."""
        assert self.decision is not None
        return self.decision.gains()[METRIC].estimate

    def _history(self, told: Mapping[str, Any]) -> RunHistory:
        """Take in the sessions that the simulator has added since; codes below 0 are rejected candidates."""
        kept: dict[str, Any] = told["run"]
        history: RunHistory = kept.get("history", RunHistory())
        known = kept.get("known", 0)
        for code, values in told["history"][known:]:
            k = 0 if known == 0 else told["k"] - 1
            history = history.plus(Repeats(str(code), {METRIC: tuple(values)}, k, is_reference=code >= 0))
            known += 1
        kept["history"], kept["known"] = history, known
        return history


class GroupRule:
    """The budget simulator's rule: asks for measurements, is told values, tells what follows."""

    def __init__(self, budget: int, direction: str) -> None:
        self.budget, self.used = budget, 0
        self.run = LeanRun((Objective(METRIC, 1 if direction == "maximize" else -1),), budget)

    @property
    def paired_mode(self) -> bool:
        return self.run.drifts

    def ask(self) -> tuple[str, int] | None:
        order = self.run.order
        return None if order is None else (order.role, order.k)

    def tell(self, value: float) -> list[tuple[Any, ...]]:
        self.used += 1
        told: list[tuple[Any, ...]] = []
        for event in self.run.tell(Measured({METRIC: value}, self.budget - self.used)):
            if isinstance(event, Promising):
                told.append(("promising", event.k))
            elif not isinstance(event, GroupEnded):
                told.append((event.how, event.k))
            elif event.how == "kept":
                told.append(("kept", list(event.members), event.gains[METRIC], event.scales[METRIC]))
            else:
                told.append(("dropped", list(event.members)))
        return told


def all_rules() -> list[CandidateRule]:
    """Give the efforts that decide candidate by candidate."""
    return [CandidateRule(effort) for effort in BOUNDS]


def main(arguments: Sequence[str]) -> int:
    if len(arguments) < 2 or arguments[1] not in ("candidates", "budget"):
        print(__doc__, file=sys.stderr)
        return 2
    folder, which, *options = arguments
    sys.path.insert(0, folder)
    sys.modules["decision_adapter"] = sys.modules[__name__]
    if which == "candidates":
        sys.argv = ["simulate.py", "--rules", "decision_adapter:all_rules", "efforts:all_rules", *options]
        importlib.import_module("simulate").main()
    else:
        sys.argv = ["simulate_budget.py", *options]
        simulator = importlib.import_module("simulate_budget")
        simulator.RULES["headway-lean"] = GroupRule
        simulator.main()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
