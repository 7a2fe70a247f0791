"""The program `headway`: finds its commands by listing a folder, and is the one door where their errors end.

A command is a file in `cli/commands/` with one typed function of the file's name (a dash is an underscore there, and
an underscore behind a word of Python's is not part of the name); a folder is a command of commands. Help needs none of
what a command needs to run: commands import the app when they are called. A command counts as one that writes, and is
refused inside an agent's turn, unless its module says `READS_ONLY = True`.
"""

import functools
import importlib
import os
import pkgutil
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType, ModuleType
from typing import Annotated, Any

import typer
import typer.main

from headway import __version__
from headway.cli import commands, door
from headway.errors import HeadwayError, InternalFault, Interrupted
from headway.store.atomic import disk_failure, is_disk_trouble

USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]  # click's UsageError, wherever this typer keeps it
BUG = InternalFault.exit_code


def entry() -> None:
    """Run the program: what the console script calls."""
    signal.signal(signal.SIGTERM, _interrupted)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(main(sys.argv[1:]))


def _interrupted(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main(args: Sequence[str]) -> int:
    """Carry out one command line; give the exit code. Nothing is raised but SystemExit and KeyboardInterrupt."""
    as_json = door.wants_json(args)
    try:
        door.refuse_platform(sys.platform)
        command = typer.main.get_command(build_app())
        code = command.main(args=list(args), prog_name="headway", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except HeadwayError as error:
        return door.tell_bug(error, args, as_json) if error.exit_code == BUG else door.tell(error, as_json)
    except USAGE_ERROR as wrong:
        return door.tell(_usage(wrong), as_json)
    except Exception as problem:
        if isinstance(problem, OSError) and is_disk_trouble(problem):
            return door.tell(disk_failure(problem, Path(problem.filename or Path.cwd())), as_json)
        return door.tell_bug(problem, args, as_json)


def _usage(wrong: Any) -> HeadwayError:
    context = getattr(wrong, "ctx", None)
    return door.usage_wrong(wrong.format_message(), context.command_path if context else "headway")


def build_app() -> typer.Typer:
    """Build the program from the folder of its commands."""
    app = typer.Typer(
        name="headway",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_headway)
    _add_commands(app, commands)
    return app


def _headway(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    """Makes measurable headway on code: proposes, measures, keeps only what is better, and logs why."""
    if version:
        print(f"headway {__version__}")
        raise typer.Exit
    _help_of_none(context)


def _help_of_none(context: typer.Context) -> None:
    """Show the help where no command is named."""
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit


def _add_commands(app: typer.Typer, folder: ModuleType) -> None:
    for found in sorted(pkgutil.iter_modules(folder.__path__), key=lambda module: module.name):
        module = importlib.import_module(f"{folder.__name__}.{found.name}")
        name = found.name.rstrip("_").replace("_", "-")
        if found.ispkg:
            group = typer.Typer(rich_markup_mode=None, help=(module.__doc__ or "").split("\n\n")[0])
            group.callback(invoke_without_command=True)(_help_of_none)
            _add_commands(group, module)
            app.add_typer(group, name=name)
        else:
            app.command(name)(_guarded(getattr(module, found.name), name, getattr(module, "READS_ONLY", False)))


def _guarded(function: Callable[..., None], name: str, reads_only: bool) -> Callable[..., None]:
    """Give a command that is refused where it must be, and that signals and closed pipes end in order."""

    @functools.wraps(function)
    def command(*args: Any, **options: Any) -> None:
        if not reads_only and "HEADWAY_JOB" in os.environ:
            raise door.InsideTurn(name)
        try:
            function(*args, **options)
            sys.stdout.flush()
        except KeyboardInterrupt:
            raise Interrupted("interrupted", "", "what was measured is on disk; `headway resume` goes on") from None
        except BrokenPipeError as broken:
            if not (door.is_unread(sys.stdout) or door.is_unread(sys.stderr)):
                raise InternalFault("a pipe to another process broke") from broken
            door.leave_quietly()
            raise typer.Exit(door.READER_GONE) from None

    return command


if __name__ == "__main__":
    entry()
