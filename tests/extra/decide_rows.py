"""Checks a file of payloads with known answers against `headway decide --lines`.

Run: python tests/extra/decide_rows.py PATH, each line `{"id": ..., "payload": ..., "expected": ...}`.
Prints `N rows, M differ`, the first differences by field, and exits 1 when there are any.
"""

import json
import sys
from pathlib import Path
from typing import Any

from headway.cli.commands.decide import answers

SHOWN = 5


def differences(path: Path) -> tuple[int, list[str]]:
    """Give the number of rows and one line of text for each that gets another answer."""
    rows = [json.loads(line) for line in path.read_bytes().split(b"\n") if line.strip()]
    given = answers(json.dumps(row["payload"]).encode() for row in rows)
    # as parsed JSON: what a caller of the command reads
    pairs = [(row, json.loads(json.dumps(answer))) for row, answer in zip(rows, given, strict=True)]
    return len(rows), [_difference(row, answer) for row, answer in pairs if answer != row["expected"]]


def _difference(row: dict[str, Any], answer: dict[str, Any]) -> str:
    expected = row["expected"]
    fields = [name for name in {**expected, **answer} if expected.get(name) != answer.get(name)]
    told = (f"{name} is {answer.get(name)!r} and must be {expected.get(name)!r}" for name in fields)
    return f"row {row['id']}: " + "; ".join(told)


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: python tests/extra/decide_rows.py PATH", file=sys.stderr)
        return 2
    rows, differing = differences(Path(arguments[0]))
    for line in differing[:SHOWN]:
        print(line)
    print(f"{rows} rows, {len(differing)} differ")
    return 1 if differing or not rows else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
