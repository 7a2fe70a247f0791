"""Colours of the terminal: none where they are not wanted, and never the only thing that tells.

`NO_COLOR` (any text), `TERM=dumb`, and a pipe or file in the terminal's place each turn them off. The colours are told
apart by every kind of colour blindness; the words beside them say the same.
"""

import os
import re
import shutil
import textwrap
from collections.abc import Mapping
from typing import TextIO

STYLES: Mapping[str, str] = {
    "kept": "bold blue",
    "runner_up_kept": "bold blue",
    "reverted": "yellow",
    "runner_up_reverted": "yellow",
    "censored": "yellow",
    "inconclusive": "dim",
    "not_selected": "dim",
    "error": "magenta",
    "timeout": "magenta",
    "degenerate": "magenta",
}
"""Outcome -> style, in rich's words."""
_CODES = {"bold blue": "1;34", "yellow": "33", "dim": "2", "magenta": "35"}
_OUTCOMES = "|".join(sorted(STYLES, key=len, reverse=True))
_CELL = re.compile(rf"(?<=  )({_OUTCOMES})(?=  |$)|(?<=^experiment )(\d+: )({_OUTCOMES})$")
_COPIED = re.compile(r"^\s*(next:|to go on:|state root:|files:|headway |git )|`(headway|git) ")
"""Lines that hold a command or a path to be copied: they are not broken, the terminal folds them itself."""
NARROWEST = 20


def is_coloured(stream: TextIO, environment: Mapping[str, str] | None = None) -> bool:
    """Say whether colours may be written to a stream."""
    known = os.environ if environment is None else environment
    return is_terminal(stream) and not known.get("NO_COLOR") and known.get("TERM") != "dumb"


def is_terminal(stream: TextIO) -> bool:
    """Say whether somebody reads a stream at a terminal."""
    try:
        return stream.isatty()
    except ValueError:
        return False


def painted(line: str) -> str:
    """Give a line with the outcomes in its cells coloured."""
    return _CELL.sub(_paint, line)


def _paint(found: re.Match[str]) -> str:
    word = found[1] or found[3]
    return f"{found[2] or ''}\x1b[{_CODES[STYLES[word]]}m{word}\x1b[0m"


def fitted(line: str, width: int) -> list[str]:
    """Break a line that is wider than the terminal between words, what follows indented.

    Args:
        line: without line ends.
        width: of the terminal, in characters.
    """
    if len(line) <= width or width < NARROWEST or _COPIED.search(line):
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=f"{indent}    ",
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
        drop_whitespace=True,
    )


def width_of(stream: TextIO) -> int:
    """Give the width of the terminal that a stream goes to."""
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return shutil.get_terminal_size().columns
