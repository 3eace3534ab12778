"""Configurations side by side: by hand and by other programs, and what cannot be compared or is not known."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from configurations_made import made, typed_configurations
from effects_made import fixture_like, replace, task, trial, typed
from judge_made import criterion, rubric
from judge_runs import ask_one_judge, make_run, rubrics
from judge_runs import judge as scripted_judge
from loopback import Loopback
from markdown_it import MarkdownIt
from report_nasty import NASTY, UNSAFE
from report_runs import forced, frozen, kept, run
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep

from skill_health.core.errors import UsageError
from skill_health.core.validation import problems
from skill_health.documents._record import TokenUsage, encode_record, record_values
from skill_health.documents.effect_configurations import EffectConfigurations
from skill_health.documents.effect_criteria import CriterionVerdict
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.commands import configurations as command_module
from skill_health.effectiveness.commands import judge
from skill_health.effectiveness.commands.configurations import rendered
from skill_health.effectiveness.compare.comparable import obstacles
from skill_health.effectiveness.configurations.build import build_configurations
from skill_health.effectiveness.configurations.csv_tables import TABLES, render_table
from skill_health.effectiveness.configurations.subjects import JudgedRun
from skill_health.effectiveness.configurations.trials import failure_kind
from skill_health.effectiveness.run.runs import EffectRun
from skill_health.stats.power import few_replications

ARMS = ("control", "target")
SMALL, LARGE = "loop:here:small", "loop:here:large"


def shares(count: int, low: float, high: float) -> list[float]:
    """How hard tasks are: spread evenly, the same each time."""
    return [round(low + (high - low) * ((7 * at) % count) / max(count - 1, 1), 6) for at in range(count)]


def two_models(
    with_small: float = 0.95, without_large: float = 0.75, tasks: int = 36, reps: int = 3, **more: Any
) -> EffectRun:
    """A cheap model that the skill brings near to a dear one; passes are spread evenly over tasks and replications."""
    names = [task(f"{n:03}", f"skill-{n % 4}", f"category-{n % 3}") for n in range(tasks)]
    values = frozen("a", (SMALL, LARGE), tasks=names, arms=ARMS, replications=reps)
    for model in values["models"]:
        model |= {"model": model["spec"].rpartition(":")[2], "simulated": False}
    rates = {
        (SMALL, "control"): 0.3, (SMALL, "target"): with_small, (LARGE, "control"): without_large, (LARGE, "target"): 0.97,
    }  # fmt: skip
    rng = np.random.Generator(np.random.PCG64(9))
    results = []
    for (model, arm), rate in rates.items():
        for at, each in enumerate(names):
            tokens = int(rng.lognormal(9, 0.2) * (0.6 if arm == "target" else 1))
            for replication in range(reps):
                passed = bool(rng.random() < rate)
                results.append(
                    trial(
                        each["id"], arm, replication, passed, model, usage=TokenUsage(input_tokens=tokens, output_tokens=100 + at),
                        cost_usd=tokens * (1e-6 if model == SMALL else 2e-5), duration_ms=1000.0 + tokens, invoked="yes",
                        invocations=(each["target_skill"],) if arm == "target" else (),
                    )
                )  # fmt: skip
    return EffectRun("", typed(values | more), tuple(results))


def build(*runs: EffectRun, **more: Any) -> EffectConfigurations:
    return build_configurations([JudgedRun(each) for each in runs], **more)


@pytest.fixture(scope="module")
def two() -> EffectConfigurations:
    return build(two_models())


def means(found: EffectRun, model: str, arm: str, value: Any = lambda result: result.outcome == "pass") -> list[float]:
    """The mean of a value by task, in the order of ids."""
    rows: dict[str, list[float]] = {}
    for result in found.results:
        if (result.model, result.arm) == (model, arm):
            rows.setdefault(result.task_id, []).append(float(value(result)))
    return [math.fsum(each) / len(each) for _, each in sorted(rows.items())]


@pytest.mark.slow
def test_scores_and_differences_are_those_computed_by_hand(two: EffectConfigurations) -> None:
    plain = two_models()
    rows = {(row.subject, row.arm): row for row in two.configurations}
    assert list(rows) == [(model, arm) for model in (SMALL, LARGE) for arm in ARMS]
    ps = []
    for model in (SMALL, LARGE):
        one, other = (np.array(means(plain, model, arm)) for arm in ("target", "control"))
        row, delta = rows[model, "target"], rows[model, "target"].delta
        assert delta is not None and row.success.value == pytest.approx(one.mean())
        assert delta.success.value == pytest.approx((one - other).mean())
        assert delta.gain.value == pytest.approx((one - other).mean() / (1 - other).mean())
        seconds = means(plain, model, "target", lambda result: result.duration_ms)
        assert row.duration_ms.value == pytest.approx(np.mean(seconds))
        ps.append(delta.success.p)
        assert delta.correction == "holm" and row.goal.value is None
        assert rows[model, "control"].delta is None
    adjusted = [rows[model, "target"].delta.success.p_adjusted for model in (SMALL, LARGE)]  # type: ignore[union-attr]
    assert adjusted == pytest.approx(multipletests(ps, method="holm")[1], rel=1e-6)


def test_the_mean_of_gains_is_of_gains_and_not_of_rates(two: EffectConfigurations) -> None:
    gains = [row.delta.gain.value for row in two.configurations if row.delta]
    (mean,) = two.means
    assert mean.subjects == mean.gains == 2
    assert mean.gain.value == pytest.approx(np.mean([each for each in gains if each is not None]))
    deltas = [row.delta.success.value for row in two.configurations if row.delta]
    assert mean.delta.value == pytest.approx(np.mean([each for each in deltas if each is not None]), abs=1e-8)


def test_a_cheap_model_with_the_skill_stands_in_for_a_dear_one_if_both_are_shown(two: EffectConfigurations) -> None:
    plain, (row,) = two_models(), two.substitutions
    assert (row.small, row.large, row.tasks, row.verdict) == (SMALL, LARGE, 36, "substitutes")
    differences = np.array(means(plain, SMALL, "target")) - np.array(means(plain, LARGE, "control"))
    dollars = np.array(means(plain, SMALL, "target", lambda each: each.cost_usd))
    dollars -= np.array(means(plain, LARGE, "control", lambda each: each.cost_usd))
    assert row.delta.value == pytest.approx(differences.mean())
    assert row.cost_delta.value == pytest.approx(dollars.mean(), rel=1e-5)
    # Ours is the wider: it is widened where most tasks are alike, and skewness is removed where that finds less.
    tested = stats.ttest_1samp(differences, -0.1, alternative="greater")
    assert row.worse_p is not None and tested.pvalue <= row.worse_p < 0.05
    assert row.least is not None and row.least <= tested.confidence_interval(0.95).low
    small, large = (means(plain, *side, lambda each: each.cost_usd) for side in ((SMALL, "target"), (LARGE, "control")))
    assert row.cost_ratio is not None and row.cost_ratio.value == pytest.approx(stats.gmean(np.divide(small, large)))
    assert row.cost_p is not None and row.cost_p >= (row.cost_ratio.p or 1)
    assert row.p == max(row.worse_p, row.cost_p) == row.p_adjusted


@pytest.mark.slow
@pytest.mark.parametrize(
    ("with_small", "without_large", "verdict"), [(0.3, 0.9, "falls short"), (0.75, 0.75, "not shown")]
)
def test_a_worse_or_unsure_stand_in_is_said_to_be_so(with_small: float, without_large: float, verdict: str) -> None:
    (row,) = build(two_models(with_small, without_large)).substitutions
    assert row.verdict == verdict and row.reason


@pytest.mark.slow
def test_tokens_are_saved_only_where_quality_is_no_worse(two: EffectConfigurations) -> None:
    assert [(row.subject, row.verdict) for row in two.savings] == [(SMALL, "saves"), (LARGE, "saves")]
    row = two.savings[0]
    assert row.tokens_delta.value is not None and row.tokens_ratio_most is not None and row.tokens_ratio is not None
    assert row.tokens_with is not None and row.tokens_without is not None
    assert row.tokens_delta.value == pytest.approx(row.tokens_with - row.tokens_without)
    assert 0.5 < (row.tokens_ratio.value or 0) < row.tokens_ratio_most < 1
    worse = build(two_models(with_small=0.05))
    assert {row.subject: row.verdict for row in worse.savings} == {SMALL: "no saving", LARGE: "saves"}
    assert "worse by more than 10 points" in worse.savings[0].reason


def test_five_tasks_show_neither() -> None:
    few = build(two_models(tasks=5))
    assert {row.verdict for row in (*few.savings, *few.substitutions)} == {"not testable"}
    assert "5 tasks" in few.savings[0].reason and " 6 " in few.savings[0].reason


def test_what_no_result_says_is_missing_and_not_zero() -> None:
    plain = two_models()
    blind = replace(plain, results=tuple(replace(each, cost_usd=None, usage=TokenUsage()) for each in plain.results))
    found = build(blind)
    assert found.substitutions == () and {row.verdict for row in found.savings} == {"not testable"}
    assert all(row.cost_usd.value is None and row.cost_usd.note for row in found.configurations)


def test_the_heat_map_has_each_task_and_newcombes_interval(two: EffectConfigurations) -> None:
    assert len(two.cells) == 72
    for cell in two.cells[:6]:
        assert cell.score_with is not None and cell.score_without is not None
        hits = [round(each * 3) for each in (cell.score_with, cell.score_without)]
        ends = confint_proportions_2indep(hits[0], 3, hits[1], 3, compare="diff", method="newcomb")
        assert (cell.low, cell.high) == pytest.approx(ends, abs=1e-9)


@pytest.mark.slow
def test_domains_are_averaged_alike_whatever_their_size(two: EffectConfigurations) -> None:
    rows = two.domains
    assert [(row.of, row.domain) for row in rows] == [
        ("task", "category-0"), ("task", "category-1"), ("task", "category-2"), ("task", None)
    ]  # fmt: skip
    assert rows[-1].delta.value == pytest.approx(np.mean([row.delta.value for row in rows[:-1]]), abs=1e-8)  # type: ignore[misc]
    assert rows[-1].delta.low is not None and rows[-1].tasks == 36
    assert any("metadata.domain" in note for note in two.notes)


def sized(found: EffectRun) -> EffectRun:
    """The same with a length and a domain of each skill."""
    skills = [
        replace(skill, length=1000 * (at + 1), domain=("media", "finance")[at % 2])
        for at, skill in enumerate(found.manifest.skills)
    ]
    staged = {
        name: {arm: () if arm == "control" else (each.target_name or "",) for arm in ARMS}
        for name, each in ((each.id, each) for each in found.manifest.tasks)
    }
    return replace(found, manifest=replace(found.manifest, skills=tuple(skills), staged=staged))


@pytest.mark.slow
def test_skills_are_put_into_strata_by_domain_number_and_length() -> None:
    found = build(sized(two_models()))
    assert [row.domain for row in found.domains if row.of == "skill"][-1] is None
    assert [(row.stratum, row.least, row.most, row.tasks) for row in found.by_length] == [
        ("compact", 0, 1000, 9), ("standard", 1001, 2000, 9), ("detailed", 2001, 4000, 18),
    ]  # fmt: skip
    assert [(row.stratum, row.arms, row.tasks) for row in found.by_number] == [("1 skill", ("target",), 36)]


def test_more_skills_are_another_stratum() -> None:
    source = run("a", "target=0.4", arms=("control", "target", "target_plus_one", "full"))
    number = {"target": 1, "target_plus_one": 2, "full": 12}
    staged = {
        name: {arm: tuple(f"skill-{n}" for n in range(number.get(arm, 0))) for arm in arms}
        for name, arms in source.manifest.staged.items()
    }
    found = build(replace(source, manifest=replace(source.manifest, staged=staged)))
    assert [(row.least, row.most, row.arms) for row in found.by_number] == [
        (1, 1, ("target",)), (2, 3, ("target_plus_one",)), (4, None, ("full",)),
    ]  # fmt: skip


def harness(agent: str, run_id: str, **more: Any) -> EffectRun:
    """The small model in one agent."""
    plain = two_models(**more)
    models = tuple(replace(model, spec=f"{agent}:small", agent=agent) for model in plain.manifest.models[:1])
    results = tuple(replace(each, model=f"{agent}:small") for each in plain.results if each.model == SMALL)
    return EffectRun("", replace(plain.manifest, run_id=run_id, models=models), results)


@pytest.mark.slow
def test_two_agents_with_one_model_are_paired_by_task() -> None:
    one, other = harness("loop", "a", with_small=0.9), harness("codex", "b", with_small=0.4)
    found = build(one, other)
    rows = {row.side: row for row in found.harnesses}
    assert list(rows) == ["with", "without", "gain"]
    a, b = (np.array(means(each, f"{name}:small", "target")) for each, name in ((one, "loop"), (other, "codex")))
    assert rows["with"].delta.value == pytest.approx((a - b).mean())
    assert rows["with"].tasks == 36 and rows["with"].model == "small"
    gained = (rows["with"].score_one or 0) - (rows["without"].score_one or 0)
    assert rows["gain"].score_one == pytest.approx(gained)
    assert found.substitutions == ()


@pytest.mark.slow
def test_tasks_that_are_not_the_same_are_named_and_left_out() -> None:
    one, other = harness("loop", "a"), harness("codex", "b")
    manifest = other.manifest
    tasks = [replace(each, digest="new") if each.id == "003" else each for each in manifest.tasks if each.id != "007"]
    skills = [replace(each, digest="edited") if each.name == "skill-1" else each for each in manifest.skills]
    staged = {name: {**arms, "target": ("skill-1",) if name == "005" else ()} for name, arms in manifest.staged.items()}
    changed = replace(other, manifest=replace(manifest, tasks=tuple(tasks), skills=tuple(skills), staged=staged))
    found = build(replace(one, manifest=replace(one.manifest, staged=staged)), changed)
    assert [(each.task_id, each.reason) for each in found.unpaired] == [
        ("003", "another task now"), ("005", "other skills staged"), ("007", "in one run only"),
    ]  # fmt: skip
    assert {row.tasks for row in found.harnesses} == {33}


@pytest.mark.slow
def test_a_task_without_a_side_is_named() -> None:
    plain = two_models()
    found = build(replace(plain, results=forced(plain.results, "quota", task_id="004", arm="target", model=SMALL)))
    (unpaired,) = [each for each in found.unpaired if each.of == "arms"]
    assert (unpaired.task_id, unpaired.subject, unpaired.reason) == ("004", SMALL, "no score with the skill")
    assert {row.subject: row.tasks for row in found.savings} == {SMALL: 35, LARGE: 36}
    cell = next(cell for cell in found.cells if (cell.task_id, cell.subject) == ("004", SMALL))
    assert (cell.n_with, cell.score_with, cell.delta) == (0, None, None)


A, ALL_CHANGED = run("a"), [each | {"digest": "x"} for each in fixture_like()]


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ([A, A], "run a is given 2 times"),
        ([replace(A, results=())], "run a has no results"),
        ([A, run("b", tasks=[task("900", "skill-0")])], "runs a and b cannot be compared: they have no task in common"),
        ([A, run("b", tasks=ALL_CHANGED)], "all 20"),
    ],
)
def test_runs_that_cannot_be_put_side_by_side_are_refused(runs: Sequence[EffectRun], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        build(*runs)


def test_trials_that_two_runs_share_count_once() -> None:
    other = run("b")
    taken = tuple(replace(each, taken_from="a") if n < 7 else each for n, each in enumerate(other.results))
    with pytest.raises(UsageError, match="runs a and b share 7 trials"):
        build(A, replace(other, results=taken))
    assert "7 of their trials are the same" in "; ".join(obstacles(replace(other, results=taken), A))


@pytest.mark.slow
def test_one_model_in_two_runs_is_told_apart() -> None:
    found = build(A, run("b", seed=5))
    assert [each.subject for each in found.subjects] == ["scripted@a", "scripted@b"]
    assert found.harnesses == () and found.substitutions == ()


@pytest.mark.slow
def test_fewer_than_three_replications_are_preliminary(two: EffectConfigurations) -> None:
    assert two.subjects[0].preliminary == ()
    found = build(two_models(reps=2))
    assert found.subjects[0].preliminary == (few_replications(2),)
    assert all(row.preliminary for row in (*found.configurations, *found.domains, *found.savings, *found.substitutions))


@pytest.mark.slow
def test_at_the_ceiling_there_is_no_gain() -> None:
    found = build(two_models(without_large=1.0))
    delta = next(row.delta for row in found.configurations if (row.subject, row.arm) == (LARGE, "target"))
    assert delta is not None and delta.gain.value is None
    assert delta.gain.note.startswith("not testable: ") and ", 100.0 %" in delta.gain.note
    assert (found.means[0].subjects, found.means[0].gains) == (2, 1)


def verdict(by: str, answer: str) -> CriterionVerdict:
    return CriterionVerdict(id="c", by=by, answer=answer, points=100.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"outcome": "pass"}, None),
        *(({"outcome": word}, word) for word in ("timeout", "refusal", "infrastructure", "quota", "auth", "cancelled", "unjudged")),
        ({"invoked": "no"}, "no skill opened"),
        ({"invoked": "yes", "invocations": ("other",)}, "wrong skill opened"),
        ({"invoked": "yes", "invocations": ("other", "mine")}, "not known"),
        ({"invoked": "yes"}, "not known"),
        ({"criteria": (verdict("tool_called", "not_met"),)}, "wrong tool"),
        ({"criteria": (verdict("tool_order", "cannot_tell"),)}, "not known"),
        ({"criteria": (verdict("file_exists", "not_met"),), "reward": 0.8}, "verifier near miss"),
        ({"reward": 0.79}, "partly done"),
        ({"reward": 0.0, "changed": 0}, "nothing changed"),
        ({"reward": None, "changed": None}, "not known"),
        ({"notes": ("the agent was stopped: timeout",), "error": "refusal", "stop_reason": "timeout"}, "not known"),
    ],
)  # fmt: skip
def test_a_failure_is_of_the_first_kind_that_its_fields_tell(fields: dict[str, Any], kind: str | None) -> None:
    result = TrialResult("t", "m", "target", 0, **{"outcome": "fail", **fields})
    assert failure_kind(result, ("mine", "also"), ("mine", "other")) == kind


def test_where_no_skill_is_staged_none_can_be_left_unopened() -> None:
    assert failure_kind(TrialResult("t", "m", "control", 0, "fail", invoked="no"), ("mine",), ()) == "not known"


@pytest.mark.slow
def test_failures_are_counted_with_what_they_are_of() -> None:
    plain = two_models()
    results = forced(plain.results, "infrastructure", task_id="001", arm="control", model=LARGE)
    results = tuple(each for each in results if (each.task_id, each.arm, each.model) != ("002", "control", LARGE))
    rows = {(row.subject, row.arm, row.kind): row for row in build(replace(plain, results=results)).failures}
    broken, absent = rows[LARGE, "control", "infrastructure"], rows[LARGE, "control", "no result"]
    assert (broken.count, broken.missing, broken.share.n, broken.tasks) == (3, True, 108, ("001",))
    assert (absent.count, absent.missing, absent.tasks) == (3, True, ("002",))
    unknown = rows[LARGE, "control", "not known"]
    failed = sum((each.model, each.arm, each.outcome) == (LARGE, "control", "fail") for each in results)
    assert (unknown.count, unknown.missing, unknown.share.n) == (failed, False, 102)


RUBRIC = rubric(
    criterion("a", "apples"), criterion("b", "brooms", 3), criterion("c", "cables", 1, "instruction"), goal_weight=0.75
)


def call(*words: str) -> Result:
    return CliRunner().invoke(command_module.command, [*words], standalone_mode=False)


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run with a judging; the target says all that is asked for, the control the first of three things."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(judge, "load_tasks_of", lambda *_: ())
    monkeypatch.setattr(judge, "rubrics_of", lambda _: rubrics(found=RUBRIC))
    make_run(tmp_path / "reports")
    with Loopback(scripted_judge) as server:
        assert ask_one_judge(server.url).exit_code == 0
    return tmp_path


@pytest.mark.slow
def test_a_judging_gives_rubric_scores_and_criteria(judged: Path) -> None:
    done = call("last", "--score", "weighted", "--format", "json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    control, target = found["configurations"]
    assert [control[name]["value"] for name in ("goal", "instruction", "weighted")] == [0.25, 0.0, 0.1875]
    assert [target[name]["value"] for name in ("goal", "instruction", "weighted")] == [1.0, 1.0, 1.0]
    assert target["delta"]["gain"]["value"] == 1.0
    assert found["runs"][0]["calibrated"] is False and any("not calibrated" in note for note in found["notes"])
    criteria = [
        (row["criterion"], row["group"], row["by"], row["met_with"], row["met_without"]) for row in found["criteria"]
    ]
    assert criteria[:2] == [("b", "goal", "judge", 2, 0), ("c", "instruction", "judge", 2, 0)]
    assert criteria[-1] == ("a", "goal", "judge", 2, 2)
    assert found["criteria"][0]["text"] == "The work says brooms."
    ends = confint_proportions_2indep(2, 2, 0, 2, compare="diff", method="newcomb")
    assert [found["criteria"][0]["delta"][name] for name in ("low", "high")] == pytest.approx(ends, abs=1e-9)
    assert problems("effectiveness-configurations", found) == []
    assert "The work says brooms." in call("last").stdout


def test_checks_alone_give_scores_and_a_waiting_judge_none() -> None:
    plain = two_models(tasks=12)

    def graded(result: TrialResult, waits: str) -> TrialResult:
        met = "met" if result.outcome == "pass" else "not_met"
        criteria = (
            CriterionVerdict(id="g", by="file_exists", answer=met, points=100.0),  # type: ignore[arg-type]
            CriterionVerdict(id="i", by="judge", answer=waits, points=100.0, group="instruction"),  # type: ignore[arg-type]
        )
        return replace(result, criteria=criteria, reward=0.5, rewards={"criteria_met": 1.0})

    waiting = build(replace(plain, results=tuple(graded(each, "not_judged") for each in plain.results)))
    row = waiting.configurations[0]
    assert (row.goal.value, row.instruction.value, row.weighted.value) == (row.success.value, None, None)
    assert any("12 tasks wait for a judge" in note for note in waiting.notes)
    assert {each.criterion for each in waiting.criteria} == {"g"}
    whole = build(replace(plain, results=tuple(graded(each, "met") for each in plain.results)), score="weighted")
    assert whole.configurations[0].weighted.value == 0.5 and whole.configurations[0].instruction.value == 1.0


def test_criteria_about_the_use_of_a_skill_are_left_out() -> None:
    plain = two_models(tasks=6)
    used = CriterionVerdict(id="u", by="skill_used", answer="met", points=100.0)
    results = tuple(replace(each, criteria=(used,)) for each in plain.results)
    assert build(replace(plain, results=results)).criteria == ()


@pytest.mark.slow
def test_the_order_of_results_changes_nothing(two: EffectConfigurations) -> None:
    plain = two_models()
    assert encode_record(two) == encode_record(build(replace(plain, results=plain.results[::-1])))


def test_tables_of_text_fit_a_terminal(two: EffectConfigurations) -> None:
    lines = rendered(two, "text", "").splitlines()
    assert any(f"1: {SMALL}" in line for line in lines)
    assert [line for line in lines if line.startswith("  ") and "  " in line.strip() and len(line) > 100] == []


@pytest.mark.parametrize("table", TABLES)
def test_a_table_of_csv_has_a_column_for_each_field(two: EffectConfigurations, table: str) -> None:
    for found in (two, typed_configurations(made())):
        head, *rows = csv.reader(io.StringIO(render_table(found, table)))
        assert len(head) == len(set(head)) and len(rows) == len(getattr(found, table))
        assert all(len(row) == len(head) for row in rows)


FREE = (
    "subject", "spec", "agent", "model", "task_id", "slug", "skill", "criterion", "text", "by", "domain", "notes", "small",
    "large", "one", "other", "arm", "arms", "tasks", "resolved", "reason",
)  # fmt: skip
"""Fields whose texts are not ours."""


@pytest.mark.slow
def test_hostile_text_is_neither_markup_nor_control() -> None:
    def change(value: Any, key: str = "", within: str = "") -> Any:
        if isinstance(value, dict):
            return {name: change(each, name, within or name) for name, each in value.items()}
        if isinstance(value, list):
            return [change(each, key, within) for each in value]
        free = key in FREE and (key, within) != ("reason", "unpaired")
        return f"{NASTY}{value}" if free and isinstance(value, str) else value

    found = typed_configurations(change(made()))
    for format_ in ("text", "md"):
        page = rendered(found, format_, "")
        assert not UNSAFE.search(page)
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(page)
    inner = [child for token in tokens for child in token.children or ()]
    kinds = {token.type for token in (*tokens, *inner)}
    assert not kinds & {"html_block", "html_inline", "link_open", "image", "fence", "code_block"}
    for table in TABLES:
        cells = (cell for row in csv.reader(io.StringIO(render_table(found, table))) for cell in row)
        assert not any(cell.startswith(("=", "+", "@")) or "\x1b" in cell for cell in cells)


def test_hostile_numbers_are_no_measurements() -> None:
    plain = two_models(tasks=8)
    hostile = {"cost_usd": 1e300, "duration_ms": float("inf")}
    wild = tuple(replace(each, **hostile) if at % 3 else each for at, each in enumerate(plain.results))
    found = build(replace(plain, results=wild))
    assert json.loads(encode_record(found)) == json.loads(json.dumps(record_values(found), allow_nan=False))


@pytest.mark.slow
def test_the_command_reads_runs_and_saves_the_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plain = two_models()
    for found in (plain, replace(plain, manifest=replace(plain.manifest, run_id="b"))):
        kept(tmp_path / "reports", found)
    done = call("a", "b", "--margin", "0.2", "--format", "json", "--save")
    assert done.exit_code == 0, done.output
    saved = (tmp_path / "reports" / "effectiveness-configurations.json").read_text("utf-8")
    assert done.stdout.startswith(saved) and json.loads(saved)["margin"] == 0.2
    assert typed_configurations(json.loads(saved)).subjects[2].subject == f"{SMALL}@b"
    assert all(call(*words).exit_code == 1 for words in (("a", "a"), ("a", "--margin", "1"), ()))
