"""Write a whole log anew: at its creation, and where a person's layout has no place for new text."""

from collections.abc import Mapping, Sequence
from typing import Any

from headway.core.edits import SECTION_ORDER, AppendExperiment, Edit, ReplaceExperiment
from headway.errors import DataDamaged
from headway.store.emit import emit_entry, emit_mapping, emit_section
from headway.store.scan import EXPERIMENTS
from headway.store.splice import Change
from headway.store.version import Version, differ, version_of


def whole_log(rows: Mapping[str, Any]) -> bytes:
    """A log with these sections, in the seed's order, unknown ones last.

    Raises: RequestWrong, when a value has no safe text.
    """
    names = [name for name in SECTION_ORDER if name in rows]
    names.extend(name for name in rows if name not in SECTION_ORDER)
    return "".join(_section(name, rows[name]) for name in names).encode("utf-8")


def rewritten(base: Version, change: Change) -> bytes:
    """All of a version's values with a change carried out, in headway's own layout.

    Raises: RequestWrong, when a value has no safe text; DataDamaged, when the version cannot be read.
    """
    return whole_log(_changed(base, change))


def reads_right(base: Version, change: Change, data: bytes | bytearray) -> bool:
    """Whether bytes read as a version with a change carried out on its values."""
    try:
        got = _changed(version_of(data, base.path), Change())
    except DataDamaged:
        return False
    return not differ(got, _changed(base, change))


def parked(edits: Sequence[Edit]) -> bytes:
    """The text of the side file for a change that could not be written.

    Raises: RequestWrong, when a value has no safe text.
    """
    return emit_mapping({"edits": [_plain(edit) for edit in edits]}).encode("utf-8")


def _section(name: str, value: Any) -> str:
    if name != EXPERIMENTS or not value:
        return emit_section(name, value if name != EXPERIMENTS else [])
    return "experiments:\n" + "".join(emit_entry(row) for row in value)


def _changed(base: Version, change: Change) -> dict[str, Any]:
    rows = [change.replaced.get(number, row) for number, row in zip(base.layout.iterations, base.rows(), strict=True)]
    values: dict[str, Any] = {name: base.section(name) for name in base.names}
    values.update(change.sections)
    if EXPERIMENTS in values or change.appended:
        values[EXPERIMENTS] = [*rows, *change.appended.values()]
    return {name: value for name, value in values.items() if value is not None or name not in change.sections}


def _plain(edit: Edit) -> dict[str, Any]:
    if isinstance(edit, AppendExperiment):
        return {"append_experiment": edit.row}
    if isinstance(edit, ReplaceExperiment):
        return {"replace_experiment": edit.iteration, "row": edit.row}
    return {"set_section": edit.name, "value": edit.value}
