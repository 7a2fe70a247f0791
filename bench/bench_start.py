"""CPU time of starting: `headway --help`, and importing the package.

Processor time of the child process (user and system), median of several; the two alternate, so that a busy machine
hurts both. Bar: under 300 ms each (DESIGN section 12). The last line is one JSON object.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence

HELP = (sys.executable, "-c", "import sys; from headway.cli.main import main; sys.exit(main(['--help']))")
IMPORT = (sys.executable, "-c", "import headway")


def cpu_ms(command: Sequence[str]) -> float:
    """Run a command to its end and give the processor time it took, in milliseconds. Raises: CalledProcessError."""
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return 1000 * (after.children_user + after.children_system - before.children_user - before.children_system)


def main() -> None:
    """Print each figure, then the JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15, help="starts of each kind (default 15)")
    repeats = parser.parse_args().repeats
    for command in (HELP, IMPORT):
        cpu_ms(command)  # the first start writes the byte code of the others
    taken = [(cpu_ms(HELP), cpu_ms(IMPORT)) for _ in range(repeats)]
    figures = {
        "help_cpu_ms": round(statistics.median(help_ms for help_ms, _ in taken), 1),
        "import_cpu_ms": round(statistics.median(import_ms for _, import_ms in taken), 1),
        "repeats": repeats,
    }
    print(f"headway --help: {figures['help_cpu_ms']} ms; import headway: {figures['import_cpu_ms']} ms")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
