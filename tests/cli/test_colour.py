"""Colours and narrow terminals: wanted or not, and never the only thing that tells."""

import io
import os
import pty
import re
import subprocess
import sys
import termios
from collections.abc import Mapping
from fcntl import ioctl
from pathlib import Path
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from headway.app_watch import Look
from headway.cli.colour import STYLES, fitted, is_coloured, painted
from headway.cli.watch_screen import has_marks, watch_screen
from headway.core.eta import eta_of
from headway.core.log_words import Outcome
from headway.core.report import status_of
from tests.builders import a_spec
from tests.core.test_report import A_BEST, ROOT, a_log, a_run_state, an_entry

SAMPLE = Path(__file__).parents[2] / "state" / "sample" / "textindex"
COLOURED = re.compile(r"\x1b\[[0-9;]*m")


def at_a_terminal(columns: int, *words: str, **environment: str) -> str:
    """What a command shows on a terminal so wide, with line ends of text."""
    leader, follower = pty.openpty()
    ioctl(follower, termios.TIOCSWINSZ, pack("HHHH", 40, columns, 0, 0))
    known = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS", "LINES", "HEADWAY_JOB")}
    process = subprocess.Popen(
        [sys.executable, "-m", "headway.cli.main", *words],
        stdin=follower,
        stdout=follower,
        stderr=subprocess.PIPE,
        env={**known, "TERM": "xterm", **environment},
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(leader)
    error = process.communicate(timeout=60)[1]
    assert process.returncode == 0, error
    return shown.decode("utf-8").replace("\r\n", "\n")


def test_outcomes_are_coloured_at_a_terminal_and_the_words_stay() -> None:
    """Without the colours the text is the same."""
    shown = at_a_terminal(200, "log", "show", "--state-root", str(SAMPLE))
    assert "\x1b[1;34mkept\x1b[0m" in shown
    plain = at_a_terminal(200, "log", "show", "--state-root", str(SAMPLE), NO_COLOR="1")
    assert "\x1b" not in plain
    assert COLOURED.sub("", shown) == plain


@pytest.mark.parametrize(
    ("environment", "expected"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_colours_are_left_out_where_they_are_not_wanted(environment: Mapping[str, str], expected: bool) -> None:
    """As no-color.org says: any text, but not an empty one."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    assert is_coloured(Terminal(), environment) is expected
    assert is_coloured(io.StringIO(), environment) is False


def test_a_pipe_gets_lines_as_they_are() -> None:
    """However long, without a colour."""
    command = [sys.executable, "-m", "headway.cli.main", "log", "show", "--state-root", str(SAMPLE)]
    known = {k: v for k, v in os.environ.items() if k != "HEADWAY_JOB"}
    out = subprocess.run(command, capture_output=True, text=True, check=True, env={**known, "COLUMNS": "20"}).stdout
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) > 100


@pytest.mark.parametrize("columns", [30, 60, 100])
def test_a_narrow_terminal_gets_lines_that_fit(columns: int) -> None:
    """Broken between words; commands and paths are left to be copied."""
    shown = at_a_terminal(columns, "status", "--state-root", str(SAMPLE), NO_COLOR="1")
    wide = [line for line in shown.splitlines() if len(line) > columns]
    assert [line for line in wide if not re.search(r"next:|headway|git|state root:", line)] == []
    assert "next: git diff 7b0b90d42294..optimize/textindex" in shown


@given(
    st.text(alphabet=st.characters(blacklist_categories=["Cc", "Cs", "Zl", "Zp", "Zs"]), max_size=60),
    st.integers(0, 90),
)
def test_breaking_a_line_loses_no_word(text: str, width: int) -> None:
    """In their order."""
    line = "  a  " + re.sub("(.{5})", r"\1 ", text)
    assert " ".join(fitted(line, width)).split() == line.split()


def test_every_outcome_with_a_style_is_one_of_the_logs() -> None:
    """And none of the final ones but the deferred is forgotten."""
    words = {str(outcome) for outcome in Outcome if outcome.is_final}
    assert set(STYLES) == words - {"deferred_needs_approval"}


def test_only_cells_are_coloured() -> None:
    """A hypothesis that says `kept` is other people's text."""
    assert painted("1  kept  +1%  what was kept is kept") == "1  \x1b[1;34mkept\x1b[0m  +1%  what was kept is kept"
    assert painted("experiment 3: timeout") == "experiment 3: \x1b[35mtimeout\x1b[0m"


# The live view


def a_look(live: bool = True, hypothesis: str = "use a heap") -> Look:
    """A run with a keep, an open experiment and a cap."""
    entries = [
        an_entry(1, "kept", hypothesis=hypothesis, metrics={"seconds": 1.5}, commit="c" * 40),
        an_entry(2, "measured", hypothesis=hypothesis, metrics={"seconds": 1.6}),
    ]
    log = a_log(entries, run_state=a_run_state("running", {"kept": 1}), best=A_BEST)
    status = status_of(log, a_spec(stopping={"max_iterations": 3}), (), live, ROOT)
    return Look(status, log, eta_of(status), (), {2: 65.0}, live)


def drawn(look: Look, width: int, height: int = 30, plain: bool = False, lines: tuple[str, ...] = ()) -> str:
    """The view as text, without colours."""
    out = io.StringIO()
    console = Console(file=out, width=width, height=height, no_color=True, markup=False, highlight=False)
    console.print(watch_screen(look, lines, width, height, plain))
    return out.getvalue()


def test_the_live_view_says_where_the_run_is_and_what_is_running() -> None:
    """Best, gain, noise, caps, the open experiment with its time, and how long it may take."""
    shown = drawn(a_look(), 100, lines=("12:00:00  exp 1  kept",))
    for part in ("running", "best 1.5", "+25.0%", "noise 10.0%", "1 of 3 experiments", "use a heap", "65.0 s"):
        assert part in shown, part
    assert "others took 30.0 min" in shown
    assert "at most about 60.0 min more: 2 experiments are left" in shown
    assert "12:00:00  exp 1  kept" in shown
    assert "next:" not in shown
    assert "next: headway" in drawn(a_look(live=False), 100)


@pytest.mark.parametrize("width", [20, 40, 69, 70, 120])
def test_the_live_view_fits_any_terminal(width: int) -> None:
    """No line is wider."""
    shown = drawn(a_look(hypothesis="a very long hypothesis " * 9), width, lines=("x" * 300,))
    assert max(map(len, shown.splitlines())) <= width


def test_the_live_view_obeys_nothing_in_a_log() -> None:
    """Control characters and rich's own marks are text."""
    shown = drawn(a_look(hypothesis="[red]x[/red]\x1b]0;owned\x07"), 100, lines=("\x1b[2J",))
    assert "\x1b" not in shown
    assert "[red]x[/red]" in shown


def test_the_live_view_has_a_form_without_block_letters() -> None:
    """For terminals that have ASCII alone."""
    assert has_marks("utf-8")
    assert not has_marks("ascii")
    assert not has_marks(None)
    assert drawn(a_look(), 100, plain=True).isascii()


def test_an_estimate_is_bounded_by_the_nearest_cap() -> None:
    """Half an hour an experiment: two more by number, or what is left of the hours."""
    log = a_log([an_entry(1, "kept")], run_state=a_run_state("running", {"kept": 1}), best=A_BEST)
    by_number = eta_of(status_of(log, a_spec(stopping={"max_iterations": 3}), (), True, ROOT))
    assert (by_number.typical_seconds, by_number.at_most_seconds) == (1800, 3600)
    by_hours = eta_of(status_of(log, a_spec(stopping={"max_hours": 1}), (), True, ROOT))
    assert (by_hours.at_most_seconds, by_hours.bound) == (1800, "1 hours are the cap")
    before = eta_of(status_of(None, a_spec(), (), True, ROOT))
    assert (before.typical_seconds, before.at_most_seconds) == (None, None)
