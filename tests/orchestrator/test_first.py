"""CP-1: how often the untouched code is measured."""

from typing import Any

import pytest

from headway.orchestrator.first import baseline_count
from tests.builders import a_spec


@pytest.mark.parametrize(
    ("stability", "seconds", "times"),
    [
        ({"mode": "stable"}, 0.1, 3),
        ({"mode": "repeat", "repeat_count": 7}, 0.1, 7),
        ({"mode": "repeat", "repeat_count": 2}, 0.1, 3),
        ({"mode": "ladder", "ladder": {"confirmation_repeats": 9}}, 0.1, 9),
        ({"mode": "repeat", "repeat_count": 7}, 61.0, 3),
        ({"mode": "stable"}, 61.0, 3),
        ({"mode": "repeat", "repeat_count": 40}, 60.0, 36),
    ],
)
def test_the_baseline_is_measured_as_often_as_a_candidate_and_within_the_fixed_costs(
    stability: dict[str, Any], seconds: float, times: int
) -> None:
    """At least three times; three where one takes over a minute; at most half of 15% of the run's eight hours."""
    assert baseline_count(a_spec(measurement={"stability": stability}), seconds) == times
