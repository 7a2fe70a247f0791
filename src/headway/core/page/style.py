"""The page's own style sheet: light and dark, phone and print, no address outside."""

from typing import Final

from headway.core.analysis.palette import COLOURS, DARK, GRID, INK
from headway.core.analysis.tried import Fate

_BASE: Final = """
:root { color-scheme: light dark; --ink: INK; --soft: #57606a; --ground: #ffffff; --panel: #f6f8fa; --line: GRID;
  --link: #0a58a8; --add: #dcf5e3; --del: #fbe3e0; FATES }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 0 1rem 3rem; background: var(--ground); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; overflow-wrap: anywhere; }
a { color: var(--link); }
a:focus-visible, [tabindex]:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 1.2rem 0 .3rem; }
h2 { font-size: 1.3rem; margin: 2.2rem 0 .6rem; border-bottom: 1px solid var(--line); padding-bottom: .2rem; }
h3 { font-size: 1.05rem; margin: 1.4rem 0 .4rem; }
h4 { font-size: 1rem; margin: .8rem 0 .2rem; }
.soft, caption, figcaption { color: var(--soft); }
.skip { position: absolute; left: -100rem; }
.skip:focus { left: 1rem; top: .5rem; background: var(--ground); padding: .4rem .8rem; }
nav ul { display: flex; flex-wrap: wrap; gap: .2rem 1rem; padding: 0; list-style: none; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: .6rem; margin: .8rem 0; }
dl > div { background: var(--panel); border: 1px solid var(--line); border-radius: .5rem; padding: .5rem .8rem; }
dt { color: var(--soft); font-size: .9rem; }
dd { margin: 0; }
.big { font-size: 1.5rem; font-weight: 600; display: block; }
.wide { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; font-size: .93rem; min-width: 100%; }
caption { text-align: left; padding: .2rem 0; }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line);
  overflow-wrap: normal; min-width: 3rem; }
td:last-child { overflow-wrap: anywhere; min-width: 14rem; }
thead th { border-bottom: 2px solid var(--line); }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.o { white-space: nowrap; }
figure { margin: 1rem 0; }
figure .wide svg { display: block; max-width: 100%; height: auto; }
figure .wide svg[data-wide] { min-width: 34rem; }
.chunk { content-visibility: auto; contain-intrinsic-size: auto 560rem; }
tr:target, article:target { outline: 3px solid var(--link); outline-offset: -1px; }
article { border: 1px solid var(--line); border-radius: .5rem; padding: .2rem 1rem .8rem; margin: .8rem 0; }
pre { background: var(--panel); padding: .6rem .8rem; overflow-x: auto; font: .85rem/1.4 ui-monospace, monospace;
  margin: .4rem 0; }
pre .a { background: var(--add); } pre .d { background: var(--del); } pre .a, pre .d { display: inline-block;
  min-width: 100%; }
.note { border-left: 4px solid var(--line); padding-left: .8rem; }
"""
_PRINT: Final = """
@media print {
  body { max-width: none; font-size: 10pt; padding: 0; } nav, .skip { display: none; }
  .wide { overflow: visible; } figure, dl > div, tr { break-inside: avoid; } h2, h3 { break-after: avoid; }
  pre { white-space: pre-wrap; } figure .wide svg[data-wide] { min-width: 0; }
  a { color: inherit; text-decoration: none; }
  .chunk { content-visibility: visible; } thead { display: table-header-group; } table { font-size: 8.5pt; }
}
"""


def style_sheet() -> str:
    """Give the style sheet."""
    fates = " ".join(f"--{fate}: {colour};" for fate, colour in COLOURS.items())
    base = _BASE.replace("INK", INK).replace("GRID", GRID).replace("FATES", fates)
    marks = "".join(f".{fate} .o {{ color: var(--{fate}); }}\n" for fate in Fate)
    return f"{base}{marks}@media screen and (prefers-color-scheme: dark) {{\n{_dark()}}}\n{_PRINT}"


def _dark() -> str:
    """Give the dark colours: of the page, and laid over those that stand in the charts' drawings."""
    fates = " ".join(f"--{fate}: {DARK[colour]};" for fate, colour in COLOURS.items())
    page = (
        f":root {{ --ink: {DARK[INK]}; --soft: #9da7b1; --ground: #0d1117; --panel: #161b22; --line: {DARK[GRID]}; "
        f"--link: #79b8ff; --add: #10361d; --del: #4a1b1b; {fates} }}\n"
    )
    drawn = "".join(
        f'svg [fill="{light}"] {{ fill: {dark}; }} svg [stroke="{light}"] {{ stroke: {dark}; }}\n'
        for light, dark in DARK.items()
    )
    return page + drawn
