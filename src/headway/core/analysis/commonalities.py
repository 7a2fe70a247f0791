"""What reverted experiments share, and what failures say: hints where not to look again, never a verdict.

A trait is told when more of its experiments were reverted than a blind draw from all that were compared would explain.
Many traits are looked at, so the chance is told after a correction for their number.

Source: Fisher's exact test with Bonferroni's correction.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headway.core.analysis.proportions import chance_of_so_many
from headway.core.analysis.tried import UNKNOWN, Fate, Tried

FEWEST = 3
"""Experiments that a trait must have."""
MOST_TOLD = 12
MOST_CHANCE = 0.2
"""Corrected chance above which a trait is not worth a word."""
_WORD = re.compile(r"[^\W\d_]{4,}")
_STOP_WORDS = frozenset(
    re.findall(r"\w+", "into that with from when this them then than each only does have some more instead rather")
)
_NUMBERS = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{7,64}\b|\d+(?:\.\d+)?")
_LONGEST_CAUSE = 140


@dataclass(frozen=True)
class Trait:
    """Something that reverted experiments share.

    Args:
        kind: `category`, `agent`, `file` or `word` of the hypothesis.
        reverted: experiments with this trait that were reverted, of `compared`.
        expected: how many a blind draw would have.
        chance: of at least so many by a blind draw, corrected for all traits looked at, 0 to 1.
    """

    kind: str
    name: str
    reverted: int
    compared: int
    expected: float
    chance: float


@dataclass(frozen=True)
class Theme:
    """Failures that say the same, numbers aside. `iterations`: the first few."""

    outcome: str
    cause: str
    count: int
    positions: tuple[int, ...]


def traits_of(experiments: Sequence[Tried]) -> tuple[Trait, ...]:
    """Say what reverted experiments have in common, the least likely first."""
    compared = [one for one in experiments if one.fate.is_compared]
    reverted = sum(one.fate is Fate.REVERTED for one in compared)
    seen: Counter[tuple[str, str]] = Counter()
    lost: Counter[tuple[str, str]] = Counter()
    for one in compared:
        traits = set(_traits(one))
        seen.update(traits)
        if one.fate is Fate.REVERTED:
            lost.update(traits)
    looked_at = [trait for trait, count in seen.items() if count >= FEWEST and count < len(compared)]
    found: list[Trait] = []
    for kind, name in looked_at:
        hits, tries = lost[kind, name], seen[kind, name]
        expected = tries * reverted / len(compared)
        if hits < 2 or hits <= expected:
            continue
        chance = min(1.0, chance_of_so_many(hits, tries, reverted, len(compared)) * len(looked_at))
        if chance <= MOST_CHANCE:
            found.append(Trait(kind, name, hits, tries, expected, chance))
    return tuple(sorted(found, key=lambda trait: (trait.chance, -trait.reverted, trait.name))[:MOST_TOLD])


def _traits(one: Tried) -> Iterable[tuple[str, str]]:
    if one.category != UNKNOWN:
        yield "category", one.category
    if one.agent != UNKNOWN:
        yield "agent", one.agent
    for file in one.files:
        yield "file", file
    for word in _WORD.findall(one.hypothesis.lower()):
        if word not in _STOP_WORDS:
            yield "word", word


def themes_of(experiments: Sequence[Tried]) -> tuple[Theme, ...]:
    """Give what failed experiments say, alike ones together, the most frequent first."""
    found: dict[tuple[str, str], list[int]] = {}
    for one in experiments:
        if one.fate is Fate.FAILED:
            found.setdefault((one.outcome, cause_of(one.reason)), []).append(one.position)
    themes = [Theme(outcome, cause, len(where), tuple(where[:5])) for (outcome, cause), where in found.items()]
    return tuple(sorted(themes, key=lambda theme: (-theme.count, theme.outcome, theme.cause))[:MOST_TOLD])


def cause_of(reason: str | None) -> str:
    """Give a failure's cause in one line, with what differs from run to run taken out."""
    lines = [line.strip() for line in (reason or "").splitlines() if line.strip()]
    if not lines:
        return "no reason recorded"
    text = _NUMBERS.sub("#", " ".join(lines))
    return text if len(text) <= _LONGEST_CAUSE else text[: _LONGEST_CAUSE - 1] + "…"
