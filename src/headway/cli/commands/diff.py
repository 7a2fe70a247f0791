"""`headway diff`: an experiment's patch, kept or reverted."""

import sys

from headway.cli.options import Iteration, Json, Name, Repo, StateRoot, where_of
from headway.cli.screen import print_document, visible

READS_ONLY = True


def diff(
    iteration: Iteration, repo: Repo = None, name: Name = None, state_root: StateRoot = None, as_json: Json = False
) -> None:
    """Print an experiment's patch, kept or reverted. A terminal gets it with control characters written out."""
    from headway import app

    text = app.diff(where_of(repo, name, state_root), iteration)
    if as_json:
        print_document({"iteration": iteration, "diff": text})
    elif sys.stdout.isatty():
        print(visible(text), end="")
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()
