"""headway: measurable headway on code while nobody watches.

Public: `read_log`, `read_records` and the records that they give. They are loaded when they are first used, so that
`import headway` stays cheap.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.core.log_reading import ReadExperiment as ReadExperiment
    from headway.core.log_reading import ReadLog as ReadLog
    from headway.core.record_reading import ReadRecord as ReadRecord
    from headway.reading import read_log as read_log
    from headway.reading import read_records as read_records

__version__ = "0.1.0"

_PUBLIC = {
    "read_log": "headway.reading",
    "read_records": "headway.reading",
    "ReadExperiment": "headway.core.log_reading",
    "ReadLog": "headway.core.log_reading",
    "ReadRecord": "headway.core.record_reading",
}

__all__ = ["ReadExperiment", "ReadLog", "ReadRecord", "__version__", "read_log", "read_records"]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
