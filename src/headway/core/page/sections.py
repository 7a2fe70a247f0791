"""The sections in their order."""

from collections.abc import Iterable

from headway.core.page import course, gains
from headway.core.page.frame import Page
from headway.core.page.html import Safe


def sections(page: Page) -> list[tuple[str, str, Safe]]:
    """Give the sections that have something to tell: a name for links, a heading, the content."""
    built: Iterable[tuple[str, str, Safe]] = (
        ("progress", "Best so far", gains.progress(page)),
        ("keeps", "Gain per keep", gains.keeps(page)),
        ("holdout", "Holdout against selection", gains.holdout(page)),
        ("spending", "Time and cost", course.spending(page)),
        ("categories", "Categories", course.categories(page)),
        ("near", "Near misses", gains.near_misses(page)),
        ("worst", "Worst cases before and after", gains.worst(page)),
        ("failures", "Failures and reverted ones", course.failures(page)),
        ("timeline", "Timeline and recovery", course.timeline(page)),
        ("environment", "Environment", course.environment(page)),
    )
    return [section for section in built if section[2]]
