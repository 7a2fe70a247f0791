"""The example `textindex`: its patches apply and are what they claim to be, and its harness sees through the cheats."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from headway.adapters.proposers.patches import header_of
from headway.core.scope import matches
from headway.core.spec import Priority
from headway.core.spec_support import refusals
from headway.store.spec_file import load_spec

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "textindex"
PATCHES = {path.stem.partition("-")[2]: path for path in sorted(EXAMPLE.glob("patches/*.patch"))}
GAINS = (
    "count-lines-in-place",
    "stop-words-in-a-set",
    "split-words-with-a-pattern",
    "remember-stems",
    "look-at-the-last-posting",
)
SAME_BUT_SLOWER = "keep-the-index-sorted"
NO_OPS = ("comment-the-counting", "rename-a-local-variable", "report-thousands", "write-notes")
CHEAT, LOOP, BROKEN = "remember-answers-by-input", "step-through-words-by-hand", "unpack-in-the-condition"
OVERREACHING = {"report-thousands": "harness/measure.py", "write-notes": "NOTES.md"}
TEXTS = (
    "class Parser:\n    def parse(self, text):\n        return 2 * text\n",
    "",
    "\n\nParsers parse; parsing parsed texts (texts!) is what a parser does.\nNo end of line: Ünïcode_Name9x",
    (EXAMPLE / "repo" / "harness" / "measure.py").read_text(encoding="utf-8"),
)
OTHER_TEXTS = ("import nothing\n", "nothing else matters\nnothing\n", "x", "y")

Build = Callable[[Sequence[str]], Any]


def git(repo: Path, *words: str) -> str:
    """Run git without the user's configuration; its failure fails the test with what it said."""
    identity = ("-c", "user.name=a test", "-c", "user.email=test@localhost", "-c", "core.hooksPath=/dev/null")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    clean |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", *identity, *words], cwd=repo, env=clean, capture_output=True, text=True)
    assert done.returncode == 0, f"git {' '.join(words)}: {done.stderr}"
    return done.stdout


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """The example's repository, as a run finds it."""
    root = tmp_path / "repo"
    shutil.copytree(EXAMPLE / "repo", root, ignore=shutil.ignore_patterns("__pycache__"))
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "start")
    return root


def apply(repo: Path, *names: str) -> None:
    """Apply patches three-way, each as a commit on top of the former one."""
    for name in names:
        git(repo, "apply", "--3way", str(PATCHES[name]))
        git(repo, "commit", "-q", "-a", "-m", name)


def builder_of(repo: Path) -> Build:
    """Load `build_index` from a tree's source, leaving nothing behind in it or in `sys.modules`."""
    module = ModuleType("builder")
    source = repo / "textindex" / "builder.py"
    exec(compile(source.read_text(encoding="utf-8"), str(source), "exec"), module.__dict__)
    build: Build = module.__dict__["build_index"]
    return build


@pytest.fixture
def harness(repo: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The harness as a module, with the reference implementation as its `reference_index`."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(str(repo / "harness"))
    import measure  # type: ignore[import-not-found]  # from the folder above

    module: ModuleType = measure
    yield module
    for name in ("measure", "reference"):
        sys.modules.pop(name, None)


def measured(repo: Path, seed: int) -> tuple[int, Any]:
    """Run the harness as a run does; give its exit code and what it printed."""
    done = subprocess.run(
        [sys.executable, "harness/measure.py"],
        cwd=repo,
        env={**os.environ, "HEADWAY_SEED": str(seed)},
        capture_output=True,
        text=True,
    )
    return done.returncode, json.loads(done.stdout)


def test_the_queue_holds_what_the_tests_know_of() -> None:
    """Every patch is of a known kind, so none goes untested."""
    assert set(PATCHES) == {*GAINS, SAME_BUT_SLOWER, *NO_OPS, CHEAT, LOOP, BROKEN}


@pytest.mark.parametrize("name", PATCHES)
def test_a_patch_says_what_it_is_and_applies_to_the_start(repo: Path, name: str) -> None:
    """Its header gives a description, a category and a priority; git takes it as it stands."""
    header = header_of(PATCHES[name].read_bytes())
    assert header["subject"] and header["category"] and Priority(header["priority"])
    git(repo, "apply", "--check", str(PATCHES[name]))


def test_every_patch_applies_on_top_of_all_gains_in_either_order(repo: Path) -> None:
    """No two gains conflict, and none takes the ground from any other patch."""
    apply(repo, *GAINS)
    forward = git(repo, "rev-parse", "HEAD^{tree}")
    git(repo, "reset", "-q", "--hard", f"HEAD~{len(GAINS)}")
    apply(repo, *reversed(GAINS))
    assert git(repo, "rev-parse", "HEAD^{tree}") == forward
    for name in PATCHES.keys() - set(GAINS):
        git(repo, "apply", "--3way", str(PATCHES[name]))
        git(repo, "reset", "-q", "--hard")


@pytest.mark.parametrize("names", [(), *((n,) for n in (*GAINS, SAME_BUT_SLOWER, *NO_OPS)), GAINS], ids="+".join)
def test_an_honest_change_builds_the_reference_index(repo: Path, harness: ModuleType, names: tuple[str, ...]) -> None:
    """The start, every gain, all of them together, the no-ops and the slower one give the same index."""
    apply(repo, *names)
    assert harness.are_equal(builder_of(repo)(TEXTS), harness.reference_index(TEXTS))


def test_the_reference_index_is_the_one_that_a_person_would_write() -> None:
    """The reference itself is checked by hand, on a text that has every case in it."""
    module = ModuleType("reference")
    exec((EXAMPLE / "repo" / "harness" / "reference.py").read_text(encoding="utf-8"), module.__dict__)
    assert module.__dict__["reference_index"](["The parser,\nPARSES_parsed I", "lines\n2x lines"]) == {
        "lengths": [3, 3],
        "postings": {"pars": [[0, 3, 1]], "lin": [[1, 2, 1]], "2x": [[1, 1, 2]]},
    }


def test_a_remembered_answer_is_wrong_for_other_files(
    repo: Path, harness: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cheat is right once, and from then on right about nothing but what it was first asked."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    apply(repo, CHEAT)
    build = builder_of(repo)
    assert harness.are_equal(build(TEXTS), harness.reference_index(TEXTS))
    assert harness.are_equal(build(TEXTS), harness.reference_index(TEXTS))
    assert not harness.are_equal(build(OTHER_TEXTS), harness.reference_index(OTHER_TEXTS))


def test_a_remembered_answer_fails_within_a_single_measurement(repo: Path) -> None:
    """The two builds of a measurement have other files each, so the cheat ends at its first sample."""
    apply(repo, CHEAT)
    code, report = measured(repo, seed=1)
    assert (code, report["index_equal"]) == (0, False)


def test_the_harness_measures_all_gains_as_a_gain(repo: Path) -> None:
    """A real run prints every name of the spec, passes its gates, and tells the start from all gains together."""
    code, start = measured(repo, seed=5)
    apply(repo, *GAINS)
    code_of_gains, gained = measured(repo, seed=5)
    metric = load_spec(EXAMPLE / "spec.yaml").spec.metric
    names = {
        metric.primary.name,
        *(gate.name for gate in metric.degenerate_gates),
        *(d.name for d in metric.diagnostics),
    }
    assert (code, code_of_gains) == (0, 0)
    assert set(start) == set(gained) == names
    assert start["index_equal"] is gained["index_equal"] is True
    assert start["documents"] == gained["documents"] > 0
    assert gained["build_seconds"] < start["build_seconds"] * 0.6


def test_a_syntax_error_is_told_and_is_no_measurement(repo: Path) -> None:
    """The harness exits with 1 and names the error."""
    apply(repo, BROKEN)
    code, report = measured(repo, seed=1)
    assert code == 1
    assert set(report) == {"error"} and "SyntaxError" in report["error"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("import os\nprint('{}')\nos._exit(0)\n", "not JSON"),
        ("import os\ndef build_index(texts):\n    os.write(1, b'[]')\n    os._exit(0)\n", "not JSON"),
        ("def build_index(texts):\n    raise SystemExit(3)\n", "status 3"),
    ],
    ids=["prints and leaves", "writes where output was", "exits"],
)
def test_a_child_that_leaves_without_an_index_is_an_error(repo: Path, body: str, said: str) -> None:
    """What a candidate prints is never taken for the answer."""
    (repo / "textindex" / "__init__.py").write_text(body, encoding="utf-8")
    code, report = measured(repo, seed=1)
    assert code == 1 and said in report["error"]


def test_work_left_running_is_waited_for_and_billed(repo: Path) -> None:
    """A candidate cannot hide its work in a process that nobody waits for."""
    builder = repo / "textindex" / "builder.py"
    honest = builder.read_text(encoding="utf-8")
    hiding = (
        "\n\nbuild_all = build_index\n\n\ndef build_index(texts):\n    import os, time\n"
        "    if os.fork() == 0:\n        os.setsid()\n        while time.process_time() < 0.5:\n            pass\n"
        "        os._exit(0)\n    return build_all(texts)\n"
    )
    builder.write_text(honest + hiding, encoding="utf-8")
    code, report = measured(repo, seed=1)
    assert code == 0 and report["build_seconds"] > 0.5


def test_the_loop_never_gets_past_a_stop_word(repo: Path) -> None:
    """It ends only from outside; a text without stop words shows that the rest of it is right."""
    apply(repo, LOOP)
    source = (repo / "textindex" / "builder.py").read_text(encoding="utf-8")
    ends = "import sys; sys.path.insert(0, '.'); from textindex import build_index; print(build_index([sys.argv[1]]))"
    command = [sys.executable, "-B", "-c", ends]
    assert "continue" in source
    assert "'pars'" in subprocess.run([*command, "parser"], cwd=repo, capture_output=True, text=True).stdout
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run([*command, "the parser"], cwd=repo, capture_output=True, timeout=0.5)


def test_the_seed_picks_other_files_of_the_same_sizes(harness: ModuleType) -> None:
    """Seeds differ in files, not in how much work they are; the builds of one seed share no file."""
    files = harness.source_files()
    picks = [harness.pick(files, seed) for seed in range(20)]
    sizes = [sum(path.stat().st_size for build in pick for path in build) for pick in picks]
    assert picks[3] == harness.pick(files, 3)
    assert all(one != two for one, two in pairwise(picks))
    assert all(len(build) == harness.FILES_PER_BUILD for pick in picks for build in pick)
    assert all(not set(first) & set(second) for first, second in picks)
    assert max(sizes) < 1.05 * min(sizes)


@pytest.mark.parametrize("name", PATCHES)
def test_a_patch_leaves_the_scope_only_where_that_is_its_point(repo: Path, name: str) -> None:
    """Two patches reach outside `textindex/`, each beside a change inside it; all others stay within."""
    spec = load_spec(EXAMPLE / "spec.yaml").spec
    git(repo, "apply", "--index", str(PATCHES[name]))
    touched = git(repo, "diff", "--cached", "--name-only").split()
    outside = [path for path in touched if not matches(path, spec.scope.mutable)]
    assert outside == ([OVERREACHING[name]] if name in OVERREACHING else [])
    assert len(touched) > len(outside)


def test_the_spec_is_one_that_this_version_runs() -> None:
    """It loads without a warning, nothing in it is refused, and its patches lie where it says."""
    loaded = load_spec(EXAMPLE / "spec.yaml")
    assert loaded.warnings == () and refusals(loaded.spec) == ()
    assert loaded.spec.agent is not None
    assert (EXAMPLE / str(loaded.spec.agent.options["folder"])).is_dir()


def test_the_exemplars_are_what_the_spec_says_of_them(repo: Path, harness: ModuleType) -> None:
    """Every patch is there and applies; double the work gives the same index, no work another one."""
    named = load_spec(EXAMPLE / "spec.yaml").spec.exemplars
    patches = {str(one.patch): EXAMPLE / str(one.patch) for kind in named for one in kind[1]}
    assert all(path.is_file() for path in patches.values())
    expected = {"exemplars/index-twice.patch": True, "exemplars/empty-index.patch": False}
    assert expected.keys() <= patches.keys()
    for name, is_right in expected.items():
        git(repo, "apply", str(patches[name]))
        assert harness.are_equal(builder_of(repo)(TEXTS), harness.reference_index(TEXTS)) is is_right
        git(repo, "checkout", "-q", ".")


def test_the_page_of_the_example_names_every_patch() -> None:
    """Its table tells of each patch what it is and how it ends."""
    page = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| ") and line[2:4].isdigit()]
    assert rows == [path.name.removesuffix(".patch").replace("-", " ", 1) for path in PATCHES.values()]
