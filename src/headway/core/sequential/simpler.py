"""Whether a candidate is simpler than the current best, by a metric that headway takes itself.

Source: issue 4 item 10 (`accept_simpler`).
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from headway.core.loose_numbers import finite_number

LINES_NET: Final = "headway.lines_net"
"""Lines that the candidate's patch adds, less those that it takes away."""
BUILT_IN: Final = re.compile(r"headway\.(?:lines_net|(?:bytes|tokens)\([^()\s][^()]*\))")
"""The metrics that say how simple a candidate is; bytes and tokens are those of a path in the tree."""


SIZE: Final = re.compile(r"headway\.(bytes|tokens)\(([^()]+)\)")
"""Those of a path, with what is counted and the path."""


def is_built_in(name: str) -> bool:
    """Say whether a name is one of headway's own metrics of size."""
    return BUILT_IN.fullmatch(name) is not None


def size_asked(metric: str) -> tuple[str, str]:
    """Give what a metric of size counts and where: `("bytes", "src")`; two empty texts for lines of the patch."""
    found = SIZE.fullmatch(metric)
    return (found[1], found[2]) if found else ("", "")


def is_simpler(metric: str, reference: Mapping[str, Any], candidate: Mapping[str, Any]) -> bool:
    """Say whether a candidate is simpler.

    Args:
        metric: name of a built-in metric.
        reference: sizes of the current best by name; `headway.lines_net` needs none: it is a change already.
        candidate: sizes of the candidate by name.
    Returns: whether it is smaller; False where a size is not known.
    """
    own = finite_number(candidate.get(metric))
    against = 0.0 if metric == LINES_NET else finite_number(reference.get(metric))
    return own is not None and against is not None and own < against
