"""`headway watch` beside a run that another process carries out."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.e2e.toy import HEADWAY, Toy, a_toy

pytestmark = pytest.mark.e2e


def _started(folder: Path) -> tuple[Toy, "subprocess.Popen[bytes]"]:
    toy = a_toy(folder, [f"sleep 1; echo {n} > number.txt" for n in (50, 20)])
    run = toy.start("run", str(toy.spec), "--approve-as", "ann")
    deadline = time.monotonic() + 60
    while not toy.log_path.is_file() and time.monotonic() < deadline:
        time.sleep(0.05)
    return toy, run


def test_watching_in_a_pipe_tells_each_fact_and_then_where_the_run_stands(tmp_path: Path) -> None:
    """Plain lines, in their order; it ends with the run."""
    toy, run = _started(tmp_path)
    said = toy.headway("watch", "--every", "0.2")
    assert run.wait(60) == 0
    assert "\x1b" not in said.out
    told = [line for line in said.out.splitlines() if "exp 2" in line]
    kinds = [next((w for w in ("dispatched", "candidate", "decision", "kept") if w in line), "") for line in told]
    assert [kind for kind in kinds if kind in ("decision", "kept")] == ["decision", "kept"]
    assert "toy: final" in said.out


def test_whoever_watches_may_leave_and_the_run_goes_on(tmp_path: Path) -> None:
    """Ctrl-c is how one leaves: no error, no word."""
    toy, run = _started(tmp_path)
    watching = subprocess.Popen(
        [*HEADWAY, "watch", "--every", "0.2"],
        cwd=toy.repository.root,
        env=dict(toy.environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert watching.stdout is not None
    os.read(watching.stdout.fileno(), 1)
    watching.send_signal(signal.SIGINT)
    _, error = watching.communicate(timeout=30)
    assert (watching.returncode, error) == (0, b"")
    assert run.wait(60) == 0
    assert toy.outcomes() == ["kept", "kept"]


def test_a_run_that_nobody_carries_out_is_shown_once(tmp_path: Path) -> None:
    """Nothing is waited for."""
    toy = a_toy(tmp_path, ["echo 50 > number.txt"])
    toy.headway("run", str(toy.spec), "--approve-as", "ann")
    out = toy.headway("watch").out
    assert out.startswith("toy: final"), "what is over is no news"
