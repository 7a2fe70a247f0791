"""Checks a file of scalars with hard spellings against headway's emitter and four YAML loaders.

Run: python -m tests.extra.scalar_vectors PATH, a JSON list of `{"value": ...}`; `{"$float": "nan"}` stands for a number
that JSON cannot hold. Prints `N vectors, R refused, M misread`, each refusal and the first misreadings; exits 1 when
there are any of these.
"""

import json
import sys
from pathlib import Path
from typing import Any

from headway.errors import RequestWrong
from headway.store.emit import emit_mapping
from tests.store.loaders import LOADERS, disagreements

SHOWN = 5


def value_of(vector: dict[str, Any]) -> Any:
    """The value that a vector stands for."""
    value = vector["value"]
    return float(value["$float"]) if isinstance(value, dict) and "$float" in value else value


def checked(path: Path) -> tuple[int, list[str], list[str]]:
    """Give how many vectors there are, the refusals, and the misreadings, a line each."""
    vectors = json.loads(path.read_bytes())
    refused: list[str] = []
    misread: list[str] = []
    for value in map(value_of, vectors):
        try:
            misread += _plain(value) if isinstance(value, float) and value - value != 0 else disagreements(value)
        except RequestWrong as refusal:
            refused.append(f"{ascii(value)[:60]}: {refusal.what}")
    return len(vectors), refused, misread


def _plain(value: float) -> list[str]:
    """As `disagreements`, of a number that is not finite: it can be no key."""
    row = {"v": value, "w": [{"x": [value]}]}
    return [name for name, load in LOADERS.items() if repr(load(emit_mapping(row))) != repr(row)]


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: python -m tests.extra.scalar_vectors PATH", file=sys.stderr)
        return 2
    count, refused, misread = checked(Path(arguments[0]))
    for line in [*(f"refused {line}" for line in refused), *misread[:SHOWN]]:
        print(line)
    print(f"{count} vectors, {len(refused)} refused, {len(misread)} misread")
    return 1 if misread else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
