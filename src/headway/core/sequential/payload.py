"""Reads what `decide` is told about a run besides the two sides: `run {k, keeps, history, planned, ...}`.

Source: CONTRACTS section 10.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from headway.core.decide_payload import DecisionRequest
from headway.core.loose_numbers import finite_number, positive_integer
from headway.core.sequential.history import REFRESH, Repeats, RunHistory, run_history
from headway.core.sequential.rules import RunState
from headway.core.sequential.sight import Taken
from headway.core.spec_parts import Effort
from headway.errors import PayloadWrong

CALIBRATION_CODE: Final = "baseline"


@dataclass(frozen=True)
class RunPart:
    """The payload's `run`: where the run stands, its history, and the effort in force (None: as in the spec)."""

    state: RunState
    history: RunHistory
    holdout_history: RunHistory
    effort: Effort | None


def read_run(request: DecisionRequest) -> RunPart:
    """Read the `run` of a payload.

    Args:
        request: the payload. `run.history` lists sessions, oldest first: `{code, samples: {metric: [...]}, k, role}`
            or `[code, [...]]` with the primary's samples; `role` is `reference` (default), `candidate` or `kept`. The
            first session is the calibration. `run.incumbent` names the code of the current best; without it that is
            the newest keep's number where the history has it, else the first session's code.
    Returns: the part. A run that is not told is its first candidate, without history.
    Raises: PayloadWrong, for anything else.
    """
    run = request.run
    keeps = _keeps(run.get("keeps"))
    lists = _lists(run.get("history"), request, "run.history")
    k = positive_integer(run.get("k"), len(keeps) + 1)
    history = run_history(lists)
    if lists and not any(repeats.k for repeats in lists[1:]):  # no session says when: every third refreshes the level
        history = RunHistory(history.metrics, k - k % REFRESH if k % REFRESH else k - REFRESH)
    return RunPart(
        state=RunState(
            k=k,
            incumbent=_incumbent(run, keeps, lists),
            keeps=keeps,
            planned=positive_integer(run.get("planned"), 0) or None,
        ),
        history=history,
        holdout_history=run_history(_lists(run.get("holdout_history"), request, "run.holdout_history")),
        effort=_effort(run.get("effort")),
    )


def paired_samples(values: Sequence[Any] | None, against: Sequence[Any] | None) -> Taken:
    """Put the samples of two sides together by measurement: a pair that lacks a side's value is left out whole.

    Args:
        values: the reference's samples; `null` and what is no finite number is a failed measurement.
        against: the candidate's; the first may stand alone.
    """
    reference = [finite_number(value) for value in values or ()]
    candidate = [finite_number(value) for value in against or ()]
    whole = [(a, b) for a, b in zip(reference, candidate, strict=False) if a is not None and b is not None]
    if not whole:
        return Taken((), tuple(value for value in candidate[len(reference) :] if value is not None)[:1])
    return Taken(tuple(a for a, _ in whole), tuple(b for _, b in whole))


def _keeps(given: Any) -> tuple[int, ...]:
    if given is None:
        return ()
    if not isinstance(given, list | tuple) or not all(positive_integer(k, 0) for k in given):
        raise PayloadWrong(
            "run.keeps is no list of candidate numbers", "run.keeps", "list the k of each keep, such as [3, 17]"
        )
    return tuple(sorted(positive_integer(k, 0) for k in given))


def _effort(given: Any) -> Effort | None:
    if given is None:
        return None
    known = [effort for effort in Effort if effort not in (Effort.LEAN, Effort.AUTO)]
    if given not in known:
        raise PayloadWrong(f"{given!r} is no effort that decides alone", "run.effort", f"use {', '.join(known)}")
    return Effort(given)


def _incumbent(run: Mapping[str, Any], keeps: Sequence[int], lists: Sequence[Repeats]) -> str:
    if run.get("incumbent") is not None:
        return str(run["incumbent"])
    codes = [repeats.code for repeats in lists]
    if keeps and str(keeps[-1]) in codes:
        return str(keeps[-1])
    return codes[0] if codes else CALIBRATION_CODE


def _lists(given: Any, request: DecisionRequest, where: str) -> tuple[Repeats, ...]:
    if given is None:
        return ()
    if not isinstance(given, list | tuple):
        raise PayloadWrong(f"{where} must be a list of sessions", where, "write a list there")
    return tuple(_repeats(session, request, f"{where}[{at}]", is_first=at == 0) for at, session in enumerate(given))


def _repeats(session: Any, request: DecisionRequest, where: str, *, is_first: bool) -> Repeats:
    row = session if isinstance(session, Mapping) else _row(session, where)
    samples = row.get("samples")
    if not isinstance(samples, Mapping):
        samples = {request.objectives[0].name: samples}
    role = row.get("role", "candidate" if str(row.get("code")).startswith("-") else "reference")
    if role not in ("reference", "candidate", "kept"):
        raise PayloadWrong(f"{role!r} is no role", f"{where}.role", "use reference, candidate or kept")
    return Repeats(
        code=str(row.get("code", CALIBRATION_CODE)),
        values={name: _numbers(values, f"{where}.samples.{name}") for name, values in samples.items()},
        k=0 if is_first else positive_integer(row.get("k"), 0),
        is_reference=role == "reference",
        was_kept=role == "kept",
    )


def _row(session: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(session, list | tuple) or len(session) != 2:
        raise PayloadWrong("a session is no object and no pair", where, "write {code, samples: {metric: [...]}, k}")
    return {"code": session[0], "samples": session[1]}


def _numbers(values: Any, where: str) -> tuple[float, ...]:
    numbers = [finite_number(value) for value in values] if isinstance(values, list | tuple) else [None]
    if any(number is None for number in numbers):
        raise PayloadWrong("samples of a session must be finite numbers", where, "leave failed measurements out")
    return tuple(number for number in numbers if number is not None)
