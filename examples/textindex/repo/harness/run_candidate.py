"""The child process: runs the candidate's `build_index` and hands its result on as data.

Texts come in on standard input and the index goes out on standard output, both as JSON. Nothing is decided or timed
here: this process runs code that nobody has looked at yet.
"""

import json
import os
import resource
import sys

MOST_BYTES_WRITTEN = 64_000_000


def main() -> None:
    """Build one index and write it to what was standard output at the start."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES_WRITTEN, MOST_BYTES_WRITTEN))
    texts = json.load(sys.stdin)
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answer:
        os.dup2(2, 1)  # what the candidate prints is talk, not an answer
        sys.path[0] = os.getcwd()  # in the place of this folder
        from textindex import build_index

        answer.write(json.dumps(build_index(texts)))


if __name__ == "__main__":
    main()
