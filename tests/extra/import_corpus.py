"""Imports a folder of other tools' logs and compares the totals with a plain count of their lines.

Run: python tests/extra/import_corpus.py FOLDER. Each file is imported by the command itself, then checked by `log
check`. Runs, keeps, discards and crashes are counted here without any code of the importers: lines of JSON that have
`run` and `status`; rows of a table with more than one cell, by the words in its status column. Prints a line for each
file that differs, then `N files, R runs, K keeps, M differ`, and exits 1 when one does.
"""

import contextlib
import csv
import io
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headway.cli.main import main as headway

Counts = dict[str, int]
KEEPS = {"keep", "kept", "pass", "passed", "ok", "baseline", "new_best", "best", "shipped", "usable", "保留", "基线"}
DISCARDS = {"discard", "discarded", "rejected", "reverted", "revert", "killed", "kill", "iterate", "回滚"}
CRASHES = {"crash", "crashed", "oom", "fail", "failed", "timeout", "no_json", "error"}
OURS = {
    "keeps": ("kept", "runner_up_kept"),
    "discards": ("reverted",),
    "crashes": ("error", "timeout"),
}
HEADINGS = {"status", "commit", "description", "notes", "val_bpb"}


def plain_count(path: Path) -> Counts | None:
    """Give the totals of a file as a plain count of its lines sees them; None for a format that has no lines."""
    if path.suffix == ".jsonl":
        return _counted(_statuses(path))
    return _counted(_verdicts(path)) if path.suffix == ".tsv" else None


def _statuses(path: Path) -> Iterator[str]:
    for line in path.read_text("utf-8").split("\n"):
        record = json.loads(line) if line.strip() else {}
        if isinstance(record, dict) and "run" in record and "status" in record:
            yield str(record["status"])


def _verdicts(path: Path) -> Iterator[str]:
    column: int | None = None
    rows = list(csv.reader(path.read_text("utf-8").split("\n"), delimiter="\t", quoting=csv.QUOTE_NONE))
    for row in rows:
        names = [cell.strip().casefold() for cell in row]
        if HEADINGS & set(names) and not any(cell.replace(".", "").isdigit() for cell in names):
            column = names.index("status") if "status" in names else -1
        elif row and not row[0].startswith("#") and (len(row) > 1 or row[0].count("\\t") > 1):
            yield _cell(row, column)


def _cell(row: list[str], column: int | None) -> str:
    if column is None:  # no header: the one cell that is a verdict's word
        return next((cell for cell in row if cell.strip().casefold() in KEEPS | DISCARDS | CRASHES), "")
    return row[column] if 0 <= column < len(row) else ""


def _counted(words: Iterator[str]) -> Counts:
    listed = [word.split("(")[0].split("（")[0].strip(" ✔*").casefold() for word in words]
    kinds = (("keeps", KEEPS), ("discards", DISCARDS), ("crashes", CRASHES))
    return {"runs": len(listed), **{kind: sum(word in known for word in listed) for kind, known in kinds}}


def imported_count(path: Path, folder: Path) -> tuple[Counts, list[str]]:
    """Import a file by the command and check the log; give its totals, and what went wrong."""
    log = folder / f"{path.name}.log.yaml"
    code, document = _run("log", "import", str(path), "-o", str(log), "--json")
    if code != 0:
        return {}, [f"import exits with {code}: {document}"]
    wrong = []
    code, found = _run("log", "check", str(log), "--json")
    if code != 0:
        errors = [finding for finding in found if finding.get("severity") == "error"] if isinstance(found, list) else []
        wrong.append(f"log check exits with {code}: {errors[:1] or found}")
    outcomes = Counter(document["outcomes"])
    counts = {kind: sum(outcomes[name] for name in names) for kind, names in OURS.items()}
    if any(not skipped["reason"] or skipped["line"] < 1 for skipped in document["skipped"]):
        wrong.append("a skipped line without number or reason")
    return {"runs": document["experiments"], **counts}, wrong


def _run(*words: str) -> tuple[int, Any]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = headway(words)
    return code, json.loads(out.getvalue() or "null")


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print("usage: python tests/extra/import_corpus.py FOLDER", file=sys.stderr)
        return 2
    paths = sorted(path for path in Path(arguments[0]).rglob("*") if path.is_file() and path.suffix != ".md")
    totals: Counter[str] = Counter()
    differing = 0
    with tempfile.TemporaryDirectory(prefix="headway-corpus-") as folder:
        for path in paths:
            counts, wrong = imported_count(path, Path(folder))
            plain = plain_count(path)
            if plain is not None and counts and counts != plain:
                wrong.append(f"imported {counts}, counted {plain}")
            totals.update(counts)
            differing += bool(wrong)
            for what in wrong:
                print(f"{path.name}: {what}")
    told = ", ".join(f"{totals[kind]} {kind}" for kind in ("runs", *OURS))
    print(f"{len(paths)} files, {told}, {differing} differ")
    return 1 if differing or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
