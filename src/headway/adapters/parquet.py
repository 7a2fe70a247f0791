"""Parquet, by pyarrow or polars (the extra `analysis`): imported here alone, and only when asked for."""

import importlib
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headway.errors import OutsideFailed

Columns = Mapping[str, Sequence[Any]]
_MEND = "pip install 'headway[analysis]' (it brings pyarrow), or choose --format csv"


def parquet_writer() -> Callable[[Columns], bytes]:
    """Give a function from columns, each of one type with None for unknown, to the bytes of a Parquet file.

    Raises: OutsideFailed, when neither package is installed, with the mend.
    """
    for name, write in (("pyarrow", _by_pyarrow), ("polars", _by_polars)):
        try:
            importlib.import_module(name)
        except ImportError:
            continue
        return write
    raise OutsideFailed("Parquet needs a package that is not installed", "--format parquet", _MEND)


def _by_pyarrow(columns: Columns) -> bytes:
    arrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    out = io.BytesIO()
    parquet.write_table(arrow.table({name: list(cells) for name, cells in columns.items()}), out)
    return out.getvalue()


def _by_polars(columns: Columns) -> bytes:
    out = io.BytesIO()
    importlib.import_module("polars").DataFrame(dict(columns)).write_parquet(out)
    return out.getvalue()
