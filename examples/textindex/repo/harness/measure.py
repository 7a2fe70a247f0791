"""Measure one candidate: how many seconds does it take to index some of Python's own source files?

Prints one JSON object. `build_seconds` is the processor time (user and system) of a child process that has the
candidate build an index, as the operating system billed it: the candidate is never asked for a time. Of two builds
the faster one counts, since what disturbs a build only ever adds to it. `index_equal` says whether both indexes equal
those of `reference.py`.

The seed in HEADWAY_SEED picks the files: from every class of size, one for each build. So each measurement sees other
files, but the same number of them and very nearly the same number of bytes, and its two builds share no file: an
answer remembered from an earlier build is a wrong one.

Exits with 1, and says why in `error`, when the candidate crashes or what it hands back is not JSON.
"""

import contextlib
import ctypes
import json
import os
import random
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reference import reference_index

HARNESS = Path(__file__).resolve().parent
LEFT_OUT = {"test", "tests", "idlelib", "lib2to3", "site-packages", "dist-packages", "__pycache__"}
SMALLEST_FILE, LARGEST_FILE = 2_000, 16_000  # bytes
BUILDS, FILES_PER_BUILD = 2, 32
PR_SET_CHILD_SUBREAPER = 36  # Linux, <sys/prctl.h>


class MeasurementFailed(Exception):
    """There is nothing to compare: `why`, and what the candidate's process said on its way out."""

    def __init__(self, why: str, said: str = "") -> None:
        super().__init__(why, said)
        self.why, self.said = why, said


def source_files() -> list[Path]:
    """List the standard library's source files of middling size, smallest first, always in the same order."""
    library = Path(sysconfig.get_path("stdlib"))
    found = []
    for folder, inner, names in os.walk(library):
        inner[:] = [name for name in inner if name not in LEFT_OUT]
        for path in (Path(folder, name) for name in names if name.endswith(".py")):
            size = path.stat().st_size
            if SMALLEST_FILE <= size <= LARGEST_FILE:
                found.append((size, path.relative_to(library).as_posix(), path))
    return [path for _, _, path in sorted(found)]


def pick(files: Sequence[Path], seed: int) -> list[list[Path]]:
    """Pick the files of each build: one from every class of size, in an order of the seed's own.

    Args:
        files: all that there are, smallest first.
        seed: the same seed picks the same files, in the same order.
    Returns: BUILDS lists of FILES_PER_BUILD files, no file twice.
    Raises: MeasurementFailed, when there are too few files.
    """
    if len(files) < BUILDS * FILES_PER_BUILD:
        raise MeasurementFailed(f"this Python's library has only {len(files)} source files of middling size")
    chance = random.Random(seed)
    bounds = [len(files) * place // FILES_PER_BUILD for place in range(FILES_PER_BUILD + 1)]
    classes = [chance.sample(files[low:high], BUILDS) for low, high in zip(bounds, bounds[1:])]
    picked = [list(files_of_one_build) for files_of_one_build in zip(*classes)]
    for files_of_one_build in picked:
        chance.shuffle(files_of_one_build)
    return picked


def build(texts: Sequence[str], folder: Path) -> tuple[Any, float]:
    """Have the candidate build one index, in a child process.

    Args:
        texts: the contents of the files.
        folder: a folder of our own, for the exchange.
    Returns: what the child handed back, parsed and otherwise untouched; the processor seconds it used.
    Raises: MeasurementFailed, when the child did not end with 0 or wrote no JSON.
    """
    order, answer, talk = folder / "texts.json", folder / "index.json", folder / "stderr.txt"
    order.write_text(json.dumps(texts), encoding="utf-8")
    with order.open("rb") as stdin, answer.open("wb") as stdout, talk.open("wb") as stderr:
        child = subprocess.Popen(
            [sys.executable, "-B", "-s", "-S", str(HARNESS / "run_candidate.py")],
            stdin=stdin, stdout=stdout, stderr=stderr, cwd=HARNESS.parent, env=environment_of_child(folder),
        )  # fmt: skip
        try:
            status, seconds = wait_for_all(child)
        except BaseException:  # told to stop: nothing of ours goes on without us
            child.kill()
            raise
    said = talk.read_bytes().decode("utf-8", "replace").strip()
    if status != 0:
        last_line = said.rpartition("\n")[2] or "it said nothing"
        raise MeasurementFailed(f"the candidate's process ended with status {status}: {last_line}", said)
    print(said, end="", file=sys.stderr)
    try:
        return json.loads(answer.read_bytes()), seconds
    except (ValueError, RecursionError) as problem:
        raise MeasurementFailed(f"the candidate's process wrote something that is not JSON: {problem}") from problem


def environment_of_child(folder: Path) -> dict[str, str]:
    """Give the child's environment: no seed, and a home and a temporary folder that end with this measurement."""
    private = folder / "private"
    private.mkdir(exist_ok=True)
    kept = {name: os.environ[name] for name in ("PATH", "HEADWAY_JOB") if name in os.environ}
    return {**kept, "HOME": str(private), "TMPDIR": str(private), "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"}


def wait_for_all(child: subprocess.Popen[bytes]) -> tuple[int, float]:
    """Wait for the child and for all that it left running; give its exit status and what they used together."""
    status, seconds = 0, 0.0
    with contextlib.suppress(ChildProcessError):  # raised when nobody is left
        while True:
            pid, state, usage = os.wait4(-1, 0)
            seconds += usage.ru_utime + usage.ru_stime
            if pid == child.pid:
                status = child.returncode = os.waitstatus_to_exitcode(state)
    return status, seconds


def adopt_orphans() -> None:
    """Become the parent of whatever the child leaves running, where the system can do that (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def are_equal(found: Any, expected: Any) -> bool:
    """Say whether what a candidate handed back is the expected index, to the last number and its type."""
    return json.dumps(found, sort_keys=True) == json.dumps(expected, sort_keys=True)


def measure(seed: int) -> dict[str, Any]:
    """Have the candidate index the seed's files, and compare its answer with the reference's."""
    picked = pick(source_files(), seed)
    batches = [[path.read_text(encoding="utf-8", errors="replace") for path in files] for files in picked]
    with tempfile.TemporaryDirectory(prefix="textindex-") as folder:
        built = [build(texts, Path(folder)) for texts in batches]
    expected = [reference_index(texts) for texts in batches]
    return {
        "build_seconds": round(min(seconds for _, seconds in built), 6),
        "index_equal": all(are_equal(found, index) for (found, _), index in zip(built, expected)),
        "documents": sum(len(texts) for texts in batches),
        "words": sum(sum(index["lengths"]) for index in expected),
        "terms": sum(len(index["postings"]) for index in expected),
        "bytes": sum(path.stat().st_size for files in picked for path in files),
    }


def main() -> int:
    """Print the measurement of the seed in HEADWAY_SEED (0 when there is none)."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    adopt_orphans()
    try:
        print(json.dumps(measure(int(os.environ.get("HEADWAY_SEED") or 0))))
    except MeasurementFailed as failure:
        print(json.dumps({"error": failure.why}))
        print(f"measure.py: {failure.why}", failure.said, sep="\n", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
