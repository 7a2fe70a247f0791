"""Disks that refuse, for tests: limits of this process, file systems of its own, and a user who may not write."""

import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NOBODY = 65534


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file may pass this many bytes: the nearest thing to a full disk that needs no mount."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def on_a_file_system_of_its_own(folder: Path, script: str, size: str = "200k") -> list[Any]:
    """Run Python with a small empty tmpfs over `folder`; give what it prints, a JSON value a line.

    The mount stands in a namespace of that process and goes with it. Skips where none can be made.
    """
    if os.geteuid() != 0 or sys.platform != "linux":
        pytest.skip("mounting needs root")
    command = f'mount -t tmpfs -o size={size} none "$1" && exec "$2" -c "$3" "$1"'
    shown = subprocess.run(
        ["unshare", "--mount", "sh", "-c", command, "sh", str(folder), sys.executable, textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])},
    )
    if "unshare" in shown.stderr or "mount:" in shown.stderr:
        pytest.skip(f"no mount namespace here: {shown.stderr.strip()}")
    assert shown.returncode == 0, shown.stderr
    return [json.loads(line) for line in shown.stdout.splitlines()]


@contextmanager
def without_rights() -> Iterator[None]:
    """Go on as a user who owns nothing, where this process is root; others have no rights to give up."""
    if os.geteuid() != 0:
        yield
        return
    group = os.getegid()
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(group)
