"""`headway status`: one screen that says where a run stands and what to do next."""

from typing import TYPE_CHECKING

from headway.cli.figures_text import figure_lines
from headway.cli.options import Json, Name, Repo, StateRoot, where_of
from headway.cli.screen import number, one_line, percent, print_document, say, table

if TYPE_CHECKING:
    from headway.core.report import Budget, Row, Status

READS_ONLY = True


def status(repo: Repo = None, name: Name = None, state_root: StateRoot = None, as_json: Json = False) -> None:
    """Show where a run stands, and the next command, with why."""
    from headway import app

    shown = app.status(where_of(repo, name, state_root))
    if as_json:
        print_document(shown.to_json())
    else:
        say(*status_lines(shown))


def status_lines(status: "Status") -> list[str]:
    """Give a status as one screen."""
    lines = [
        f"{status.spec}: {status.state.replace('_', ' ')}" + (f", run {status.run_id}" if status.run_id else ""),
        f"next: {status.next_action.command}",
        f"  why: {status.next_action.why}",
    ]
    if status.figures is not None:
        lines += figure_lines(status.figures)
    if status.forecast is not None:
        from headway.core.forecast import forecast_words

        lines += ["what can be found:", *(f"  {line}" for line in forecast_words(status.forecast))]
    if status.figures is not None:
        lines.append(f"backlog: {_backlog(status)}")
        lines += ["budget:", *(f"  {line}" for line in table(_budget_row(b) for b in status.budget))]
    if status.phase:
        lines += ["under way:", *(f"  {p.iteration}  {p.stage}: {one_line(p.hypothesis, 70)}" for p in status.phase)]
    if status.recent:
        lines += ["newest experiments:", *(f"  {line}" for line in table(_recent_row(r) for r in status.recent))]
    if status.notices:
        lines += ["notices:", *(f"  {notice}" for notice in status.notices)]
    return [*lines, f"branch: {status.branch}", f"state root: {status.state_root}"]


def _backlog(status: "Status") -> str:
    parts = ["not filled yet" if status.backlog is None else _waiting(status.backlog)]
    if status.deferred:
        names = sorted({name for item in status.deferred for name in item.required_deps})
        parts.append(f"{len(status.deferred)} of them for approval of {', '.join(names)}")
    if status.dropped:
        parts.append(f"{status.dropped} dropped without a candidate")
    return ", ".join(parts)


def _waiting(many: int) -> str:
    return "1 hypothesis waits" if many == 1 else f"{many} hypotheses wait"


def _budget_row(budget: "Budget") -> tuple[str, str]:
    cap = "no limit" if budget.cap is None else f"of {number(budget.cap)}"
    return budget.name, f"{number(budget.used)} {cap}" if budget.cap is not None else f"{number(budget.used)}, {cap}"


def _recent_row(row: "Row") -> tuple[str, ...]:
    gain = percent(row.gain.estimate) if row.gain else row.primary_delta or "-"
    return str(row.iteration), row.outcome, gain, one_line(row.hypothesis, 70)
