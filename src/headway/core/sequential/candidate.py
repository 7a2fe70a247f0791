"""Decides on one candidate from what was measured of it so far, and says what to measure next.

One function over values: the pairs of the session, the history of the run, the rules and where the run stands. The
same values give the same answer, whether they were measured just now or are read from the log after a crash.
Source: DECISIONS 2.4 to 2.9.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from headway.core.sequential.error_control import alpha_of
from headway.core.sequential.gain import GainEstimate, shrunken_gain
from headway.core.sequential.history import RunHistory
from headway.core.sequential.normal import z_above
from headway.core.sequential.pairs import PairTest, exact_test, pair_test
from headway.core.sequential.rules import CLEARLY_WORSE, Rules, RunState
from headway.core.sequential.scale import as_share
from headway.core.sequential.screen import FirstLook, first_look
from headway.core.sequential.sight import Sight, Taken, sight_of

Decided = Literal["keep", "revert", "inconclusive", "censored"]
Next = Literal["none", "exploratory", "add_sample", "confirm"]
EXACT_REPEATS: Final = 2
"""Pairs that a keep of an exact objective takes: both repeats must be identical."""


@dataclass(frozen=True)
class Decision:
    """What a candidate's samples amount to so far.

    `decided` is final where `next_measurement` is `none`. `sights` has all objectives in order; `looks` what their
    first value alone says, while there is no whole pair; `tests` what the pairs say; `gains` the estimates of a keep;
    `reason` is one line for the log.
    """

    decided: Decided
    next_measurement: Next
    reason: str
    sights: tuple[Sight, ...] = ()
    looks: Mapping[str, FirstLook] = field(default_factory=dict)
    tests: Mapping[str, PairTest] = field(default_factory=dict)

    @property
    def is_keep(self) -> bool:
        return self.decided == "keep" and self.next_measurement == "none"

    @property
    def improved(self) -> tuple[str, ...]:
        """The objectives that are proven better, in order."""
        return tuple(name for name, test in self.tests.items() if test.is_improved)

    @property
    def violated(self) -> tuple[str, ...]:
        """The objectives that are worse than they may be, in order."""
        if self.tests:
            return tuple(name for name, test in self.tests.items() if test.is_violated)
        return tuple(name for name, look in self.looks.items() if look.is_worse_without_doubt)

    def gains(self) -> dict[str, GainEstimate]:
        """Give each objective's shrunken gain on the working scale; of a first value alone where it repeats exactly."""
        found: dict[str, GainEstimate] = {}
        for sight in self.sights:
            name = sight.objective.name
            if sight.taken.pairs:
                found[name] = shrunken_gain(sight.gains, sight.noise)
            elif name in self.looks and self.looks[name].exact is not None:
                found[name] = shrunken_gain((self.looks[name].gain,), None)
        return found

    def shares(self) -> dict[str, GainEstimate]:
        """Give the same as shares of the current best's magnitude; without those that have none to relate to."""
        found: dict[str, GainEstimate] = {}
        for name, gain in self.gains().items():
            yardstick = next(sight.yardstick for sight in self.sights if sight.objective.name == name)
            shares = [as_share(each, yardstick) for each in (gain.estimate, gain.low, gain.high)]
            known = [share for share in shares if share is not None]
            if len(known) == len(shares):
                found[name] = GainEstimate(*known)
        return found


def decide_candidate(
    session: Mapping[str, Taken],
    history: RunHistory,
    rules: Rules,
    state: RunState,
    elapsed_seconds: float | None = None,
) -> Decision:
    """Decide on a candidate, or say what to measure next.

    Args:
        session: each required objective's raw values, all of the same runs: finite, at least the first one of the
            candidate.
        history: of the run, without this session.
        rules: objectives and settings.
        state: where the run stands.
        elapsed_seconds: what the candidate's samples took, for `futility.after_elapsed_seconds`.
    Returns: the decision.
    Raises: KeyError, where an objective has no values.
    """
    sights = tuple(sight_of(o, session[o.name], history, rules, state) for o in rules.objectives)
    late = _is_late(rules, elapsed_seconds)
    if sights[0].taken.pairs > 0:
        return _on_pairs(sights, rules, boundary_of(rules, state), late)
    needed = 0 if rules.is_declared_stable else EXACT_REPEATS
    looks = {s.objective.name: first_look(s, rules.bounds.screen, needed) for s in sights}
    known = {name: look for name, look in looks.items() if look is not None}
    ended = _on_first(known, sights, history.is_fresh(state.k), rules, late)
    return Decision(*ended, sights, known)


def boundary_of(rules: Rules, state: RunState) -> float:
    """Give the statistic that a keep takes: the chance of this candidate, divided by looks and objectives."""
    alpha = state.share * alpha_of(rules.spending, state.k, state.planned, state.keeps)
    return z_above(alpha / (rules.bounds.looks * len(rules.objectives)))


def _is_late(rules: Rules, elapsed: float | None) -> bool:
    limit = rules.futility.after_seconds if rules.futility else None
    return limit is not None and elapsed is not None and elapsed >= limit


def _on_first(
    looks: Mapping[str, FirstLook], sights: Sequence[Sight], is_fresh: bool, rules: Rules, late: bool
) -> tuple[Decided, Next, str]:
    """Let the candidate's first value end it, before the current best is measured."""
    found = tuple(looks.values())
    if len(found) < len(sights):
        return "inconclusive", "exploratory", "nothing is stored of the current best"
    if rules.bounds.is_fixed:
        return "inconclusive", "add_sample", "a fixed number of pairs is measured"
    if _is_censored(found, sights[0], rules, late):
        return "censored", "none", "noncompetitive under the predeclared futility bound"
    violated = [name for name, look in looks.items() if look.exact is not None and look.exact.is_violated]
    if violated:
        return "revert", "none", f"violated {', '.join(violated)}, which repeats exactly"
    if all(look.exact is not None for look in found):
        return _on_exact_first(looks, rules)
    if any(look.exact is None and look.z is None for look in found):
        return "inconclusive", "add_sample", "too few repeats to know the noise"
    if rules.bounds.screen is None:
        return "inconclusive", "exploratory", "the current best is measured beside every candidate"
    if not is_fresh:
        return "inconclusive", "exploratory", "the current best was not measured for three candidates"
    if any(look.passes for look in found):
        return "inconclusive", "exploratory", "the first sample may be a gain"
    worse = [name for name, look in looks.items() if look.is_clearly_worse]
    if worse:
        return "revert", "none", f"the first sample is clearly worse: {', '.join(worse)}"
    return "inconclusive", "none", "the first sample shows no gain"


def _on_exact_first(looks: Mapping[str, FirstLook], rules: Rules) -> tuple[Decided, Next, str]:
    better = [name for name, look in looks.items() if look.passes]
    if not (better and (rules.margin is None or len(better) == len(looks))):
        same = all(look.gain == 0.0 for look in looks.values())
        return "inconclusive", "none", "identical to the current best" if same else "no required objective improved"
    if rules.is_declared_stable:
        return "keep", "none", _kept(better, rules)
    return "inconclusive", "confirm", "better, if it repeats exactly"


def _is_censored(looks: Sequence[FirstLook], primary: Sight, rules: Rules, late: bool) -> bool:
    """Whether futility drops a candidate whose primary is worse and whose other objectives show nothing."""
    own, others = looks[0], looks[1:]
    if rules.futility is None or any(look.passes for look in others):
        return False
    if late and own.gain <= 0:
        return True
    if own.z is None or own.z > CLEARLY_WORSE or rules.futility.factor <= 1:
        return False
    level, value = primary.yardstick.level, primary.taken.candidate[0]
    if level is None or level <= 0:
        return False
    factor = rules.futility.factor
    return value >= level * factor if primary.objective.sign < 0 else value <= level / factor


def _on_pairs(sights: tuple[Sight, ...], rules: Rules, boundary: float, late: bool) -> Decision:
    """Let the whole pairs decide."""
    n = sights[0].taken.pairs
    if rules.bounds.is_fixed and n < rules.bounds.max_pairs:
        return Decision("inconclusive", "add_sample", "a fixed number of pairs is measured", sights)
    tests = {s.objective.name: _test(s, rules, boundary, is_alone=len(sights) == 1) for s in sights}
    known = {name: test for name, test in tests.items() if test is not None}
    if len(known) < len(tests):
        more = n < rules.bounds.max_pairs
        reason = "too few repeats to know the noise"
        return Decision("inconclusive", "add_sample" if more else "none", reason, sights, {}, known)
    late = late and sum(sights[0].gains) <= 0
    return Decision(*_combined(known, n, rules, late), sights, {}, known)


def _test(sight: Sight, rules: Rules, boundary: float, *, is_alone: bool) -> PairTest | None:
    if sight.is_exact:
        needed = 0 if rules.is_declared_stable or rules.bounds.is_fixed else EXACT_REPEATS
        return exact_test(sight.gains, sight.aim, needed)
    if sight.noise is None or sight.noise.is_zero:
        return None
    return pair_test(sight.gains, sight.noise, sight.aim, boundary, rules.bounds, is_alone=is_alone)


def _combined(tests: Mapping[str, PairTest], n: int, rules: Rules, late: bool) -> tuple[Decided, Next, str]:
    """Decide over all objectives: one must be better, none may be worse than it may be."""
    found = tuple(tests.values())
    improved = [name for name, test in tests.items() if test.is_improved]
    violated = [name for name, test in tests.items() if test.is_violated or (len(found) == 1 and _only_worse(test))]
    if violated:
        return "revert", "none", f"violated {', '.join(violated)}: {_figures(tests, violated)}"
    reached = bool(improved) if rules.margin is None else len(improved) == len(found)
    enough = n >= rules.bounds.min_pairs or all(test.is_exact for test in found)
    if reached and enough and all(test.is_safe for test in found):
        return "keep", "none", f"{_kept(improved, rules)}: {_figures(tests, improved)}"
    if late and not improved:
        return "censored", "none", "not better within the predeclared time"
    if n >= rules.bounds.max_pairs:
        return "inconclusive", "none", f"not decided after {_pairs(n)}: {_figures(tests, tuple(tests))}"
    if not improved and (all if rules.margin is None else any)(test.is_futile for test in found):
        return "inconclusive", "none", f"no gain in sight after {_pairs(n)}: {_figures(tests, tuple(tests))}"
    if any(test.awaits_confirmation for test in found):
        return "inconclusive", "confirm", "better, if it is confirmed"
    return "inconclusive", "add_sample", "not decided yet"


def _only_worse(test: PairTest) -> bool:
    return test.is_regressed and not test.is_improved


def _kept(improved: Sequence[str], rules: Rules) -> str:
    if rules.margin is not None:
        return f"simpler, and not worse by more than {rules.margin:.3g} on {', '.join(improved)}"
    return f"improved {', '.join(improved)} without violating other required objectives"


def _figures(tests: Mapping[str, PairTest], names: Sequence[str]) -> str:
    return "; ".join(f"{name} {_figure(tests[name])}" for name in names)


def _figure(test: PairTest) -> str:
    if test.is_exact:
        return "repeats exactly"
    return f"z {test.z:.2f} against {test.boundary:.2f} after {_pairs(test.pairs)}"


def _pairs(n: int) -> str:
    return "1 pair" if n == 1 else f"{n} pairs"
