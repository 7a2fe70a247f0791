"""What the charts show, and on which scale."""

from typing import Any

import pytest

from headway.core.analysis.charting import BINS, MOST_BARS, UNITS, ChartData, chart_data
from headway.core.analysis.facts import Facts, Stretch
from headway.core.analysis.tried import Fate
from tests.builders import a_spec
from tests.core.test_analysis import analysed, tried


def at(value: float) -> dict[str, Any]:
    """Give an experiment's value."""
    return {"metrics": {"seconds": value}}


def charted(*rows: dict[str, Any], facts: dict[int, Facts] | None = None, **spec: Any) -> ChartData:
    """Give what the charts of these rows show."""
    return chart_data(analysed(rows, a_spec(**spec), facts))


def test_the_kept_state_goes_from_the_baseline_over_each_keep_to_the_end() -> None:
    """A step for each; the last one reaches to the newest experiment."""
    shown = charted(tried(1, "kept", **at(1.5)), tried(2, "reverted", **at(1.9)), tried(3, "error")).progress[0]
    assert shown.kept == ((0, 2.0), (1, 1.5), (3, 1.5))
    assert shown.band == (1.9, 2.1)


def test_what_failed_stands_at_the_worse_edge_whatever_it_printed() -> None:
    """A cheat that prints the best value is not the best, and does not stretch the scale."""
    shown = charted(tried(1, "kept", **at(1.5)), tried(2, "degenerate", **at(0.0001)), tried(3, "timeout")).progress[0]
    failed = [point for point in shown.points if point.fate is Fate.FAILED]
    assert [(point.position, point.y) for point in failed] == [(2, shown.scale[1]), (3, shown.scale[1])]
    assert shown.scale[0] > 1
    upwards = charted(tried(1, "error"), metric={"primary": {"direction": "maximize"}}).progress[0]
    assert upwards.points[0].y == upwards.scale[0]


def test_one_outlier_does_not_flatten_the_rest() -> None:
    """It stands at the edge, and says so."""
    rows = [tried(n, "reverted", **at(2.0 + n / 1000)) for n in range(1, 100)]
    shown = charted(*rows, tried(100, "reverted", **at(5000.0))).progress[0]
    assert shown.scale[1] < 3
    assert [point.position for point in shown.points if point.is_outside and point.y == shown.scale[1]][-1] == 100
    inside = [point for point in shown.points if not point.is_outside]
    assert len(inside) > 90


def test_baseline_keeps_and_target_are_always_on_the_scale() -> None:
    """However far away the target is."""
    shown = charted(tried(1, "kept", **at(1.0)), metric={"primary": {"target": 0.01}}).progress[0]
    assert shown.scale[0] < 0.01
    assert shown.scale[1] > 2.1


def test_every_objective_has_a_chart_of_its_own() -> None:
    """Judged and hard ones; one that has no value at all has none."""
    judged = {"name": "taste", "direction": "maximize", "role": "required", "type": "hard"}
    nothing = {**judged, "name": "nothing"}
    row = tried(1, "kept", metrics={"seconds": 1.0, "taste": 3.0})
    shown = charted(row, metric={"objectives": [judged, nothing]}).progress
    assert [progress.objective.name for progress in shown] == ["seconds", "taste"]


def test_spend_is_drawn_as_far_as_it_is_known() -> None:
    """A part that is unknown makes all behind it unknown."""
    facts = {1: Facts(measure_seconds=60), 2: Facts(measure_seconds=60)}
    rows = [tried(n, "reverted", headway={"usage": {"usd": 0.5}}) for n in (1, 2)]
    shown = charted(*rows, tried(3, "reverted"), facts=facts).spent
    assert [(spent.time, spent.usd) for spent in shown] == [(60, 0.5), (120, 1.0), (None, None)]
    assert charted(tried(1, "reverted")).spent == ()


@pytest.mark.parametrize(("seconds", "unit"), [(10, "seconds"), (1000, "minutes"), (20_000, "hours"), (10**6, "days")])
def test_time_is_told_in_a_unit_that_suits_it(seconds: float, unit: str) -> None:
    """No axis in thousandths of an hour."""
    data = charted(tried(1, "reverted"), facts={1: Facts(measure_seconds=seconds)})
    assert data.time_unit == unit


def test_many_stretches_are_drawn_as_shares_of_the_time() -> None:
    """As many bars as there are bins, whatever the run's length; the time in them is the same."""
    one = Stretch("measurement", "2026-01-01T00:00:10Z", 10.0)
    few = charted(tried(1, "reverted"), facts={1: Facts(stretches=(one,))}).busy
    assert [(busy.start, busy.end, busy.share) for busy in few] == [(0.0, 10.0, 1.0)]
    many = tuple(
        Stretch("measurement", f"2026-01-01T{n // 60:02d}:{n % 60:02d}:30Z", 30.0) for n in range(2 * MOST_BARS)
    )
    data = charted(tried(1, "reverted"), facts={1: Facts(measure_seconds=1e4, stretches=many)})
    assert len(data.busy) <= BINS
    total = sum(stretch.seconds for stretch in many) / UNITS[data.time_unit]
    assert sum((busy.end - busy.start) * busy.share for busy in data.busy) == pytest.approx(total)
    assert all(0.3 < busy.share < 0.7 for busy in data.busy)
