"""Make `state/sample/textindex/`: run the demo in a scratch place and take over what it leaves behind.

Left out are the private repository, the lock and the supervisor's log. Paths of this machine are replaced by words in
angle brackets, so that the recorded run reads the same everywhere.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "state" / "sample" / "textindex"
LEFT_OUT = ("repo.git", "lock", "inbox", "scratch", "supervisor.log")


def main() -> None:
    """Run the demo, copy its state root, and replace the paths."""
    with tempfile.TemporaryDirectory(prefix="headway-sample-") as name:
        folder = Path(name).resolve()
        state, cache = folder / "state", folder / "cache"
        command = [str(Path(sys.executable).parent / "headway"), "demo", "textindex"]
        command += ["--into", str(folder / "demo"), "--state-root", str(state)]
        subprocess.run(command, check=True, env={**os.environ, "XDG_CACHE_HOME": str(cache)})
        shutil.rmtree(TARGET, ignore_errors=True)
        shutil.copytree(state, TARGET, ignore=shutil.ignore_patterns(*LEFT_OUT))
        words = {
            str(state): "<state-root>",
            str(folder / "demo" / "repo"): "<repository>",
            str(folder / "demo"): "<demo>",
            sys.prefix: "<venv>",
            sys.base_prefix: "<python>",
            str(Path.home()): "<home>",
            str(ROOT): "<headway>",
        }
        for path in TARGET.rglob("*"):
            if path.is_file():
                path.write_bytes(_without_paths(path.read_bytes(), words, cache))
    print(f"{TARGET.relative_to(ROOT)}: {sum(1 for p in TARGET.rglob('*') if p.is_file())} files")


def _without_paths(data: bytes, words: dict[str, str], cache: Path) -> bytes:
    """Replace this machine's paths by words; a run's folder of trees is `<trees>`."""
    data = re.sub(re.escape(str(cache)).encode() + rb"/headway/[0-9a-f]{12}", b"<trees>", data)
    data = data.replace(str(cache).encode(), b"<cache>")
    for path in sorted(words, key=len, reverse=True):
        data = data.replace(path.encode(), words[path].encode())
    return re.sub(rb"\.\./(?:\.\./)*demo\b", b"<demo>", data)


if __name__ == "__main__":
    main()
