"""What each command hands to the app, and what it prints of the answer."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from headway import app
from headway.cli.main import main
from headway.cli.progress import Progress
from headway.cli.screen import duration, one_line, percent, samples_text, sparkline, visible
from headway.core import events as ev
from headway.core.figures import run_figures
from headway.core.log_findings import Finding, Severity
from headway.core.records import Approval, BacklogItem, Caps
from headway.core.report import status_of
from headway.orchestrator.trial import Trial
from tests.builders import a_spec
from tests.core.test_report import A_BEST, OBJECTION, a_log, a_run_state, an_entry

ROOT = Path("/repo/.headway/faster-sort")
KEPT = an_entry(
    1,
    "kept",
    commit="c" * 40,
    hypothesis="use a\x1b[31m heap",
    changes=[{"file": "src/sort.py", "summary": "+3 -1"}],
    gates={"sorted": 1},
    gates_passed=True,
    metrics={"seconds": {"aggregate": 1.5, "samples": [1.4, 1.5, 1.6]}},
    objective_results={"seconds": {"verdict": "improved", "delta": 0.5, "relative": 0.25}},
    primary_delta="+0.5",
    learnings="heaps help",
    headway={"base": "b" * 40, "gain": {"estimate": 0.25, "low": 0.2, "high": 0.3}, "usage": {"usd": "unknown"}},
)
LOG = a_log([KEPT], run_state=a_run_state("final", {"kept": 1}), best=A_BEST)
FIGURES = run_figures(LOG, a_spec())


@pytest.fixture(autouse=True)
def _outside_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests may themselves be run by a job."""
    monkeypatch.delenv("HEADWAY_JOB", raising=False)


@dataclass
class Calls:
    """Stands in for one function of the app: keeps what it was called with, and answers."""

    answer: Any
    seen: list[tuple[Any, ...]] = field(default_factory=list)

    def __call__(self, *args: Any) -> Any:
        self.seen.append(args)
        return self.answer


Fake = Callable[[str, Any], Calls]
Out = pytest.CaptureFixture[str]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Give a way to let a function of the app, the faces' boundary, answer something."""

    def put(name: str, answer: Any) -> Calls:
        calls = Calls(answer)
        monkeypatch.setattr(app, name, calls)
        return calls

    return put


def an_end(**changes: Any) -> app.RunEnded:
    """Give the end of a run with one keep."""
    ended = app.RunEnded("max_iterations", "1 of 1", "raise the cap", "final", 0, FIGURES, ROOT, "optimize/faster-sort")
    return replace(ended, **changes)


# run, resume


def test_run_hands_over_the_wishes_and_the_place(fake: Fake, capsys: Out) -> None:
    """Each option reaches the app."""
    run = fake("run", an_end())
    options = [
        "--approve-as",
        "ann",
        "--uncapped-spend",
        "--max-ticks",
        "2",
        "--fresh",
        "--repo",
        "r",
        "--state-root",
        "s",
    ]
    assert main(["run", "spec.yaml", *options]) == 0
    spec, where, wishes, *_ = run.seen[0]
    assert spec == Path("spec.yaml")
    assert (where.repo, where.name, where.state_root) == (Path("r"), None, Path("s"))
    assert wishes == app.RunWishes("ann", True, 2, True)


def test_resume_without_a_spec_goes_on_with_the_run_that_is_named(fake: Fake) -> None:
    """`resume` is `run` by another name."""
    run = fake("run", an_end())
    assert main(["resume", "--name", "faster-sort"]) == 0
    spec, where, wishes, *_ = run.seen[0]
    assert (spec, where.name, wishes) == (None, "faster-sort", app.RunWishes())


def test_the_end_of_a_run_is_told_with_what_was_kept_and_how_to_look_further(fake: Fake, capsys: Out) -> None:
    """Reason, gains, best against baseline, branch, and what to type next."""
    fake("run", an_end())
    main(["run", "spec.yaml"])
    out = capsys.readouterr().out
    for part in ("max_iterations", "+25.0% (+20.0% to +30.0%)", "cccccccccc", "optimize/faster-sort"):
        assert part in out
    assert f"git diff {'b' * 12}..optimize/faster-sort" in out
    assert "headway show N" in out
    assert "raise the cap" in out
    assert "not measured again" in out


@pytest.mark.parametrize("code", [0, 4, 7, 130])
def test_run_ends_with_the_exit_code_of_the_run(code: int, fake: Fake, capsys: Out) -> None:
    """As text and as one document."""
    fake("run", an_end(exit_code=code))
    assert main(["run", "spec.yaml"]) == code
    capsys.readouterr()
    assert main(["run", "spec.yaml", "--json"]) == code
    document = json.loads(capsys.readouterr().out)
    assert (document["exit_code"], document["figures"]["kept"]) == (code, 1)


def test_at_the_gate_run_names_the_caps_and_the_command(fake: Fake, capsys: Out) -> None:
    """A person sees what the yes is about, and can copy the command."""
    fake("run", an_end(reason="approval", exit_code=7, figures=run_figures(a_log(), a_spec())))
    asked = fake("status", status_of(a_log(), a_spec(), OBJECTION, False, str(ROOT)))
    assert main(["run", "spec.yaml"]) == 7
    out = capsys.readouterr().out
    assert f"headway approve {ROOT}/spec.yaml --as NAME" in out
    assert re.search(r"stopping.max_iterations +100\n", out)
    assert re.search(r"stopping.max_total_cost_usd +no limit\n", out)
    assert re.search(r"execution.max_concurrent +4\n", out)
    assert asked.seen[0][0].state_root == ROOT
    assert main(["run", "spec.yaml", "--json"]) == 7
    document = json.loads(capsys.readouterr().out)
    assert document["continue_with"] == f"headway approve {ROOT}/spec.yaml --as NAME"
    assert document["caps"]["stopping"]["max_iterations"] == 100


@pytest.mark.parametrize("options", [["spec.yaml", "--name", "x"], ["spec.yaml", "--uncapped-spend"]])
def test_options_that_would_be_ignored_are_refused(options: list[str], fake: Fake, capsys: Out) -> None:
    """No option is read and ignored."""
    run = fake("run", an_end())
    assert main(["run", *options]) == 2
    assert run.seen == []


# approve, check, wrap-up, stop, clean


def test_approve_names_who_and_what(fake: Fake, capsys: Out) -> None:
    """The name goes into the log; the answer says which spec was approved."""
    approval = Approval(approved_at="2026-01-01T00:00:00Z", spec_sha256="a" * 64, caps=Caps())
    approve = fake("approve", approval)
    assert main(["approve", "spec.yaml", "--as", "ann"]) == 0
    assert (approve.seen[0][0], approve.seen[0][2], approve.seen[0][3]) == (Path("spec.yaml"), "ann", False)
    assert "a" * 12 in capsys.readouterr().out
    main(["approve", "spec.yaml", "--as", "ann", "--json"])
    assert json.loads(capsys.readouterr().out)["spec_sha256"] == "a" * 64


def test_check_tells_what_a_run_would_take(fake: Fake, capsys: Out) -> None:
    """Before anything is spent."""
    fake(
        "check",
        Trial(
            "faster-sort",
            "b" * 40,
            1.5,
            0.5,
            {"sorted": 1},
            {"seconds": 2.0},
            {},
            6,
            9.5,
            5.0,
            0.25,
            None,
            12,
            "seconds",
            "minimize",
            ("careful",),
        ),
    )
    assert main(["check", "spec.yaml"]) == 0
    out = capsys.readouterr().out
    for part in (
        "seconds 2",
        "1.5 s",
        "6 measurements, 9.5 s",
        "at most 15.0 min",
        "needs one",
        "careful",
        "noise",
        "lower seconds",
        "12",
    ):
        assert part in out
    main(["check", "spec.yaml", "--json"])
    assert json.loads(capsys.readouterr().out)["experiment_seconds"] == 9.5


def test_wrap_up_hands_over_the_choice_and_shows_what_is_deferred(fake: Fake, capsys: Out) -> None:
    """Dependencies may be approved one by one."""
    item = BacklogItem(description="vectorise", required_deps=("numpy",))
    wrap_up = fake("wrap_up", app.WrappedUp("waiting", (item,), ("numba",), FIGURES, "`headway resume` goes on"))
    assert main(["wrap-up", "--approve-dep", "numba", "--approve-dep", "scipy", "--continue"]) == 0
    assert wrap_up.seen[0][1] == app.WrapUpWishes(("numba", "scipy"), True, False)
    assert "numpy: vectorise" in capsys.readouterr().out
    main(["wrap-up", "--done", "--json"])
    assert wrap_up.seen[1][1] == app.WrapUpWishes((), False, True)
    assert json.loads(capsys.readouterr().out)["deferred"][0]["required_deps"] == ["numpy"]


def test_stop_and_clean_tell_what_they_did(fake: Fake, capsys: Out) -> None:
    """One line, or one document."""
    fake("stop", "the run stops")
    fake("clean", ["/cache/a"])
    assert main(["stop"]) == main(["clean"]) == 0
    assert capsys.readouterr().out == "the run stops\nremoved /cache/a\n"
    main(["clean", "--json"])
    assert json.loads(capsys.readouterr().out) == {"removed": ["/cache/a"]}
    fake("clean", [])
    main(["clean"])
    assert "nothing" in capsys.readouterr().out


# status, show, diff


def test_status_names_the_next_command_first(fake: Fake, capsys: Out) -> None:
    """It is what an agent reads after compaction."""
    fake("status", status_of(LOG, a_spec(), (), False, str(ROOT)))
    assert main(["status"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "faster-sort: final, run 20260101_000000"
    assert lines[1] == f"next: git diff {'b' * 12}..optimize/faster-sort"
    assert len(lines) <= 40
    main(["status", "--json"])
    assert json.loads(capsys.readouterr().out)["next_action"]["command"] in lines[1]


def test_status_before_the_baseline_is_told_without_figures(fake: Fake, capsys: Out) -> None:
    """There is nothing to count yet."""
    fake("status", status_of(None, a_spec(), None, False, str(ROOT)))
    assert main(["status"]) == 0
    out = capsys.readouterr().out
    assert "not started" in out
    assert "headway resume" in out


def test_show_tells_an_experiment_whole_and_obeys_no_control_character(fake: Fake, capsys: Out) -> None:
    """Hypothesis, why, changes, gates, samples, verdict, cost, learnings."""
    answer = {"kind": "session_ended", "data": {"answer": {"reason": "better by 25%"}}}
    fake("show", app.Shown(KEPT, (answer,), Path("/x/exp0001"), "diff"))
    assert main(["show", "1"]) == 0
    out = capsys.readouterr().out
    for part in ("experiment 1: kept", "use a", "better by 25%", "src/sort.py  +3 -1", "sorted 1; all passed", "n=3"):
        assert part in out
    for part in ("improved", "+25.0% (+20.0%", "agent unknown USD", "heaps help", "/x/exp0001", "headway diff 1"):
        assert part in out
    assert "\x1b" not in out
    main(["show", "1", "--json"])
    assert json.loads(capsys.readouterr().out)["experiment"] == KEPT


def test_show_of_an_experiment_that_has_no_entry_yet_says_so(fake: Fake, capsys: Out) -> None:
    """A dispatched experiment has a number and a hypothesis, and no outcome."""
    fake("show", app.Shown({"iteration": 4, "hypothesis": "h"}, (), Path("/x"), ""))
    assert main(["show", "4"]) == 0
    out = capsys.readouterr().out
    assert "experiment 4: not measured yet" in out
    assert "headway diff" not in out


def test_show_hides_the_values_of_a_holdout(fake: Fake, capsys: Out) -> None:
    """In text and in the document."""
    pair = {"kind": "holdout", "candidate": {"metrics": {"secret": 4711}}, "headway": {"decision": "revert"}}
    fake("show", app.Shown({**KEPT, "comparisons": [pair]}, (), Path("/x"), ""))
    main(["show", "1"])
    main(["show", "1", "--json"])
    out = capsys.readouterr().out
    assert "4711" not in out
    assert "decision revert" in out


def test_diff_prints_the_patch_byte_for_byte(fake: Fake, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """`headway diff N | git apply` works, whatever encoding the code is in."""
    patch = b"--- a/x\n+++ b/x\n+\xe4\r\n"
    fake("diff", patch.decode("utf-8", "surrogateescape"))
    assert main(["diff", "1"]) == 0
    assert capfdbinary.readouterr().out == patch


# log, demo


def test_log_check_names_lines_and_exits_with_6_only_for_errors(fake: Fake, capsys: Out) -> None:
    """Warnings are allowed."""
    warning = Finding(Severity.WARNING, "best", "odd", "mend it")
    error = Finding(Severity.ERROR, "experiments[0]", "twice", "", 1, 12)
    fake("check_the_log", (Path("l.yaml"), [warning]))
    assert main(["log", "check", "l.yaml"]) == 0
    assert "l.yaml: warning: best: odd\n  mend: mend it\n" in capsys.readouterr().out
    fake("check_the_log", (Path("l.yaml"), [warning, error]))
    assert main(["log", "check", "l.yaml"]) == 6
    assert "l.yaml:12: error: experiments[0]: twice" in capsys.readouterr().out
    assert main(["log", "check", "l.yaml", "--json"]) == 6
    assert [f["severity"] for f in json.loads(capsys.readouterr().out)] == ["warning", "error"]


def test_log_show_lists_experiments_and_shows_one(fake: Fake, capsys: Out) -> None:
    """Of any log, with or without a run."""
    fake("log_document", {"spec": "s", "run_id": "r", "experiments": [KEPT]})
    entry = fake("log_entry", KEPT)
    assert main(["log", "show", "--log", "l.yaml"]) == 0
    assert "1  kept  +25.0%" in capsys.readouterr().out
    assert main(["log", "show", "1", "--log", "l.yaml"]) == 0
    assert (entry.seen[0][0], entry.seen[0][2]) == (Path("l.yaml"), 1)
    assert "experiment 1: kept" in capsys.readouterr().out


def test_a_document_holds_no_number_that_json_does_not_have(fake: Fake, capsys: Out) -> None:
    """A log of another tool may hold NaN; the document stays JSON."""
    fake("log_document", {"spec": "s", "experiments": [{"metrics": {"x": float("nan")}}]})
    main(["log", "show", "--json"])
    parsed = json.loads(capsys.readouterr().out, parse_constant=lambda name: pytest.fail(name))
    assert parsed["experiments"][0]["metrics"]["x"] == "nan"


def test_demo_runs_the_only_example_and_tells_its_rows(fake: Fake, capsys: Out) -> None:
    """Without a name there is one to choose; with several, the names are told."""
    fake("examples", ("textindex",))
    demo = fake("demo", app.DemoEnded(an_end(), Path("/d/repo"), [dict(KEPT)]))
    assert main(["demo", "--into", "d"]) == 0
    assert demo.seen[0][:3] == ("textindex", Path("d"), None)
    out = capsys.readouterr().out
    assert "1  kept  +25.0%" in out
    assert "/d/repo" in out
    assert main(["demo", "--list"]) == 0
    assert capsys.readouterr().out == "textindex\n"
    fake("examples", ("a", "b"))
    assert main(["demo"]) == 2
    assert "a, b" in capsys.readouterr().err


# Progress


def _told(event: ev.Event, log: Any = LOG) -> str:
    lines: list[str] = []
    Progress(write=lines.append).on_event(event, log)
    return "\n".join(lines)


def _a_sample(**changes: Any) -> ev.SampleTaken:
    facts: Mapping[str, Any] = {
        "iteration": 1, "attempt": 1, "session": "standalone", "side": "cand", "index": 2, "status": "valid", "seed": 7,
        "metrics": {"seconds": 1.5}, "at": "2026-01-01T12:34:56.000Z",
    }  # fmt: skip
    return ev.SampleTaken.model_validate({**facts, **changes})


def test_progress_tells_notable_facts_in_one_line_each() -> None:
    """Readable in a terminal and in a file."""
    assert _told(_a_sample()) == "12:34:56  exp 1  candidate sample 2: seconds 1.5"
    assert "timeout" in _told(_a_sample(status="timeout", reason="too long"))
    item = BacklogItem(description="use a\nheap")
    dispatched = ev.HypothesisDispatched(iteration=1, batch=1, item=item, base="b", agent="patches")
    assert _told(dispatched) == "exp 1  dispatched to patches: use a heap"
    ended = ev.SessionEnded(
        iteration=1, session=ev.SessionKind.STANDALONE, answer={"decision": "keep", "reason": "better"}
    )
    assert _told(ended) == "exp 1  decision: keep, better"
    kept = ev.CandidateIntegrated(iteration=1, session=ev.SessionKind.STANDALONE, commit="c" * 40, reference="b" * 40)
    assert "kept, +25.0% (+20.0% to +30.0%)" in _told(kept)
    assert "dropped: no change" in _told(ev.HypothesisDropped(iteration=1, reason="no change"))
    stopped = ev.RunStopped(reason="target", detail="met", continue_with="", status="final")
    assert _told(stopped) == "stopped (target): met"


def test_progress_is_silent_about_what_is_not_notable_and_when_it_is_asked_to_be() -> None:
    """A checkout that works is nobody's news."""
    ready = ev.CheckoutPrepared(
        iteration=1, attempt=1, session=ev.SessionKind.STANDALONE, commit="c", stage=ev.Stage.READY, ok=True
    )
    assert _told(ready) == ""
    lines: list[str] = []
    Progress(is_quiet=True, write=lines.append).tell("x")
    assert lines == []


def test_every_kind_of_fact_can_be_told() -> None:
    """No fact of a run can end it by being told."""
    record = {
        "iteration": 1, "batch": 1, "attempt": 1, "session": "standalone", "side": "ref", "index": 1, "seed": 1,
        "item": {"description": "h"}, "items": [], "base": "b", "agent": "a", "tree": "t", "commit": None,
        "stage": "setup", "ok": False, "answer": {}, "outcome": "error", "reason": "r", "detail": "d",
        "continue_with": "c", "status": "failed", "text": "t", "reference": "b", "onto": "o", "merged_with": 2,
        "effort": "standard", "share": 1.0, "since_k": 5, "environment": {}, "number": 1,
        "verdict": "better", "pairs": 2,
    }  # fmt: skip
    special = {
        "sample_taken": {"status": "lost"},
        "candidate_integrated": {"commit": "c"},
        "integration_started": {"commit": "c"},
    }
    special["checkout_prepared"] = special["final_check_ended"] = {"commit": "c"}
    for kind in sorted(ev._KINDS):
        event = ev.from_record({"kind": kind, "data": {**record, **special.get(kind, {})}})
        assert event is not None
        assert "\n" not in _told(event)


def test_progress_that_nobody_reads_any_more_does_not_end_the_run() -> None:
    """A closed terminal costs the progress, not the night's work."""
    calls: list[str] = []

    def gone(line: str) -> None:
        calls.append(line)
        raise BrokenPipeError

    progress = Progress(write=gone)
    progress.tell("one")
    progress.tell("two")
    assert calls == ["one"]


# The screen


def test_text_is_shown_plain() -> None:
    """Numbers in the unit that suits them, control characters written out."""
    assert (percent(0.123), percent(-0.001), percent(None)) == ("+12.3%", "-0.10%", "unknown")
    assert (duration(0.25), duration(90), duration(600), duration(9000)) == ("250 ms", "90.0 s", "10.0 min", "2.5 h")
    assert one_line("a\n b" + "c" * 200, 10) == "a bcccccc…"
    assert visible("a\x1b[0m\u202e\ud800\n") == "a\\u001b[0m\\u202e\\ud800\n"


def test_a_sparkline_goes_from_the_lowest_to_the_highest_sample() -> None:
    """Equal samples lie in the middle."""
    assert sparkline([1, 2, 3]) == "▁▅█"
    assert sparkline([2, 2]) == "▄▄"
    assert samples_text([1.5]) == "1.5 (n=1)"
    assert "… 8 more" in samples_text([float(n) for n in range(20)])
