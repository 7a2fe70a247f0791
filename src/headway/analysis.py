"""Analyse runs from Python: figures, data frames and charts of any log that headway can read.

    from headway import analysis

    run = analysis.read("path/to/.headway/my-spec")       # a state root, or a log
    run.rates.keep_rate, run.attribution.keeps, run.near_misses
    analysis.experiments(run)                             # a data frame: pandas or polars, the extra `analysis`
    analysis.charts(run)["progress"]                      # an Altair chart, the extra `report`

Holdout values are left out. `import headway` loads none of this.
"""

from pathlib import Path
from typing import Any

from headway.adapters.charts import charts_of
from headway.adapters.frames import frame_of
from headway.core.analysis.charting import chart_data
from headway.core.analysis.rates import By, Rates
from headway.core.analysis.tables import (
    experiments_table,
    groups_table,
    keeps_table,
    near_misses_table,
    runs_table,
)
from headway.core.analysis.tried import Fate, Tried
from headway.core.analysis.whole import Analysis, Compared, analyse, compared
from headway.orchestrator.run_files import read_run
from headway.store.paths import StateRoot

__all__ = [
    "Analysis",
    "By",
    "Compared",
    "Fate",
    "Rates",
    "Tried",
    "charts",
    "compare",
    "experiments",
    "groups",
    "keeps",
    "near_misses",
    "read",
]


def read(path: str | Path) -> Analysis:
    """Analyse a run.

    Args:
        path: its state root, or a log.
    Raises: RequestWrong, when there is no such log; DataDamaged, with the line; DiskFailed.
    """
    given = Path(path)
    files = read_run(StateRoot(given).log if given.is_dir() else given)
    return analyse(files.log, files.spec, files.facts, files.notes)


def experiments(run: Analysis, backend: str | None = None) -> Any:
    """Give a data frame with one row an experiment.

    Args:
        run: as `read` gives it.
        backend: `pandas` or `polars`; None: whichever is installed, pandas first.
    Raises: OutsideFailed, where the package is not installed.
    """
    return frame_of(experiments_table(run).columns(), backend)


def groups(run: Analysis, by: By | str, backend: str | None = None) -> Any:
    """Give a data frame with keep rate, cost and time per keep of each category, agent, file, hour, ..."""
    dimension = By(by)
    return frame_of(groups_table(dimension, run.by(dimension)).columns(), backend)


def keeps(run: Analysis, backend: str | None = None) -> Any:
    """Give a data frame with one row a keep: its gain, its share of the whole, and whether it held."""
    return frame_of(keeps_table(run).columns(), backend)


def near_misses(run: Analysis, backend: str | None = None) -> Any:
    """Give a data frame with what looked better and was not kept."""
    return frame_of(near_misses_table(run).columns(), backend)


def compare(runs: dict[str, Analysis], backend: str | None = None) -> Any:
    """Give a data frame with one row a run, side by side; `runs` maps labels to runs."""
    return frame_of(runs_table([compared(label, run) for label, run in runs.items()]).columns(), backend)


def charts(run: Analysis) -> dict[str, Any]:
    """Give the report's charts by name, as Altair charts.

    Raises: OutsideFailed, where Altair is not installed.
    """
    return charts_of(chart_data(run))
