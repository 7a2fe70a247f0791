"""HTML that cannot be broken into: text becomes markup in `tag` alone, and is escaped there.

`Safe` is markup that was built here; any other text, whoever wrote it, is escaped, with control characters written
out. Source: DESIGN section 11 (promise 7: web pages escape what they show).
"""

from collections.abc import Iterable
from html import escape
from typing import Final

from headway.core.shown_text import UNSAFE, visible

VOID: Final = frozenset(("meta", "br", "link", "hr"))


class Safe(str):
    """Markup, built by `tag` and `joined` from escaped parts."""


Part = str | int | float | None
"""What may stand inside a tag: `Safe` as it is, None as nothing, any other value escaped."""


def tag(name: str, /, *parts: Part, **attributes: str | int | bool | None) -> Safe:
    """Build an element.

    Args:
        name: of the element.
        parts: its content.
        attributes: `class_` is `class`, other underscores are dashes; True has no value, False and None leave it out.
    """
    told = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    if name in VOID:
        return Safe(f"<{name}{told}>")
    return Safe(f"<{name}{told}>{joined(parts)}</{name}>")


def joined(parts: Iterable[Part], between: str = "") -> Safe:
    """Put parts behind each other, escaped where they are not `Safe`."""
    return Safe(between.join(part if type(part) is Safe else text(part) for part in parts))


def text(part: Part) -> Safe:
    """Give a value as escaped text; None as nothing."""
    if part is None:
        return Safe()
    shown = str(part)
    if not shown.isascii() or not shown.isprintable():
        shown = visible(shown) if UNSAFE.search(shown) else shown
    return Safe(escape(shown, quote=True))


def _attribute(name: str, value: str | int | bool | None) -> str:
    if value is False:
        return ""
    shown = name.rstrip("_").replace("_", "-")
    return f" {shown}" if value is True else f' {shown}="{text(value)}"'
