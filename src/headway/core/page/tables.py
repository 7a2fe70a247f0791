"""Tables of the page: with a caption, heads, and a place of their own to be scrolled sideways on a phone."""

from collections.abc import Iterable, Sequence
from itertools import count

from headway.core.page.html import Part, Safe, joined, tag


class Ids:
    """Names for parts of one page, each given once."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def new(self, stem: str) -> str:
        """Give a name that no other part of the page has."""
        return f"{stem}-{next(self._numbers)}"


def table(ids: Ids, caption: str, heads: Sequence[str], rows: Iterable[Sequence[Part]], numeric: str = "") -> Safe:
    """Build a table whose first column names the row; nothing where there are no rows.

    Args:
        ids: of the page.
        caption: what it shows.
        heads: of the columns.
        rows: cells; `Safe` ones as they are.
        numeric: a letter a column, `n` where it holds numbers, which are set to the right.
    """
    kinds = [("n" if numeric[index : index + 1] == "n" else None) for index in range(len(heads))]
    body = [_row(row, kinds) for row in rows]
    if not body:
        return Safe()
    name = ids.new("t")
    head = tag("tr", *(tag("th", h, scope="col", class_=kind) for h, kind in zip(heads, kinds, strict=True)))
    inner = tag("table", tag("caption", caption, id=name), tag("thead", head), tag("tbody", *body))
    return scrolled(inner, name)


def _row(row: Sequence[Part], kinds: Sequence[str | None]) -> Safe:
    first, *rest = row
    cells = [tag("th", first, scope="row", class_=kinds[0])]
    cells += [tag("td", cell, class_=kind) for cell, kind in zip(rest, kinds[1:], strict=True)]
    return tag("tr", *cells)


def scrolled(inner: Safe, labelled_by: str) -> Safe:
    """Wrap what may be wider than the screen, so that it can be scrolled by touch and by keyboard."""
    return tag("div", inner, class_="wide", role="region", aria_labelledby=labelled_by, tabindex=0)


def facts(pairs: Iterable[tuple[str, Part]]) -> Safe:
    """Build a list of names and values."""
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs))


def items(lines: Iterable[Part]) -> Safe:
    """Build a list; nothing where there are no lines."""
    shown = [tag("li", line) for line in lines]
    return tag("ul", *shown) if shown else Safe()


def paragraphs(lines: Iterable[Part]) -> Safe:
    """Build one paragraph a line."""
    return joined(tag("p", line) for line in lines)
