"""What happened to the log from outside, in words for a person."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from headway.store.merge import Merged
from headway.store.version import Version, ends_inside_experiments


class NoticeKind(StrEnum):
    """What a notice is about."""

    EDIT_MERGED = "edit_merged"
    FACTS_RESTORED = "facts_restored"
    ENTRIES_RESTORED = "entries_restored"
    ENTRIES_DELETED = "entries_deleted"
    LAYOUT_LOST = "layout_lost"
    SAVE_OVERTAKEN = "save_overtaken"
    LOG_RECREATED = "log_recreated"
    END_IN_DOUBT = "end_in_doubt"


@dataclass(frozen=True)
class Notice:
    """Something about the log that a person should be told.

    Attributes:
        kind: what it is about.
        text: one sentence.
        set_aside: the copy of what a person saved, where one was kept.
    """

    kind: NoticeKind
    text: str
    set_aside: Path | None = None


def notices_of(merged: Merged, aside: Path | None) -> Iterator[Notice]:
    """What a person is told after their save was merged.

    Args:
        merged: what the merge came to.
        aside: where the save is kept as it was, if it is.
    """
    kept = f"; the file as it was saved is kept as {aside.name}" if aside else ""
    if merged.facts:
        what = f"recorded facts were changed by hand and are restored: {', '.join(merged.facts)}{kept}"
        yield Notice(NoticeKind.FACTS_RESTORED, what, aside)
    if merged.lost_layout:
        yield Notice(NoticeKind.LAYOUT_LOST, f"comments and layout of a hand edit could not be kept{kept}", aside)
    if merged.restored:
        numbers = ", ".join(map(str, merged.restored))
        yield Notice(NoticeKind.ENTRIES_RESTORED, f"a save of the log lacked experiments, restored: {numbers}")
    if merged.deleted:
        numbers = ", ".join(map(str, merged.deleted))
        yield Notice(NoticeKind.ENTRIES_DELETED, f"experiments deleted from the log by hand: {numbers}")
    if merged.took or not (merged.facts or merged.lost_layout):
        what = ", ".join(merged.took) or "comments and layout"
        yield Notice(NoticeKind.EDIT_MERGED, f"a hand edit of the log was merged: {what}")


def doubts_about_end(version: Version) -> Iterator[Notice]:
    """What a person is told when a file may have lost its end in a way that leaves valid YAML."""
    name = version.path.name
    if ends_inside_experiments(version):
        yield Notice(NoticeKind.END_IN_DOUBT, f"{name} ends with its experiments: what should follow them is absent")
    elif version.buffer[-1:] != b"\n":
        yield Notice(NoticeKind.END_IN_DOUBT, f"{name} does not end with a line end: its last line may be cut off")


def written_anew(aside: Path) -> Notice:
    """What a person is told when their layout had no place for new text."""
    what = f"the log was written anew in headway's own layout; the file as it was is kept as {aside.name}"
    return Notice(NoticeKind.LAYOUT_LOST, what, aside)


def overtaken_save(aside: Path) -> Notice:
    """What a person is told when two saves fell into one commit, or one went into a file that was no longer the log."""
    what = f"a save of the log came at the moment of a commit and could not be merged; it is kept as {aside.name}"
    return Notice(NoticeKind.SAVE_OVERTAKEN, what, aside)


def recreated() -> Notice:
    """What a person is told when the file was gone."""
    return Notice(NoticeKind.LOG_RECREATED, "the log had been removed; it was written again from memory")
