"""`headway decide`: the decision engine for other tools, JSON in, JSON out."""

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from headway.core.decide import decide as decide_on
from headway.errors import RequestWrong

READS_ONLY = True
EXAMPLE = '{"spec": {...}, "baseline": {...}, "candidate": {...}}'


def decide(
    file: Annotated[
        Path | None, typer.Argument(help="JSON file with the payload; standard input where it is left out or '-'.")
    ] = None,
    lines: Annotated[bool, typer.Option("--lines", help="One payload a line, one answer a line, in order.")] = False,
) -> None:
    """Decide on measurements: keep, revert, or what to measure next."""
    with _opened(file) as source:
        if not lines:
            print(json.dumps(decide_on(_parsed(source.read(), _name(file))), indent=2))
            return
        failed = 0
        for answer in answers(source):
            failed += "error" in answer
            print(json.dumps(answer), flush=True)  # a tool may wait for this answer before it sends the next payload
    if failed:
        raise typer.Exit(RequestWrong.exit_code)


def answers(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Answer payloads line by line.

    Args:
        lines: one JSON payload each, UTF-8.
    Returns: one answer per line, in order; `{"error": ..., "where": ..., "mend": ...}` for a line that is no payload.
    """
    for number, line in enumerate(lines, start=1):
        try:
            yield decide_on(_parsed(line, f"line {number}"))
        except RequestWrong as wrong:
            yield {"error": wrong.what, "where": wrong.where, "mend": wrong.mend}


@contextmanager
def _opened(file: Path | None) -> Iterator[BinaryIO]:
    if file is None or str(file) == "-":
        yield sys.stdin.buffer
        return
    try:
        source = file.open("rb")
    except OSError as error:
        raise RequestWrong(f"the payload cannot be read: {error.strerror}", str(file), "name a file") from error
    with source:
        yield source


def _parsed(data: bytes, where: str) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise RequestWrong(f"the payload is not UTF-8 at byte {error.start}", where, "send it as UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise RequestWrong(f"the payload is no JSON: {error}", where, f"send {EXAMPLE}") from error


def _name(file: Path | None) -> str:
    return "standard input" if file is None or str(file) == "-" else str(file)
