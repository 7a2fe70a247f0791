"""Says aloud which native agents were not tested on their real programs."""

from collections.abc import Iterator

import pytest

from headway.testing.model_server import ModelServer, serve
from tests.agents.programs import PROGRAMS
from tests.agents.scripts import SCRIPTS_OF_TESTS


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the programs that are missing, below the results."""
    for program in PROGRAMS:
        if not program.is_installed:
            terminalreporter.write_line(f"WARNING: {program.why_not}", yellow=True)


@pytest.fixture(scope="session")
def server() -> Iterator[ModelServer]:
    """A model server with the scripts of these tests."""
    with serve(SCRIPTS_OF_TESTS) as running:
        yield running
