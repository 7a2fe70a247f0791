"""Options that several commands share, and the run that they name."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:  # the app is imported when a command runs, never for its help
    from headway.app import Where

Repo = Annotated[
    Path | None, typer.Option("--repo", metavar="DIR", help="A folder in the repository; left out: the current one.")
]
Name = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="The spec's name; left out: the repository's only run.")
]
StateRoot = Annotated[
    Path | None,
    typer.Option(
        "--state-root",
        metavar="DIR",
        help="The run's state root; left out: HEADWAY_STATE_ROOT, else .headway/NAME in the repository.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else, on standard output.")]
SpecFile = Annotated[Path, typer.Argument(metavar="SPEC", help="The spec, a YAML file.")]
Iteration = Annotated[int, typer.Argument(metavar="N", help="Number of the experiment.", min=1)]
UncappedSpend = Annotated[
    bool, typer.Option("--uncapped-spend", help="The explicit yes to a judge without a cost cap.")
]


def where_of(repo: Path | None = None, name: str | None = None, state_root: Path | None = None) -> "Where":
    """Give the run that the options name; it is looked for when it is needed."""
    from headway.app import Where

    return Where(repo=repo, name=name, state_root=state_root, environment=dict(os.environ))
