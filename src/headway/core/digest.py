"""The strategy digest: what the next hypotheses start from, drawn from the log alone.

Source: seed 004 (STRATEGY DIGEST: its five parts); no holdout value enters it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headway.core.records import BacklogItem, Entry, Outcome

KEPT = (Outcome.KEPT, Outcome.RUNNER_UP_KEPT)
LINES_A_PART = 40


@dataclass
class _Category:
    tried: int = 0
    kept: int = 0


@dataclass
class _Newest:
    """The lines of the experiments with the highest numbers, and how many there were."""

    count: int = 0
    lines: dict[int, str] = field(default_factory=dict)

    def add(self, number: int, line: str) -> None:
        """Take a line in, in any order of numbers; twice as many as are shown are held at most."""
        self.count += 1
        self.lines[number] = line
        if len(self.lines) > 2 * LINES_A_PART:
            self.lines = dict(sorted(self.lines.items())[-LINES_A_PART:])

    def shown(self) -> list[str]:
        """Give the last lines in the order of the experiments' numbers, whatever order they ended in."""
        last = [f"- {line}" for _, line in sorted(self.lines.items())[-LINES_A_PART:]]
        left_out = self.count - len(last)
        return [f"- ({left_out} earlier ones left out)", *last] if left_out else last


@dataclass
class Memory:
    """What the digest needs of every entry, folded one at a time in any order, so that no log is ever held whole."""

    categories: dict[str, _Category] = field(default_factory=dict)
    kept: _Newest = field(default_factory=_Newest)
    failed: _Newest = field(default_factory=_Newest)
    learnings: _Newest = field(default_factory=_Newest)
    causes: Counter[str] = field(default_factory=Counter)
    seen: dict[int, str] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        """Take one entry in; one that was taken in before, is not final, or was set aside untried changes nothing."""
        outcome = Outcome(entry.outcome)
        if not outcome.is_final or entry.iteration in self.seen:
            return
        self.seen[entry.iteration] = outcome.value
        if outcome is Outcome.DEFERRED_NEEDS_APPROVAL:
            return  # it waits in the backlog and was not tried
        category = self.categories.setdefault(entry.category or "uncategorised", _Category())
        category.tried += 1
        line = f"{entry.iteration}: {_short(entry.hypothesis or '')}"
        if outcome in KEPT:
            category.kept += 1
            self.kept.add(entry.iteration, f"{line} ({entry.primary_delta or 'gain not recorded'})")
        else:
            self.failed.add(entry.iteration, f"{line} ({outcome.value})")
            if outcome in (Outcome.ERROR, Outcome.TIMEOUT, Outcome.DEGENERATE):
                self.causes[
                    f"{outcome.value}: {_short(entry.error_message or entry.learnings or 'no reason recorded')}"
                ] += 1
        if entry.learnings:
            self.learnings.add(entry.iteration, f"{entry.iteration}: {_short(entry.learnings)}")


def digest(
    spec_name: str, memory: Memory, backlog: Sequence[BacklogItem], worst: Sequence[Mapping[str, object]]
) -> str:
    """Write the strategy digest.

    Args:
        spec_name: the run's spec.
        memory: every final entry, folded.
        backlog: what waits.
        worst: the current best's worst cases, from selection data only.
    Returns: Markdown with the seed's five parts, bounded in size whatever the log's length.
    """
    tried = [f"- {_short(name)}: {c.tried} tried, {c.kept} kept" for name, c in sorted(memory.categories.items())]
    waiting = Counter(item.category or "uncategorised" for item in backlog)
    frontier = [
        f"- {_short(name)}: {n} waiting" + ("" if name in memory.categories else ", never tried")
        for name, n in sorted(waiting.items())
    ]
    causes = sorted(memory.causes.items(), key=lambda found: (-found[1], found[0]))
    themes = [f"- {n} x {cause}" for cause, n in causes[:10]]
    themes += [f"- case {case.get('case_id', '?')}: {_short(str(case.get('reason', '')))}" for case in worst[:10]]
    parts = [
        ("Categories tried", _bounded(tried)),
        ("Kept", memory.kept.shown()),
        ("Not kept", memory.failed.shown()),
        ("Frontier: not tried yet", _bounded(frontier)),
        ("Key learnings", memory.learnings.shown()),
        ("Failure themes", themes),
    ]
    text = [f"# Strategy digest: {spec_name}", ""]
    for title, lines in parts:
        text += [f"## {title}", "", *(lines or ["- nothing yet"]), ""]
    return "\n".join(text)


def _bounded(lines: Sequence[str]) -> list[str]:
    if len(lines) <= LINES_A_PART:
        return list(lines)
    return [f"- ({len(lines) - LINES_A_PART} earlier ones left out)", *lines[-LINES_A_PART:]]


def _short(text: str, most: int = 160) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"
