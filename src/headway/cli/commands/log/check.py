"""`headway log check`: what is wrong, odd or unknown in a log file."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.options import Json, Name, Repo, StateRoot, where_of
from headway.cli.screen import counted, print_document, say
from headway.errors import DataDamaged

if TYPE_CHECKING:
    from headway.core.log_findings import Finding

READS_ONLY = True


def check(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="The log; left out: this run's own.")] = None,
    repo: Repo = None,
    name: Name = None,
    state_root: StateRoot = None,
    as_json: Json = False,
) -> None:
    """Report what is wrong, odd or unknown in a log. Exits with 6 where it found errors; changes nothing."""
    from headway import app

    path, findings = app.check_the_log(file, where_of(repo, name, state_root))
    errors = sum(finding.severity == "error" for finding in findings)
    if as_json:
        print_document([asdict(finding) for finding in findings])
    else:
        say(*(line for finding in findings for line in _lines(path, finding)))
        say(f"a commit to it goes by {app.way_of_commits(path)}")
        say(f"{path}: {counted(errors, 'error')}, {counted(len(findings) - errors, 'other finding')}")
    if errors:
        raise typer.Exit(DataDamaged.exit_code)


def _lines(path: Path, finding: "Finding") -> list[str]:
    line = f":{finding.line}" if finding.line is not None else ""
    told = [f"{path}{line}: {finding.severity}: {finding.where}: {finding.what}"]
    return [*told, f"  mend: {finding.mend}"] if finding.mend else told
