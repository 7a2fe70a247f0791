"""From the log's file to typed values; what cannot be typed is damage, told with its place.

Source: DESIGN section 5; STYLE section 6.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pydantic import ValidationError

from headway.core.log_view import MEMORY, Log, log_of
from headway.core.records import Entry
from headway.errors import DataDamaged
from headway.store.log import LogFile


class FactsDamaged(DataDamaged):
    """A section or entry of the log is not what the schema says."""

    def __init__(self, path: str, place: str, said: str) -> None:
        super().__init__(
            f"the log holds what no log can: {place}: {said}",
            path,
            "`headway log check` names every such place; put the facts back from a copy",
        )
        self.args = (path, place, said)


@contextmanager
def _told(file: LogFile, where: str) -> Iterator[None]:
    """Turn what pydantic says into damage with its place. Raises: FactsDamaged."""
    try:
        yield
    except ValidationError as problem:
        first = problem.errors()[0]
        place = ".".join([where, *(str(part) for part in first["loc"])]).strip(".")
        raise FactsDamaged(str(file.path), place, first["msg"]) from problem
    except KeyError as problem:
        raise FactsDamaged(str(file.path), str(problem.args[0]), "is missing") from problem


def view_of(file: LogFile) -> Log:
    """Give the view of an open log: its sections, its newest entries, and the best one. Raises: DataDamaged."""
    rows = {int(row["iteration"]): row for row in file.tail(MEMORY) if isinstance(row.get("iteration"), int)}
    best = (file.section("best") or {}).get("iteration") or 0
    if best and best not in rows and best in file.iterations():
        rows[best] = file.entry(best)
    with _told(file, ""):
        return log_of(file.sections(), rows.values(), file.count)


def entry_of(file: LogFile, row: Mapping[str, Any]) -> Entry | None:
    """Give the entry of a row of the log; None for one without a number or an outcome. Raises: DataDamaged."""
    if "iteration" not in row or "outcome" not in row:
        return None
    with _told(file, f"experiments[{row['iteration']}]"):
        return Entry.model_validate(dict(row))
