"""Finds adapters by name: file name = name in the spec; other packages' by entry point.

Source: STYLE section 2 (add it in one file).
"""

import importlib
import importlib.metadata
import pkgutil
from types import ModuleType
from typing import Any

from headway.errors import RequestWrong


class UnknownAdapter(RequestWrong):
    """The spec names an adapter that nobody ships."""

    def __init__(self, kind: str, name: str, known: tuple[str, ...]) -> None:
        super().__init__(
            f"there is no {kind} of the name `{name}`", f"{kind}.type", f"this version has: {', '.join(known)}"
        )
        self.args = (kind, name, known)


def names(kind: str) -> tuple[str, ...]:
    """Give the names of all adapters of a kind (`agent`, `proposer`), ours first."""
    package = importlib.import_module(f"headway.adapters.{kind}s")
    ours = [m.name.replace("_", "-") for m in pkgutil.iter_modules(package.__path__)]
    theirs = [e.name for e in importlib.metadata.entry_points(group=f"headway.{kind}s")]
    return tuple(dict.fromkeys([*sorted(ours), *sorted(theirs)]))


def find(kind: str, name: str) -> Any:
    """Give the `make` function of an adapter.

    Raises: UnknownAdapter, naming those that there are.
    """
    for entry in importlib.metadata.entry_points(group=f"headway.{kind}s", name=name):
        return entry.load()
    known = names(kind)
    if name not in known:
        raise UnknownAdapter(kind, name, known)
    module: ModuleType = importlib.import_module(f"headway.adapters.{kind}s.{name.replace('-', '_')}")
    return module.make
