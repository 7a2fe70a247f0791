"""`headway approve`: a person's yes to a run that waits at its gate."""

from typing import Annotated

import typer

from headway.cli.options import Json, Repo, SpecFile, StateRoot, UncappedSpend, where_of
from headway.cli.progress import Progress
from headway.cli.screen import print_document, say


def approve(
    spec: SpecFile,
    name: Annotated[str, typer.Option("--as", metavar="NAME", help="Who approves; it stands in the log.")],
    uncapped_spend: UncappedSpend = False,
    repo: Repo = None,
    state_root: StateRoot = None,
    as_json: Json = False,
) -> None:
    """Clear the approval gate of a run that waits at it."""
    from headway import app
    from headway.core.records import to_row

    approval = app.approve(spec, where_of(repo, state_root=state_root), name, uncapped_spend, Progress().tell)
    if as_json:
        print_document(to_row(approval))
        return
    say(f"approved by {name}: spec {approval.spec_sha256[:12]}", "`headway resume` starts the experiments")
