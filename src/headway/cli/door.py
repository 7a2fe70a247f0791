"""Where every error of the command line ends: told in words, with an exit code, never as a traceback.

With `--json` standard output still holds exactly one document: `{"error": {"what", "where", "mend", "exit_code"}}`.

Source: STYLE section 6.
"""

import os
import platform
import select
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from headway import __version__
from headway.cli.screen import print_document, visible
from headway.errors import HeadwayError, InternalFault, RequestWrong, UsageWrong

READER_GONE = 141
"""Exit code when whoever reads our output has left, as of a program that SIGPIPE ended."""


class InsideTurn(RequestWrong):
    """An agent that headway started asked for a command that writes."""

    def __init__(self, command: str) -> None:
        super().__init__(
            f"`headway {command}` writes, and is refused inside an agent's turn",
            "HEADWAY_JOB is set in the environment",
            "leave running, approving and stopping to the person whose run this is; a guard rail, not a wall",
        )
        self.args = (command,)


class PlatformRefused(RequestWrong):
    """This operating system is not one that headway runs on."""

    def __init__(self, name: str) -> None:
        super().__init__(
            "headway does not run on Windows", name, "use Linux, for example in the Windows Subsystem for Linux"
        )
        self.args = (name,)


def refuse_platform(name: str) -> None:
    """Refuse Windows by name. Raises: PlatformRefused."""
    if name.startswith(("win", "cygwin", "msys")):
        raise PlatformRefused(name)


def wants_json(args: Sequence[str]) -> bool:
    """Say whether the caller reads JSON: known before the words of the command line could be understood."""
    return "--json" in (args[: args.index("--")] if "--" in args else args)


def tell(error: HeadwayError, as_json: bool) -> int:
    """Tell an error to whoever asked; give the exit code."""
    if as_json:
        print_document(
            {"error": {"what": error.what, "where": error.where, "mend": error.mend, "exit_code": error.exit_code}}
        )
    else:
        print(f"headway: {visible(str(error))}", file=sys.stderr)
    return error.exit_code


def usage_wrong(message: str, command: str) -> UsageWrong:
    """Give the error for words that the command line does not have.

    Args:
        message: what is wrong, with the nearest word where there is one.
        command: as far as it was understood: `headway run`.
    """
    return UsageWrong(message.rstrip("."), command, f"`{command} --help` lists the words it knows")


def tell_bug(problem: BaseException, args: Sequence[str], as_json: bool) -> int:
    """Write a report of a bug in headway, and tell where it lies; give the exit code."""
    said = problem.what if isinstance(problem, HeadwayError) else f"{type(problem).__name__}: {problem}"
    where = problem.where if isinstance(problem, HeadwayError) else ""
    try:
        report = _write_report(problem, args)
        mend = f"the run's data is as it was; please report this with the file {report}"
    except OSError as refused:
        mend = f"the run's data is as it was; no report could be written ({refused.strerror})"
    return tell(InternalFault(f"a bug in headway: {said}", where, mend), as_json)


def _write_report(problem: BaseException, args: Sequence[str]) -> Path:
    handle, name = tempfile.mkstemp(prefix="headway-bug-", suffix=".txt")
    lines = [
        f"headway {__version__}, Python {platform.python_version()}, {platform.platform()}",
        f"arguments: {list(args)!r}",
        "",
        *traceback.format_exception(problem),
    ]
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write("\n".join(lines))
    return Path(name)


def is_unread(stream: TextIO) -> bool:
    """Say whether nobody reads a stream any more: the pipe's other end is closed."""
    poll = select.poll()
    try:
        poll.register(stream.fileno(), 0)
    except (OSError, ValueError):
        return False  # no file at all, as in tests
    return bool(poll.poll(0))


def leave_quietly() -> None:
    """Let what is still written to a standard output or error that nobody reads vanish, at the exit too."""
    for stream in (sys.stdout, sys.stderr):
        if is_unread(stream):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
