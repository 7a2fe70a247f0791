"""OpenEvolve: one JSON a program; a checkpoint's `metadata.json` names the best of them and holds none.

`combined_score` is what OpenEvolve raises. A program without it has no known primary metric. The tool records one
verdict, the best program; of all others it says only that they were evaluated.

Source: checkpoints in public repositories (best_program_info.json, metadata.json, programs/ID.json).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from headway.core.imports.found import HIGHER, Found, Reading, Segment, Skipped
from headway.core.imports.keepable import number_of
from headway.core.imports.lines import time_of
from headway.core.log_words import Outcome

FORMAT = "openevolve"
METRIC = "combined_score"
_MAPPED = frozenset({"metrics", "timestamp", "code"})


def read_openevolve(documents: Iterable[tuple[str, Any]]) -> Reading:
    """Read programs of OpenEvolve.

    Args:
        documents: name and parsed JSON of each file: one alone, or all of a checkpoint's folder.
    Returns: the programs as runs, in the order in which they were found; what is none, with its reason.
    """
    programs: dict[str, dict[str, Any]] = {}
    best: set[str] = set()
    skipped: list[Skipped] = []
    notes: list[str] = []
    known = 0
    for name, document in documents:
        if not isinstance(document, dict):
            skipped.append(Skipped(1, f"{name}: no JSON object"))
        elif "best_program_id" in document or "islands" in document:
            best |= {str(document["best_program_id"])} if document.get("best_program_id") else set()
            known = max(known, _programs_in(document))
        elif "id" in document and "metrics" in document:
            ident = str(document["id"])
            best |= {ident} if "saved_at" in document or "current_iteration" in document else set()
            programs[ident] = {**document, **programs.get(ident, {})}
        else:
            skipped.append(Skipped(1, f"{name}: neither a program nor a checkpoint of OpenEvolve"))
    if known > len(programs):
        missing = known - len(programs)
        notes.append(f"the checkpoint lists {missing} programs that are not here; import its folder to read them")
    if any("code" in program for program in programs.values()):
        notes.append("the programs' code is not taken over")
    ordered = sorted(programs.values(), key=_order)
    runs = tuple(_run(program, str(program["id"]) in best) for program in ordered)
    segment = Segment(name=None, metric=METRIC, direction=HIGHER)
    return Reading(FORMAT, runs, (segment,) if runs else (), tuple(skipped), tuple(notes))


def _programs_in(document: Mapping[str, Any]) -> int:
    islands = document.get("islands")
    if not isinstance(islands, list):
        return 0
    return len({str(name) for island in islands if isinstance(island, list) for name in island})


def _order(program: Mapping[str, Any]) -> tuple[float, float]:
    found = number_of(program.get("iteration_found", program.get("iteration")))
    return (float(found or 0), float(number_of(program.get("timestamp")) or 0.0))


def _run(program: Mapping[str, Any], is_best: bool) -> Found:
    metrics = program["metrics"] if isinstance(program["metrics"], dict) else {}
    value = number_of(metrics.get(METRIC))
    changes = program.get("metadata")
    change = changes.get("changes") if isinstance(changes, dict) else None
    rest = {key: inner for key, inner in program.items() if key not in _MAPPED and inner is not None}
    if not isinstance(program["metrics"], dict):
        rest["metrics"] = program["metrics"]
    return Found(
        line=1,
        segment=0,
        outcome=Outcome.KEPT if is_best else Outcome.MEASURED,
        status="best program" if is_best else None,
        description=change if isinstance(change, str) else f"program {program['id']}",
        metric=value,
        diagnostics={name: inner for name, inner in metrics.items() if name != METRIC},
        at=time_of(program.get("timestamp")),
        raw_metric=metrics.get(METRIC) if value is None else None,
        rest=rest,
    )
