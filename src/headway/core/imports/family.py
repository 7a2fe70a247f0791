"""Logs of this family that leave its schema: what can be known is put where it belongs, the rest is kept and reported.

A value moves only where the log itself says what it is: a verdict's word of plain meaning, a `primary` mapping, a time
with dashes for colons; and the primary metric among the diagnostics, once its name is known from the spec. All that
the schema does not know goes, unchanged, under `headway.imported.rest` of its place.

Source: the wild variants of ce-optimize's logs; CONTRACTS section 2 (the extension key; absent means unknown).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from headway.core.experiments import BacklogItem, Entry
from headway.core.imports.found import Skipped
from headway.core.imports.keepable import number_of
from headway.core.imports.words import outcome_of
from headway.core.log_words import Outcome
from headway.core.measurements import Baseline, Best, HarnessValidation
from headway.core.rows import EXTENSION, Row
from headway.core.run_records import Approval, Log, RunState
from headway.core.spec_parts import DepStatus, Priority

FORMAT = "ce-optimize"
REST = "rest"
_OUTCOMES = {"retained_non_metric": Outcome.KEPT, "awaiting_human_judgment": Outcome.MEASURED}
_DASHED = re.compile(r"(\d{4}-\d{2}-\d{2}T\d{2})-(\d{2})-(\d{2})(Z|[+-]\d{2}:\d{2})?")
_SECTIONS: dict[str, type[Row]] = {
    "baseline": Baseline,
    "harness_validation": HarnessValidation,
    "best": Best,
    "approval": Approval,
    "run_state": RunState,
}
_TIMES = {"baseline": "timestamp", "harness_validation": "timestamp", "approval": "approved_at"}
_ENUMS: dict[str, frozenset[str]] = {"priority": frozenset(Priority), "dep_status": frozenset(DepStatus)}


@dataclass
class Migrated:
    """A log with everything in its place.

    Args:
        rows: every section by name.
        changes: what was put where, in words; empty: the log was right as it was.
        kept: what could not be mapped, and where it is kept.
        skipped: items of `experiments` that are no mappings; they are kept in `rest`.
    """

    rows: dict[str, Any] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


def is_family(document: Mapping[str, Any]) -> bool:
    """Say whether a parsed document is an experiment log of this family: it has a list of experiments, or none yet."""
    return isinstance(document.get("experiments", ()), list) and "experiments" in document


def is_own(document: Mapping[str, Any]) -> bool:
    """Say whether headway itself wrote this log: a `headway` key stands somewhere in it."""
    experiments = document.get("experiments")
    rows = experiments if isinstance(experiments, list) else []
    return any(isinstance(place, Mapping) and EXTENSION in place for place in [*document.values(), *rows])


def migrate(document: Mapping[str, Any], metric: str | None = None) -> Migrated:
    """Put what a log of this family holds where its schema has it.

    Args:
        document: the parsed log; its values are not changed.
        metric: the primary metric's name, from the spec; None: not known.
    Returns: the log and a report; the same values where nothing had to move.
    """
    done = Migrated()
    strange = {name: value for name, value in document.items() if name not in Log.model_fields}
    for name, value in document.items():
        if name in strange:
            continue
        if name in _SECTIONS and isinstance(value, Mapping):
            done.rows[name] = _section(done, name, value, metric)
        elif name == "experiments" and isinstance(value, list):
            done.rows[name] = _experiments(done, value, metric)
        elif name == "hypothesis_backlog" and isinstance(value, list):
            done.rows[name] = [_item(done, index, item) for index, item in enumerate(value)]
        else:
            done.rows[name] = _time(done, name, value) if name == "started_at" else value
    listed = document.get("experiments")
    odd = [item for item in listed if not isinstance(item, Mapping)] if isinstance(listed, list) else []
    if odd:
        strange["experiments_that_are_none"] = odd
    if strange:
        _keep_sections(done, strange)
    return done


def _keep_sections(done: Migrated, strange: Mapping[str, Any]) -> None:
    baseline = done.rows.setdefault("baseline", {})
    if not isinstance(baseline, dict):
        done.kept.append(f"{', '.join(strange)}: left where they are, for `baseline` is no mapping")
        done.rows.update(strange)
        return
    _put(baseline, strange)
    done.changes.append(f"what the schema does not know: {', '.join(strange)}")
    done.kept.append(f"{', '.join(strange)}: under baseline.{EXTENSION}.imported.{REST}")


def _put(place: dict[str, Any], strange: Mapping[str, Any]) -> None:
    """Keep values under the extension key, which stands last in its place."""
    ours = place.pop(EXTENSION, None)
    ours = dict(ours) if isinstance(ours, Mapping) else {}
    imported = dict(ours.get("imported") or {})
    imported[REST] = {**(imported.get(REST) or {}), **strange}
    place[EXTENSION] = {**ours, "imported": imported}


def _section(done: Migrated, name: str, value: Mapping[str, Any], metric: str | None) -> dict[str, Any]:
    row = dict(value)
    if name in _TIMES and _TIMES[name] in row:
        row[_TIMES[name]] = _time(done, f"{name}.{_TIMES[name]}", row[_TIMES[name]])
    if name == "baseline":
        _measured(done, name, row, metric)
    return _rest_kept(done, name, row, _SECTIONS[name])


def _rest_kept(done: Migrated, where: str, row: dict[str, Any], record: type[Row]) -> dict[str, Any]:
    strange = {key: row.pop(key) for key in list(row) if key not in record.model_fields}
    if strange:
        _put(row, strange)
        done.changes.append(f"{where}: keys that the schema does not know: {', '.join(strange)}")
        done.kept.append(f"{where}: {', '.join(strange)}: under {where}.{EXTENSION}.imported.{REST}")
    return row


def _time(done: Migrated, where: str, value: Any) -> Any:
    found = _DASHED.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return value
    done.changes.append(f"{where}: the time {value} with colons")
    return f"{found[1]}:{found[2]}:{found[3]}{found[4] or ''}"


def _measured(done: Migrated, where: str, row: dict[str, Any], metric: str | None) -> None:
    """Put the primary metric where measured objectives stand."""
    if row.get("metrics") is not None:
        return
    primary = row.get("primary")
    if isinstance(primary, Mapping) and primary and all(number_of(value) is not None for value in primary.values()):
        row["metrics"] = dict(row.pop("primary"))
        done.changes.append(f"{where}: `primary` into `metrics`")
        return
    diagnostics = row.get("diagnostics")
    value = number_of(diagnostics.get(metric)) if metric is not None and isinstance(diagnostics, Mapping) else None
    if value is None or metric is None:
        return
    row["metrics"] = {metric: _with_samples(row, value)}
    done.changes.append(f"{where}: `{metric}` of `diagnostics` also into `metrics`")


def _with_samples(row: dict[str, Any], value: int | float) -> Any:
    samples = row.get("raw_primary")
    if not isinstance(samples, list) or not samples or any(number_of(sample) is None for sample in samples):
        return value
    return {"aggregate": value, "samples": list(row.pop("raw_primary"))}


def _experiments(done: Migrated, rows: list[Any], metric: str | None) -> list[dict[str, Any]]:
    entries = []
    free = _free_numbers(rows)
    seen: set[int] = set()
    for index, row in enumerate(rows):
        if not isinstance(row, Mapping):
            done.skipped.append(Skipped(1, f"item {index + 1} of `experiments` is no mapping"))
            continue
        entries.append(_entry(done, f"experiments[{index}]", dict(row), metric, seen, free))
    return entries


def _free_numbers(rows: list[Any]) -> Iterator[int]:
    numbers = [row.get("iteration") for row in rows if isinstance(row, Mapping)]
    following = max((number for number in numbers if isinstance(number, int)), default=0) + 1
    while True:
        yield following
        following += 1


def _entry(
    done: Migrated, where: str, row: dict[str, Any], metric: str | None, seen: set[int], free: Iterator[int]
) -> dict[str, Any]:
    strange: dict[str, Any] = {}
    number = row.get("iteration")
    if not isinstance(number, int) or isinstance(number, bool) or number < 1 or number in seen:
        if "iteration" in row:
            strange["iteration"] = number
        row = {"iteration": next(free), **{key: value for key, value in row.items() if key != "iteration"}}
        done.changes.append(f"{where}: a number of its own, {row['iteration']}")
    seen.add(row["iteration"])
    _outcome(done, where, row, strange)
    _measured(done, where, row, metric)
    if row.get("commit") is not None and row.get("outcome") not in (Outcome.KEPT, Outcome.RUNNER_UP_KEPT):
        strange["commit"] = row.pop("commit")
        done.changes.append(f"{where}: the commit of what was not kept out of `commit`")
    if number_of(row.get("primary_delta")) is not None:
        row["primary_delta"] = f"{row['primary_delta']:+}"
        done.changes.append(f"{where}: `primary_delta` as signed text")
    if strange:
        _put(row, strange)
        done.kept.append(f"{where}: {', '.join(strange)} as it was: under {where}.{EXTENSION}.imported.{REST}")
    return _rest_kept(done, where, row, Entry)


def _outcome(done: Migrated, where: str, row: dict[str, Any], strange: dict[str, Any]) -> None:
    word = row.get("outcome")
    if not isinstance(word, str) or word in list(Outcome):
        return
    known = _OUTCOMES.get(word) or outcome_of(word)
    if known is None:
        done.kept.append(f"{where}: the outcome `{word}` has no counterpart; it stands as it was")
        return
    strange["outcome"] = word
    row["outcome"] = str(known)
    done.changes.append(f"{where}: the outcome `{word}` as `{known}`")


def _item(done: Migrated, index: int, item: Any) -> Any:
    if not isinstance(item, Mapping):
        return item
    row, where = dict(item), f"hypothesis_backlog[{index}]"
    strange = {name: row.pop(name) for name, words in _ENUMS.items() if name in row and row[name] not in words}
    if strange:
        _put(row, strange)
        done.changes.append(f"{where}: words that the schema does not have: {', '.join(strange)}")
        done.kept.append(f"{where}: {', '.join(strange)}: under {where}.{EXTENSION}.imported.{REST}")
    return _rest_kept(done, where, row, BacklogItem)


def marked(done: Migrated, told: Mapping[str, Any]) -> dict[str, Any]:
    """Give a migrated log's rows with a note of where it came from, which makes it another tool's.

    Args:
        done: the log.
        told: the fields of `headway.imported` of the baseline.
    """
    rows = dict(done.rows)
    baseline = rows.get("baseline")
    baseline = dict(baseline) if isinstance(baseline, Mapping) else {}
    ours = dict(baseline.pop(EXTENSION, None) or {})
    ours["imported"] = {**told, **(ours.get("imported") or {})}
    rows["baseline"] = {**baseline, EXTENSION: ours}
    return rows
