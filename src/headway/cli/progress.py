"""Tells on standard error what a run does: read live, or later in a file."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headway.cli.door import leave_quietly
from headway.cli.screen import visible

if TYPE_CHECKING:
    from headway.core.events import Event
    from headway.core.log_view import Log


@dataclass
class Progress:
    """Tells what a run does; once nobody reads it any more it is silent, and the run goes on.

    Args:
        is_quiet: tell nothing.
        write: takes one line; standard error where it is left out.
    """

    is_quiet: bool = False
    write: Callable[[str], None] | None = None

    def tell(self, text: str) -> None:
        """Tell one line that belongs to no fact."""
        if self.is_quiet:
            return
        try:
            (self.write or _to_stderr)(visible(text))
        except OSError:  # the terminal is closed, the pipe's reader left
            self.is_quiet = True
            leave_quietly()

    def on_event(self, event: "Event", log: "Log") -> None:
        """Tell of a fact, with the time at which it was recorded."""
        from headway.cli.event_lines import line_of

        line = line_of(event, log)
        if line:
            self.tell(f"{event.at[11:19]}  {line}" if event.at else line)


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
