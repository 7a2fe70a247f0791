"""The index as it has to be: short, plain, and never changed. A candidate's index is compared with this one."""

import re
from collections.abc import Sequence
from typing import Any

WORD = re.compile(r"[A-Za-z0-9]+")

STOP_WORDS = frozenset(
    """
    a about above after again all also always am an and another any are as at away be because been before being
    below between both but by can cannot could did do does doing done down during each either enough even ever every
    few first for from further get got had has have having he her here hers him his how i if in into is it its
    itself just last least less like made make many may me might more most much must my neither never next no nor
    not now of off often on once one only onto or other our out over own per quite rather same say see she should
    since so some still such take than that the their them then there these they this those through thus to too two
    under unless until up upon us use used very via was we well were what when where whether which while who whom
    whose why will with within without would yet you your
    self cls def return none true false import class else elif try except raise lambda yield pass assert global
    nonlocal finally break continue del async await len str int bool float list dict tuple set bytes object print
    isinstance super range type args kwargs init
    """.split()
)

ENDINGS = (
    "ations ation ments ment nesses ness ables able ibles ible ings ing ities ity ally ly ers er ors or ies ied ed es s"
).split()


def reference_stem(word: str) -> str:
    """Cut the first ending that fits off a word, as long as three characters remain."""
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


def reference_index(texts: Sequence[str]) -> dict[str, Any]:
    """Build the index of a list of texts.

    Args:
        texts: the files' contents; a file's number is its place in this list.
    Returns: {"lengths": words kept per file, "postings": {word: [[file, occurrences, line of the first one], ...]}}.
    """
    lengths: list[int] = []
    postings: dict[str, list[list[int]]] = {}
    stems: dict[str, str] = {}
    for file, text in enumerate(texts):
        kept = 0
        for number, line in enumerate(text.split("\n"), start=1):
            for word in WORD.findall(line):
                word = word.lower()
                if len(word) < 2 or word in STOP_WORDS:
                    continue
                kept += 1
                if word not in stems:
                    stems[word] = reference_stem(word)
                entries = postings.setdefault(stems[word], [])
                if entries and entries[-1][0] == file:
                    entries[-1][1] += 1
                else:
                    entries.append([file, 1, number])
        lengths.append(kept)
    return {"lengths": lengths, "postings": postings}
