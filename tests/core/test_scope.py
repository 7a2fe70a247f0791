"""Which paths a scope names, and when two scopes overlap."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.scope import ScopeEntryWrong, matches, normalise, overlap


@pytest.mark.parametrize(
    ("entry", "path", "expected"),
    [
        ("src", "src/a.py", True),
        ("src/", "src/deep/a.py", True),
        ("./src//deep/", "src/deep/a.py", True),
        ("src/a.py", "src/a.py", True),
        ("src", "srcs/a.py", False),
        ("src/a", "src/a.py", False),
        ("src/a.py", "src", False),
        (".", "anything/at/all", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/deep/a.py", False),
        ("src/*", "src/deep/a.py", False),
        ("src/**", "src/deep/a.py", True),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/x/y/a.py", True),
        ("src/**/*.py", "src/x/y/a.rs", False),
        ("**/test_*.py", "test_a.py", True),
        ("**/test_*.py", "a/b/test_a.py", True),
        ("**/test_*.py", "a/b/mytest_a.py", False),
        ("**.py", "a/b.py", True),
        ("packages/*/src/", "packages/one/src/a/b.ts", True),
        ("packages/*/src", "packages/one/src/a.ts", False),
        ("a[1]?.txt", "a[1]?.txt", True),
        ("a[1].txt", "a1.txt", False),
        ("über/*.py", "über/ä b.py", True),
    ],
)
def test_an_entry_names_the_paths_that_its_spelling_says(entry: str, path: str, expected: bool) -> None:
    """A prefix names a file, or a folder with all below; a glob names what it matches and no more."""
    assert matches(path, [entry]) is expected


def test_one_of_many_entries_is_enough_and_none_names_nothing() -> None:
    """A path is in a scope as soon as one entry names it; an empty scope holds nothing."""
    assert matches("b/x", ["a", "b"])
    assert not matches("b/x", [])


@pytest.mark.parametrize(
    ("entry", "why"),
    [("/etc/passwd", "absolute"), ("../other", "'..'"), ("a/../../b", "'..'"), ("", "empty"), ("  ", "empty")],
)
def test_an_entry_outside_the_repository_is_refused(entry: str, why: str) -> None:
    """Absolute paths, `..` and empty entries name nothing in the repository and are refused with the reason."""
    with pytest.raises(ScopeEntryWrong, match=why):
        normalise(entry)
    with pytest.raises(ScopeEntryWrong):
        matches("a", [entry])
    with pytest.raises(ScopeEntryWrong):
        matches(entry, ["a"])


def test_a_name_with_two_dots_in_it_is_a_name() -> None:
    """`..` is refused as a whole name only."""
    assert normalise("a..b/..c/d..") == "a..b/..c/d.."


@pytest.mark.parametrize(
    ("mutable", "immutable"),
    [
        ("src", "src"),
        ("src", "src/bench.py"),
        ("src/bench.py", "src/"),
        ("./src/", "src/x"),
        (".", "bench.py"),
        ("src/*.py", "src/bench.py"),
        ("src/*.py", "src"),
        ("**/*.py", "data"),
        ("src/**", "**/bench.py"),
        ("src/**/x.py", "src/x.py"),
        ("a/*/c/", "a/b/"),
        ("a*c", "*b*"),
        ("v1.2/*.py", "v1.2"),
        ("**/*.py", "v1.2/"),
        ("**/*.py", ".github"),
    ],
)
def test_scopes_that_share_a_path_overlap(mutable: str, immutable: str) -> None:
    """Two entries overlap when some path would be named by both, whichever side each stands on."""
    assert overlap([mutable], [immutable]) == ((mutable, immutable),)
    assert overlap([immutable], [mutable]) == ((immutable, mutable),)


@pytest.mark.parametrize(
    ("mutable", "immutable"),
    [
        ("src/sort", "src/sorted"),
        ("src/*.py", "src/deep/bench.py"),
        ("src/*.py", "src/bench.rs"),
        ("src/**/*.py", "tests"),
        ("**/*.py", "data/cases.json"),
        ("a/*/c", "a/b/c/d/*"),
        ("*.py", "**/*.rs"),
    ],
)
def test_scopes_without_a_path_in_common_do_not_overlap(mutable: str, immutable: str) -> None:
    """Entries that no path could share are apart, however close they look."""
    assert overlap([mutable], [immutable]) == ()
    assert overlap([immutable], [mutable]) == ()


NAMES = st.text(alphabet="ab", min_size=1, max_size=2)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
GLOBS = st.lists(st.one_of(NAMES, st.sampled_from(["*", "**", "a*", "*b", "a*b"])), min_size=1, max_size=4).map(
    "/".join
)


@given(path=PATHS, one=GLOBS, other=GLOBS)
def test_a_path_named_by_both_scopes_proves_an_overlap(path: str, one: str, other: str) -> None:
    """No path that both scopes name escapes the check of overlap."""
    if matches(path, [one]) and matches(path, [other]):  # no name here has an extension
        assert overlap([one], [other])


@given(path=PATHS, extra=NAMES)
def test_a_folder_names_all_below_it_and_nothing_beside_it(path: str, extra: str) -> None:
    """A prefix ends at a slash."""
    assert matches(f"{path}/{extra}", [path])
    assert not matches(f"{path}{extra}", [path])
    assert matches(f"{path}/{extra}", [f"{path}/**"])
