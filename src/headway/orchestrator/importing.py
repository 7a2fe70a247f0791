"""Read another tool's file into a log of ours: bytes in, `core/imports` decides, nothing is written.

Source: CONTRACTS section 10.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headway.core.imports import aide, family, openevolve, pi, tsv
from headway.core.imports.assemble import Imported, Origin, assemble
from headway.core.imports.detect import FORMATS, format_of
from headway.core.imports.found import Reading, Skipped
from headway.core.imports.keepable import keepable
from headway.core.imports.lines import json_from, text_from
from headway.errors import RequestWrong
from headway.store.atomic import disk_failure
from headway.store.document import parse_mapping


@dataclass(frozen=True)
class ImportWishes:
    """How a file is to be read.

    Args:
        format: one of `FORMATS`; None: told from the file.
        direction: `lower` or `higher` is better; None: as the file says, else inferred and said.
        metric: the primary metric's name; None: as the file says.
    """

    format: str | None = None
    direction: str | None = None
    metric: str | None = None


def read_foreign(source: Path, wishes: ImportWishes) -> Imported:
    """Read another tool's log.

    Args:
        source: the file; for a checkpoint of OpenEvolve also its folder.
        wishes: how it is read.
    Raises: RequestWrong, when there is no such file or nothing says what it is; DataDamaged, for a YAML log that is
        none; DiskFailed.
    """
    return _read_folder(source, wishes) if source.is_dir() else _read_file(source, wishes)


def _read_file(source: Path, wishes: ImportWishes) -> Imported:
    data = bytes_of(source)
    text, told = text_from(data)
    form = wishes.format or format_of(source.suffix, text)
    if form is None:
        known = f"name its format: --format {'|'.join(FORMATS)}"
        raise RequestWrong("neither name nor content says which tool wrote this file", str(source), known)
    origin = Origin(source.name, hashlib.sha256(data).hexdigest(), wishes.direction)
    if form == family.FORMAT:
        return _read_family(text, source, origin, wishes.metric)
    reading = _read_as(form, text, source.name, wishes.metric)
    if told:
        reading = replace(reading, notes=(*reading.notes, told))
    return assemble(reading, origin)


def bytes_of(source: Path) -> bytes:
    """Give a file's bytes. Raises: RequestWrong, when there is none; DiskFailed."""
    try:
        return source.read_bytes()
    except FileNotFoundError as error:
        raise RequestWrong("there is no such file", str(source), "name the other tool's log") from error
    except OSError as error:
        raise disk_failure(error, source) from error


def _read_as(form: str, text: str, name: str, metric: str | None) -> Reading:
    if form == pi.FORMAT:
        return pi.read_pi(text)
    if form == tsv.FORMAT:
        return tsv.read_tsv(text, metric)
    try:
        document = json_from(text)
    except ValueError as error:
        return Reading(form, skipped=(Skipped(1, f"the file is no JSON: {error}"),))
    if form == aide.FORMAT:
        return aide.read_aide(document)
    return openevolve.read_openevolve([(name, document)])


def _read_folder(source: Path, wishes: ImportWishes) -> Imported:
    if wishes.format not in (None, openevolve.FORMAT):
        raise RequestWrong("only a checkpoint of OpenEvolve is a folder", str(source), "name one file")
    digest = hashlib.sha256()
    documents: list[tuple[str, Any]] = []
    skipped: list[Skipped] = []
    for path in sorted(source.rglob("*.json")):
        data = bytes_of(path)
        digest.update(data)
        try:
            documents.append((path.name, json_from(text_from(data)[0])))
        except ValueError as error:
            skipped.append(Skipped(1, f"{path.name}: no JSON: {error}"))
    read = openevolve.read_openevolve(documents)
    reading = Reading(read.format, read.runs, read.segments, (*skipped, *read.skipped), read.notes)
    return assemble(reading, Origin(source.name, digest.hexdigest(), wishes.direction))


def _read_family(text: str, source: Path, origin: Origin, metric: str | None) -> Imported:
    document = parse_mapping(text, source) if text.strip() else {}
    if not family.is_family(document):
        told = ("this is no experiment log: it has no list `experiments`",)
        return assemble(Reading(family.FORMAT, notes=told), origin)
    done = family.migrate(keepable(document), metric or metric_beside(source, document))
    marks = {"format": family.FORMAT, "file": origin.file, "sha256": origin.sha256, "skipped": len(done.skipped)}
    rows = family.marked(done, marks)
    rows.setdefault("best", {"iteration": 0})
    return Imported(family.FORMAT, rows, tuple(done.skipped), (*done.changes, *done.kept))


def metric_beside(log: Path, document: Mapping[str, Any]) -> str | None:
    """Give the primary metric's name from a spec that lies beside a log and bears its name."""
    beside = log.with_name("spec.yaml")
    return metric_of(beside, document.get("spec")) if beside.is_file() else None


def metric_of(path: Path, name: Any = None) -> str | None:
    """Give the primary metric's name from a spec, whatever else is right or wrong in it.

    Args:
        path: of the spec.
        name: that the spec must bear; None: any.
    Returns: None, where it names none, or bears another name. Raises: RequestWrong, DataDamaged, DiskFailed.
    """
    spec = parse_mapping(text_from(bytes_of(path))[0], path)
    metric = spec.get("metric")
    primary = metric.get("primary") if isinstance(metric, Mapping) else None
    found = primary.get("name") if isinstance(primary, Mapping) else None
    is_right = name is None or spec.get("name") == name
    return found if isinstance(found, str) and is_right else None
