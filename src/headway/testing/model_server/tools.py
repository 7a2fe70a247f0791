"""Finds, for a step of a script, the call of a tool that the client declared.

Clients name their tools differently; the names here are those that the programs declared when they were tried.
"""

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import assert_never

from headway.testing.model_server.exchange import Request, Tool, ToolCall
from headway.testing.model_server.json_schemas import arguments_for
from headway.testing.model_server.script import Call, Read, Replace, Shell, Step, Write

READERS = ("Read", "read_file", "read", "view")
WRITERS = ("Write", "write_file", "write", "create_file", "write_to_file")
EDITORS = ("Edit", "replace", "edit", "edit_file", "str_replace")
SHELLS = (
    *("Bash", "bash", "run_shell_command", "exec_command", "shell_command", "shell"),
    *("execute_command", "run_commands", "terminal"),
)
PATCHER = "apply_patch"
CODE_MODE = "exec"  # takes JavaScript that calls the other tools

FOLDER_PATTERNS = (
    r"<cwd>([^<\n]+)</cwd>",
    r"(?i)working directory(?: \(cwd\))?(?: is)?:?\s*`?(/[^\s`'\"<,;]+)",
    r"(?i)currently working in the directory: (/\S+)",
    r"(?i)workspace director(?:y|ies):?\s*-?\s*`?(/[^\s`'\"<,;]+)",
)


def call_for(step: Step, request: Request) -> ToolCall | None:
    """Give the call that carries out a step with the client's tools; None where it declared nothing that could."""
    if isinstance(step, Call):
        return ToolCall(step.tool, step.arguments, _namespace(request, step.tool))
    tools = request.tools
    names, values = _wanted(step, folder_of(request.text))
    for name in names:
        if name in tools and not tools[name].is_freeform:
            return ToolCall(name, arguments_for(tools[name].schema, values), tools[name].namespace)
    if isinstance(step, Write | Replace) and PATCHER in tools:
        return _patch_call(step, tools[PATCHER])
    for name in SHELLS:
        if name in tools and not tools[name].is_freeform:
            return ToolCall(name, arguments_for(tools[name].schema, {"command": as_shell(step)}), tools[name].namespace)
    if CODE_MODE in tools and tools[CODE_MODE].is_freeform:
        code = f"const r = await tools.exec_command({{cmd: {json.dumps(as_shell(step))}}}); text(r);"
        return ToolCall(CODE_MODE, code, tools[CODE_MODE].namespace)
    return None


def _namespace(request: Request, name: str) -> str | None:
    return request.tools[name].namespace if name in request.tools else None


def folder_of(text: str) -> str | None:
    """Give the client's working directory as its prompt says it; None where it does not."""
    for pattern in FOLDER_PATTERNS:
        found = re.search(pattern, text)
        if found:
            return found.group(1).rstrip(".")
    return None


def _wanted(step: Read | Write | Replace | Shell, folder: str | None) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """Give the names of tools that do a step, and what they need to know."""
    match step:
        case Read(path):
            return READERS, {"path": _whole(path, folder)}
        case Write(path, text):
            return WRITERS, {"path": _whole(path, folder), "text": text}
        case Replace(path, old, new):
            return EDITORS, {"path": _whole(path, folder), "old": old, "new": new}
        case Shell(command):
            return SHELLS, {"command": command}
    assert_never(step)


def _whole(path: str, folder: str | None) -> str:
    return path if folder is None else str(Path(folder) / path)


def as_shell(step: Read | Write | Replace | Shell) -> str:
    """Give a step as a shell command, for clients that have nothing else."""
    match step:
        case Shell(command):
            return command
        case Read(path):
            return f"cat {shlex.quote(path)}"
        case Write(path, text):
            return f"printf %s {shlex.quote(text)} > {shlex.quote(path)}"
        case Replace(path, old, new):
            code = (
                "import sys,pathlib as p; f=p.Path(sys.argv[1]); f.write_text(f.read_text().replace(*sys.argv[2:],1))"
            )
            return f"python3 -c {shlex.quote(code)} {shlex.join((path, old, new))}"
    assert_never(step)


def _patch_call(step: Write | Replace, tool: Tool) -> ToolCall:
    lines = ["*** Begin Patch"]
    if isinstance(step, Write):
        lines += [f"*** Add File: {step.path}", *(f"+{line}" for line in step.text.splitlines())]
    else:
        lines += [f"*** Update File: {step.path}", "@@"]
        lines += [*(f"-{line}" for line in step.old.splitlines()), *(f"+{line}" for line in step.new.splitlines())]
    patch = "\n".join([*lines, "*** End Patch"]) + "\n"
    if tool.is_freeform:
        return ToolCall(PATCHER, patch, tool.namespace)
    parameter = next(iter(tool.schema.get("properties") or {"input": None}))
    return ToolCall(PATCHER, {parameter: patch}, tool.namespace)
