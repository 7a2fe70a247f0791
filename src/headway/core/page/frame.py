"""What sections are built with."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from headway.core.page.content import Report
from headway.core.page.html import Part, Safe, tag
from headway.core.page.tables import Ids


@dataclass(frozen=True)
class Page:
    """What sections are built with: the charts that were drawn, by name, and names for the page's parts."""

    report: Report
    charts: Mapping[str, Safe]
    ids: Ids = field(default_factory=Ids)

    def figure(self, name: str, caption: str) -> Safe:
        """Give a chart with its caption; nothing where it was not drawn."""
        drawing = self.charts.get(name)
        if drawing is None:
            return Safe()
        label = self.ids.new("c")
        inner = tag("div", drawing, class_="wide", role="region", aria_labelledby=label, tabindex=0)
        return tag("figure", inner, tag("figcaption", caption, id=label))


def link(position: int, label: Part) -> Safe:
    """Give a link to an experiment's row."""
    return tag("a", label, href=f"#e{position}")
