"""CP-5: what is written once a run is over: the summary with every experiment's row, and `_DONE` last.

Source: DESIGN section 4; CONTRACTS section 7 (`summary.json` embeds the same objects as `experiment.json`).
"""

import json
from typing import Any

from headway.core.log_view import Log
from headway.core.report import RunFigures
from headway.orchestrator.ground import Ground
from headway.store.atomic import write_atomic
from headway.store.paths import iteration_of


def finish_run(ground: Ground, log: Log, figures: RunFigures) -> None:
    """Write `summary.json`, then `_DONE`."""
    run = ground.run
    rows: list[Any] = []
    if run.experiments.is_dir():
        for folder in sorted(run.experiments.iterdir()):
            iteration = iteration_of(folder.name)
            path = run.experiment(iteration).experiment_json if iteration else None
            if path is not None and path.is_file():
                rows.append(json.loads(path.read_bytes()))
    summary = {"run_id": log.run_id, "spec": log.spec, "figures": figures.to_json(), "experiments": rows}
    write_atomic(
        run.summary, json.dumps(summary, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass") + b"\n"
    )
    write_atomic(run.done, b"")
