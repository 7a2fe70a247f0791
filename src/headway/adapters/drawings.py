"""Charts as pictures, drawn by vl-convert (the extra `report`) without a browser and without the network.

An SVG that goes into a page is made inert first: its links lead to experiments of the same page or are taken out, and
what could run or load anything is refused.
"""

import importlib
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import Any

from headway.core.shown_text import visible
from headway.errors import ExtraMissing, InternalFault

_LINK = re.compile(r".*#e(\d+)")
_LONG_NUMBER = re.compile(r"(-?\d+\.\d{2})\d+")
_NOT_XML = re.compile("[\ufffe\uffff]")
_SVG = "{http://www.w3.org/2000/svg}"
_XLINK = "{http://www.w3.org/1999/xlink}href"
DRAWING = frozenset(["svg", "g", "path", "rect", "line", "text", "tspan", "a", "title", "defs", "clipPath", "circle"])
_DROPPED = ("role", "aria-roledescription", "aria-label", "aria-hidden", "pointer-events")
_SHORTENED = ("transform", "d", "x", "y", "x1", "x2", "y1", "y2", "width", "height")
ET.register_namespace("", _SVG.strip("{}"))
PNG_SCALE = 2.0
WIDE = 560
"""Pixels above which a drawing keeps a width that can be read on a phone, and is scrolled there."""


def svg_of(chart: Any) -> str:
    """Draw a chart as SVG text. Raises: ExtraMissing, where vl-convert is not installed."""
    drawn: str = _converter().vegalite_to_svg(_drawable(chart.to_dict()), allowed_base_urls=[])
    return drawn


def png_of(chart: Any) -> bytes:
    """Draw a chart as a PNG picture on white. Raises: ExtraMissing, where vl-convert is not installed."""
    shown = _drawable(chart.to_dict())
    shown["background"] = shown.setdefault("config", {})["background"] = "white"
    drawn: bytes = _converter().vegalite_to_png(shown, scale=PNG_SCALE, allowed_base_urls=[])
    return drawn


def _drawable(part: Any) -> Any:
    """Write out every character that XML does not have: the converter ends its whole process over one of them."""
    if isinstance(part, dict):
        return {_drawable(key): _drawable(value) for key, value in part.items()}
    if isinstance(part, list):
        return [_drawable(value) for value in part]
    return _NOT_XML.sub("\ufffd", visible(part)) if isinstance(part, str) else part


def page_svg(chart: Any, name: str, titles: Mapping[int, str]) -> str:
    """Draw a chart for a page: inert, smaller, hidden from readers of the text beside it.

    Args:
        chart: an Altair chart.
        name: of the chart; becomes a class.
        titles: what is shown of an experiment under the pointer, by position; a missing one shows nothing.
    Raises: ExtraMissing, where vl-convert is not installed; InternalFault, where the drawing is not inert.
    """
    root = _parsed(svg_of(chart))
    for element in list(root.iter()):
        _make_inert(element, titles)
    root.attrib |= {"data-chart": name, "aria-hidden": "true", "focusable": "false"}
    if float(root.get("width", "0")) > WIDE:
        root.set("data-wide", "")
    return ET.tostring(root, encoding="unicode")


def _parsed(svg: str) -> ET.Element:
    try:
        return ET.fromstring(svg)
    except ET.ParseError as wrong:
        raise InternalFault(f"a chart is no XML: {wrong}") from wrong


def _make_inert(element: ET.Element, titles: Mapping[int, str]) -> None:
    """Shorten an element, turn its link into one within the page, and refuse what is no drawing."""
    name = element.tag.removeprefix(_SVG)
    given = element.attrib
    link = given.pop(_XLINK, None) or given.pop("href", None)
    if name not in DRAWING or any(key.lower().startswith("on") or "url(" in value for key, value in given.items()):
        raise InternalFault(f"a chart holds what may not stand in a page: <{name}>")
    for key in _DROPPED:
        given.pop(key, None)
    for key in _SHORTENED:
        if key in given:
            given[key] = _LONG_NUMBER.sub(r"\1", given[key])
    found = _LINK.fullmatch(link) if link else None
    if found is None:
        return
    position = int(found[1])
    given |= {"href": f"#e{position}", "tabindex": "-1"}
    if position in titles:
        title = ET.Element(f"{_SVG}title")
        title.text = _drawable(titles[position])
        element.insert(0, title)


def _converter() -> Any:
    try:
        return importlib.import_module("vl_convert")
    except ImportError:
        raise ExtraMissing("no charts here", "vl-convert-python", "report") from None
