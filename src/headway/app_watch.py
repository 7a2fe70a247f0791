"""The part of the one door that looks at a run again and again while another process carries it out."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from headway.app import Where, live_owner, read_log, status
from headway.core.analysis.tried import moment
from headway.core.eta import Eta, eta_of
from headway.core.events import Event
from headway.core.log_view import Log
from headway.core.record_reading import record_from
from headway.core.report import Status
from headway.store.paths import RunPaths, StateRoot
from headway.store.tail import Tail


@dataclass(frozen=True)
class Look:
    """A run at one moment.

    Args:
        log: None before CP-1.
        events: facts recorded since the last look, oldest first.
        running_seconds: how long each open experiment has been open, by number; a missing one is not known.
        is_live: a process is carrying the run out.
    """

    status: Status
    log: Log | None
    eta: Eta
    events: tuple[Event, ...]
    running_seconds: dict[int, float]
    is_live: bool


class Watcher:
    """Looks at one run; reads anew only what has changed."""

    def __init__(self, where: Where) -> None:
        """Choose the run. Raises: RequestWrong, where there is none."""
        self._where = where
        self._state = where.existing()
        self._seen: tuple[object, ...] = ()
        self._status: Status | None = None
        self._log: Log | None = None
        self._tails: dict[int, Tail] = {}
        self._since: dict[int, datetime] = {}
        self._is_first = True

    def look(self) -> Look:
        """Look at the run now. Raises: DataDamaged, DiskFailed."""
        is_live = live_owner(self._state) is not None
        events = self._events()
        seen = (_stamp(self._state), is_live)
        if self._status is None or events or seen != self._seen:
            self._seen = seen
            self._status = status(self._where)
            self._log = read_log(self._state)[1] if self._state.log.is_file() else None
        self._is_first = False
        now = datetime.now(UTC)
        running = {
            open_.iteration: (now - self._since[open_.iteration]).total_seconds()
            for open_ in self._status.phase
            if open_.iteration in self._since
        }
        return Look(self._status, self._log, eta_of(self._status), events, running, is_live)

    def _events(self) -> tuple[Event, ...]:
        """Read what was added to the run's records and to those of its newest experiments."""
        if self._log is None:
            if not self._state.log.is_file():
                return ()
            self._log = read_log(self._state)[1]
        run = self._state.run(self._log.run_id)
        found: list[Event] = []
        for number in (0, *self._open_and_next(run)):
            tail = self._tails.get(number)
            if tail is None:
                path = run.run_records if number == 0 else run.experiment(number).records
                self._note_start(run, number)
                tail = self._tails[number] = Tail(path, from_end=self._is_first)
            found += [event for record in tail.new() if (event := record_from(record).event) is not None]
        return tuple(sorted(found, key=lambda event: event.at))

    def _open_and_next(self, run: RunPaths) -> Iterable[int]:
        """Give the experiments that may get records: those that are open, and those that begin next."""
        log = self._log
        if log is None:
            return ()
        open_ = {w.headway.iteration for w in log.dispatched if w.headway and w.headway.iteration}
        open_ |= {number for number, entry in log.recent.items() if not entry.outcome.is_final}
        highest = max([*log.recent, *open_, *self._tails, 0])
        begun = [n for n in range(highest + 1, highest + 9) if run.experiment(n).folder.is_dir()]
        followed = sorted(self._tails)[-16:]
        return sorted({*open_, *begun, *(n for n in followed if n)})

    def _note_start(self, run: RunPaths, number: int) -> None:
        first = next(iter(Tail(run.experiment(number).records, from_end=False).new()), None) if number else None
        at = moment(record_from(first).at) if first else None
        if at is not None:
            self._since[number] = at


def _stamp(state: StateRoot) -> tuple[int, int]:
    try:
        found = state.log.stat()
    except OSError:
        return (0, 0)
    return found.st_mtime_ns, found.st_size
