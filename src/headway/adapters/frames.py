"""Data frames, by pandas or polars (the extra `analysis`): imported here alone, and only when asked for."""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from headway.errors import ExtraMissing

BACKENDS = ("pandas", "polars")


def frame_of(columns: Mapping[str, Sequence[Any]], backend: str | None = None) -> Any:
    """Give a data frame.

    Args:
        columns: name -> cells, every column as long as the others, None where nothing is known.
        backend: `pandas` or `polars`; None: whichever is installed, pandas first.
    Returns: a `pandas.DataFrame` (nullable types, so that unknown stays unknown) or a `polars.DataFrame`.
    Raises: ExtraMissing, where the package is not installed, or is none of `BACKENDS`.
    """
    for name in (backend,) if backend else BACKENDS:
        package = _package(name)
        if package is not None:
            data = {column: list(cells) for column, cells in columns.items()}
            if name == "polars":
                return package.DataFrame(data, infer_schema_length=None)
            return package.DataFrame(data).convert_dtypes()
    raise ExtraMissing("no data frames here", backend or "pandas or polars", "analysis")


def _package(name: str) -> Any:
    if name not in BACKENDS:
        return None
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
