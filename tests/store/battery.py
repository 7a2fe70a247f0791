"""What people and their tools make of a log: one file each, and what has to become of it.

All hold the same facts, three experiments and what stands around them, in one layout or another, some with words of
the person's own; or they are damaged in a way that must be told and never mended behind a person's back.
"""

from dataclasses import dataclass
from enum import Enum

from tests.store.logs import lines


class Fate(Enum):
    """What headway does with a file."""

    SPLICED = "the change is put in, every other byte stays"
    ANEW = "the values stay, the layout is given up, the file is kept aside"
    REFUSED = "damage with its line, the file stays"


@dataclass(frozen=True)
class Case:
    """One file.

    Attributes:
        data: its bytes.
        fate: what has to become of it.
        line: where a refusal points to; 0 where that depends on the parser.
    """

    data: bytes
    fate: Fate = Fate.SPLICED
    line: int = 0


HEAD = lines("spec: demo", 'run_id: "r1"')
LIST = lines("experiments:")
ONE = lines("- iteration: 1", "  outcome: kept", "  learnings: one")
TWO = lines("- iteration: 2", "  outcome: error", "  learnings: two")
THREE = lines("- iteration: 3", "  outcome: kept", "  learnings: |", "    three", "    lines")
END = lines("best:", "  iteration: 3", "run_state:", "  status: running", "  tick: 3")
ENTRIES = ONE + TWO + THREE
PLAIN = HEAD + LIST + ENTRIES + END
FACTS = {
    "spec": "demo",
    "run_id": "r1",
    "experiments": [
        {"iteration": 1, "outcome": "kept", "learnings": "one"},
        {"iteration": 2, "outcome": "error", "learnings": "two"},
        {"iteration": 3, "outcome": "kept", "learnings": "three\nlines\n"},
    ],
    "best": {"iteration": 3},
    "run_state": {"status": "running", "tick": 3},
}
FLOW = b"- {iteration: 1, outcome: kept, learnings: one}\n"


def _indented(data: bytes, by: int = 2) -> bytes:
    return b"".join(b" " * by + line for line in data.splitlines(keepends=True))


def _with(own: bytes) -> bytes:
    """The plain log with a person's own section above the experiments."""
    return HEAD + own + LIST + ENTRIES + END


def _in_one(own: bytes) -> bytes:
    """The plain log with text in the first experiment's learnings."""
    return HEAD + LIST + lines("- iteration: 1", "  outcome: kept") + own + TWO + THREE + END


SPLICED = {
    "as headway writes it": PLAIN,
    "remarks everywhere": lines(
        "# top", "spec: demo  # it's", "", 'run_id: "r1"', "", "experiments:  # [list]", "# one"
    )
    + ONE
    + lines("  # of one", "", "# two: - iteration: 9", "")
    + TWO
    + THREE
    + lines("# behind the list", "")
    + END
    + lines("# the end"),
    "remarks inside an experiment": PLAIN.replace(b"  outcome: error\n", b"  # why?\n  outcome: error  # hm: [\n\n"),
    "list first": LIST + ENTRIES + END + HEAD,
    "list last": HEAD + END + LIST + ENTRIES,
    "keys of an experiment in another order": PLAIN.replace(
        ONE, lines("- learnings: one", "  iteration: 1", "  outcome: kept")
    ),
    "quotes of a person's own": PLAIN.replace(b"spec: demo", b"spec: 'demo'").replace(
        b"  outcome: error", b'  outcome: "error"'
    ),
    "keys in quotes": HEAD + b"'experiments':\n" + ENTRIES + END.replace(b"best:", b'"best":'),
    "no line end at the end": PLAIN[:-1],
    "no line end, list last": (HEAD + END + LIST + ONE + TWO)
    + b'- iteration: 3\n  outcome: kept\n  learnings: "three\\nlines\\n"',
    "CRLF": PLAIN.replace(b"\n", b"\r\n"),
    "CRLF, no line end at the end": PLAIN.replace(b"\n", b"\r\n")[:-2],
    "CRLF in some lines": HEAD + LIST + ONE.replace(b"\n", b"\r\n") + TWO + THREE + END,
    "blanks at line ends": PLAIN.replace(b"\n", b"   \n").replace(b"three   \n    lines   ", b"three\n    lines"),
    "list indented": HEAD + LIST + _indented(ENTRIES) + END,
    "list indented by four": HEAD + LIST + _indented(ENTRIES, 4) + END,
    "one dash wider than the others": HEAD
    + LIST
    + ONE
    + TWO.replace(b"- iter", b"-  iter").replace(b"\n  ", b"\n   ")
    + THREE
    + END,
    "wide dash": HEAD + LIST + ONE.replace(b"- iter", b"-   iter").replace(b"\n  ", b"\n    ") + TWO + THREE + END,
    "dash on a line of its own": HEAD + LIST + b"-\n" + _indented(ONE.replace(b"- ", b"  ", 1), 0) + TWO + THREE + END,
    "experiment in braces on one line": HEAD + LIST + FLOW + TWO + THREE + END,
    "sections in braces on one line": HEAD
    + LIST
    + ENTRIES
    + b"best: {iteration: 3}\nrun_state: {status: running, tick: 3}\n",
    "literal text like experiments": _in_one(
        lines("  learnings: |", "    - iteration: 9", "    experiments:", '    best: "', "    # no remark")
    ),
    "literal text with blank lines": _in_one(lines("  learnings: |", "    a", "", "", "    - b", "")),
    "literal text with an indentation of its own": _in_one(lines("  learnings: |2", "      a", "    b")),
    "folded text": _in_one(lines("  learnings: >-", "    a", "    - iteration: 9", "    b")),
    "literal text above": _with(lines("note: |", "  - iteration: 9", "  best: 2")),
    "literal text indented by one": _with(lines("note: |1", " - iteration: 9", " best: 2")),
    "literal text, then a remark at the margin": _with(lines("note: |", "  text", "# - iteration: 3")),
    "emoji before the list": _with("note: 😀😀 é\n".encode()),
    "quotes inside plain text": _with(lines("note: it's 5\" long", 'other: say "x" twice')),
    "quotes closed on their line": _with(lines("note: \"x: 'y' # z\"", "other: 'it''s: \"'")),
    "moments and odd numbers": _with(lines("when: 2026-11-30", "at: 12:34:56", "odd: 0o17", "big: 1_000", "no: no")),
    "numbers that are not finite": _with(lines("limit: .inf", "low: -.inf", "odd: .nan")),
    "keys of other kinds": _with(lines("note: {~: 1, a: 2, 3: 4, true: 5, 1.5: 6}", "3: x", "other: {1: a, '1': b}")),
    "brackets on one line": _with(lines("note: [1, [2, 3], {a: b}]", "other: {c: [d]}  # e")),
    "no list": HEAD + END,
    "list of nothing": HEAD + b"experiments: []\n" + END,
    "list of nothing, remarked": HEAD + b"experiments: [] # none yet\n" + END,
    "list of nothing, remarked with a colon": HEAD + b"experiments: [] # none yet:\n" + END,
    "null for a list": HEAD + LIST + END,
    "tilde for a list": HEAD + b"experiments: ~\n" + END,
    "own list in a section": _with(lines("note:", "- a", "- iteration: 9", "-   b: c")),
}
LOCATED = {
    "quoted text over lines": _in_one(lines('  learnings: "a', "    - iteration: 9", '    b"')),
    "quoted text over lines, an experiment at the margin": _in_one(lines('  learnings: "a', "- iteration: 9", '  b"')),
    "quoted text over lines, a key at the margin": _with(lines('note: "a', "best: 2", ' b"')),
    "single quotes over lines, a key at the margin": _with(lines("note: 'a", "other: 2", " b'")),
    "quoted prose at the margin": _with(lines('note: "a', 'more text here"')),
    "plain text over lines": _with(lines("note: a", "  - iteration 9", "  b")),
    "braces over lines, at the margin": HEAD
    + LIST
    + lines("- {iteration: 1,", "outcome: kept, learnings: one}")
    + TWO
    + THREE
    + END,
    "literal text that keeps its blank lines": _in_one(lines("  learnings: |+", "    a", "", "    - b", "", "")),
    "braces over lines like a key": _with(lines("extra: {", "best: 1", "}")),
    "anchor and alias in sections": _with(lines("note: &n {x: 1}", "again: *n")),
    "anchor in one experiment, alias in another": HEAD
    + LIST
    + ONE.replace(b"learnings: one", b"learnings: &l one")
    + TWO
    + THREE
    + END
    + b"note: *l\n",
    "merge key": _with(lines("note: &n", "  x: 1", "other:", "  <<: *n", "  y: 2")),
    "tag of plain text": _with(lines("note: !!str 5")),
    "tag on the list": HEAD + b"experiments: !!seq\n" + ENTRIES + END,
    "byte order mark": b"\xef\xbb\xbf" + PLAIN,
    "document mark": b"---\n" + PLAIN,
    "document mark below a remark": b"# a\n---\n" + PLAIN,
    "directive": b"%YAML 1.2\n---\n" + PLAIN,
    "end mark": PLAIN + b"...\n",
    "line separator in quotes": _with('note: "a\u2028b"\n'.encode()),
    "number over two lines": _in_one(b"  learnings: one\n").replace(b"iteration: 2\n", b"iteration:\n    2\n"),
}
ANEW = {
    "list in brackets": HEAD
    + b"experiments: [{iteration: 1, outcome: kept, learnings: one}, {iteration: 2, outcome: error, learnings: two},\n"
    + b'  {iteration: 3, outcome: kept, learnings: "three\\nlines\\n"}]\n'
    + END,
    "the whole in braces": b'{"spec": "demo", "run_id": "r1", "experiments": [], "best": {"iteration": 3},\n'
    + b' "run_state": {"status": "running", "tick": 3}}\n',
    "root indented": _indented(PLAIN, 1),
    "key with a question mark": HEAD + lines("? experiments", ":") + ENTRIES + END,
    "lone carriage returns": PLAIN.replace(b"\n", b"\r"),
    "no line end behind literal text, list last": (HEAD + END + LIST + ENTRIES)[:-1],
}
REFUSED = {
    "half an experiment at the end": (PLAIN + b"- iteration: 4\n  outc", 0),
    "half a line twice": (HEAD + LIST + ONE + b"- iteration: 2\n  outc\n  outcome: error\n" + THREE + END, 9),
    "half a line glued to the next": (HEAD + LIST + ONE + b"- iteration: 2\n  outc  outcome: error: x\n" + END, 8),
    "nothing": (b"", 1),
    "plain text over lines like an experiment": (_with(lines("note: a", "  - iteration: 9", "  b")), 4),
    "braces over lines with dashes in them": (_with(lines("note: {k: [", "- 1 ]}")), 4),
    "remarks alone": (b"# x\n", 1),
    "UTF-16": (PLAIN.decode().encode("utf-16"), 1),
    "tab before a key": (HEAD + LIST + ONE + b"\tbatch: 2\n" + TWO + END, 7),
    "tab behind a dash": (HEAD + LIST + ONE + b"-\titeration: 2\n\toutcome: kept\n" + END, 0),
    "Latin-1": (_with(b"note: caf\xe9\n"), 3),
    "NUL": (_with(b"note: a\0b\n"), 3),
    "second document": (PLAIN + b"---\nx: 1\n", 0),
    "conflict marks": (HEAD + LIST + ONE + lines("<<<<<<< HEAD") + TWO + lines("=======", ">>>>>>> x") + END, 0),
    "section twice": (PLAIN + b"best: {iteration: 9}\n", 20),
    "list twice": (HEAD + LIST + ONE + END + LIST + TWO, 12),
    "key twice in an experiment": (HEAD + LIST + ONE + b"  outcome: error\n" + TWO + END, 7),
    "cut inside quotes": (HEAD + LIST + ONE + b'- iteration: 2\n  learnings: "tw', 0),
    "cut inside an experiment": (HEAD + LIST + ONE + b"- iteration: 2\n  outc", 0),
    "alias of nothing": (_with(b"note: *n\n"), 3),
    "alias inside itself": (_with(b"note: &n [*n]\n"), 3),
    "tag of an object": (_with(b"note: !!python/object/apply:os.system [x]\n"), 3),
    "a set": (_with(b"note: !!set {a, b}\n"), 3),
    "list of words": (HEAD + LIST + b"- one\n- two\n" + END, 0),
    "mapping for a list": (HEAD + b"experiments: {a: 1}\n" + END, 0),
    "a list": (b"- a\n- b\n", 1),
    "brackets without end": (_with(b"note: [1, 2\n"), 0),
    "brackets without end of depth": (b"a: " + b"[" * 700, 0),
    "billion laughs": (
        _with(
            b"a: &a [x, x, x, x, x, x, x, x, x]\n"
            + b"".join(b"%c: &%c [%s]\n" % (98 + n, 98 + n, b", ".join([b"*%c" % (97 + n)] * 9)) for n in range(9))
        ),
        0,
    ),
    "billion laughs in braces": (
        _with(b'a: &a {"k":[x,x,x,x,x,x,x,x,x]}\n')
        + b"".join(
            b'%c: &%c {"k":[%s],"l":*%c}\n' % (98 + n, 98 + n, b",".join([b"*%c " % (97 + n)] * 9), 97 + n)
            for n in range(9)
        ),
        0,
    ),
    "long text by alias": (_with(b"a: &a " + b"x" * 100_000 + b"\nb: [" + b", ".join([b"*a"] * 500) + b"]\n"), 4),
    "merge keys that grow": (
        _with(
            b"a: &a {k0: 1}\n"
            + b"".join(
                b"%c: &%c [%s]\n" % (98 + n, 98 + n, b", ".join(b"{<<: *%c, k%d: 1}" % (97, m) for m in range(9)))
                for n in range(2)
            )
            + b"z: *zz\n"
        ),
        6,
    ),
}
CASES: dict[str, Case] = {
    **{name: Case(data) for name, data in {**SPLICED, **LOCATED}.items()},
    **{name: Case(data, Fate.ANEW) for name, data in ANEW.items()},
    **{name: Case(data, Fate.REFUSED, line) for name, (data, line) in REFUSED.items()},
}
