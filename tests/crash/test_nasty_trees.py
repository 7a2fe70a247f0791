"""The short form of `bench/nasty_trees.py`: trees that do all they can to outlive their job."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.crash,
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and subreapers"),
]
SCRIPT = Path(__file__).parents[2] / "bench" / "nasty_trees.py"


def test_no_process_of_a_nasty_tree_is_left_and_no_late_result_is_credited() -> None:
    """Every ending once, two of them with a forged exit: nothing lives, nothing late counts."""
    done = subprocess.run([sys.executable, str(SCRIPT), "--runs", "10"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert (figures["runs"], figures["left_after_10s"], figures["late_credited"]) == (10, 0, 0)
    assert figures["killed_leftovers"] > 0
