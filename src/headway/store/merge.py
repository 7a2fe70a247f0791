"""Merge a person's save of the log with what headway has acknowledged since.

Comments and layout, the backlog, `learnings` and the deletion of whole finished experiments are the person's;
all else is fact and stays what headway recorded. A save from an editor that had an older version open lacks what
came later: that is told from deletion by the versions headway remembers, never by comparing numbers. Of a save whose
base is not remembered nothing counts as deleted: what it lacks is back, and deleting it once more is enough.
Source: CONTRACTS section 2 (who may edit by hand).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headway.core.edits import SECTION_ORDER
from headway.errors import DataDamaged
from headway.store.scan import EXPERIMENTS
from headway.store.splice import Change, Splice, entry_splice, row_bytes, spliced, splices_of
from headway.store.version import Key, Version, canonical, differ, version_of

BACKLOG = "hypothesis_backlog"
LEARNINGS = "learnings"
RUN_STATE = "run_state"
UNFINISHED = frozenset(["measured", "promising"])
FACTS = tuple(name for name in SECTION_ORDER if name not in (EXPERIMENTS, BACKLOG))


@dataclass
class Merged:
    """What a merge comes to.

    Attributes:
        buffer: the bytes of the merged log.
        facts: the changed facts that were not taken over, named.
        restored: the numbers of experiments that the save lacked and that are back.
        deleted: the numbers of experiments that the person deleted.
        took: what was taken over besides comments and layout, named.
        lost_layout: whether the person's comments and layout could not be kept.
    """

    buffer: bytes
    facts: list[str] = field(default_factory=list)
    restored: list[int] = field(default_factory=list)
    deleted: list[int] = field(default_factory=list)
    took: list[str] = field(default_factory=list)
    lost_layout: bool = False


@dataclass
class _Target:
    """The values that the merged log shall hold."""

    sections: dict[str, Any]
    rows: dict[Key, Mapping[str, Any] | None]
    order: list[Key]


def merge(ours: Version, theirs: Version, older: Sequence[Version]) -> Merged:
    """Bring a person's save and our last version together.

    Args:
        ours: the version that headway acknowledged last.
        theirs: what a person saved over it.
        older: versions before ours that an editor may have had open, newest first.
    Returns: the merged bytes, and what was and was not taken over.
    Raises: DataDamaged, when a part of the save that matters cannot be read.
    """
    found = Merged(b"")
    known = [ours, *older]
    dated = [version for version in known if _same_section(theirs, version, RUN_STATE)]
    base = _base_of(theirs, dated)
    target = _Target({}, {}, [])
    _merge_rows(target, found, theirs, dated or known, ours, base.keys if base else ())
    _merge_sections(target, found, theirs, known, base)
    for start in (theirs, ours):
        buffer = _realised(start, target)
        if buffer is not None and _holds(buffer, target, ours):
            found.buffer = buffer
            found.lost_layout = start is ours
            return found
    found.buffer, found.lost_layout, found.deleted, found.took = bytes(ours.buffer), True, [], []
    return found


def _base_of(theirs: Version, dated: Sequence[Version]) -> Version | None:
    """The version that the editor most likely had open: of those with the save's run state the most alike.

    The run state changes with nearly every commit, so it dates a save. None when no remembered version has it.
    """
    numbers, backlog = set(theirs.keys), _item_keys(theirs.section(BACKLOG))

    def unlikeness(version: Version) -> tuple[int, int, int]:
        changed = sum(not _same_section(theirs, version, name) for name in FACTS)
        missing = len(set(version.keys) - numbers)
        return changed, missing, len(backlog ^ _item_keys(version.section(BACKLOG)))

    return min(dated, key=unlikeness, default=None)


def _merge_sections(
    target: _Target, found: Merged, theirs: Version, known: Sequence[Version], base: Version | None
) -> None:
    ours = known[0]
    for name in dict.fromkeys([*theirs.names, *ours.names]):
        if name == EXPERIMENTS:
            continue
        mine, new = ours.section(name), theirs.section(name)
        if name == BACKLOG:
            old = base.section(name) if base else _begun_since(ours, found.restored)
            target.sections[name] = _merged_backlog(old, mine, new)
            if differ(target.sections[name], mine):
                found.took.append(name)
        elif name not in SECTION_ORDER:
            target.sections[name] = new
        else:
            target.sections[name] = mine
            if all(differ(new, version.section(name)) for version in known):
                found.facts.append(name)


def _merge_rows(
    target: _Target, found: Merged, theirs: Version, dated: Sequence[Version], ours: Version, in_base: Collection[Key]
) -> None:
    my_keys, new_keys = ours.keys, theirs.keys
    may_delete = _deletes_on_purpose(theirs, ours)
    for key, index in my_keys.items():
        if key in new_keys:
            target.rows[key] = _merged_row(found, key, theirs, dated, ours)
        elif key in in_base and may_delete and ours.row(index).get("outcome", "measured") not in UNFINISHED:
            target.rows[key] = None
            found.deleted.append(key[0])
        else:
            target.rows[key] = ours.row(index)
            found.restored.append(key[0])
            if key in in_base:
                found.facts.append(f"experiment {key[0]}")
    target.order = [key for key in my_keys if target.rows[key] is not None]
    for key in new_keys:
        if key not in my_keys:
            target.rows[key] = None
            found.facts.append(f"experiment {key[0]}")


def _deletes_on_purpose(theirs: Version, ours: Version) -> bool:
    """Whether what a save lacks may be meant: one that lost facts too was cut, one with unknown numbers renumbered."""
    return all(name in theirs.names for name in ours.names if name in FACTS) and all(
        key in ours.keys for key in theirs.keys
    )


def _merged_row(found: Merged, key: Key, theirs: Version, dated: Sequence[Version], ours: Version) -> Mapping[str, Any]:
    """Our row, with the learnings of the save where no version that it may come from has them."""
    at, index = ours.keys[key], theirs.keys[key]
    mine = ours.row(at)
    if theirs.may_be_spliced and ours.may_be_spliced and theirs.entry_bytes(index) == ours.entry_bytes(at):
        return mine
    new = theirs.row(index)
    if not differ(new, mine):
        return mine
    older = [version.row(place) for version in dated if (place := version.keys.get(key)) is not None]
    alike = [row for row in older if not differ(_without_learnings(row), _without_learnings(new))]
    if not alike:
        found.facts.append(f"experiment {key[0]}")
    learnings = new.get(LEARNINGS)
    if all(differ(row.get(LEARNINGS), learnings) for row in alike or older):
        found.took.append(f"{LEARNINGS} of experiment {key[0]}")
        return _with_learnings(mine, new)
    return mine


def _with_learnings(mine: Mapping[str, Any], new: Mapping[str, Any]) -> Mapping[str, Any]:
    """Our row with the person's learnings, in the place they gave them."""
    row = _without_learnings(mine)
    if LEARNINGS not in new:
        return row
    if LEARNINGS in mine:
        return {key: new[LEARNINGS] if key == LEARNINGS else value for key, value in mine.items()}
    before = list(new)[: list(new).index(LEARNINGS)]
    place = next((at + 1 for at, key in reversed(list(enumerate(row))) if key in before), len(row))
    pairs = list(row.items())
    return dict([*pairs[:place], (LEARNINGS, new[LEARNINGS]), *pairs[place:]])


def _without_learnings(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != LEARNINGS}


def _merged_backlog(base: Any, mine: Any, new: Any) -> Any:
    """The backlog three ways: what either side took away stays away, what either side added stays."""
    if not differ(new, base) or not differ(new, mine):
        return mine
    if not differ(mine, base):
        return new
    if not isinstance(mine, list) or not isinstance(new, list):
        return mine if isinstance(mine, list) else new
    old_items = {_item_key(item): item for item in base} if isinstance(base, list) else {}
    my_items = {_item_key(item): item for item in mine}
    merged: dict[str, Any] = {}
    for item in new:
        key = _item_key(item)
        if key in my_items or key not in old_items:
            touched = key not in old_items or differ(item, old_items[key])
            merged[key] = item if touched else my_items[key]
    kept_away = set(old_items) - _item_keys(new)
    merged.update({key: item for key, item in my_items.items() if key not in merged and key not in kept_away})
    return list(merged.values())


def _begun_since(ours: Version, restored: Collection[int]) -> list[dict[str, Any]]:
    """What a save of unknown age may still have in its backlog although it was begun: all that is known of its base."""
    rows = (ours.row(index) for (number, _), index in ours.keys.items() if number in restored)
    state = ours.section(RUN_STATE)
    waits = state.get("pending_waits") if isinstance(state, dict) else None
    known = [wait.get("headway") for wait in waits or () if isinstance(wait, dict)]
    items = [wait.get("hypothesis") for wait in known if isinstance(wait, dict)]
    begun = [{"description": row.get("hypothesis"), "headway": {"id": _id_in(row, "hypothesis_id")}} for row in rows]
    return [*begun, *(item for item in items if isinstance(item, dict))]


def _id_in(item: Mapping[str, Any], name: str) -> Any:
    extension = item.get("headway")
    return extension.get(name) if isinstance(extension, dict) else None


def _item_keys(backlog: Any) -> set[str]:
    return {_item_key(item) for item in backlog} if isinstance(backlog, list) else set()


def _item_key(item: Any) -> str:
    if isinstance(item, dict):
        name = _id_in(item, "id")
        return canonical(name if name is not None else item.get("description"))
    return canonical(item)


def _realised(version: Version, target: _Target) -> bytes | None:
    """This version's bytes, changed so that they hold the target's values; None where text cannot be spliced in."""
    if not version.may_be_spliced:
        return None
    keys = version.keys
    if [key for key in keys if target.rows.get(key) is not None] != [key for key in target.order if key in keys]:
        return None
    sections = {
        name: target.sections.get(name)
        for name in dict.fromkeys([*version.names, *target.sections])
        if name != EXPERIMENTS
        and (name not in version.names or differ(version.section(name), target.sections.get(name)))
    }
    splices = [*splices_of(Change(sections=sections), version), *_row_splices(version, target, keys)]
    if not splices:
        return bytes(version.buffer)
    first, data = spliced(version, sorted(splices, key=lambda splice: (splice.start, splice.end)))
    return bytes(version.buffer[:first]) + data


def _row_splices(version: Version, target: _Target, keys: Mapping[Key, int]) -> list[Splice]:
    splices: list[Splice] = []
    waiting: list[Mapping[str, Any]] = []
    for key in target.order:
        row = target.rows[key] or {}
        if key not in keys:
            waiting.append(row)
            continue
        start, _ = version.layout.entry(version.buffer, keys[key])
        if waiting:
            splices.append(Splice(start, start, b"".join(row_bytes(version, item) for item in waiting)))
            waiting = []
        if differ(version.row(keys[key]), row):
            splices.append(entry_splice(version, keys[key], row))
    appended = dict(enumerate(waiting))
    splices.extend(splices_of(Change(appended=appended), version))
    for key, index in keys.items():
        if target.rows.get(key) is None:
            splices.append(Splice(*version.layout.entry(version.buffer, index), b""))
    return splices


def _holds(buffer: bytes, target: _Target, ours: Version) -> bool:
    """Whether bytes read as the target says; a merge that does not is not used."""
    try:
        version = version_of(buffer, ours.path)
        keys = version.keys
        wanted = target.order
        mine = ours.keys
        return (
            list(keys) == wanted
            and all(not differ(version.section(name), value) for name, value in target.sections.items())
            and all(
                (key in mine and version.entry_bytes(keys[key]) == ours.entry_bytes(mine[key]))
                or not differ(version.row(keys[key]), target.rows[key])
                for key in wanted
            )
        )
    except DataDamaged:
        return False


def _same_section(one: Version, other: Version, name: str) -> bool:
    text = one.section_bytes(name)
    if text is not None and text == other.section_bytes(name):
        return True
    return not differ(one.section(name), other.section(name))
