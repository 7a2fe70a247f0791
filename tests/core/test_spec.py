"""What a spec may say, what it means by default, and what does not go together."""

from typing import Any

import pytest
from pydantic import ValidationError

from headway.core.spec import (
    Aggregation,
    Backend,
    ComparisonMethod,
    DepStatus,
    Direction,
    ExecutionMode,
    Priority,
    RunnerUp,
    Sandbox,
    ShieldMode,
    Spec,
    StabilityMode,
    TamperPolicy,
)
from headway.core.spec_problems import notices, read_spec
from headway.core.spec_rules import AGENT_OPTIONS, RULES, broken_rules
from tests.builders import a_spec, a_spec_mapping

JUDGED = {"type": "judge", "name": "quality", "direction": "maximize"}


def sequential(**comparison: Any) -> dict[str, Any]:
    """Give the change that compares by the sequential method."""
    return {"measurement": {"stability": {"mode": "ladder", "comparison": {"method": "sequential", **comparison}}}}


def told(**changes: Any) -> list[str]:
    """Give all problems of a minimal spec with changes, as text."""
    return [str(problem) for problem in read_spec(a_spec_mapping(**changes))[1]]


def test_a_minimal_spec_has_the_defaults_of_its_family() -> None:
    """What a spec leaves out means what it always meant."""
    spec = a_spec(stopping={"plateau_iterations": 10})
    stability = spec.measurement.stability
    assert stability.mode is StabilityMode.STABLE
    assert (stability.repeat_count, stability.aggregation) == (5, Aggregation.MEDIAN)
    assert (stability.noise_threshold, stability.comparison.relative_threshold) == (0.02, 0.05)
    assert stability.comparison.method is ComparisonMethod.ABSOLUTE
    assert (stability.ladder.exploratory_pairs, stability.ladder.confirmation_repeats) == (1, None)
    assert spec.measurement.timeout_seconds is None
    assert (spec.execution.mode, spec.execution.backend) == (ExecutionMode.PARALLEL, Backend.WORKTREE)
    assert spec.execution.max_concurrent == 4
    assert (spec.stopping.max_iterations, spec.stopping.max_hours, spec.stopping.target_reached) == (100, 8.0, True)
    assert (spec.stopping.max_wall_hours, spec.stopping.max_total_cost_usd) == (None, None)
    assert spec.stopping.max_consecutive_failures == 5
    assert (spec.max_runner_up_merges_per_batch, spec.runner_up) == (1, RunnerUp.FILES)
    assert (spec.agent, spec.proposer, spec.notify, spec.metric.judge) == (None, None, None, None)
    assert (spec.sandbox, spec.tamper_policy, spec.shield.mode) == (Sandbox.AUTO, TamperPolicy.DROP, ShieldMode.NONE)
    assert (spec.shield.t_allow, spec.shield.t_block, spec.shield.timeout_seconds) == (0.2, 0.8, 900.0)


def test_a_plateau_that_was_left_out_is_ten() -> None:
    """The family's plateau holds where a spec names none."""
    mapping = a_spec_mapping()
    del mapping["stopping"]
    assert Spec.model_validate(mapping).stopping.plateau_iterations == 10


def test_a_judge_and_an_agent_have_their_defaults() -> None:
    """Sections that are there but short are filled in."""
    judge = a_spec(metric={"judge": {"rubric": "r"}}).metric.judge
    assert judge is not None
    assert (judge.sample_size, judge.sample_seed, judge.batch_size, judge.singleton_sample) == (10, 42, 5, 0)
    assert (judge.minimum_improvement, judge.max_total_cost_usd) == (0.3, 5.0)
    agent = a_spec(agent={"type": "command", "command": "edit"}).agent
    assert agent is not None
    assert (agent.timeout_seconds, agent.idle_timeout_seconds, agent.max_repairs) == (1800.0, 600.0, 1)


@pytest.mark.parametrize("section", sorted(set(Spec.model_fields) - {"name", "metric", "measurement", "scope"}))
def test_a_key_without_a_value_is_a_key_that_was_left_out(section: str) -> None:
    """Null counts as empty, for every section that may be left out."""
    without = a_spec_mapping()
    without.pop(section, None)
    spec = Spec.model_validate({**without, section: None})
    assert spec == Spec.model_validate(without)
    assert section not in spec.model_fields_set


def test_a_null_inside_a_section_is_left_out_too() -> None:
    """Null counts as empty at every level; a required key that is null is missing."""
    spec = a_spec(measurement={"timeout_seconds": None, "stability": {"mode": None, "ladder": {"futility": None}}})
    assert spec.measurement.stability.mode is StabilityMode.STABLE
    assert "timeout_seconds" not in spec.measurement.model_fields_set
    assert told(measurement={"command": None}) == ["measurement.command: is required"]


def test_null_keeps_its_meaning_where_it_has_one() -> None:
    """An uncapped judge and a run without a plateau can be asked for."""
    judge = a_spec(metric={"judge": {"max_total_cost_usd": None}}).metric.judge
    assert judge is not None
    assert judge.max_total_cost_usd is None
    assert a_spec(stopping={"plateau_iterations": None}).stopping.plateau_iterations is None
    assert a_spec(stopping={"plateau_iterations": "none"}).stopping.plateau_iterations is None


def test_which_keys_were_written_is_known() -> None:
    """Only what a spec says counts as said: defaults do not appear in what was written."""
    changes = {"measurement": {"stability": {"noise_threshold": 0.5, "aggregation": None}}}
    spec = a_spec(**changes)
    assert spec.measurement.stability.model_fields_set == {"noise_threshold"}
    assert spec.written()["measurement"] == {"command": "python bench.py", "stability": {"noise_threshold": 0.5}}
    assert Spec.model_validate(spec.written()) == spec


def test_the_baseline_of_the_primary_is_accepted_and_said_to_be_ignored() -> None:
    """A baseline in the spec does no harm, and its writer learns that it does nothing."""
    spec = a_spec(metric={"primary": {"baseline": {"any": "thing"}}})
    assert [notice.path for notice in notices(spec)] == ["metric.primary.baseline"]


def test_numbers_are_numbers_however_they_are_written() -> None:
    """An int serves where a float is meant, a whole float where an int is, and a quoted number is a number."""
    spec = a_spec(
        measurement={"timeout_seconds": 90, "stability": {"noise_threshold": "1e-3"}},
        stopping={"max_iterations": 20.0, "max_hours": "6"},
    )
    assert (spec.measurement.timeout_seconds, spec.measurement.stability.noise_threshold) == (90.0, 0.001)
    assert (spec.stopping.max_iterations, spec.stopping.max_hours) == (20, 6.0)


@pytest.mark.parametrize("value", [True, "many", float("nan"), float("inf"), [1], 2.5, 0, -1])
def test_what_is_no_count_is_refused(value: Any) -> None:
    """Booleans, words, NaN, infinity, fractions and counts below one are no number of iterations."""
    problems = told(stopping={"max_iterations": value})
    assert len(problems) == 1
    assert problems[0].startswith("stopping.max_iterations: must be")


def test_a_constraint_with_a_colon_is_still_text() -> None:
    """YAML reads `- path: x` and unquoted text with a colon as a mapping; the spec reads it as the text it is."""
    spec = a_spec(constraints=[{"path": "src/x"}, {"Do not touch": "the cache"}, "plain"])
    assert spec.constraints == ("path: src/x", "Do not touch: the cache", "plain")


@pytest.mark.parametrize(
    ("check", "good"),
    [
        *((check, True) for check in ("== 6", ">= 0.975", "<1e-3", " != -1 ")),
        *((check, False) for check in ("6", "=> 1", "== true", ">= ", "== nan", ">= 1 2")),
    ],
)
def test_a_gate_is_an_operator_and_a_number(check: str, good: bool) -> None:
    """A check that could not be evaluated is found before anything runs."""
    problems = told(metric={"degenerate_gates": [{"name": "g", "check": check}]})
    assert [problem.split(":")[0] for problem in problems] == ([] if good else ["metric.degenerate_gates[0].check"])


@pytest.mark.parametrize("name", ["Upper", "a_b", "-a", "a-", "a--b", "", "a b", "ä"])
def test_a_name_is_small_letters_digits_and_single_hyphens(name: str) -> None:
    """Names go into branches and folders, so they are plain."""
    assert [problem.split(":")[0] for problem in told(name=name)] == ["name"]


def test_a_direction_knows_its_sign() -> None:
    """More is better when maximizing, less when minimizing."""
    assert (Direction.MAXIMIZE.sign, Direction.MINIMIZE.sign) == (1, -1)


def test_the_primary_is_the_first_of_the_required_objectives() -> None:
    """The primary always decides, secondary objectives never do."""
    spec = a_spec(
        metric={
            "primary": {"target": 1},
            "objectives": [
                {"name": "memory", "direction": "minimize", "role": "secondary"},
                {"name": "accuracy", "direction": "maximize"},
            ],
        }
    )
    assert [objective.name for objective in spec.required_objectives] == ["seconds", "accuracy"]
    assert (spec.required_objectives[0].target, spec.required_objectives[0].direction) == (1.0, Direction.MINIMIZE)
    assert [objective.name for objective in spec.all_objectives] == ["seconds", "memory", "accuracy"]


def test_a_hypothesis_knows_whether_its_dependencies_are_approved() -> None:
    """Without dependencies there is nothing to approve; with some, all must be."""
    spec = a_spec(hypotheses=[{"description": "a"}, {"description": "b", "required_deps": ["numpy", "numba"]}])
    plain, needy = spec.hypotheses
    assert (plain.priority, plain.dep_status(frozenset())) == (Priority.MEDIUM, DepStatus.NOT_APPLICABLE)
    assert needy.dep_status(frozenset({"numpy"})) is DepStatus.NEEDS_APPROVAL
    assert needy.dep_status(frozenset({"numpy", "numba", "rich"})) is DepStatus.APPROVED


@pytest.mark.parametrize(
    ("agent", "proposer", "expected"),
    [
        (None, None, "list"),
        ({"type": "command", "command": "edit"}, None, "list"),
        ({"type": "patches", "options": {"folder": "p"}}, None, "patches"),
        ({"type": "patches", "options": {"folder": "p"}}, {"type": "list"}, "list"),
    ],
)
def test_who_proposes_follows_from_the_agent_where_it_is_not_said(agent: Any, proposer: Any, expected: str) -> None:
    """Patches propose themselves; otherwise the user's list does."""
    assert a_spec(agent=agent, proposer=proposer).proposer_type == expected


@pytest.mark.parametrize(
    ("execution", "resources", "expected"),
    [({}, [], 4), ({"max_concurrent": 6}, [], 6), ({"mode": "serial"}, [], 1), ({}, ["gpu"], 1)],
)
def test_concurrency_is_one_where_serial_or_a_resource_is_exclusive(
    execution: dict[str, Any], resources: list[str], expected: int
) -> None:
    """`mode: serial` and a non-empty list of exclusive resources both force one at a time."""
    assert a_spec(execution=execution, parallel={"exclusive_resources": resources}).effective_concurrency == expected


def test_parallel_with_exclusive_resources_is_serial_and_says_so() -> None:
    """A spec that asks for both loads, runs serially, and warns; one that asks for neither is silent."""
    spec = a_spec(execution={"mode": "parallel"}, parallel={"exclusive_resources": ["phone"]})
    assert spec.effective_concurrency == 1
    assert [notice.path for notice in notices(spec)] == ["execution.mode"]
    assert "phone" in str(notices(spec)[0])
    assert notices(a_spec(parallel={"exclusive_resources": ["phone"]})) == ()


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"metric": {"judge": {"max_total_cost_usd": None}}}, "metric.judge.max_total_cost_usd"),
        ({"stopping": None}, "stopping.plateau_iterations"),
        ({"measurement": {"stability": {"ladder": {"smoke_command": "s"}}}}, "measurement.stability.ladder"),
        ({"measurement": {"stability": {"repeat_count": 3}}}, "measurement.stability.repeat_count"),
        ({"execution": {"codex_security": "on"}}, "execution.codex_security"),
        ({"execution": {"remote": {"host": "h"}}}, "execution.remote"),
        ({"execution": {"cluster": "c"}}, "execution.cluster"),
    ],
)
def test_what_may_surprise_its_writer_is_noticed(changes: dict[str, Any], path: str) -> None:
    """Each thing that is allowed but does less, or more, than it seems is named."""
    assert [notice.path for notice in notices(a_spec(**changes))] == [path]


PATCHES = {"type": "patches", "options": {"folder": "p"}}
BROKEN: list[tuple[dict[str, Any], list[str]]] = [
    ({"metric": {"primary": JUDGED}}, ["metric.judge"]),
    ({"metric": {"primary": JUDGED, "judge": {}}}, ["metric.judge.rubric", "metric.judge.scoring.primary"]),
    ({"metric": {"objectives": [JUDGED]}}, ["metric.judge"]),
    ({"metric": {"judge": {"singleton_sample": 1}}}, ["metric.judge.singleton_rubric"]),
    (
        {"metric": {"objectives": [{"name": "seconds", "direction": "minimize"}]}},
        ["metric.objectives[0].name"],
    ),
    (
        {"metric": {"degenerate_gates": [{"name": "g", "check": "> 0"}, {"name": "g", "check": "< 1"}]}},
        ["metric.degenerate_gates[1].name"],
    ),
    (
        {"measurement": {"stability": {"ladder": {"exploratory_pairs": 4, "confirmation_repeats": 3}}}},
        ["measurement.stability.ladder.confirmation_repeats"],
    ),
    (
        sequential(min_effect={"type": "relative", "value": 0.01}, relative_threshold=0.05),
        ["measurement.stability.comparison.min_effect"],
    ),
    (
        sequential(effort="lean", max_pairs=3, screen="off"),
        ["measurement.stability.comparison.max_pairs", "measurement.stability.comparison.screen"],
    ),
    ({"measurement": {"output_format": "regex"}}, ["measurement.extract"]),
    ({"measurement": {"extract": {"seconds": "x"}}}, ["measurement.extract"]),
    ({"scope": {"mutable": ["lib", "src"], "immutable": ["src/bench.py"]}}, ["scope.mutable[1]"]),
    ({"execution": {"max_concurrent": 7}}, ["execution.max_concurrent"]),
    ({"parallel": {"port_strategy": "parameterized"}}, ["parallel.port_env_var"]),
    ({"agent": {"type": "command"}}, ["agent.command"]),
    ({"agent": {**PATCHES, "command": "edit"}}, ["agent.command"]),
    ({"agent": {"type": "command", "command": "edit", "options": {"folder": "p"}}}, ["agent.options.folder"]),
    ({"agent": {"type": "patches"}}, ["agent.options"]),
    ({"agent": {"type": "patches", "options": {"folder": "p", "branches": ["b"]}}}, ["agent.options"]),
    ({"agent": {"type": "patches", "options": {"folder": ""}}}, ["agent.options.folder"]),
    ({"agent": {"type": "patches", "options": {"branches": []}}}, ["agent.options.branches"]),
    ({"agent": {"type": "patches", "options": {"branches": "main"}}}, ["agent.options.branches"]),
    ({"agent": {"type": "patches", "options": {"folder": "p", "order": "x"}}}, ["agent.options.order"]),
    ({"agent": {"type": "codex", "command": "codex"}}, ["agent.command"]),
    ({"agent": {"type": "codex", "options": {"permission_mode": "auto"}}}, ["agent.options.permission_mode"]),
    ({"agent": {"type": "codex", "options": {"sandbox": "off"}}}, ["agent.options.sandbox"]),
    ({"agent": {"type": "claude-code", "options": {"permission_mode": "all"}}}, ["agent.options.permission_mode"]),
    ({"agent": {"type": "claude-code", "options": {"user_settings": "no"}}}, ["agent.options.user_settings"]),
    ({"agent": {"type": "claude-code", "options": {"allowed_tools": "Bash"}}}, ["agent.options.allowed_tools"]),
    ({"agent": {"type": "gemini", "options": {"args": "-x"}}}, ["agent.options.args"]),
    ({"agent": {"type": "opencode", "options": {"program": " "}}}, ["agent.options.program"]),
    ({"proposer": {"type": "patches"}}, ["proposer.type"]),
    ({"exemplars": {"known_bad": [{"patch": "a"}, {"note": "n"}]}}, ["exemplars.known_bad[1]"]),
    ({"exemplars": {"trivial": [{"patch": "a", "commit": "b"}]}}, ["exemplars.trivial[0]"]),
    ({"shield": {"t_allow": 0.9}}, ["shield.t_allow"]),
    ({"notify": {}}, ["notify"]),
    ({"notify": {"command": "c", "url": "u"}}, ["notify"]),
]


@pytest.mark.parametrize(("changes", "paths"), BROKEN)
def test_what_does_not_go_together_is_an_error_with_its_path(changes: dict[str, Any], paths: list[str]) -> None:
    """Each rule that spans several keys is told where it is broken, and the spec is not made."""
    spec, problems = read_spec(a_spec_mapping(**changes))
    assert spec is None
    assert [problem.path for problem in problems] == paths


def test_every_rule_has_a_case_that_breaks_it() -> None:
    """No rule goes untested: the cases above fire each of them."""
    silent = [rule for rule in RULES if not any(list(rule(a_spec_mapping(**changes))) for changes, _ in BROKEN)]
    assert silent == []


@pytest.mark.parametrize(
    "changes",
    [
        {"metric": {"primary": JUDGED, "judge": {"rubric": "r", "scoring": {"primary": "quality"}}}},
        {"metric": {"judge": {"singleton_sample": 1, "singleton_rubric": "r"}}},
        {"metric": {"degenerate_gates": [{"name": "seconds", "check": "> 0"}], "diagnostics": [{"name": "seconds"}]}},
        {"measurement": {"stability": {"ladder": {"exploratory_pairs": 3, "confirmation_repeats": 3}}}},
        {"measurement": {"stability": {"noise_threshold": 1, "comparison": {"relative_threshold": 0.1}}}},
        sequential(min_effect={"type": "relative", "value": 0.01}, minimum_improvement=0.2),
        sequential(effort="lean", min_effect={"type": "absolute", "value": 1}),
        {"measurement": {"output_format": "regex", "extract": {"seconds": r"took (\S+) s"}}},
        {"execution": {"max_concurrent": 6}},
        {"execution": {"max_concurrent": 7, "backend": "dask"}},
        {"parallel": {"port_strategy": "parameterized", "port_env_var": "PORT"}},
        {"agent": {"type": "patches", "options": {"branches": ["one", "two"]}}},
        {"agent": PATCHES, "proposer": {"type": "patches", "batch_size": 2, "max_backlog": 9}},
        {"exemplars": {"known_good": [{"commit": "abc", "note": "n"}]}},
        {"shield": {"t_allow": 0.8}},
        {"notify": {"url": "http://localhost", "events": ["stopped"]}},
    ],
)
def test_what_goes_together_is_accepted(changes: dict[str, Any]) -> None:
    """The rules refuse no spec that keeps them."""
    assert told(**changes) == []


def test_broken_rules_are_refused_by_the_model_itself() -> None:
    """Nobody gets hold of a spec that breaks a rule, whichever way it is made."""
    with pytest.raises(ValidationError, match=r"execution\.max_concurrent: must be 1 to 6"):
        a_spec(execution={"max_concurrent": 7})


def test_rules_pass_over_what_is_not_of_the_expected_kind() -> None:
    """A mistake of one field does not hide a broken rule elsewhere, nor make a rule fail itself."""
    assert broken_rules({name: [None, 7, "x", []] for name in Spec.model_fields}) == ()
    assert broken_rules({"metric": {"primary": 3, "objectives": [{"name": []}]}, "scope": {"mutable": [3]}}) == ()
    problems = told(
        metric={"primary": {"direction": "max"}, "judge": {"singleton_sample": 1}},
        scope={"mutable": ["/x", "src"], "immutable": ["src"]},
    )
    assert [problem.split(":")[0] for problem in problems] == [
        "metric.primary.direction",
        "scope.mutable[0]",
        "metric.judge.singleton_rubric",
        "scope.mutable[1]",
    ]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"metric": {"primary": {"dirction": "minimize"}}},
            "metric.primary.dirction: is not a known key (did you mean direction?)",
        ),
        (
            {"measurement": {"noise_threshold": 1}},
            "measurement.noise_threshold: is not a known key (did you mean measurement.stability.noise_threshold?)",
        ),
        (
            {"metric": {"degenerate_gates": [{"name": "g", "check": "> 0", "chek": 1}]}},
            "metric.degenerate_gates[0].chek: is not a known key (did you mean check?)",
        ),
        ({"qqq": 1}, "qqq: is not a known key (the nearest known key is "),
        (
            {"metric": {"primary": {"direction": "minimise"}}},
            "metric.primary.direction: must be one of maximize, minimize, not 'minimise' (did you mean minimize?)",
        ),
        ({"scope": {"mutable": "src"}}, "scope.mutable: must be a list"),
        ({"scope": {"mutable": []}}, "scope.mutable: needs at least one entry"),
        ({"scope": {"mutable": ["/x"]}}, "scope.mutable[0]: '/x' is absolute"),
        ({"metric": {"degenerate_gates": []}}, "metric.degenerate_gates: needs at least one entry"),
        ({"execution": 3}, "execution: must be a mapping of keys"),
        ({"description": 3}, "description: must be text: put it in quotes"),
        ({"measurement": {"command": " "}}, "measurement.command: must not be empty"),
        ({"measurement": {"per_case": "perhaps"}}, "measurement.per_case: must be true or false"),
        ({"measurement": {"working_directory": "../x"}}, "measurement.working_directory: '../x' holds '..'"),
        (
            {"measurement": {"output_format": "regex", "extract": {"s": "("}}},
            "measurement.extract: the pattern of 's' is no regular expression",
        ),
        ({"measurement": {"stability": {"noise_threshold": -1}}}, "measurement.stability.noise_threshold: must be gr"),
        ({"agent": {"type": "x", "env": ["TOKEN=secret"]}}, "agent.env[0]: must be the name of an environment var"),
        ({"shield": {"t_allow": 2}}, "shield.t_allow: must be less than or equal to 1, not 2"),
    ],
)
def test_a_mistake_is_told_with_its_path_and_what_was_meant(changes: dict[str, Any], problem: str) -> None:
    """Whoever wrote the spec learns where, what, and where possible what to write instead."""
    assert any(line.startswith(problem) for line in told(**changes)), told(**changes)


def test_a_secret_in_the_list_of_variables_is_not_repeated() -> None:
    """The message about `NAME=value` in `agent.env` does not hold the value."""
    assert "secret" not in " ".join(told(agent={"type": "x", "env": ["TOKEN=secret"]}))


def test_data_that_are_no_mapping_are_no_spec() -> None:
    """A list or a bare text is refused as a whole."""
    assert [str(problem) for problem in read_spec(["a"])[1]] == [
        "must be a mapping of keys such as name, metric, measurement and scope"
    ]


def test_a_spec_cannot_be_changed() -> None:
    """A spec in memory is what was read."""
    with pytest.raises(ValidationError, match="frozen"):
        a_spec().stopping.max_iterations = 3  # type: ignore[misc]


def test_the_known_agents_are_those_that_have_options_listed() -> None:
    """Options are checked for the agents of this version; an unknown one keeps its own."""
    assert set(AGENT_OPTIONS) == {"command", "patches", "claude-code", "codex", "gemini", "opencode"}
    assert told(agent={"type": "elsewhere", "options": {"anything": 1}}) == []


def test_lean_does_not_go_with_a_fixed_number_of_pairs() -> None:
    """It chooses how often to measure."""
    changes = sequential(effort="lean")
    changes["measurement"]["stability"]["mode"] = "repeat"
    assert [problem.path for problem in broken_rules(a_spec_mapping(**changes))] == [
        "measurement.stability.comparison.effort"
    ]


@pytest.mark.parametrize("metric", ["lines", "headway.bytes()", "headway.lines_net(src)"])
def test_only_built_in_sizes_say_what_is_simpler(metric: str) -> None:
    """A harness's own number could be gamed."""
    (line,) = told(**sequential(accept_simpler={"metric": metric, "margin": 0.01}))
    assert "headway.bytes(PATH)" in line


def test_a_declared_determinism_is_pointed_out_under_sequential() -> None:
    """An absent mode is `stable`, and then one sample decides."""
    (notice,) = notices(a_spec(measurement={"stability": {"comparison": {"method": "sequential"}}}))
    assert notice.path == "measurement.stability.mode"
    assert notices(a_spec(**sequential())) == ()
