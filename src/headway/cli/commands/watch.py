"""`headway watch`: a run as it goes on."""

import sys
import time
from collections import deque
from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.colour import is_coloured, is_terminal
from headway.cli.commands.status import status_lines
from headway.cli.options import Name, Repo, StateRoot, where_of
from headway.cli.screen import say

if TYPE_CHECKING:
    from headway.app_watch import Look, Watcher

READS_ONLY = True
FACTS = 100
SHARE = 4
"""Looking takes at most one part in so many of the time: a long log is looked at less often."""


def watch(
    every: Annotated[
        float, typer.Option("--every", metavar="SECONDS", min=0.2, help="How often to look; 1 where left out.")
    ] = 1.0,
    repo: Repo = None,
    name: Name = None,
    state_root: StateRoot = None,
) -> None:
    """Show a run as it goes on, until it stops; ctrl-c leaves.

    At a terminal one screen is kept up to date. In a pipe or a file each new fact is one plain line.
    """
    from headway.app_watch import Watcher

    watcher = Watcher(where_of(repo, name, state_root))
    try:
        if is_terminal(sys.stdout):
            _live(watcher, every)
        else:
            _lines(watcher, every)
    except KeyboardInterrupt:
        return  # leaving is what it is for; the run goes on


def _lines(watcher: "Watcher", every: float) -> None:
    """Tell facts as they come, then where the run stands."""
    look = watcher.look()
    while look.is_live:
        say(*_told(look))
        sys.stdout.flush()
        look = _next(watcher, every)
    say(*_told(look), *status_lines(look.status))


def _live(watcher: "Watcher", every: float) -> None:
    """Keep one screen up to date; at the end it stays."""
    from rich.console import Console
    from rich.live import Live

    from headway.cli.watch_screen import has_marks, watch_screen

    console = Console(no_color=not is_coloured(sys.stdout), highlight=False, markup=False, emoji=False)
    plain = not has_marks(sys.stdout.encoding)
    facts: deque[str] = deque(maxlen=FACTS)
    look = watcher.look()
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:
        while True:
            facts.extend(_told(look))
            size = console.size
            live.update(watch_screen(look, tuple(facts), size.width, size.height, plain), refresh=True)
            if not look.is_live:
                return
            look = _next(watcher, every)


def _next(watcher: "Watcher", every: float) -> "Look":
    start = time.monotonic()
    time.sleep(every)
    slept = time.monotonic() - start
    look = watcher.look()
    taken = time.monotonic() - start - slept
    time.sleep(max(0.0, SHARE * taken - slept))
    return look


def _told(look: "Look") -> list[str]:
    from headway.cli.event_lines import line_of

    if look.log is None:
        return []
    lines = ((event.at[11:19], line_of(event, look.log)) for event in look.events)
    return [f"{at}  {line}" for at, line in lines if line]
