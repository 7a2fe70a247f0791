"""A scripted model server that injects faults, for testing programs that ask a model, offline and with dummy keys.

    with serve({"slow-fix": Script((Read("a.py"), Write("a.py", "x = 2\\n")), says="Done.")}) as server:
        run_my_agent(base_url=server.url("slow-fix", "/v1"), key="sk-dummy")
        assert server.asked("slow-fix")[0].protocol == "chat"

It speaks, in streams and whole: Anthropic Messages, OpenAI Chat Completions and Responses, Gemini. The address picks
the script: `http://127.0.0.1:PORT/s/NAME`. A script is played with the tools that the client declares, so that the
same one drives any program. `python -m headway.testing.model_server` runs one by hand.
"""

from headway.testing.model_server.script import (
    EDIT,
    SCRIPTS,
    Call,
    Fault,
    FaultKind,
    Read,
    Replace,
    Script,
    Shell,
    Spent,
    Step,
    Write,
    status,
)
from headway.testing.model_server.server import Asked, ModelServer, serve

__all__ = [
    "EDIT",
    "SCRIPTS",
    "Asked",
    "Call",
    "Fault",
    "FaultKind",
    "ModelServer",
    "Read",
    "Replace",
    "Script",
    "Shell",
    "Spent",
    "Step",
    "Write",
    "serve",
    "status",
]
