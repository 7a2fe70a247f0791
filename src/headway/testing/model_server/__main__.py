"""Run a server by hand: `python -m headway.testing.model_server [PORT]`, with the scripts that every server knows."""

import contextlib
import sys

from headway.testing.model_server.script import SCRIPTS
from headway.testing.model_server.server import ModelServer


def serve_by_hand(port: int) -> None:
    """Serve until it is interrupted; 0 takes a free port."""
    server = ModelServer(port=port)
    sys.stdout.write(f"{server.url('NAME')}, where NAME is one of: {', '.join(SCRIPTS)}\n")
    sys.stdout.flush()
    with contextlib.suppress(KeyboardInterrupt):
        server.serve_forever(0.05)


if __name__ == "__main__":
    serve_by_hand(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
