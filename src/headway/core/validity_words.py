"""Says what the validity gate found, in words: before an approval, beside each keep, and in `headway check`.

Source: CONTRACTS section 5 (Forgeable harnesses: every keep says so).
"""

from collections.abc import Iterable, Mapping

from headway.core.records import HarnessValidation, Probe
from headway.core.self_test import FalseKeeps
from headway.core.validity import (
    BASELINE_REPEATS,
    FALSE_KEEPS,
    FORGEABLE,
    REJECTS_TRIVIAL,
    RUNS_CODE,
    SEPARATES,
    SPREAD,
)


def gate_words(validation: HarnessValidation | None) -> tuple[str, ...]:
    """Say what a person should know of the harness before approving; nothing where the gate was not run."""
    if validation is None:
        return ()
    probes = {probe.name: probe for probe in validation.probes or ()}
    waived = [f"{name} failed and was waived ({p.waiver})" for name, p in probes.items() if p.waiver is not None]
    forged = forgeable_words(validation)
    blind = probes.get(RUNS_CODE)
    false_keeps = probes.get(FALSE_KEEPS)
    return (
        *waived,
        *([forged] if forgeable_of(validation) else []),
        *([_blind_words()] if blind is not None and blind.passed is False else []),
        *([_chance_words(false_keeps)] if false_keeps is not None and false_keeps.passed is False else []),
    )


def forgeable_of(validation: HarnessValidation | None) -> bool | None:
    """Say whether the harness can be forged; None where that is not known."""
    return validation.headway.forgeable if validation is not None and validation.headway is not None else None


def forgeable_words(validation: HarnessValidation | None) -> str:
    """Say whether the harness can be forged, in one line."""
    match forgeable_of(validation):
        case True:
            by = ", ".join(validation.headway.forged_by) if validation is not None and validation.headway else ""
            return (
                f"the harness can be forged: code in {by or 'the mutable scope'} that prints a value and exits is "
                "believed; run the candidate in a child process and treat what it prints as data"
            )
        case False:
            return "not forged: code that prints the best value and exits was not believed"
        case None:
            return f"not known whether it can be forged: {_why_unknown(validation)}"


def _why_unknown(validation: HarnessValidation | None) -> str:
    probe = next((p for p in (validation.probes if validation else None) or () if p.name == FORGEABLE), None)
    if probe is None:
        return "it was not tried"
    note = probe.observed.get("note") if isinstance(probe.observed, Mapping) else None
    return str(note or "the harness ran none of the files that a forgery was put into")


def _blind_words() -> str:
    return (
        "all mutable code was replaced, none of it ran, and the harness measured the same: see that it reads the "
        "checkout that it starts in, by no absolute path and from no installed copy"
    )


def _chance_words(probe: Probe) -> str:
    seen, given = probe.observed, probe.inputs
    found = FalseKeeps(given["no_ops"], seen["kept"], seen["estimated"], given["samples"])
    return found.words()


def failure_lines(probes: Iterable[Probe]) -> list[str]:
    """Say of each failed probe what was wrong."""
    return [f"{p.name}: {'; '.join(p.observed.get('wrong', ())) or 'failed'}" for p in probes]


def probe_rows(validation: HarnessValidation) -> list[tuple[str, str]]:
    """Give every probe of the gate with its result, a line each, for the faces."""
    rows = []
    for probe in validation.probes or ():
        if probe.name in (BASELINE_REPEATS, SPREAD):
            continue
        rows.append((probe.name, _result_words(probe, validation)))
    missing = {SEPARATES: "known_bad", REJECTS_TRIVIAL: "trivial"}
    absent = [(name, f"not run: `exemplars.{key}` names none") for name, key in missing.items()]
    return [row for row in absent if row[0] not in dict(rows)] + rows


def _result_words(probe: Probe, validation: HarnessValidation) -> str:
    if probe.name == FORGEABLE:
        return forgeable_words(validation)
    if probe.name == FALSE_KEEPS:
        return _chance_words(probe)
    if probe.passed is None:
        return "not run: no time was left within the fixed costs"
    if probe.passed:
        return "passed"
    waived = f"; waived ({probe.waiver})" if probe.waiver is not None else ""
    return (_blind_words() if probe.name == RUNS_CODE else failure_lines([probe])[0].partition(": ")[2]) + waived
