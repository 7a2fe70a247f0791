"""How a job ended: the content of `exit.json`."""

import os
import resource
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from .system_calls import now

TIMEOUT_CODE, FUTILITY_CODE = 124, 125
ASKED_FOR = "canceled"  # the reason of an end that headway asked for; every other one is a death


class Verdict(NamedTuple):
    """How a job ended: `status` as in exit.json, why, where that is not plain from it, and headway's futility mark."""

    status: str
    reason: str = ""
    futility: bool = False


class Costs:
    """What the processes of one job cost, as they are taken in."""

    def __init__(self) -> None:
        self.user_seconds = self.system_seconds = 0.0
        self.max_rss = 0

    def add(self, usage: resource.struct_rusage) -> None:
        """Count one process and all that it waited for."""
        self.user_seconds += usage.ru_utime
        self.system_seconds += usage.ru_stime
        self.max_rss = max(self.max_rss, usage.ru_maxrss)


def exit_report(
    verdict: Verdict,
    *,
    main_status: int | None,
    costs: Costs,
    started_at: str | None,
    elapsed_seconds: float,
    sizes: tuple[int, int],
    leftovers: Mapping[int, str],
) -> dict[str, Any]:
    """The content of `exit.json`.

    Args:
        verdict: how the keeper saw it end.
        main_status: what the kernel said of the command; None if it never ended.
        sizes: bytes on standard output and standard error when all that could write there was dead.
        leftovers: command lines of what had to be killed, by process id.
    """
    status, code, number = verdict.status, None, None
    if main_status is not None:
        if os.WIFSIGNALED(main_status):
            number = os.WTERMSIG(main_status)
            status = "signaled" if status == "exited" else status
        elif status == "exited":
            code = os.WEXITSTATUS(main_status)
    if status in ("timeout", "idle_timeout"):
        code, number = FUTILITY_CODE if verdict.futility else TIMEOUT_CODE, None
    return {
        "status": status,
        "code": code,
        "signal": number,
        "reason": verdict.reason,
        "started_at": started_at,
        "ended_at": now(),
        "elapsed_seconds": round(elapsed_seconds, 6),
        "max_rss_kb": costs.max_rss // (1 if sys.platform == "linux" else 1024),
        "user_seconds": round(costs.user_seconds, 6),
        "system_seconds": round(costs.system_seconds, 6),
        "stdout_bytes": sizes[0],
        "stderr_bytes": sizes[1],
        "leftovers": [{"pid": pid, "cmdline": text} for pid, text in leftovers.items()],
        "futility": verdict.futility,
    }
