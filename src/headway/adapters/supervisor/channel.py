"""A keeper's ears and mouth: lines from the supervisor, lines to it, and the news that a child has ended."""

import contextlib
import json
import math
import os
import select
import signal
from collections.abc import Mapping
from typing import Any

from .job_files import line
from .system_calls import drain, wake_on, write_all

CONTROL = 3  # a keeper's end of its socketpair


class Channel:
    """Hears for one keeper; `is_open` until nobody waits for it any more, `was_told_to_end` after a TERM."""

    def __init__(self) -> None:
        self.is_open = True
        self.was_told_to_end = False
        self._wake = wake_on(signal.SIGCHLD)
        self._canceled = ""  # the folder of the job that headway asked to end
        self._heard = b""
        self._poller = select.poll()
        self._poller.register(self._wake, select.POLLIN)
        self._poller.register(CONTROL, select.POLLIN)
        signal.signal(signal.SIGTERM, self._on_term)

    def next_order(self) -> dict[str, Any] | None:
        """Wait for a job; None if there will never be one."""
        while True:
            words, newline, rest = self._heard.partition(b"\n")
            if newline:
                self._heard = rest
                message = json.loads(words)
                if "start" in message:
                    order: dict[str, Any] = message["start"]
                    return order
                continue  # the cancel of a job that had ended by itself
            if self.was_told_to_end or not self.is_open:
                return None
            self.listen(None)

    def is_canceled(self, folder: str) -> bool:
        """Whether headway asked this job, the one under way, to end."""
        while b"\n" in self._heard:
            words, _, self._heard = self._heard.partition(b"\n")
            self._canceled = json.loads(words).get("cancel", self._canceled)
        return self._canceled == folder

    def listen(self, seconds: float | None) -> None:
        """Sleep until a child ends, somebody speaks, a signal comes, or `seconds` pass."""
        limit = None if seconds is None or math.isinf(seconds) else max(0, math.ceil(seconds * 1000))
        for descriptor, _ in self._poller.poll(limit):
            if descriptor == self._wake:
                drain(self._wake)
                continue
            words = self._read()
            self._heard += words
            if not words:
                self.is_open = False
                self._poller.unregister(CONTROL)

    def tell(self, *messages: Mapping[str, Any]) -> None:
        """Say it to the supervisor, if there still is one."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            write_all(CONTROL, b"".join(map(line, messages)))

    def _read(self) -> bytes:
        """What the supervisor says; empty when it is gone, be it with our words unread."""
        try:
            return os.read(CONTROL, 65536)
        except ConnectionResetError:
            return b""

    def _on_term(self, *_: object) -> None:
        self.was_told_to_end = True
