"""The `patches` proposer: a folder of patch files, or a list of branches; each is a hypothesis.

A patch file may begin with lines `Subject:`, `Category:`, `Priority:` and `Requires:` (dependencies, with commas);
without a subject its file name is the description. The spec's own hypotheses come first.

Source: DESIGN section 8.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from headway.adapters.proposers.list import own_hypotheses
from headway.core.backlog import dep_status, hypothesis_id
from headway.core.records import BacklogHeadway, BacklogItem, HypothesisSource, Priority
from headway.core.spec import Spec
from headway.errors import RequestWrong
from headway.protocols import Proposal, ProposerTools

_HEADER = re.compile(r"^(subject|category|priority|requires):\s*(.*)$", re.IGNORECASE)
_PREFIX = re.compile(r"^\[PATCH[^]]*\]\s*", re.IGNORECASE)
SUFFIXES = (".patch", ".diff")


class PatchesProposer:
    """Gives one hypothesis a patch."""

    def __init__(self, spec: Spec, spec_folder: Path) -> None:
        self._spec = spec
        options = spec.agent.options if spec.agent else {}
        folder = options.get("folder")
        self._folder = (spec_folder / str(folder)).resolve() if folder is not None else None
        self._branches = [str(b) for b in options.get("branches") or []]

    def propose(self, tools: ProposerTools) -> Proposal:
        """Give all patches in the order of their names, or all branches in the spec's order."""
        found = self._from_folder() if self._folder is not None else self._from_branches(tools)
        payloads: dict[str, bytes] = {}
        items: list[BacklogItem] = list(own_hypotheses(self._spec))
        for name, header, patch in found:
            sha256 = hashlib.sha256(patch).hexdigest()
            payloads[sha256] = patch
            items.append(self._item(name, header, sha256))
        return Proposal(tuple(items), payloads)

    def _item(self, name: str, header: Mapping[str, str], sha256: str) -> BacklogItem:
        description = header.get("subject") or name
        needed = tuple(n.strip() for n in header.get("requires", "").split(",") if n.strip())
        return BacklogItem(
            description=description,
            category=header.get("category") or "patch",
            priority=_priority(header.get("priority", ""), name),
            dep_status=dep_status(needed, frozenset(self._spec.dependencies.approved)),
            required_deps=needed,
            headway=BacklogHeadway(
                id=hypothesis_id(description, sha256),
                source=HypothesisSource.PATCH,
                payload={"patch": name, "sha256": sha256},
            ),
        )

    def _from_folder(self) -> Iterator[tuple[str, Mapping[str, str], bytes]]:
        folder = self._folder or Path()
        if not folder.is_dir():
            raise RequestWrong(
                "the folder of patches is not there",
                str(folder),
                "set agent.options.folder to a folder of .patch files, relative to the spec's own folder",
            )
        files = sorted(p for p in folder.iterdir() if p.suffix in SUFFIXES and p.is_file())
        if not files:
            raise RequestWrong("the folder of patches holds none", str(folder), "put .patch or .diff files into it")
        for path in files:
            patch = path.read_bytes()
            yield path.name, header_of(patch), patch

    def _from_branches(self, tools: ProposerTools) -> Iterator[tuple[str, Mapping[str, str], bytes]]:
        for branch in self._branches:
            subject, patch = tools.branch_patch(branch)
            yield branch, {"subject": subject}, patch


def header_of(patch: bytes) -> Mapping[str, str]:
    """Give the header lines of a patch, by lower-case name, up to where its difference begins."""
    found: dict[str, str] = {}
    for raw in patch.split(b"\n"):
        if raw.startswith((b"diff ", b"--- ", b"Index: ")):
            break
        match = _HEADER.match(raw.decode("utf-8", "replace").rstrip("\r"))
        if match and match[1].lower() not in found:
            found[match[1].lower()] = _PREFIX.sub("", match[2].strip())
    return found


def _priority(text: str, name: str) -> Priority:
    if not text:
        return Priority.MEDIUM
    try:
        return Priority(text.lower())
    except ValueError as error:
        raise RequestWrong(
            f"a patch has the priority `{text}`", name, "write high, medium or low behind `Priority:`"
        ) from error


def make(spec: Spec, spec_folder: Path) -> PatchesProposer:
    """Build the proposer from the spec; relative folders start at the spec's own."""
    return PatchesProposer(spec, spec_folder)
