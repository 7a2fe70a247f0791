"""The HTTP side: which script a request belongs to, faults, and the list of what was asked.

It listens on the loopback address alone and needs nothing but the standard library.
"""

import json
import re
import select
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from headway.testing.model_server import anthropic, chat, gemini, responses
from headway.testing.model_server.exchange import WireProtocol, Written
from headway.testing.model_server.playing import answer_to
from headway.testing.model_server.script import SCRIPTS, Fault, FaultKind, Script

DEFAULT_SCRIPT = "edit"
LOOK_SECONDS = 0.1
MODELS = ("mock-model", "claude-sonnet-4-5", "gpt-5.5", "gemini-2.5-pro")
PROTOCOLS: Mapping[str, WireProtocol] = {
    "anthropic": cast(WireProtocol, anthropic),
    "chat": cast(WireProtocol, chat),
    "responses": cast(WireProtocol, responses),
    "gemini": cast(WireProtocol, gemini),
}


@dataclass(frozen=True)
class Asked:
    """One request that a client made.

    Args:
        script: the script that answered it.
        protocol: of `PROTOCOLS`.
        path: below the script's address.
        number: of the request within its script, from 1.
        status: HTTP status of the answer; 0 where it never came whole.
        called: name of the tool that the answer called; empty: none.
        at: seconds since the epoch.
        body: what was asked.
        headers: in lower case; without the key.
    """

    script: str
    protocol: str
    path: str
    number: int
    status: int
    called: str = ""
    at: float = 0.0
    body: Mapping[str, Any] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


class ModelServer(ThreadingHTTPServer):
    """A server of scripts on a port of this machine; see `serve`."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, scripts: Mapping[str, Script] | None = None, port: int = 0) -> None:
        """Listen; requests are taken once `serve_forever` runs.

        Args:
            scripts: by name, beside those of `SCRIPTS`.
            port: 0 takes a free one.
        """
        self.scripts: dict[str, Script] = {**SCRIPTS, **(scripts or {})}
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}
        self._asked: list[Asked] = []
        super().__init__(("127.0.0.1", port), _Handler)

    def url(self, script: str = DEFAULT_SCRIPT, below: str = "") -> str:
        """Give the base address at which a script answers, as `url("edit", "/v1")`."""
        return f"http://127.0.0.1:{self.server_address[1]}/s/{script}{below}"

    def asked(self, script: str | None = None) -> tuple[Asked, ...]:
        """Give the requests so far, of one script or all, in order."""
        with self._lock:
            return tuple(a for a in self._asked if script is None or a.script == script)

    def count(self, script: str) -> int:
        """Give the next request's number within its script."""
        with self._lock:
            self._counts[script] = self._counts.get(script, 0) + 1
            return self._counts[script]

    def note(self, asked: Asked) -> None:
        """Keep what was asked."""
        with self._lock:
            self._asked.append(asked)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away: killed ones do."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ModelServer

    def log_message(self, format: str, *args: Any) -> None:
        """Stay silent."""

    def do_HEAD(self) -> None:
        """Say that somebody is there."""
        self._send(200, {})

    def do_GET(self) -> None:
        """Give the list of models; everything else is an empty object."""
        if not self.path.split("?")[0].endswith("/models"):
            return self._send(200, {})
        models = [{"id": name, "object": "model", "type": "model", "created": 0, "owned_by": "mock"} for name in MODELS]
        return self._send(200, {"object": "list", "data": models, "has_more": False})

    def do_POST(self) -> None:
        """Answer as the script says."""
        body = self._body()
        script_name, path = self._place()
        if path.endswith((":countTokens", "/count_tokens")):
            return self._send(200, {"input_tokens": 1000, "totalTokens": 1000})
        name = _protocol_of(path)
        script = self.server.scripts.get(script_name)
        if name is None:
            return self._send(200, {})
        if script is None:
            return self._send(404, PROTOCOLS[name].error(404, f"no script {script_name!r}"))
        return self._play(script_name, script, name, path, body)

    def _play(self, script_name: str, script: Script, name: str, path: str, body: Mapping[str, Any]) -> None:
        protocol = PROTOCOLS[name]
        number = self.server.count(script_name)
        request = protocol.read(body, path)
        fault = script.fault if script.fault and script.fault.strikes(number) else None
        answer = answer_to(request, script)
        headers = {k.lower(): v for k, v in self.headers.items() if not re.search("auth|key", k, re.IGNORECASE)}
        code = 200 if fault is None else fault.status if fault.kind is FaultKind.STATUS else 0
        called = answer.call.name if answer.call and fault is None else ""
        self.server.note(Asked(script_name, name, path, number, code, called, time.time(), body, headers))
        if fault is not None and fault.kind is FaultKind.STATUS:
            return self._refuse(protocol, fault)
        if fault is not None and fault.kind is FaultKind.SILENT:
            return self._wait_for_ever()
        written = protocol.write(request, answer, script.spent)
        if not request.is_stream and fault is None:
            return self._send(200, written.document)
        return self._stream(written, fault)

    def _refuse(self, protocol: WireProtocol, fault: Fault) -> None:
        headers = {} if fault.retry_after is None else {"retry-after": f"{fault.retry_after:g}"}
        self._send(fault.status, protocol.error(fault.status, fault.message or f"mock error {fault.status}"), headers)

    def _stream(self, written: Written, fault: Fault | None) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        first, *rest = written.events
        if fault is None:
            self.wfile.write("".join(written.events).encode())
            return
        if not rest:  # a protocol whose whole answer is one event: half of it
            first, rest = first[: len(first) // 2], [first[len(first) // 2 :]]
        self.wfile.write(first.encode())
        self.wfile.flush()
        if fault.kind is FaultKind.STALL:
            self._wait_for_ever()
        elif len(written.events) > 1:
            self.wfile.write(rest[0][: len(rest[0]) // 2].encode())

    def _wait_for_ever(self) -> None:
        """Hold the connection until the client lets go of it or the server is closed."""
        self.close_connection = True
        while not self.server.closing.wait(LOOK_SECONDS):
            with suppress(OSError):
                readable, _, _ = select.select([self.connection], [], [], 0)
                if readable and self.connection.recv(1, socket.MSG_PEEK) == b"":
                    return

    def _place(self) -> tuple[str, str]:
        path = self.path.split("?")[0]
        found = re.match(r"/s/([^/]+)(/.*)?$", path)
        return (found.group(1), found.group(2) or "/") if found else (DEFAULT_SCRIPT, path)

    def _body(self) -> Mapping[str, Any]:
        raw = b""
        if (self.headers.get("transfer-encoding") or "").lower() == "chunked":
            while size := int(self.rfile.readline().strip() or b"0", 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        with suppress(ValueError):
            value = json.loads(raw)
            return value if isinstance(value, dict) else {}
        return {}

    def _send(self, code: int, document: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
        data = json.dumps(document).encode()
        self.send_response(code)
        own = {"content-type": "application/json", "content-length": str(len(data))}
        for name, value in {**own, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def _protocol_of(path: str) -> str | None:
    """Give the protocol that a path belongs to; None: none of ours, such as a client's telemetry."""
    if "enerateContent" in path:
        return "gemini"
    ends = {"/messages": "anthropic", "/chat/completions": "chat", "/responses": "responses"}
    return next((name for end, name in ends.items() if path.endswith(end)), None)


@contextmanager
def serve(scripts: Mapping[str, Script] | None = None, port: int = 0) -> Iterator[ModelServer]:
    """Run a server in a thread for as long as the block lasts.

    Args:
        scripts: by name, beside those of `SCRIPTS`.
        port: 0 takes a free one.
    """
    server = ModelServer(scripts, port)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="model-server", daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
