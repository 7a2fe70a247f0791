"""How an agent fares over a run's turns: when it is asked again, and when no more."""

import pytest

from headway.core.agent_health import MAX_AGENT_FAILURES, REST_SECONDS, AgentHealth
from headway.core.agent_turns import TokenUsage, Trouble
from headway.core.events import TurnStatus
from tests.core.heart import turn

FAILED = TurnStatus.FAILED
NOW = 1000.0


def test_three_failures_in_a_row_are_too_many_and_a_success_begins_anew() -> None:
    """Crashes and limits count alike."""
    health = AgentHealth()
    for status in (FAILED, TurnStatus.TIMED_OUT):
        health = health.after(turn(status=status, reason="why", trouble=Trouble.CRASHED), NOW)
    assert (health.failures, health.trouble, health.rests_until) == (2, "why", 0.0)
    assert health.after(turn(status=FAILED), NOW).failures == MAX_AGENT_FAILURES
    assert health.after(turn(), NOW) == AgentHealth()


@pytest.mark.parametrize("trouble", [t for t in Trouble if t.is_standing])
def test_what_a_person_has_to_mend_is_not_tried_three_times(trouble: Trouble) -> None:
    """A missing login, a model that is not there, a program that is not there, a permission."""
    assert AgentHealth().after(turn(status=FAILED, reason="why", trouble=trouble), NOW).failures == MAX_AGENT_FAILURES


def test_a_failing_service_is_given_time_more_each_time() -> None:
    """The third failure in a row is the last."""
    limited = turn(status=FAILED, reason="429", trouble=Trouble.RATE_LIMITED)
    first = AgentHealth().after(limited, NOW)
    assert (first.failures, first.rests_until) == (1, NOW + REST_SECONDS[0])
    second = first.after(limited, first.rests_until)
    assert (second.failures, second.rests_until) == (2, first.rests_until + REST_SECONDS[1])
    assert second.after(limited, second.rests_until).failures == MAX_AGENT_FAILURES


def test_turns_side_by_side_that_meet_one_rate_limit_count_once() -> None:
    """Six agents at once would else be out at the first limit."""
    limited = turn(status=FAILED, reason="429", trouble=Trouble.UNAVAILABLE)
    health = AgentHealth()
    for _ in range(6):
        health = health.after(limited, NOW)
    assert health.failures == 1


def test_a_trouble_stands_or_passes_or_is_the_turns_own() -> None:
    """None is both."""
    assert not any(t.is_standing and t.is_passing for t in Trouble)
    assert {t for t in Trouble if not t.is_standing and not t.is_passing} == {Trouble.CRASHED, Trouble.LIMIT}


def test_tokens_are_added_and_taken_away_by_kind() -> None:
    """No kind falls below nothing."""
    more, less = TokenUsage(uncached=5, cache_read=4, cache_write=3, output=2), TokenUsage(uncached=1, output=9)
    assert more.plus(less) == TokenUsage(uncached=6, cache_read=4, cache_write=3, output=11)
    assert more.minus(less) == TokenUsage(uncached=4, cache_read=4, cache_write=3, output=0)
    assert more.total == 14
