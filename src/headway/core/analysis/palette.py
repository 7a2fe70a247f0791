"""The colours of charts and page: told apart by every kind of colour blindness, readable on light and on dark ground.

Source: Okabe and Ito (2008), Color Universal Design, darkened to a contrast of 3 and more on white (WCAG 2.2, 1.4.11).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from headway.core.analysis.tried import Fate

INK: Final = "#24292f"
GRID: Final = "#d0d7de"
BAND: Final = "#56b4e9"
TARGET: Final = "#1a7f37"
COLOURS: Final[Mapping[Fate, str]] = MappingProxyType(
    {
        Fate.KEPT: "#0072b2",
        Fate.INCONCLUSIVE: "#767676",
        Fate.REVERTED: "#c4500a",
        Fate.FAILED: "#8b3a8b",
        Fate.OPEN: "#7a6000",
        Fate.DEFERRED: "#5c6b73",
    }
)
LANES: Final[Mapping[str, str]] = MappingProxyType({"agent": "#7a6000", "measurement": "#0072b2"})
MARKS: Final[Mapping[Fate, str]] = MappingProxyType(
    {
        Fate.KEPT: "●",
        Fate.INCONCLUSIVE: "■",
        Fate.REVERTED: "▼",
        Fate.FAILED: "✚",
        Fate.OPEN: "◆",
        Fate.DEFERRED: "–",
    }
)
"""What stands beside a word in a table, of the shape that the charts use."""
DARK: Final[Mapping[str, str]] = MappingProxyType(
    {
        INK: "#e6edf3",
        GRID: "#3d444d",
        TARGET: "#56d364",
        COLOURS[Fate.KEPT]: "#58b3f0",
        COLOURS[Fate.INCONCLUSIVE]: "#a5a5a5",
        COLOURS[Fate.REVERTED]: "#f0883e",
        COLOURS[Fate.FAILED]: "#d29be0",
        COLOURS[Fate.OPEN]: "#d4b106",
        COLOURS[Fate.DEFERRED]: "#9aa7b0",
    }
)
"""A colour on light ground, and what takes its place on dark ground."""
