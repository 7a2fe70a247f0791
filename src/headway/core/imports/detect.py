"""Which tool wrote a file.

Source: DESIGN section 11; the suffixes and shapes of published logs.
"""

from headway.core.imports import aide, family, openevolve, pi, tsv

FORMATS = (pi.FORMAT, tsv.FORMAT, family.FORMAT, openevolve.FORMAT, aide.FORMAT)
_SUFFIXES = {
    ".jsonl": pi.FORMAT,
    ".ndjson": pi.FORMAT,
    ".tsv": tsv.FORMAT,
    ".yaml": family.FORMAT,
    ".yml": family.FORMAT,
}
JSON = ".json"
_MOST_LOOKED_AT = 2000


def format_of(suffix: str, text: str) -> str | None:
    """Give the format of a file's text.

    Args:
        suffix: of its name, with the dot.
        text: of the file.
    Returns: one of `FORMATS`; None where neither name nor text says it.
    """
    named = _SUFFIXES.get(suffix.casefold())
    if named is not None:
        return named
    head = text[:_MOST_LOOKED_AT].lstrip()
    if suffix.casefold() == JSON or head.startswith(('"', "[")):
        return aide.FORMAT if '"nodes' in head or '\\"nodes' in head else openevolve.FORMAT
    first = head.split("\n", 1)[0]
    if first.startswith("{"):
        return pi.FORMAT if first.rstrip().endswith("}") else openevolve.FORMAT
    if "\t" in first:
        return tsv.FORMAT
    return family.FORMAT if "\nexperiments:" in f"\n{text}" else None
