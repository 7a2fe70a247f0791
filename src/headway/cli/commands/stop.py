"""`headway stop`: ask a live run to stop."""

from headway.cli.options import Json, Name, Repo, StateRoot, where_of
from headway.cli.progress import Progress
from headway.cli.screen import print_document, say


def stop(repo: Repo = None, name: Name = None, state_root: StateRoot = None, as_json: Json = False) -> None:
    """Ask a live run to stop at its next safe point."""
    from headway import app

    answer = app.stop(where_of(repo, name, state_root), Progress().tell)
    if as_json:
        print_document({"answer": answer})
    else:
        say(answer)
