"""The closed lists of words that the log's fields may hold.

Source: seed 004; CONTRACTS section 2 for `HypothesisSource`.
"""

from enum import StrEnum


class Outcome(StrEnum):
    """What became of an experiment; the loop branches on this value."""

    MEASURED = "measured"  # metrics are on disk, the batch is not evaluated yet
    PROMISING = "promising"  # eligible so far, the ladder still needs confirmation
    KEPT = "kept"  # on the optimization branch
    NOT_SELECTED = "not_selected"  # eligible, not integrated
    REVERTED = "reverted"  # compared and not eligible
    INCONCLUSIVE = "inconclusive"  # inside the threshold
    CENSORED = "censored"  # aborted under the futility bound
    DEGENERATE = "degenerate"  # a gate or the smoke test failed
    ERROR = "error"  # crashed, or output that is no measurement
    DEFERRED_NEEDS_APPROVAL = "deferred_needs_approval"  # set aside: needs an unapproved dependency
    TIMEOUT = "timeout"  # took longer than timeout_seconds
    RUNNER_UP_KEPT = "runner_up_kept"  # combined with the winner, measured anew, on the branch
    RUNNER_UP_REVERTED = "runner_up_reverted"  # combined with the winner, and not better

    @property
    def is_final(self) -> bool:
        """The outcome stays: only `measured` and `promising` still wait for a decision."""
        return self not in (Outcome.MEASURED, Outcome.PROMISING)

    @property
    def is_keep(self) -> bool:
        """The candidate's commit is on the optimization branch."""
        return self in (Outcome.KEPT, Outcome.RUNNER_UP_KEPT)

    @property
    def is_failure(self) -> bool:
        """Nothing could be compared, because something broke: what `max_consecutive_failures` counts."""
        return self in (Outcome.ERROR, Outcome.TIMEOUT)


class Verdict(StrEnum):
    """What the comparison of one objective says."""

    IMPROVED = "improved"
    REGRESSED = "regressed"
    INCONCLUSIVE = "inconclusive"


class Calibration(StrEnum):
    """Whether the judge was calibrated."""

    PASSED = "passed"
    WAIVED = "waived"
    NOT_RUN = "not_run"
    NOT_APPLICABLE = "not_applicable"


class RunStatus(StrEnum):
    """Where a run stands between two processes."""

    RUNNING = "running"
    WAITING = "waiting"
    BLOCKED = "blocked"
    FINAL = "final"


class ComparisonKind(StrEnum):
    """What a pairing was measured for."""

    STANDALONE = "standalone"
    INTEGRATED = "integrated"
    HOLDOUT = "holdout"


class MeasuredBy(StrEnum):
    """Who produced a pairing."""

    ORCHESTRATOR = "orchestrator"
    WORKER = "worker"
    CONFIRMATION_WORKER = "confirmation_worker"


class NextMeasurement(StrEnum):
    """The next step of the ladder."""

    NONE = "none"
    SMOKE = "smoke"
    EXPLORATORY = "exploratory"
    ADD_SAMPLE = "add_sample"
    CONFIRM = "confirm"
    HOLDOUT = "holdout"


class HypothesisSource(StrEnum):
    """Where a hypothesis came from."""

    USER = "user"
    AGENT = "agent"
    PATCH = "patch"
    KNOBS = "knobs"
