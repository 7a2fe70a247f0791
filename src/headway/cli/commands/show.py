"""`headway show`: one experiment whole."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from headway.cli.options import Iteration, Json, Name, Repo, StateRoot, where_of
from headway.cli.screen import gain_text, one_line, percent, print_document, samples_text, say, table, values

if TYPE_CHECKING:
    from headway.core.claims import Conditions

READS_ONLY = True


def show(
    iteration: Iteration, repo: Repo = None, name: Name = None, state_root: StateRoot = None, as_json: Json = False
) -> None:
    """Show one experiment whole, from hypothesis to learnings."""
    from headway import app
    from headway.core.figures import without_holdout

    shown = app.show(where_of(repo, name, state_root), iteration)
    row = without_holdout(shown.row)
    if as_json:
        records = list(shown.records)
        files = {"folder": str(shown.folder), "diff": shown.diff}
        own, combined = (None if c is None else asdict(c) for c in (shown.conditions, shown.integrated))
        told = {"harness": shown.harness, "conditions": own, "integrated": combined}
        print_document({"experiment": row, "records": records, **files, **told})
        return
    kept = row.get("outcome") in ("kept", "runner_up_kept")
    harness = _told("harness", shown.harness if kept else None)
    conditions = [*_condition_lines("decided", shown.conditions), *_condition_lines("combined", shown.integrated)]
    say(*experiment_lines(row, shown.records), *conditions, *harness, f"files: {shown.folder}")
    if shown.diff:
        say(f"`headway diff {iteration}` prints its patch")


def _condition_lines(label: str, conditions: "Conditions | None") -> list[str]:
    """Give how a session was decided: number, effort and why, its chance of a false keep, and the machine."""
    if conditions is None:
        return []
    ground = conditions.environment or {}
    machine = f"; on {ground.get('cpu')}, {ground.get('cores')} cores" if ground else ""
    chance = (
        f"a false keep had a chance of {conditions.chance:.2g} at most" if conditions.chance else "repeats are equal"
    )
    return [
        f"{label} as session {conditions.k}, effort {conditions.effort} ({conditions.effort_reason}): {chance}{machine}"
    ]


def experiment_lines(row: Mapping[str, Any], records: tuple[Mapping[str, Any], ...] = ()) -> list[str]:
    """Give an experiment's row, and what its records add to it, as text."""
    ours = row.get("headway") or {}
    head = [
        f"experiment {row.get('iteration', '?')}: {row.get('outcome', 'not measured yet')}",
        f"hypothesis: {row.get('hypothesis', 'not recorded')}",
        f"category: {row.get('category', 'not recorded')}, batch {row.get('batch', 'not recorded')}",
    ]
    return [
        *head,
        *_told("why", _reason(row, records)),
        *_gain_lines(row, ours),
        *_told("commit", row.get("commit") or ours.get("candidate")),
        *_told("base", ours.get("base")),
        *_change_lines(row),
        *_gate_lines(row),
        *_metric_lines(row.get("metrics"), "samples"),
        *_note_lines(records),
        *_told("diagnostics", values(row["diagnostics"]) if row.get("diagnostics") else None),
        *_verdict_lines(row),
        *_comparison_lines(row),
        *_tamper_lines(ours),
        *_told("regressions", ", ".join(row.get("regressions") or ()) or None),
        *_told("repeats", f"experiment {ours['repeat_of']}" if "repeat_of" in ours else None),
        *_told("combined with", f"experiment {row['merged_with']}" if "merged_with" in row else None),
        f"cost: {_cost(row, ours)}",
        *_told("learnings", row.get("learnings")),
    ]


def _told(label: str, value: Any) -> list[str]:
    return [f"{label}: {value}"] if value else []


def _reason(row: Mapping[str, Any], records: tuple[Mapping[str, Any], ...]) -> str | None:
    """Give why it ended so: the row's own words, else the newest decision's, else the agent's."""
    own = row.get("error_message") or row.get("deferred_reason")
    if own:
        return str(own)
    data = {record.get("kind"): record.get("data") or {} for record in records}
    answer = data.get("session_ended", {}).get("answer") or {}
    turn = data.get("agent_turn_ended", {})
    dropped = data.get("hypothesis_dropped", {})
    found = answer.get("reason") or dropped.get("reason") or turn.get("reason")
    return str(found) if found else None


def _gain_lines(row: Mapping[str, Any], ours: Mapping[str, Any]) -> list[str]:
    gain = ours.get("gain")
    if isinstance(gain, Mapping):
        words = gain_text(gain.get("estimate"), gain.get("low"), gain.get("high"))
        shrunken = ", drawn towards 0 by what the noise explains, with its 95% interval" if "effort" in ours else ""
        return [f"gain: {words}, positive is better{shrunken if gain.get('low') is not None else ''}"]
    return _told("change of the primary", row.get("primary_delta"))


def _change_lines(row: Mapping[str, Any]) -> list[str]:
    changes = row.get("changes") or ()
    return ["changes:", *(f"  {c.get('file')}  {c.get('summary') or ''}".rstrip() for c in changes)] if changes else []


def _gate_lines(row: Mapping[str, Any]) -> list[str]:
    if not row.get("gates"):
        return []
    known = row.get("gates_passed")
    passed = "not known whether they passed" if known is None else ("all passed" if known else "failed")
    return [f"gates: {values(row['gates'])}; {passed}"]


def _metric_lines(metrics: Any, label: str, indent: str = "") -> list[str]:
    if not isinstance(metrics, Mapping) or not metrics:
        return []
    return [f"{indent}{label}:", *(f"{indent}  {line}" for line in table(_metric_row(*m) for m in metrics.items()))]


def _metric_row(name: str, value: Any) -> tuple[str, str, str]:
    samples = value.get("samples") if isinstance(value, Mapping) else None
    return name, values({"=": value}).removeprefix("= "), samples_text(samples) if samples else ""


def _note_lines(records: tuple[Mapping[str, Any], ...]) -> list[str]:
    """Give what the samples' records note: processes that were left running, values that disagreed."""
    taken = [record.get("data") or {} for record in records if record.get("kind") == "sample_taken"]
    notes = [f"  {data.get('side')} {data.get('index')}: {note}" for data in taken for note in data.get("notes") or ()]
    return ["notes on samples:", *notes] if notes else []


def _verdict_lines(row: Mapping[str, Any]) -> list[str]:
    results = row.get("objective_results") or {}
    if not results:
        return []
    rows = ((name, str(r.get("verdict")), percent(r.get("relative"))) for name, r in results.items())
    return ["verdicts:", *(f"  {line}" for line in table(rows))]


def _comparison_lines(row: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    for pair in row.get("comparisons") or ():
        ours = pair.get("headway") or {}
        decision = f", decision {ours['decision']}" if "decision" in ours else ""
        pairing = " against ".join(str(pair.get(f"{side}_revision", ""))[:10] for side in ("candidate", "reference"))
        lines.append(f"comparison, {pair.get('kind')}: {pairing}{decision}")
        lines += [f"  {line}" for line in _gain_lines({}, ours)]
        for side in ("candidate", "reference"):
            metrics = (pair.get(side) or {}).get("metrics")
            lines += _metric_lines(metrics, side, "  ") if metrics != row.get("metrics") else []
        lines += [f"  {word}: {pair[word]}" for word in ("uncertainty", "correctness") if pair.get(word)]
    return lines


def _tamper_lines(ours: Mapping[str, Any]) -> list[str]:
    found = ours.get("tamper") or ()
    if not found:
        return []
    edits = (f"  {t.get('path')}: {t.get('kind')}, {t.get('action') or 'no action recorded'}" for t in found)
    return ["edits that were not its to make, kept as evidence:", *edits]


def _cost(row: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    usage, cost = ours.get("usage") or {}, row.get("cost") or {}
    agent = f"agent {usage.get('usd', 'unknown')} USD, {usage.get('tokens', 'unknown')} tokens"
    harness = f"harness {cost['usd']} USD" if "usd" in cost else "harness reports none"
    return one_line(f"{agent}; {harness}")
