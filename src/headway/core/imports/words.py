"""Other tools' words for a verdict, and what they mean here.

Only words whose meaning is plain are mapped. Any other word says that something was run and not what was decided: the
experiment is `measured`, and its word is kept beside it.

Source: the words seen in published logs of the pi-autoresearch and results.tsv families.
"""

import re

from headway.core.log_words import Outcome

_WORDS = {
    Outcome.KEPT: "keep kept keeps pass passed ok baseline new_best newbest best shipped usable accepted 保留 基线",
    Outcome.REVERTED: "discard discarded reject rejected revert reverted kill killed iterate dropped 回滚",
    Outcome.ERROR: "crash crashed oom fail failed error no_json",
    Outcome.TIMEOUT: "timeout timed_out",
    Outcome.DEGENERATE: "checks_failed",
}
OUTCOMES = {word: outcome for outcome, words in _WORDS.items() for word in words.split()}
_ASIDE = re.compile(r"\s*[(（].*", re.DOTALL)
_MARKS = "✔✓*!. \t"


def outcome_of(word: str) -> Outcome | None:
    """Give the outcome that a verdict's word means; None where its meaning is not plain.

    Args:
        word: as recorded; upper case, marks behind it and a remark in brackets do not matter.
    """
    plain = _ASIDE.sub("", word.strip()).strip(_MARKS).casefold()
    return OUTCOMES.get(plain)
