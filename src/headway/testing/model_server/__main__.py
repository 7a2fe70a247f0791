"""Run a server by hand: `python -m headway.testing.model_server [PORT]`, with the scripts that every server knows."""

import contextlib
import sys

from headway.testing.model_server.script import SCRIPTS
from headway.testing.model_server.server import ModelServer

server = ModelServer(port=int(sys.argv[1]) if len(sys.argv) > 1 else 0)
sys.stdout.write(f"{server.url('NAME')}, where NAME is one of: {', '.join(SCRIPTS)}\n")
sys.stdout.flush()
with contextlib.suppress(KeyboardInterrupt):
    server.serve_forever(0.05)
