"""`headway wrap-up`: the choice at the end of a run."""

from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.figures_text import figure_lines
from headway.cli.options import Json, Name, Repo, StateRoot, where_of
from headway.cli.progress import Progress
from headway.cli.screen import one_line, print_document, say

if TYPE_CHECKING:
    from headway.app import WrappedUp


def wrap_up(
    approve_dep: Annotated[
        list[str] | None,
        typer.Option("--approve-dep", metavar="NAME", help="Approve a dependency; may be said several times."),
    ] = None,
    go_on: Annotated[bool, typer.Option("--continue", help="Let the run go on; `headway resume` then does.")] = False,
    done: Annotated[bool, typer.Option("--done", help="Close the run.")] = False,
    final_check: Annotated[
        bool,
        typer.Option("--final-check", help="Measure the best against the untouched code anew, in 2 to 10 fresh pairs."),
    ] = False,
    repo: Repo = None,
    name: Name = None,
    state_root: StateRoot = None,
    as_json: Json = False,
) -> None:
    """Choose how a run ends. Without a choice, shows what there is to choose."""
    from headway import app
    from headway.core.records import to_row

    wishes = app.WrapUpWishes(tuple(approve_dep or ()), go_on, done, final_check)
    progress = Progress()
    wrapped = app.wrap_up(where_of(repo, name, state_root), wishes, progress.tell, progress.on_event)
    if not as_json:
        say(*_lines(wrapped))
        return
    print_document(
        {
            "status": wrapped.status,
            "deferred": [to_row(item) for item in wrapped.deferred],
            "approved_deps": list(wrapped.approved_deps),
            "next": wrapped.next,
            "figures": wrapped.figures.to_json(),
        }
    )


def _lines(wrapped: "WrappedUp") -> list[str]:
    lines = [f"the run is {wrapped.status}", *figure_lines(wrapped.figures)]
    if wrapped.deferred:
        lines.append("deferred, for these need dependencies that nobody approved:")
        lines += [f"  {', '.join(item.required_deps)}: {one_line(item.description)}" for item in wrapped.deferred]
    if wrapped.approved_deps:
        lines.append(f"approved dependencies: {', '.join(wrapped.approved_deps)}")
    return [*lines, f"next: {wrapped.next}"]
