"""A real browser for pages that headway writes: headless Chromium and the accessibility checker axe-core.

A page is loaded as a file, with a script of the test's own put behind it; what that writes into the document comes
back. The page's own policy forbids scripts, so it is taken out for that; that it stands there is a test of its own.
"""

import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
_ANSWER = re.compile(r'<script type="text/plain" id="answer">(.*?)</script>', re.DOTALL)


def needs_chromium() -> pytest.MarkDecorator:
    """Skip a test where no Chromium is installed: `apt-get install chromium`."""
    return pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")


def axe_source() -> str:
    """Give axe-core's script; the test is skipped where the package that ships it is missing."""
    spec = importlib.util.find_spec("axe_core_python")
    if spec is None or spec.origin is None:
        pytest.skip("axe-core-python is not installed")
    return (Path(spec.origin).parent / "axe.min.js").read_text("utf-8")


def in_browser(
    page: str, folder: Path, expression: str, *, width: int = 1200, is_dark: bool = False, before: str = ""
) -> Any:
    """Load a page and give what a JavaScript expression says of it.

    Args:
        page: the document.
        folder: where it is put.
        expression: an async expression whose value is JSON.
        width: of the window, in pixels.
        is_dark: the reader prefers dark colours.
        before: a script that is loaded first.
    """
    assert CHROMIUM is not None
    script = (
        f"<script>{before}</script><script>(async () => {{ const value = await ({expression});"
        "const out = document.createElement('script'); out.type = 'text/plain'; out.id = 'answer';"
        "out.textContent = encodeURIComponent(JSON.stringify(value)); document.body.append(out); })()</script>"
    )
    path = folder / "page.html"
    path.write_text(_POLICY.sub("", page).replace("</body>", f"{script}</body>"), encoding="utf-8")
    told = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--window-size={width},1000",
            f"--user-data-dir={folder / 'profile'}",
            f"--blink-settings=preferredColorScheme={0 if is_dark else 1}",
            "--virtual-time-budget=60000",
            "--dump-dom",
            path.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    found = _ANSWER.search(told.stdout)
    assert found is not None, told.stderr[-2000:]
    return json.loads(unquote(found[1]))


def violations(page: str, folder: Path, axe: str, **how: Any) -> list[str]:
    """Give what axe-core finds wrong with a page: its rule, and the first places."""
    found = in_browser(
        page,
        folder,
        "axe.run(document).then(r => r.violations.map(v => `${v.id}: ${v.help}: ` + "
        "v.nodes.slice(0, 3).map(n => n.html.slice(0, 200)).join(' | ')))",
        before=axe,
        **how,
    )
    assert isinstance(found, list)
    return found
