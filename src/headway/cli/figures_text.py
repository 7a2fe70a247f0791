"""A run's figures and its end, as text; the same lines after `run`, `status`, `wrap-up` and `demo`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headway.cli.screen import counted, duration, gain_text, number, one_line, percent, samples_text, table

if TYPE_CHECKING:
    from headway.app import RunEnded
    from headway.core.claims import Claims
    from headway.core.figures import Keep, RunFigures, Value
    from headway.core.report import Status


def figure_lines(figures: "RunFigures") -> list[str]:
    """Give what a run came to: experiments, baseline and best, cost, and what was kept."""
    rows = [
        ("experiments", _counts(figures)),
        ("baseline", _value(figures, figures.baseline)),
        ("best", _best(figures)),
        *([("in all", f"{_total(figures)}, positive is better; {figures.gain_basis}")] if _has_keep(figures) else []),
        *_claim_rows(figures.claims),
        ("noise", _noise(figures)),
        *([("harness", figures.harness)] if figures.keeps else []),
        ("time", f"{duration(figures.active_seconds)} active"),
        ("cost", _cost(figures)),
    ]
    return [*table(rows), *_keep_lines(figures)]


def _total(figures: "RunFigures") -> str:
    found = figures.gain_range
    return gain_text(found.estimate, found.low, found.high) if found is not None else percent(figures.gain)


def _claim_rows(claims: "Claims | None") -> list[tuple[str, str]]:
    """Give what stands behind the keeps: effort, what chance may have kept, and the machine."""
    if claims is None:
        return []
    ground = claims.environment or {}
    machine = f"{ground.get('cpu', 'unknown')}, {ground.get('cores', '?')} cores, {ground.get('system', 'unknown')}"
    return [
        ("effort", f"{claims.effort}: {claims.effort_reason}{'' if claims.effort_is_final else '; not final yet'}"),
        ("by chance", _chance(claims)),
        *([("measured on", machine)] if ground else []),
    ]


def _chance(claims: "Claims") -> str:
    if not claims.by_chance:
        return "no keep: repeats are equal" if claims.sessions else "nothing was decided yet"
    return (
        f"at most {claims.by_chance:.2g} keeps expected over {counted(claims.sessions, 'session')}, "
        "were no candidate better"
    )


def _counts(figures: "RunFigures") -> str:
    if figures.counts is None:
        return f"{figures.experiments}; the log has no totals"
    parts = ", ".join(f"{n} {outcome}" for outcome, n in figures.counts.items())
    return f"{figures.experiments}: {parts}" if parts else str(figures.experiments)


def _value(figures: "RunFigures", value: "Value") -> str:
    samples = f": {samples_text(value.samples)}" if value.samples else ""
    return f"{figures.metric} {number(value.value)}{samples}"


def _best(figures: "RunFigures") -> str:
    if not _has_keep(figures):
        return "the baseline: nothing was kept"
    return f"{_value(figures, figures.best)}, experiment {figures.best.iteration}"


def _has_keep(figures: "RunFigures") -> bool:
    return figures.best.iteration > 0


def _noise(figures: "RunFigures") -> str:
    spread = figures.noise.get(figures.metric)
    if spread is None:
        return "unknown: the baseline's variance is not recorded"
    return f"{spread:.2%} between the highest and lowest measurement of the untouched code"


def _cost(figures: "RunFigures") -> str:
    if figures.cost_usd is not None:
        return f"{figures.cost_usd:.2f} USD ({figures.cost_basis})"
    known = f"; {figures.cost_known_usd:.2f} USD of it are known" if figures.cost_known_usd else ""
    return f"unknown{known} ({figures.cost_basis})"


def _keep_lines(figures: "RunFigures") -> list[str]:
    if not figures.keeps:
        return []
    earlier = [f"  {figures.keeps_not_listed} earlier ones are not listed"] if figures.keeps_not_listed else []
    head = "kept, each gain drawn towards 0, with its 95% interval:" if figures.claims is not None else "kept:"
    return [head, *earlier, *(f"  {line}" for line in table(_keep_row(keep) for keep in figures.keeps))]


def _keep_row(keep: "Keep") -> tuple[str, ...]:
    gain = keep.gain
    words = gain_text(gain.estimate, gain.low, gain.high) if gain else "gain not recorded"
    forged = "measured by a harness that can be forged; " if keep.forgeable else ""
    return (str(keep.iteration), words, (keep.commit or "no commit")[:10], forged + one_line(keep.hypothesis, 80))


def ended_lines(ended: "RunEnded") -> list[str]:
    """Give how a run ended, its figures, and how to look further and go on."""
    lines = [f"{ended.status} ({ended.reason}): {ended.detail}"]
    if ended.changed:
        lines.append(f"the spec was frozen anew; changed: {', '.join(ended.changed)}")
    if ended.figures is not None:
        lines += figure_lines(ended.figures)
        if _has_keep(ended.figures):
            base = (ended.figures.base or "BASE")[:12]
            lines.append(f"branch {ended.branch}: `git diff {base}..{ended.branch}` shows all that was kept")
        if ended.figures.experiments:
            lines.append("`headway show N` shows one experiment whole")
    lines.append(f"state root: {ended.state_root}")
    lines.append(f"to go on: {ended.continue_with}")
    return lines


def ended_document(ended: "RunEnded", gate: "Status | None" = None) -> dict[str, Any]:
    """Give how a run ended as plain data; at the gate with the command that clears it and the caps it is about."""
    document: dict[str, Any] = {
        "reason": ended.reason,
        "detail": ended.detail,
        "continue_with": gate.next_action.command if gate else ended.continue_with,
        "status": ended.status,
        "exit_code": ended.exit_code,
        "state_root": str(ended.state_root),
        "branch": ended.branch,
        "changed": list(ended.changed),
        "figures": ended.figures.to_json() if ended.figures else None,
    }
    if gate is not None:
        document["caps"] = dict(gate.caps)
        document["forecast"] = None if gate.forecast is None else gate.forecast.to_json()
    return document


def experiment_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Give an entry of the log in one line."""
    gain = (row.get("headway") or {}).get("gain")
    words = percent(gain.get("estimate")) if isinstance(gain, Mapping) else str(row.get("primary_delta") or "-")
    return (
        str(row.get("iteration", "?")),
        str(row.get("outcome", "?")),
        words,
        one_line(str(row.get("hypothesis", "")), 60),
        one_line(_aside(row), 60),
    )


def _aside(row: Mapping[str, Any]) -> str:
    """Say what is not plain from the outcome: edits that were left out, a failure's cause."""
    tamper = (row.get("headway") or {}).get("tamper") or ()
    if tamper:
        return f"not its own, left out: {', '.join(str(t.get('path')) for t in tamper)}"
    if row.get("outcome") in ("error", "timeout"):
        return str(row.get("error_message") or "")
    return str(row.get("learnings") or "") if row.get("outcome") == "degenerate" else ""
