"""Rules of the spec that no field can check alone.

They read the mapping as it was written, not the finished models, and pass over what is not of the expected kind: so
they can be told together with the mistakes of single fields. `Spec` checks them again on itself.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from headway.core.scope import ScopeEntryWrong, normalise, overlap
from headway.core.spec_run import WORKTREE_LIMIT

Location = tuple[str | int, ...]


@dataclass(frozen=True)
class SpecProblem:
    """Something about a spec that a person should know: where, what, and the mend."""

    location: Location
    what: str
    mend: str = ""

    @property
    def path(self) -> str:
        """Give the place in one word, such as `metric.objectives[0].name`."""
        return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.location).lstrip(".")

    def __str__(self) -> str:
        told = f"{self.path}: {self.what}" if self.location else self.what
        return f"{told} ({self.mend})" if self.mend else told


def broken_rules(raw: Mapping[str, Any]) -> tuple[SpecProblem, ...]:
    """Find what does not go together in a spec.

    Args:
        raw: the spec as written; parts of the wrong kind are passed over.
    Returns: one problem per broken rule and place; empty where all holds.
    """
    return tuple(problem for rule in RULES for problem in rule(raw))


def _at(raw: Any, *keys: str) -> Any:
    """Give what stands at a path, or None."""
    for key in keys:
        raw = raw.get(key) if isinstance(raw, Mapping) else None
    return raw


def _list(raw: Any, *keys: str) -> Sequence[Any]:
    found = _at(raw, *keys)
    return found if isinstance(found, list | tuple) else ()


def _number(value: Any) -> float | None:
    try:
        return None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _names(items: Iterable[Any], name: str) -> Iterator[tuple[int, str]]:
    for index, item in enumerate(items):
        found = _at(item, name)
        if isinstance(found, str):
            yield index, found


def _judging_is_described(raw: Mapping[str, Any]) -> Iterator[SpecProblem]:
    judged = [_at(raw, "metric", "primary"), *_list(raw, "metric", "objectives")]
    if not any(_at(objective, "type") == "judge" for objective in judged):
        return
    if _at(raw, "metric", "judge") is None:
        yield SpecProblem(("metric", "judge"), "is required, because an objective is judged", "add rubric and scoring")
        return
    if _at(raw, "metric", "judge", "rubric") is None:
        yield SpecProblem(("metric", "judge", "rubric"), "is required, because an objective is judged")
    if _at(raw, "metric", "judge", "scoring", "primary") is None:
        yield SpecProblem(("metric", "judge", "scoring", "primary"), "is required, because an objective is judged")


def _singletons_have_a_rubric(raw: Mapping[str, Any]) -> Iterator[SpecProblem]:
    count = _number(_at(raw, "metric", "judge", "singleton_sample"))
    if count and count > 0 and _at(raw, "metric", "judge", "singleton_rubric") is None:
        yield SpecProblem(("metric", "judge", "singleton_rubric"), "is required, because singleton_sample is above 0")


def _names_are_unique(raw: Mapping[str, Any]) -> Iterator[SpecProblem]:
    primary = _at(raw, "metric", "primary", "name")
    seen = {primary} if isinstance(primary, str) else set()
    for index, name in _names(_list(raw, "metric", "objectives"), "name"):
        if name in seen:
            yield SpecProblem(("metric", "objectives", index, "name"), f"{name!r} is the name of another objective")
        seen.add(name)
    gates: set[str] = set()
    for index, name in _names(_list(raw, "metric", "degenerate_gates"), "name"):
        if name in gates:
            yield SpecProblem(("metric", "degenerate_gates", index, "name"), f"{name!r} is the name of another gate")
        gates.add(name)


def _ladder_climbs(raw: Mapping[str, Any]) -> Iterator[SpecProblem]:
    place = ("measurement", "stability", "ladder")
    first = _at(raw, *place, "exploratory_pairs")
    explored, confirmed = _number(1 if first is None else first), _number(_at(raw, *place, "confirmation_repeats"))
    if explored is not None and confirmed is not None and confirmed < explored:
        yield SpecProblem(
            (*place, "confirmation_repeats"), f"must be at least exploratory_pairs ({explored:g}), not {confirmed:g}"
        )


def _one_smallest_gain(raw: Mapping[str, Any]) -> Iterator[SpecProblem]:
    """Under `sequential` the older thresholds say the same as `min_effect`: which one is meant must be plain."""
    place = ("measurement", "stability", "comparison")
    if _at(raw, *place, "method") != "sequential":
        return
    written = [name for name in ("min_effect", "noise_threshold", "relative_threshold") if _written(raw, *place, name)]
    if "noise_threshold" not in written and _written(raw, *place[:2], "noise_threshold"):
        written.append("noise_threshold")
    if len(written) > 1:
        named = " and ".join(sorted(written))
        yield SpecProblem(
            (*place, written[0]), f"{named} all say the smallest gain worth keeping", "keep one; min_effect is plainest"
        )


def _written(raw: Any, *keys: str) -> bool:
    return _at(raw, *keys) is not None


def _lean_stands_alone(raw: Mapping[str, Any]) -> Iterator[SpecProblem]:
    """`lean` proves groups in its own way; what bounds single candidates means nothing to it."""
    place = ("measurement", "stability", "comparison")
    if _at(raw, *place, "effort") != "lean":
        return
    for name in ("error_control", "max_pairs", "screen", "accept_simpler"):
        if _written(raw, *place, name):
            yield SpecProblem((*place, name), "is not for effort: lean, which proves groups", "leave it out")
    if _at(raw, *place[:2], "mode") == "repeat":
        yield SpecProblem((*place, "effort"), "lean chooses how often to measure", "use mode: ladder")


def _extract_goes_with_regex(raw: Mapping[str, Any]) -> Iterator[SpecProblem]:
    patterns, chosen = _at(raw, "measurement", "extract"), _at(raw, "measurement", "output_format")
    if chosen == "regex" and not patterns:
        yield SpecProblem(("measurement", "extract"), "is required with output_format: regex", "add name: pattern")
    if chosen != "regex" and patterns:
        yield SpecProblem(("measurement", "extract"), "is read only with output_format: regex")


def _scopes_are_apart(raw: Mapping[str, Any]) -> Iterator[SpecProblem]:
    mutable, immutable = _usable(_list(raw, "scope", "mutable")), _usable(_list(raw, "scope", "immutable"))
    for one, other in overlap(list(mutable), list(immutable)):
        yield SpecProblem(
            ("scope", "mutable", mutable[one]),
            f"{one!r} overlaps with immutable {other!r}",
            "a path is either mutable or immutable: name the mutable files or folders one by one",
        )


def _usable(entries: Sequence[Any]) -> dict[str, int]:
    """Give the entries that can be compared, each with its place in the list."""
    found: dict[str, int] = {}
    for index, entry in enumerate(entries):
        if isinstance(entry, str):
            try:
                normalise(entry)
            except ScopeEntryWrong:  # told by the field itself
                continue
            found.setdefault(entry, index)
    return found


def _worktrees_are_few(raw: Mapping[str, Any]) -> Iterator[SpecProblem]:
    wanted = _number(_at(raw, "execution", "max_concurrent"))
    if wanted and wanted > WORKTREE_LIMIT and _at(raw, "execution", "backend") in (None, "worktree"):
        yield SpecProblem(
            ("execution", "max_concurrent"), f"must be 1 to {WORKTREE_LIMIT} with backend worktree, not {wanted:g}"
        )


def _ports_reach_the_command(raw: Mapping[str, Any]) -> Iterator[SpecProblem]:
    if _at(raw, "parallel", "port_strategy") == "parameterized" and _at(raw, "parallel", "port_env_var") is None:
        yield SpecProblem(("parallel", "port_env_var"), "is required with port_strategy: parameterized")


def _agent_has_what_it_needs(raw: Mapping[str, Any]) -> Iterator[SpecProblem]:
    kind, command = _at(raw, "agent", "type"), _at(raw, "agent", "command")
    if kind == "command" and command is None:
        yield SpecProblem(("agent", "command"), "is required with type: command", "the program gets its brief on stdin")
    if kind == "patches" and command is not None:
        yield SpecProblem(("agent", "command"), "is not for type: patches, which runs no program")
    if kind in NATIVE_AGENTS and command is not None:
        mend = "another program than the usual one stands in agent.options.program, more arguments in options.args"
        yield SpecProblem(("agent", "command"), f"is not for type: {kind}, which knows how to call its program", mend)


def _agent_options_are_known(raw: Mapping[str, Any]) -> Iterator[SpecProblem]:
    kind, options = _at(raw, "agent", "type"), _at(raw, "agent", "options")
    if not isinstance(kind, str) or kind not in AGENT_OPTIONS:
        return
    options = options if isinstance(options, Mapping) else {}
    known = AGENT_OPTIONS[kind]
    for name in options:
        if name not in known:
            mend = f"known: {', '.join(known)}" if known else "it has none"
            yield SpecProblem(("agent", "options", str(name)), f"is no option of type: {kind}", mend)
    if kind == "patches":
        yield from _patches_come_from_one_place(options)
    for name, value in options.items():
        if name in known and kind in NATIVE_AGENTS:
            yield from _option_has_its_form(str(name), value)


def _option_has_its_form(name: str, value: Any) -> Iterator[SpecProblem]:
    place = ("agent", "options", name)
    words = AGENT_WORDS.get(name)
    if words is not None and value not in words:
        yield SpecProblem(place, f"must be one of {', '.join(words)}, not {value!r}")
    if name == "program" and not (isinstance(value, str) and value.strip()):
        yield SpecProblem(place, "must be the name or the path of a program")
    if name == "user_settings" and not isinstance(value, bool):
        yield SpecProblem(place, f"must be true or false, not {value!r}")
    if name in ("args", "allowed_tools") and not _is_list_of_names(value):
        yield SpecProblem(place, "must be a list of texts, at least one")


def _patches_come_from_one_place(options: Mapping[str, Any]) -> Iterator[SpecProblem]:
    folder, branches = options.get("folder"), options.get("branches")
    if (folder is None) == (branches is None):
        yield SpecProblem(("agent", "options"), "needs exactly one of folder and branches with type: patches")
    if folder is not None and not (isinstance(folder, str) and folder.strip()):
        yield SpecProblem(("agent", "options", "folder"), "must be the path of a folder of patch files")
    if branches is not None and not _is_list_of_names(branches):
        yield SpecProblem(("agent", "options", "branches"), "must be a list of branch names, at least one")


def _is_list_of_names(value: Any) -> bool:
    listed = isinstance(value, list | tuple) and len(value) > 0
    return listed and all(isinstance(name, str) and name.strip() for name in value)


def _proposer_fits_the_agent(raw: Mapping[str, Any]) -> Iterator[SpecProblem]:
    if _at(raw, "proposer", "type") == "patches" and _at(raw, "agent", "type") != "patches":
        yield SpecProblem(("proposer", "type"), "patches needs agent.type: patches")


def _exemplars_are_one_thing(raw: Mapping[str, Any]) -> Iterator[SpecProblem]:
    for kind in ("known_good", "known_bad", "trivial"):
        for index, exemplar in enumerate(_list(raw, "exemplars", kind)):
            if isinstance(exemplar, Mapping) and (exemplar.get("patch") is None) == (exemplar.get("commit") is None):
                yield SpecProblem(("exemplars", kind, index), "needs exactly one of patch and commit")


def _shield_has_a_middle(raw: Mapping[str, Any]) -> Iterator[SpecProblem]:
    allow, block = _at(raw, "shield", "t_allow"), _at(raw, "shield", "t_block")
    low, high = _number(0.2 if allow is None else allow), _number(0.8 if block is None else block)
    if low is not None and high is not None and low > high:
        yield SpecProblem(("shield", "t_allow"), f"must not be above t_block ({high:g}), but is {low:g}")


def _notices_go_one_way(raw: Mapping[str, Any]) -> Iterator[SpecProblem]:
    notify = _at(raw, "notify")
    if isinstance(notify, Mapping) and (notify.get("command") is None) == (notify.get("url") is None):
        yield SpecProblem(("notify",), "needs exactly one of command and url")


NATIVE_AGENTS: Final = ("claude-code", "codex", "gemini", "opencode")
"""Types that call a known program."""

AGENT_OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "command": (),
    "patches": ("folder", "branches"),
    "claude-code": ("program", "args", "permission_mode", "allowed_tools", "user_settings"),
    "codex": ("program", "args", "sandbox", "user_settings"),
    "gemini": ("program", "args"),
    "opencode": ("program", "args"),
}
"""Options by type, of the types that this version has."""

AGENT_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "permission_mode": ("acceptEdits", "auto", "bypassPermissions", "dontAsk"),
    "sandbox": ("read-only", "workspace-write", "danger-full-access"),
}
"""What an option that is a word may be."""

RULES: Final[tuple[Callable[[Mapping[str, Any]], Iterator[SpecProblem]], ...]] = (
    _judging_is_described,
    _singletons_have_a_rubric,
    _names_are_unique,
    _ladder_climbs,
    _one_smallest_gain,
    _lean_stands_alone,
    _extract_goes_with_regex,
    _scopes_are_apart,
    _worktrees_are_few,
    _ports_reach_the_command,
    _agent_has_what_it_needs,
    _agent_options_are_known,
    _proposer_fits_the_agent,
    _exemplars_are_one_thing,
    _shield_has_a_middle,
    _notices_go_one_way,
)
