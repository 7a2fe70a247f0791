"""Runs git: the only file that does.

Every call names its repository (`GIT_DIR`), its tree and its index itself, and nothing else decides what git does:
inherited `GIT_*` variables are dropped, the system's and the user's configuration is not read, hooks, fsmonitor, gc and
reflogs are off, no transport is allowed, pathspecs are literal. Of the user's configuration only what callers pass as
`settings` is handed on (see `UserRepository.settings`). Bytes are never converted by configuration
(`core.autocrlf=false`, `core.eol=lf`, `core.safecrlf=false`): only a commit's own `.gitattributes` may do that.

The package GitPython is imported at the first call, through `git.cmd.Git` alone. It copies the whole environment, so
inherited `GIT_*` variables are taken away by `env -u` in front of the command, where there are any.

Source: CONTRACTS section 1 (git calls); BR-54 (locks are waited for, then named).
"""

import functools
import os
import re
import shutil
import tempfile
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

from headway.errors import GitFailed, GitLocked, GitMissing

LOCK_WAIT_SECONDS = 5.0
"""How long git waits for a ref's lock of another process before it gives up."""

OLDEST_GIT = (2, 32)
"""`GIT_CONFIG_GLOBAL` and `apply --3way --cached` begin here."""

FIXED_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.autocrlf=false",
    "core.eol=lf",
    "core.safecrlf=false",
    "core.quotePath=false",
    "core.logAllRefUpdates=false",
    "core.trustctime=true",
    "core.checkStat=default",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    f"core.filesRefLockTimeout={int(LOCK_WAIT_SECONDS * 1000)}",
    f"core.packedRefsTimeout={int(LOCK_WAIT_SECONDS * 1000)}",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
    "safe.directory=*",
)

FIXED_ENVIRONMENT = {
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}

_LOCK = re.compile(r"Unable to create '(.+\.lock)': File exists")
_LAST_LINES = 6


@dataclass(frozen=True)
class Place:
    """Where a call of git happens: which repository, which tree, which index, which further settings.

    git starts in `cwd` where that is given (the user's own checkout), else in the repository's own folder.
    """

    git_dir: Path | None = None
    work_tree: Path | None = None
    index_file: Path | None = None
    cwd: Path | None = None
    settings: tuple[str, ...] = ()

    def at(self, work_tree: Path | None, index_file: Path | None = None) -> "Place":
        """Give the same repository with another tree and index."""
        return replace(self, work_tree=work_tree, index_file=index_file)

    @property
    def folder(self) -> Path:
        """Where git starts; never inside a tree of headway's, so that nothing in it is found by walking upwards."""
        return self.cwd or self.git_dir or Path("/")


@dataclass(frozen=True)
class Answer:
    """What git said: exit status, standard output, standard error."""

    status: int
    out: bytes
    said: str

    @property
    def text(self) -> str:
        """Standard output as text, without the last line break; odd bytes survive a round trip."""
        return os.fsdecode(self.out).removesuffix("\n")

    @property
    def fields(self) -> list[str]:
        """Standard output split at NUL bytes."""
        return [os.fsdecode(field) for field in self.out.split(b"\0")[:-1]]


def run_git(
    place: Place,
    *words: str,
    stdin: bytes | BinaryIO = b"",
    stdout: BinaryIO | None = None,
    accept: Collection[int] = (0,),
    environment: Mapping[str, str] | None = None,
    user_configuration: bool = False,
) -> Answer:
    """Run one git command and give its answer.

    Args:
        place: repository, tree and index.
        words: the command's words behind `git`, paths behind a `--`.
        stdin: what git reads, bytes or an open file.
        stdout: an open file that takes the output in place of `Answer.out`.
        accept: exit statuses that are an answer and no failure.
        environment: further variables (identity and date of a commit).
        user_configuration: read the user's and the system's configuration (for `git config` alone).
    Raises: GitMissing; GitLocked, naming the lock file; GitFailed with the command's words and git's last lines.
    """
    variables = _environment(place, user_configuration) | dict(environment or {})
    command = [*_without(_inherited(variables)), _program("git"), *_options(place), *words]
    status, out, err = _execute(command, place.folder, stdin, stdout, variables)
    said = os.fsdecode(err).strip()
    if status not in accept:
        raise _failure(words, status, said, place)
    return Answer(status, out, said)


def nul_terminated(paths: Iterable[str]) -> bytes:
    """Give paths in the form that `--stdin -z` reads."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


@functools.cache
def git_version() -> tuple[int, ...]:
    """Say which git this is. Raises: GitMissing, also for one that is too old."""
    said = run_git(Place(), "version").text
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", said)
    version = tuple(int(part or 0) for part in found.groups()) if found else (0,)
    if version < OLDEST_GIT:
        raise GitMissing(f"{said} is too old")
    return version


def _failure(words: tuple[str, ...], status: int, said: str, place: Place) -> GitFailed | GitLocked:
    """Give the error that fits what git said."""
    command = f"git {' '.join(words)}"
    if len(command) > 200:
        command = command[:200] + "..."
    lock = _LOCK.search(said)
    if lock:
        return GitLocked(lock.group(1), command, LOCK_WAIT_SECONDS)
    last_lines = "\n".join(said.splitlines()[-_LAST_LINES:])
    return GitFailed(command, status, last_lines, str(place.work_tree or place.folder))


def _environment(place: Place, user_configuration: bool) -> dict[str, str]:
    """Give the variables that decide where git works."""
    variables = dict(FIXED_ENVIRONMENT)
    if user_configuration:
        del variables["GIT_CONFIG_GLOBAL"], variables["GIT_CONFIG_NOSYSTEM"]
    places = {"GIT_DIR": place.git_dir, "GIT_WORK_TREE": place.work_tree, "GIT_INDEX_FILE": place.index_file}
    return variables | {name: str(path) for name, path in places.items() if path is not None}


def _options(place: Place) -> list[str]:
    """Give the `-c` words; later ones win, so the place's own settings come last."""
    return [word for setting in (*FIXED_SETTINGS, *place.settings) for word in ("-c", setting)]


def _inherited(variables: Mapping[str, str]) -> list[str]:
    """Name the `GIT_*` variables of this process that no call may see."""
    mine = (name for name in os.environ if name.startswith("GIT_") and not name.startswith("GIT_PYTHON_"))
    return [name for name in mine if name not in variables]


def _without(names: Iterable[str]) -> list[str]:
    """Give the words in front of a command that take variables out of its environment."""
    unset = [word for name in names for word in ("-u", name)]
    return [_program("env"), *unset] if unset else []


@functools.cache
def _program(name: str) -> str:
    """Find a program once, by its full path: a program in a tree can never take its place."""
    found = shutil.which(name)
    if found is None:
        raise GitMissing(f"there is no program `{name}` on PATH")
    return str(Path(found).absolute())


def _execute(
    command: list[str], folder: Path, stdin: bytes | BinaryIO, stdout: BinaryIO | None, variables: dict[str, str]
) -> tuple[int, bytes, bytes]:
    """Run a command through GitPython, in a session of its own (Ctrl-C must not tear a git call apart)."""
    git = _git_class()(str(folder))
    with tempfile.TemporaryFile() as spool:
        source: BinaryIO | None = None
        if isinstance(stdin, bytes):
            if stdin:
                spool.write(stdin)
                spool.seek(0)
                source = cast(BinaryIO, spool)
        else:
            source = stdin
        answer = git.execute(
            command,
            istream=source,
            output_stream=stdout,
            with_extended_output=True,
            with_exceptions=False,
            stdout_as_string=False,
            strip_newline_in_stdout=False,
            env=variables,
            start_new_session=True,
        )
    status, out, err = cast(tuple[int, Any, Any], answer)
    return status, out if isinstance(out, bytes) else b"", err.encode() if isinstance(err, str) else err


@functools.cache
def _git_class() -> Any:
    """Import GitPython's command class, late: it costs a tenth of a second."""
    _program("git")
    try:
        from git.cmd import Git
    except ImportError as problem:
        raise GitMissing(str(problem)) from problem
    return Git
