"""Feed the log's scanner mangled files and compare it with a parser; stop at the first that it gets wrong.

Run: python tests/fuzz/fuzz_scanner.py --seconds 60 [--seed 1]

Starts from `tests/fuzz/corpus`, mangles one file at a time, and says how many it tried. A file that reads otherwise
than a parser reads it, or that ends in anything but a refusal with its line, is written into the corpus as `found-...`
and the exit code is 1. The normal test run replays the corpus.
"""

import argparse
import hashlib
import random
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).parents[2]))

from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import YAMLError
from ruamel.yaml.reader import ReaderError

from headway.errors import DataDamaged
from headway.store.scan import EXPERIMENTS
from headway.store.splice import Change, spliced, splices_of
from headway.store.version import Version, canonical, version_of

CORPUS = Path(__file__).with_name("corpus")
PLACE = Path("log.yaml")
LONGEST = 4000
ROW = {"iteration": 900, "hypothesis": "a: b", "learnings": "x\ny\n"}
WORDS = [
    *['"', "'", "- ", ": ", "\n", "\r\n", "\r", "  ", "\t", "|", ">", "|-", "|+", ">-", "|1", "#", " #", "? ", "%"],
    *[
        "[",
        "]",
        "{",
        "}",
        ", ",
        "&a ",
        "*a",
        "<<: *a",
        "!!str ",
        "!x ",
        "---\n",
        "...\n",
        "\ufeff",
        "\u2028",
        "\x85",
        "\0",
    ],
    *["experiments:\n", "experiments: []\n", "best: 3\n", "- iteration: 7\n", "  iteration: 5\n", "iteration: ", "-\n"],
    *[
        ": |\n",
        ": >\n",
        ' "x\n',
        "it's",
        '\\"',
        '"a # b"',
        '- "q',
        '  note: "a\n   b"\n',
        "x: 'y\n",
        "- |\n",
        "\n   1\n",
    ],
    *[
        "1e5",
        "0777",
        "0x1F",
        "yes",
        "null",
        "~",
        "2026-11-30",
        ".inf",
        "-.nan",
        "12:30",
        "é",
        "😀",
        "# a: |\n",
        "\n\n\n",
    ],
]


class Texts(SafeConstructor):
    """Leaves moments the text that they are, as headway does."""


Texts.add_constructor("tag:yaml.org,2002:timestamp", SafeConstructor.construct_yaml_str)


def parsed(data: bytes) -> dict[str, Any] | None:
    """What a parser reads in a file; None when it is no log for it."""
    parser = YAML(typ="safe", pure=True)
    parser.Constructor = Texts
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            document = parser.load(data.decode("utf-8"))
    except (
        YAMLError,
        ReaderError,
        UnicodeDecodeError,
        ValueError,
        TypeError,
        RecursionError,
        AttributeError,
        AssertionError,
    ):
        return None
    return document if isinstance(document, dict) else None


def fault(data: bytes) -> str:
    """What is wrong with how headway takes a file; empty when nothing is."""
    try:
        version = version_of(bytearray(data), PLACE)
        found = {name: version.section(name) for name in version.names if name != EXPERIMENTS}
        rows = list(version.rows())
    except DataDamaged as refusal:
        return _fault_of_refusal(refusal, data)
    except Exception as error:  # what a fuzz run looks for
        return f"{type(error).__name__} escapes: {error}"
    whole = parsed(data)
    if whole is None:
        return "a file that no parser reads was read"
    entries = whole.pop(EXPERIMENTS, None) or []
    if canonical(list(found.items())) != canonical(list(whole.items())):
        return f"the sections are {found!r}, and a parser reads {whole!r}"
    if canonical(rows) != canonical(entries):
        return f"the experiments are {rows!r}, and a parser reads {entries!r}"
    return _fault_of_change(version, data)


def _fault_of_refusal(refusal: DataDamaged, data: bytes) -> str:
    line = int(refusal.where.rpartition(" ")[2])
    lines = max(len(data.decode("utf-8", "replace").splitlines()), data.count(b"\n") + 1)
    return "" if 1 <= line <= lines else f"a refusal names line {line} of {lines}"


def _fault_of_change(version: Version, data: bytes) -> str:
    """Put an experiment in, as a commit does where it trusts the scan."""
    if not (version.may_be_spliced and version.layout.is_sure) or version.index_of(900) is not None:
        return ""
    before = parsed(data) or {}
    first, text = spliced(version, splices_of(Change(appended={900: ROW}), version))
    after = parsed(data[:first] + text)
    before[EXPERIMENTS] = [*(before.get(EXPERIMENTS) or []), ROW]
    return (
        "" if after is not None and canonical(after) == canonical(before) else f"an experiment put in gives {after!r}"
    )


def mangled(data: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    """A file with some things done to it."""
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(data))
        end = min(len(data), at + chance.randint(0, 12))
        lines = data.splitlines(keepends=True) or [b""]
        pick = chance.randrange(len(lines))
        match chance.randrange(9):
            case 0:
                data = data[:at] + chance.choice(WORDS).encode() + data[at:]
            case 1:
                data = data[:at] + chance.choice(WORDS).encode() + data[end:]
            case 2:
                data = data[:at] + data[end:]
            case 3:
                data = data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
            case 4:
                data = b"".join([*lines[:pick], *lines[pick + 1 :]])
            case 5:
                lines.insert(chance.randrange(len(lines) + 1), lines[pick])
                data = b"".join(lines)
            case 6:
                lines[pick] = b" " * chance.randint(1, 4) + lines[pick]
                data = b"".join(lines)
            case 7:
                lines[pick] = lines[pick].lstrip(b" ")
                data = b"".join(lines)
            case _:
                other = chance.choice(others).splitlines(keepends=True) or [b""]
                low = chance.randrange(len(other))
                lines[pick:pick] = other[low : low + chance.randint(1, 6)]
                data = b"".join(lines)
    return data[:LONGEST]


def fuzz(seconds: float, seed: int, corpus: Path = CORPUS) -> tuple[int, Path | None]:
    """Try mangled files for a while.

    Returns: how many were tried, and the file written for the first that went wrong, if one did.
    """
    chance = random.Random(seed)
    files = [path.read_bytes() for path in sorted(corpus.iterdir())]
    end = time.monotonic() + seconds
    tried = 0
    while time.monotonic() < end:
        data = mangled(chance.choice(files), files, chance)
        tried += 1
        if fault(data):
            path = corpus / f"found-{hashlib.sha256(data).hexdigest()[:12]}"
            path.write_bytes(data)
            return tried, path
    return tried, None


def main() -> int:
    """Run it as a command."""
    arguments = argparse.ArgumentParser(description="Fuzz the scanner of the experiment log.")
    arguments.add_argument("--seconds", type=float, default=60.0)
    arguments.add_argument("--seed", type=int, default=0, help="0: another one each time")
    chosen = arguments.parse_args()
    seed = chosen.seed or random.SystemRandom().randrange(1, 1 << 31)
    tried, found = fuzz(chosen.seconds, seed)
    print(f"{tried} files tried from seed {seed}")
    if found is not None:
        print(f"{found}: {fault(found.read_bytes())}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
