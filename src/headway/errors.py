"""Every error that headway raises on purpose.

The whole tree (exit codes as in `docs/errors.md`, which a test compares with this file):

    HeadwayError
    ├── RequestWrong      1    what was asked for cannot be done as asked
    ├── UsageWrong        2    the command line's words are off
    ├── InternalFault     3    a bug in headway; a report file is written
    ├── OutsideFailed     4    something outside headway failed: git, disk, agent, harness
    ├── RunOwned          5    another process owns the run
    ├── DataDamaged       6    stored data is damaged
    ├── WaitsForPerson    7    the run waits for a person's yes
    └── Interrupted     130    stopped by a signal; may be resumed

Each says what happened, where, and the mend. `args` mirror the signature, so that errors pickle.
"""


class HeadwayError(Exception):
    """The base of all that headway raises on purpose: what happened, where, and the mend."""

    exit_code = 3
    what: str = "something went wrong"
    where: str = ""
    mend: str = ""

    def __str__(self) -> str:
        lines = [self.what]
        if self.where:
            lines.append(f"  where: {self.where}")
        if self.mend:
            lines.append(f"  mend:  {self.mend}")
        return "\n".join(lines)


class RequestWrong(HeadwayError):
    """What was asked for cannot be done as asked; asking differently helps."""

    exit_code = 1

    def __init__(self, what: str, where: str = "", mend: str = "") -> None:
        super().__init__(what, where, mend)
        self.what, self.where, self.mend = what, where, mend


class UsageWrong(RequestWrong):
    """The words of the command line are off."""

    exit_code = 2


class InternalFault(RequestWrong):
    """A bug in headway itself."""

    exit_code = 3


class OutsideFailed(RequestWrong):
    """Something outside headway failed: git, a disk, an agent, a harness."""

    exit_code = 4


class ExtraMissing(OutsideFailed):
    """Something needs a package of an extra that is not installed."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        mend = f"install the extra: pip install 'headway[{extra}]'"
        super().__init__(f"{what}: the package {package} is not installed", "", mend)
        self.args = (what, package, extra)


class RunOwned(RequestWrong):
    """Another live process owns the run."""

    exit_code = 5


class DataDamaged(RequestWrong):
    """Stored data is damaged; nothing was overwritten."""

    exit_code = 6


class WaitsForPerson(RequestWrong):
    """The run waits for a person: the approval gate or wrap-up."""

    exit_code = 7


class Interrupted(RequestWrong):
    """A signal ended the command; what was measured is on disk and `headway resume` goes on."""

    exit_code = 130


# Git and the trees (adapters/git.py, adapters/workspaces/)


class RepositoryUnusable(RequestWrong):
    """The folder holds no git repository that a run can start from."""


class GitMissing(OutsideFailed):
    """There is no usable git program, or the package that runs it cannot be loaded."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"git cannot be run: {detail}", "", "install git 2.32 or newer and put it on PATH")
        self.args = (detail,)


class GitFailed(OutsideFailed):
    """A git command ended with an error."""

    def __init__(self, command: str, status: int, said: str, where: str) -> None:
        told = said or "it said nothing"
        super().__init__(f"`{command}` ended with {status}: {told}", where, "see git's words above; nothing was kept")
        self.args = (command, status, said, where)
        self.command, self.status, self.said = command, status, said


class GitLocked(OutsideFailed):
    """A lock file of git stands in the way and did not go away while we waited."""

    def __init__(self, lock: str, command: str, waited_seconds: float) -> None:
        super().__init__(
            f"`{command}` waited {waited_seconds:g} s for a lock of git that another process holds or left behind",
            lock,
            f"wait for the other git process; if none is running: rm '{lock}'; then try again",
        )
        self.args = (lock, command, waited_seconds)
        self.lock = lock


class RefMoved(OutsideFailed):
    """A ref is not where we left it: somebody else moved, made or deleted it."""

    def __init__(self, ref: str, expected: str, found: str, where: str) -> None:
        super().__init__(
            f"{ref} was expected at {expected or 'no commit'} and is at {found or 'no commit'}",
            where,
            (f"look at what moved it (`git log {found[:12]}`), then " if found else "")
            + (f"put it back (`git update-ref {ref} {expected}`), then " if expected else "delete it, then ")
            + "`headway resume`",
        )
        self.args = (ref, expected, found, where)
        self.ref, self.expected, self.found = ref, expected, found


class PatchEmpty(RequestWrong):
    """A patch holds no change that git can read."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"the patch holds no change: {detail}", "", "make it with `git diff` or `git format-patch`")
        self.args = (detail,)


class SharedFileMissing(RequestWrong):
    """A file of `parallel.shared_files` is not there, or may not be shared."""

    def __init__(self, path: str, where: str, detail: str = "does not exist") -> None:
        super().__init__(
            f"the shared file `{path}` {detail}",
            where,
            "create it, or take it out of `parallel.shared_files` in the spec",
        )
        self.args = (path, where, detail)
        self.path = path


class TreeStuck(OutsideFailed):
    """A tree of headway's own cannot be made equal to its commit: something in it cannot be removed or written."""

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(f"a tree cannot be prepared: {detail}", path, f"remove it by hand: rm -rf '{path}'")
        self.args = (path, detail)


# jobs: processes that headway runs


class SupervisorFailed(OutsideFailed):
    """The process that runs the jobs could not be started, or died again and again."""

    def __init__(self, detail: str, log: str) -> None:
        super().__init__(
            f"the jobs' supervisor failed: {detail}", log, "read the end of that file, then `headway resume`"
        )
        self.args = (detail, log)


class JobNotStarted(OutsideFailed):
    """Nothing of a job ran: its folder could not be written, or the machine has no process left for it."""

    def __init__(self, job: str, folder: str, detail: str) -> None:
        super().__init__(
            f"the job {job} could not be started: {detail}",
            folder,
            "free disk space or processes there, then `headway resume`",
        )
        self.args = (job, folder, detail)


class JobFolderTaken(InternalFault):
    """A job was to start in a folder that holds another one; results are never written over."""

    def __init__(self, job: str, folder: str) -> None:
        super().__init__(f"the job {job} was to start in a folder that holds a job already", folder, "")
        self.args = (job, folder)


class JobFileDamaged(DataDamaged):
    """A job's own file cannot be read back."""

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(
            f"a job's file is damaged: {detail}", path, "move its folder away; `headway resume` then runs the job anew"
        )
        self.args = (path, detail)


# store: durable bytes


class DiskFailed(OutsideFailed):
    """The disk refused a read or a write: full, read-only, not permitted. What it held before is intact."""

    def __init__(self, what: str, where: str, mend: str, number: int = 0) -> None:
        super().__init__(what, where, mend)
        self.args = (what, where, mend, number)
        self.number = number


# The log's records ------------------------------------------------------------------------------------------------


class TotalsNeedRecount(InternalFault):
    """A change reaches behind what the totals remember: they must be counted from all entries."""

    def __init__(self, iteration: int) -> None:
        super().__init__(
            f"the change of experiment {iteration} cannot be folded into the totals",
            "run_state.headway.totals",
            "count again from all entries",
        )
        self.args = (iteration,)


# The spec ---------------------------------------------------------------------------------------------------------


class SpecInvalid(RequestWrong):
    """A spec file has mistakes; all of them are told at once, each with its line."""

    def __init__(self, path: str, problems: tuple[str, ...], schema: str = "the schema") -> None:
        many = "a mistake" if len(problems) == 1 else f"{len(problems)} mistakes"
        super().__init__(
            "\n".join((f"the spec has {many}:", *(f"  {problem}" for problem in problems))),
            path,
            f"correct the lines named; {schema} describes every key",
        )
        self.args = (path, problems, schema)
        self.path, self.problems = path, problems


# The loop


class BranchCheckedOut(OutsideFailed):
    """The optimization branch is checked out in a worktree of the user's, so it must not move."""

    def __init__(self, branch: str, worktree: str) -> None:
        super().__init__(
            f"the branch `{branch}` is checked out, so nothing can be kept on it",
            worktree,
            "switch to another branch there, then `headway resume`",
        )
        self.args = (branch, worktree)


# Decisions --------------------------------------------------------------------------------------------------------


class GateCheckWrong(RequestWrong):
    """A gate's check cannot be evaluated."""

    def __init__(self, check: str, gate: str = "") -> None:
        super().__init__(
            f"{check!r} is no check",
            f"degenerate gate {gate}" if gate else "degenerate gates",
            "write one of >= <= == != > < and a finite number, such as '>= 0.9'",
        )
        self.args = (check, gate)


class PayloadWrong(RequestWrong):
    """A payload of `decide` lacks something or says something that no rule covers."""


class MethodMissing(PayloadWrong):
    """The payload asks for a comparison method that this version does not have."""

    def __init__(self, method: str, known: tuple[str, ...]) -> None:
        super().__init__(
            f"this version does not have the comparison method {method!r}",
            "spec.measurement.stability.comparison.method",
            f"use one of {', '.join(known)}",
        )
        self.args = (method, known)
