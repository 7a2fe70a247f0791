"""What a checks command printed: whether it ran any test at all.

A check that ends with 0 because it found nothing to run has checked nothing. Each test runner says so in words of its
own; a check counts as empty only if one of them says "none" and none says that it ran some, for one command often
runs several suites of which some are empty. Words that nobody here knows say nothing.
"""

import re
from typing import Final

_NONE: Final = re.compile(
    r"""^[^A-Za-z0-9_\[\n]*(?:
        no\ tests\ ran\b                            # pytest, unittest of Python 3.12
      | collected\ 0\ items\b                       # pytest
      | \d+\ (?:skipped|deselected)(?:,\ \d+\ (?:skipped|deselected|warnings?))*\ in\ [\d.]+s  # pytest
      | Ran\ 0\ tests\ in\b                         # unittest
      | running\ 0\ tests\b                         # cargo
      | test\ result:\ ok\.\ 0\ passed              # cargo
      | \?\s.*\[no\ test\ files\]                   # go
      | ok\s.*\[no\ tests\ to\ run\]                # go
      | testing:\ warning:\ no\ tests\ to\ run      # go
      | No\ tests?\ (?:files\ )?found\b             # jest, vitest
      | No\ tests\ were\ found                      # ctest
      | No\ test\ is\ available\b                   # dotnet
      | 0\ passing\b                                # mocha
      | tests\ 0\s*$                                # node
      | 1\.\.0\b                                    # TAP
      | (?:\[\w+\]\ )?Tests\ run:\ 0,               # maven
    )""",
    re.MULTILINE | re.VERBOSE | re.IGNORECASE,
)
_SOME: Final = re.compile(
    r"""(?:
        \b[1-9]\d*\ (?:tests?\ )?(?:passed|passing|failed|failing|xfailed|xpassed)\b   # pytest, cargo, jest, mocha
      | ^Ran\ [1-9]\d*\ tests?\ in\b                # unittest
      | ^running\ [1-9]\d*\ tests?\b                # cargo
      | ^ok[ \t]+\S+[ \t]+(?:\(cached\)|[\d.]+s)[ \t]*$    # go
      | ^[^A-Za-z0-9_\n]*---\ (?:PASS|FAIL):                # go
      | ^[^A-Za-z0-9_\n]*tests\ [1-9]\d*\s*$                # node
      | ^1\.\.[1-9]                                 # TAP
      | \bTests\ run:\ [1-9]                        # maven
      | \btests\ passed,\ \d+\ tests\ failed\ out\ of\ [1-9]    # ctest
    )""",
    re.MULTILINE | re.VERBOSE | re.IGNORECASE,
)


def ran_no_test(text: str) -> str:
    """Say in whose words a checks command that ended with 0 ran no test.

    Args:
        text: what it printed on both outputs, without terminal escape sequences; the caller bounds it.
    Returns: the line that says so, at most 200 characters; empty if tests ran, or if nothing is said of them.
    """
    found = _NONE.search(text)
    if found is None or _SOME.search(text):
        return ""
    end = text.find("\n", found.end())
    return text[found.start() : None if end < 0 else end].strip()[:200]
