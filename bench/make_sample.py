"""Make `state/sample/textindex/` and the README's demo output: run the demo in a scratch place and take both over.

Left out are the private repository, the lock, the jobs' secret and the supervisor's log. Paths of this machine are
replaced by words in angle brackets, so that the recorded run reads the same everywhere.
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
MARKED = re.compile(r"(<!-- demo:begin -->\n).*?(<!-- demo:end -->)", re.DOTALL)
LEFT_OUT = ("repo.git", "lock", "inbox", "scratch", "supervisor.log", "jobs.key")


def main() -> None:
    """Run the demo, copy its state root, and replace the paths."""
    with tempfile.TemporaryDirectory(prefix="headway-sample-") as name:
        folder = Path(name).resolve()
        state, cache = folder / "state", folder / "cache"
        command = [str(Path(sys.executable).parent / "headway"), "demo", "textindex"]
        command += ["--into", str(folder / "demo"), "--state-root", str(state)]
        env = {**os.environ, "XDG_CACHE_HOME": str(cache)}
        done = subprocess.run(command, check=True, env=env, stdout=subprocess.PIPE, text=True)
        print(done.stdout)
        write_readme(done.stdout)
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


def write_readme(printed: str) -> None:
    """Put what the demo printed into the README, between its two markers."""
    lines = [line.rstrip() for line in printed.splitlines()]
    end = next((i for i, line in enumerate(lines) if line.startswith("`headway show N`")), len(lines))
    text = "\n".join(lines[:end])
    readme = ROOT / "README.md"
    readme.write_text(MARKED.sub(lambda m: f"{m[1]}```\n{text}\n```\n{m[2]}", readme.read_text("utf-8")), "utf-8")


def _without_paths(data: bytes, words: dict[str, str], cache: Path) -> bytes:
    """Replace this machine's paths by words; a run's folder of trees is `<trees>`."""
    data = re.sub(re.escape(str(cache)).encode() + rb"/headway/[0-9a-f]{12}", b"<trees>", data)
    data = data.replace(str(cache).encode(), b"<cache>")
    for path in sorted(words, key=len, reverse=True):
        data = data.replace(path.encode(), words[path].encode())
    return re.sub(rb"\.\./(?:\.\./)*demo\b", b"<demo>", data)


if __name__ == "__main__":
    main()
