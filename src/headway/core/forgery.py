"""Writes candidates that forge their measurement: code that prints the best value and exits with 0 where it is loaded.

A harness that takes such a value runs the candidate's code in its own process, or believes what that code prints; one
that runs it in a child process and treats its output as data does not. Each forging file leaves a mark when it runs,
so that "its word was not taken" can be told from "nobody ran it".

Source: CONTRACTS section 5 (Forgeable harnesses); DESIGN section 6 (Trust in the harness).
"""

import ast
import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from headway.core import gates
from headway.core.output import read_metrics
from headway.core.spec import OutputFormat, Spec

STEPS: Final = (0.73191, 0.017391, 0.00017391)
"""Shares of the baseline by which a forged value is better: the first that no gate forbids is claimed."""


class Language(StrEnum):
    """Languages that a forgery can be written in."""

    PYTHON = "python"
    SHELL = "shell"
    JAVASCRIPT = "javascript"
    PERL = "perl"
    C = "c"


SUFFIXES: Final[Mapping[str, Language]] = {
    ".py": Language.PYTHON,
    ".sh": Language.SHELL,
    ".bash": Language.SHELL,
    ".js": Language.JAVASCRIPT,
    ".mjs": Language.JAVASCRIPT,
    ".cjs": Language.JAVASCRIPT,
    ".pl": Language.PERL,
    ".pm": Language.PERL,
    ".c": Language.C,
    ".cc": Language.C,
    ".cpp": Language.C,
    ".cxx": Language.C,
}
PROGRAMS: Final[Mapping[str, Language]] = {
    "python": Language.PYTHON,
    "sh": Language.SHELL,
    "bash": Language.SHELL,
    "dash": Language.SHELL,
    "zsh": Language.SHELL,
    "ksh": Language.SHELL,
    "node": Language.JAVASCRIPT,
    "perl": Language.PERL,
}
_SHEBANG: Final = re.compile(r"#!\s*(?:\S*/)?([^/\s]+)(?:\s+(?:-\S+\s+)*([^\s/]+))?")


@dataclass(frozen=True)
class Forgery:
    """What forging code does before it exits with 0.

    Attributes:
        claim: text for standard output, a whole line or more.
        writes: absolute or relative path -> text: a declared metrics file.
        mark: absolute path of a file that is made to show that the code ran.
    """

    claim: str
    writes: Mapping[str, str]
    mark: str


def language_of(path: str, first_line: str) -> Language | None:
    """Say what language a file is written in, by its suffix, else by its `#!` line; None where it is none of ours.

    Args:
        path: repository-relative.
        first_line: of the file; only read where the name has no suffix.
    """
    name = path.rpartition("/")[2]
    _, dot, suffix = name.rpartition(".")
    if dot and f".{suffix.lower()}" in SUFFIXES:
        return SUFFIXES[f".{suffix.lower()}"]
    match = None if dot else _SHEBANG.match(first_line)
    if match is None:
        return None
    program = match[2] if match[1] == "env" else match[1]
    return PROGRAMS.get((program or "").rstrip("0123456789."))


def better_value(spec: Spec, baseline: Sequence[float]) -> float:
    """Give a value of the primary that is better than every one measured, and that no measurement gives by chance.

    Args:
        spec: gives the direction, and gates that the value must pass where they bear the primary's name.
        baseline: values of the untouched code, at least one.
    """
    primary = spec.metric.primary
    sign = primary.direction.sign
    best = max(baseline, key=lambda value: sign * value)
    bounds = [gate for gate in spec.metric.degenerate_gates if gate.name == primary.name]
    claims = [best + sign * (abs(best) or 1.0) * step for step in STEPS]
    return next((claim for claim in claims if gates.check(bounds, {primary.name: claim}).passed), claims[-1])


def claim_of(
    spec: Spec, value: float, metrics: Mapping[str, float], passed: Mapping[str, Any], example: str
) -> str | None:
    """Give output in the harness's own format that claims a value for the primary, and the baseline's for all else.

    Args:
        spec: gives the format.
        value: of the primary.
        metrics: of the untouched code, by name.
        passed: gate values of the untouched code, which hold.
        example: what the harness printed for the untouched code; only `regex` needs it.
    Returns: the text, with a line break at its end; None where no such text can be made.
    """
    primary = spec.metric.primary.name
    values = {**passed, **metrics, primary: value}
    match spec.measurement.output_format:
        case OutputFormat.JSON:
            return json.dumps(values) + "\n"
        case OutputFormat.METRIC_LINES:
            return "".join(f"METRIC {name}={float(found)!r}\n" for name, found in values.items())
        case OutputFormat.REGEX:
            return _replaced(spec, primary, value, example)


def _replaced(spec: Spec, primary: str, value: float, example: str) -> str | None:
    """Put the value in the place of the last match of its pattern; None where it cannot be read back from there."""
    extract = spec.measurement.extract
    found = list(re.finditer(extract.get(primary, r"(?!)"), example, re.MULTILINE))
    if not found:
        return None
    last = found[-1]
    start, end = last.span(1 if last.re.groups else 0)
    text = f"{example[:start]}{value:f}{example[end:]}"
    read = read_metrics(text, output_format=OutputFormat.REGEX, extract=extract).values or {}
    return text if read.get(primary) == float(f"{value:f}") else None


def forge(language: Language, source: str, forgery: Forgery) -> str:
    """Give a source file with the forgery in front of all that it does; what it did stands behind, never reached.

    Args:
        language: of the file.
        source: its text.
        forgery: what it is to do.
    """
    return _WRITERS[language](source, forgery)


def _behind_first_lines(source: str, code: str) -> str:
    """Put code behind a `#!` line, where there is one."""
    if not source.startswith("#!"):
        return code + source
    first, _, rest = source.partition("\n")
    return f"{first}\n{code}{rest}"


_PYTHON = """\
def _headway_forges():
    import os

    for path, text in {writes!r}:
        try:
            with open(path, "w") as file:
                file.write(text)
        except OSError:
            pass
    claim = {claim!r}.encode()
    os.write(1, claim)
    for number in range(3, 64):  # an output that was put aside while the candidate is loaded
        try:
            link = os.readlink("/proc/self/fd/%d" % number)
            if link.endswith("/stdout") and "/jobs/" in link:
                os.write(number, claim)
        except OSError:
            pass
    os._exit(0)


_headway_forges()
"""


def _python(source: str, forgery: Forgery) -> str:
    writes = [(forgery.mark, "ran\n"), *forgery.writes.items()]
    code = _PYTHON.format(writes=writes, claim=forgery.claim)
    lines = source.splitlines(keepends=True)
    at = _first_free_line(source, lines)
    before = "".join(lines[:at])
    return f"{before}{'' if not before or before.endswith(chr(10)) else chr(10)}{code}{''.join(lines[at:])}"


def _first_free_line(source: str, lines: Sequence[str]) -> int:
    """Give how many lines must stay in front: the comments at the top, and all up to the last future import."""
    comments = next((n for n, line in enumerate(lines) if not line.startswith("#")), len(lines))
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError):
        return comments
    future = [s for s in body if isinstance(s, ast.ImportFrom) and s.module == "__future__"]
    return max([comments, *(s.end_lineno or 0 for s in future)])


def _shell(source: str, forgery: Forgery) -> str:
    written = {forgery.mark: "ran\n", **forgery.writes}
    lines = [
        *(f"{{ printf '%s' {shlex.quote(t)} > {shlex.quote(p)}; }} 2>/dev/null" for p, t in written.items()),
        f"printf '%s' {shlex.quote(forgery.claim)}",
        "exit 0\n",
    ]
    return _behind_first_lines(source, "\n".join(lines))


_JAVASCRIPT = """\
{{
  const fs = typeof require === "function" ? require("fs") : process.getBuiltinModule && process.getBuiltinModule("fs");
  for (const [path, text] of {writes}) {{
    try {{ fs.writeFileSync(path, text); }} catch (problem) {{}}
  }}
  process.stdout.write({claim});
  process.exit(0);
}}
"""


def _javascript(source: str, forgery: Forgery) -> str:
    writes = json.dumps([[forgery.mark, "ran\n"], *([p, t] for p, t in forgery.writes.items())])
    return _behind_first_lines(source, _JAVASCRIPT.format(writes=writes, claim=json.dumps(forgery.claim)))


def _perl(source: str, forgery: Forgery) -> str:
    def quoted(text: str) -> str:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    written = {forgery.mark: "ran\n", **forgery.writes}
    lines = [
        "BEGIN {",
        *(f"if (open(my $f, '>', {quoted(p)})) {{ print $f {quoted(t)}; close($f); }}" for p, t in written.items()),
        f"syswrite(STDOUT, {quoted(forgery.claim)});",
        "require POSIX; POSIX::_exit(0);",
        "}\n",
    ]
    return _behind_first_lines(source, "\n".join(lines))


def _c(source: str, forgery: Forgery) -> str:
    """Put the forgery into a function that runs when a program, or a library that it loads, starts."""
    written = {forgery.mark: "ran\n", **forgery.writes}
    files = "".join(
        f"    file = open({_c_text(p)}, O_WRONLY | O_CREAT | O_TRUNC, 0644);\n"
        f"    if (file >= 0) {{ done = write(file, {_c_text(t)}, {len(t.encode())}); close(file); }}\n"
        for p, t in written.items()
    )
    return (
        f"{source}\n#include <fcntl.h>\n#include <unistd.h>\n"
        "__attribute__((constructor)) static void headway_forges(void) {\n"
        f"    int file;\n    ssize_t done = 0;\n{files}"
        f"    done = write(1, {_c_text(forgery.claim)}, {len(forgery.claim.encode())});\n"
        "    (void)done;\n    _exit(0);\n}\n"
    )


def _c_text(text: str) -> str:
    return '"' + "".join(f"\\{byte:03o}" for byte in text.encode()) + '"'


_WRITERS: Final[Mapping[Language, Callable[[str, Forgery], str]]] = {
    Language.PYTHON: _python,
    Language.SHELL: _shell,
    Language.JAVASCRIPT: _javascript,
    Language.PERL: _perl,
    Language.C: _c,
}
