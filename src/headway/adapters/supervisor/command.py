"""The process that becomes a job's command: forked before the claim is durable, let go after it."""

import contextlib
import os
import signal
from collections.abc import Mapping
from typing import Any, NoReturn

from .job_files import STDERR_FILE, STDOUT_FILE
from .process_table import MARK
from .system_calls import die_with_parent

NOT_FOUND_CODE = 127


class Command:
    """A child that waits to become the command of an order. It goes when its keeper does.

    Nothing of the job's folder is touched before `begin`. Raises: OSError, when it cannot be forked.
    """

    def __init__(self, order: Mapping[str, Any]) -> None:
        go, self._go = os.pipe()
        self._report, report = os.pipe()
        keeper = os.getpid()
        try:
            self.pid = os.fork()
            if self.pid == 0:
                os.close(self._go)
                _become(order, keeper, go, report)
        except OSError:
            self.close()
            raise
        finally:
            os.close(go)
            os.close(report)

    def begin(self) -> None:
        """Let it become the command."""
        with contextlib.suppress(BrokenPipeError):  # it was killed while it waited: its end will say so
            os.write(self._go, b"g")

    def problem(self) -> str:
        """Why it could not become the command, else empty; known once it has, or has ended."""
        return os.read(self._report, 4096).decode(errors="replace")  # its end of file comes with exec

    def close(self) -> None:
        """Let go of it."""
        for descriptor in (self._go, self._report):
            os.close(descriptor)


def _become(order: Mapping[str, Any], keeper: int, go: int, report: int) -> NoReturn:
    """In the forked child: wait, then turn into the command.

    What prevents that is said to `report` and on the job's standard error; all else that is open closes with exec.
    """
    try:
        die_with_parent(keeper)
        os.setsid()
        for number in (signal.SIGPIPE, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        if os.read(go, 1):
            _take_on(order)
    except (OSError, ValueError) as problem:  # ValueError: a NUL in an argument
        text = f"the command could not be started: {problem}"
        os.write(report, text.encode(errors="replace"))
        os.write(2, f"headway: {text}\n".encode(errors="replace"))
    finally:
        os._exit(NOT_FOUND_CODE)


def _take_on(order: Mapping[str, Any]) -> NoReturn:
    """Open the job's files as our own and become its command."""
    for target, name in ((2, STDERR_FILE), (1, STDOUT_FILE)):  # errors first, to have a place for the next one
        _redirect(os.open(os.path.join(order["folder"], name), os.O_WRONLY | os.O_APPEND), target)
    _redirect(os.open(order["stdin"] or os.devnull, os.O_RDONLY), 0)
    os.chdir(order["cwd"])
    argv = order["argv"] or ["/bin/sh", "-c", order["command"]]
    os.execvpe(argv[0], argv, {**order["env"], MARK: order["folder"]})


def _redirect(descriptor: int, target: int) -> None:
    """Put an open file in the place of a standard stream."""
    os.dup2(descriptor, target)
    os.close(descriptor)
