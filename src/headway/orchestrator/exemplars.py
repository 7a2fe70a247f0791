"""Makes the commits that the validity gate measures: the spec's exemplars, and candidates that forge their value.

Source: CONTRACTS sections 3, 5 and 9.
"""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from headway.adapters.job_folder import read_bounded
from headway.adapters.private_repository import Conflict
from headway.adapters.workspaces.probe_commits import ProbeCommit, source_files, with_files, within_scope
from headway.core import scope
from headway.core.events import SampleTaken
from headway.core.forgery import SUFFIXES, Forgery, Language, better_value, claim_of, forge, language_of
from headway.core.probes import ProbeKind, exemplar_names
from headway.core.spec import Exemplar, Spec
from headway.errors import PatchEmpty, RequestWrong
from headway.orchestrator.ground import Ground
from headway.orchestrator.measuring import METRICS_COPY
from headway.store.atomic import disk_failure
from headway.store.paths import ensure_folder

DATE = "946684800 +0000"
"""Of every probe's commit, so that the same probe is the same commit after a resume."""
MOST_FILES = 200
MOST_BYTES = 1 << 20
MARK = ".headway-forged-"


@dataclass(frozen=True)
class Planned:
    """A probe that is ready to be measured.

    Attributes:
        name, kind, source, note, left_out: as in `Probed`.
        commit: in the private repository.
        files: paths that a forgery was put into.
        claimed: the value that it prints.
    """

    name: str
    kind: ProbeKind
    commit: str
    source: str = ""
    note: str = ""
    left_out: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    claimed: float | None = None


def plan_exemplars(ground: Ground) -> tuple[Planned, ...]:
    """Make a commit of every exemplar of the spec; the same ones again after a resume.

    Raises: RequestWrong, for one that is not there, does not apply, or changes nothing in the mutable scope.
    """
    exemplars = ground.spec.exemplars
    return tuple(
        _planned(ground, name, kind, number, getattr(exemplars, kind.value)[number])
        for name, kind, number in exemplar_names(exemplars)
    )


def _planned(ground: Ground, name: str, kind: ProbeKind, number: int, exemplar: Exemplar) -> Planned:
    place = f"exemplars.{kind}[{number}]"
    made = _state_of(ground, exemplar, place)
    commit = within_scope(ground.private, ground.base, made, mutable_in(ground.spec), f"probe {name}", DATE)
    if kind is not ProbeKind.KNOWN_GOOD and not commit.patch:
        raise RequestWrong(
            "the exemplar changes nothing inside the mutable scope",
            place + (f"; left out: {', '.join(commit.left_out[:5])}" if commit.left_out else ""),
            "let it change a file of scope.mutable, as a candidate would",
        )
    _keep(ground, name, commit)
    source = exemplar.patch or exemplar.commit or ""
    return Planned(name, kind, commit.commit, source, exemplar.note or "", commit.left_out)


def mutable_in(spec: Spec) -> Callable[[str], bool]:
    """Give the question whether a candidate may change a path."""
    mutable, immutable = spec.scope.mutable, spec.scope.immutable
    return lambda path: scope.matches(path, mutable) and not scope.matches(path, immutable)


def _state_of(ground: Ground, exemplar: Exemplar, place: str) -> str:
    """Give a commit that holds an exemplar, whatever else it holds."""
    if exemplar.commit is not None:
        return ground.private.import_branch(exemplar.commit, ground.base)
    name = exemplar.patch or ""
    path = next((p for p in (ground.spec_folder / name, ground.user.root / name) if p.is_file()), None)
    if path is None:
        raise RequestWrong(
            f"there is no patch `{name}`", place, "name it from the spec's own folder, or from the repository's root"
        )
    try:
        made = ground.private.apply_patch(ground.base, path.read_bytes(), f"exemplar {name}", DATE)
    except PatchEmpty as problem:
        raise RequestWrong(problem.what, f"{place}: {path}", problem.mend) from problem
    except OSError as problem:
        raise disk_failure(problem, path) from problem
    if isinstance(made, Conflict):
        raise RequestWrong(
            f"the patch does not apply to the base commit: {', '.join(made.paths) or made.detail}",
            f"{place}: {path}",
            "make it anew from the commit that the run starts from",
        )
    return made


def _keep(ground: Ground, name: str, commit: ProbeCommit) -> None:
    """Keep a probe's commit by a private ref, and its difference beside the baseline's files."""
    ground.private.set_ref(f"refs/headway/{ground.spec.name}/probe/{name}", commit.commit)
    path = ground.run.experiment(0).assets / f"probe-{name}.patch"
    ensure_folder(path.parent)
    ground.write_derived(path, commit.patch)


# Forgeries


@dataclass(frozen=True)
class Sources:
    """The mutable code of the base commit that a forgery can be put into: path -> its language and text."""

    texts: Mapping[str, tuple[Language, str]]
    not_looked_at: int = 0


def mutable_code(ground: Ground) -> Sources:
    """Find the mutable files that are code in a language that a forgery can be written in."""
    private, may_change = ground.private, mutable_in(ground.spec)

    def wanted(path: str) -> bool:
        _, dot, suffix = path.rpartition("/")[2].rpartition(".")
        return (not dot or f".{suffix.lower()}" in SUFFIXES) and may_change(path)

    found = source_files(private, ground.base, wanted)
    looked_at = dict(list(found.items())[:MOST_FILES])
    blobs = private.read_blobs(entry.sha for entry in looked_at.values())
    texts = {}
    for path, entry in looked_at.items():
        content = blobs[entry.sha]
        text = content.decode("utf-8", "surrogateescape") if len(content) <= MOST_BYTES else ""
        language = language_of(path, text.partition("\n")[0])
        if language is not None and text:
            texts[path] = (language, text)
    return Sources(texts, len(found) - len(looked_at))


@dataclass(frozen=True)
class Claim:
    """What every forgery of a run claims: a value, the text that says so, and the files it is written to."""

    value: float
    text: str
    writes: Mapping[str, str]


def claim_for(ground: Ground, samples: Sequence[SampleTaken], tree: Path) -> Claim | None:
    """Give what forgeries claim; None where no output of the spec's format can be made up.

    Args:
        samples: of the untouched code, valid.
        tree: the folder in which candidates are measured.
    """
    spec, first = ground.spec, samples[0]
    value = better_value(spec, [s.metrics[spec.metric.primary.name] for s in samples])
    job = ground.state.root / first.job
    printed = next((p for p in (job / METRICS_COPY, job / "stdout") if p.is_file()), None)
    text = claim_of(spec, value, first.metrics, first.gates, read_bounded(printed) if printed else "")
    if text is None:
        return None
    name = spec.measurement.metrics_file
    places = () if name is None else (str(tree / spec.measurement.working_directory / name), name)
    return Claim(value, text, dict.fromkeys(places, text))


def plan_forgery(
    ground: Ground, sources: Sources, claim: Claim, number: int, without: Collection[str], tree: Path
) -> Planned | None:
    """Make a commit in which all mutable code forges its value; None where no such code is left.

    Args:
        sources: the mutable code.
        claim: what it claims.
        number: of the round, from 1.
        without: paths that stay as they are: they ran in an earlier round and were not believed.
        tree: the folder in which candidates are measured; the marks are made there.
    """
    texts = {path: found for path, found in sources.texts.items() if path not in without}
    if not texts:
        return None
    forgery = Forgery(claim.text, claim.writes, "")
    files = {
        path: forge(language, text, replace(forgery, mark=str(mark_of(tree, n)))).encode("utf-8", "surrogateescape")
        for n, (path, (language, text)) in enumerate(texts.items())
    }
    name = f"{ProbeKind.FORGED}-{number}"
    commit = with_files(ground.private, ground.base, files, f"probe {name}", DATE)
    _keep(ground, name, commit)
    return Planned(name, ProbeKind.FORGED, commit.commit, files=tuple(texts), claimed=claim.value)


def mark_of(tree: Path, number: int) -> Path:
    """Give the file that the forgery in the file of this number makes when it runs."""
    return tree / f"{MARK}{number}"


def clear_marks(tree: Path, files: Sequence[str]) -> None:
    """Remove the marks that set-up and build have made."""
    for number in range(len(files)):
        mark_of(tree, number).unlink(missing_ok=True)


def marked(tree: Path, files: Sequence[str]) -> tuple[str, ...]:
    """Name the files whose forgery ran."""
    return tuple(path for number, path in enumerate(files) if os.path.lexists(mark_of(tree, number)))
