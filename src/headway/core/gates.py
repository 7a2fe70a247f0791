"""Degenerate gates: what must hold before a candidate's metrics mean anything."""

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Protocol

from headway.core.loose_numbers import finite_number
from headway.errors import GateCheckWrong

OPERATORS: Final[Mapping[str, Callable[[float, float], bool]]] = MappingProxyType(
    {
        ">=": operator.ge,
        "<=": operator.le,
        "==": operator.eq,
        "!=": operator.ne,
        ">": operator.gt,
        "<": operator.lt,
    }
)
CHECK: Final = re.compile(r"(>=|<=|==|!=|>|<)\s*(.+)", re.DOTALL)


class NamedCheck(Protocol):
    """A gate as the spec declares it: the name of a measured value and the check that it must pass."""

    @property
    def name(self) -> str: ...

    @property
    def check(self) -> str: ...


@dataclass(frozen=True)
class Check:
    """A comparison with a finite number."""

    symbol: str
    threshold: float

    def passes(self, value: Any) -> bool:
        """Say whether a measured value holds; a missing or non-finite one never does, booleans count 0 and 1."""
        number = finite_number(value)
        return number is not None and OPERATORS[self.symbol](number, self.threshold)


@dataclass(frozen=True)
class GateResult:
    """Which gates hold: all together, the names of those that do not, and each by name."""

    passed: bool
    failed: tuple[str, ...]
    by_name: Mapping[str, bool]


def parse_check(text: str, gate: str = "") -> Check:
    """Read a check such as `>= 0.9`.

    Args:
        text: an operator and a number.
        gate: name of the gate, for the message.
    Returns: the check.
    Raises: GateCheckWrong, where the text is none.
    """
    match = CHECK.fullmatch(text.strip())
    threshold = finite_number(match[2]) if match else None
    if match is None or threshold is None:
        raise GateCheckWrong(text, gate)
    return Check(match[1], threshold)


def check(gates: Iterable[NamedCheck], values: Mapping[str, Any]) -> GateResult:
    """Say which gates a measurement passes.

    Args:
        gates: as declared; order is kept.
        values: measured values by name; a missing one fails its gate.
    Returns: the result.
    Raises: GateCheckWrong, where a declared check cannot be evaluated: a gate is never passed for want of a rule.
    """
    verdicts = [(gate.name, parse_check(gate.check, gate.name).passes(values.get(gate.name))) for gate in gates]
    failed = tuple(name for name, holds in verdicts if not holds)
    # one value may have two checks (a lower and an upper bound): it holds where all of them do
    by_name = {name: name not in failed for name, _ in verdicts}
    return GateResult(not failed, failed, MappingProxyType(by_name))
