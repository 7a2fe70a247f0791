"""`headway clean`: remove headway's own leftovers of a run."""

from headway.cli.options import Json, Name, Repo, StateRoot, where_of
from headway.cli.progress import Progress
from headway.cli.screen import print_document, say


def clean(repo: Repo = None, name: Name = None, state_root: StateRoot = None, as_json: Json = False) -> None:
    """Remove the trees that a run left behind. Its results stay."""
    from headway import app

    removed = app.clean(where_of(repo, name, state_root), Progress().tell)
    if as_json:
        print_document({"removed": removed})
    else:
        say(*(f"removed {path}" for path in removed) if removed else ("nothing was left to remove",))
