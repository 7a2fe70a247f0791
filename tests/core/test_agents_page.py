"""The recipes of `docs/agents.md` are specs that load, for agents that there are."""

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from headway.core.agent_turns import Trouble
from headway.core.spec_problems import read_spec
from headway.core.spec_rules import AGENT_OPTIONS
from headway.core.spec_support import refusals
from tests.builders import a_spec_mapping

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "agents.md").read_text("utf-8")
RECIPES = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_is_a_spec_that_can_be_run(recipe: str) -> None:
    """Its keys and options are known, and nothing of it is refused."""
    agent = YAML(typ="safe", pure=True).load(recipe)["agent"]
    spec, problems = read_spec(a_spec_mapping(agent=agent))
    assert problems == ()
    assert spec is not None and refusals(spec) == ()


def test_every_agent_and_every_trouble_is_on_the_page() -> None:
    """A new one needs its row."""
    for name in [*AGENT_OPTIONS, *Trouble]:
        assert f"`{name}`" in PAGE
