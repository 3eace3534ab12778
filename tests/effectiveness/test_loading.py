"""Forced loading and the complier effect: arms, what is told to agents, what is recovered, and what cannot be had."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effects_made import CONDITIONS, fixture_like, manifest, replace, reported, scripted, task, trial, typed
from hypothesis import given
from hypothesis import strategies as st
from report_made import typed_report
from run_made import SKILLS, a_model, a_plan, only_read, skill, write_collection
from run_made import task as a_task

from simulators.agents.scripted import parse_plan
from skill_health.bench.report_formats import RenderOptions
from skill_health.commands.effectiveness import command as group
from skill_health.core.errors import UsageError
from skill_health.documents._record import convert_record, record_values
from skill_health.documents.effect_report import EffectReport, ModelEffectReport
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.effects.build import build_report
from skill_health.effectiveness.effects.contrasts import pairs
from skill_health.effectiveness.effects.loading import ASSUMPTIONS
from skill_health.effectiveness.judge.asking.evidence import hide_arm
from skill_health.effectiveness.records import SkillCopy
from skill_health.effectiveness.reports import csv_, json_, junit, markdown, text
from skill_health.effectiveness.run.probes import to_ask
from skill_health.effectiveness.run.runs import PROBES, load_run
from skill_health.effectiveness.workspace.staging import forcing_line, parse_arm, parse_arms, placebo, prompt_of, staged

ARMS = ("control", "target", "placebo", "forced", "forced_placebo")
Loads = Callable[[int, int], str]
"""Whether a trial loaded the skill, by the numbers of its task and replication."""


NO_ARM, NO_DELIVERY = "no arm", "no delivery"
HINTED, IN_PROMPT = "its prompt names the skills already", "a skill that stands in the prompt"
REFUSED = {
    "forced+hint": HINTED, "forced_placebo+hint": HINTED, "forced@mcp+hint": HINTED, "forced@prompt": IN_PROMPT,
    "forced_placebo@prompt": IN_PROMPT, "forced:maps-work": NO_ARM, "forced:": NO_ARM, "Forced": "did you mean 'forced'?",
    "forced_target": NO_ARM, "forced@nowhere": f"{NO_DELIVERY} 'nowhere'", "forced\n+hint": NO_ARM,
    "forced_placebo@": f"{NO_DELIVERY} ''", "forced\x1b[31m": NO_ARM,
}  # fmt: skip


@pytest.mark.parametrize(("arm", "why"), REFUSED.items())
def test_an_arm_that_cannot_be_is_refused_in_one_line(arm: str, why: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_arm(arm)
    assert why in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("names", "hint", "deliveries", "found"),
    [
        ("target forced", "no", "files", "control target forced"),
        ("target forced", "also", "files", "control target forced target+hint"),
        ("target forced forced_placebo", "only", "files", "control target+hint forced forced_placebo"),
        ("target forced", "no", "files prompt", "control target target@prompt forced"),
        ("target forced", "also", "mcp", "control target@mcp forced@mcp target@mcp+hint"),
        ("target forced@mcp", "no", "files compiled", "control target target@compiled forced@mcp"),
        ("forced forced", "no", "files mcp", "control forced forced@mcp"),
    ],
)
def test_forced_arms_are_crossed_with_what_they_can_be(names: str, hint: str, deliveries: str, found: str) -> None:
    assert " ".join(arm.name for arm in parse_arms(names.split(), hint, deliveries.split())) == found


def test_a_run_that_delivers_in_the_prompt_alone_has_no_forced_arm() -> None:
    with pytest.raises(UsageError, match="'forced_placebo' cannot be delivered in the prompt alone"):
        parse_arms(["target", "forced_placebo"], "no", ["prompt"])


def test_what_is_staged_is_that_of_the_target_and_the_order_comes_first() -> None:
    one, copies = a_task(0, SKILLS[0]), {name: skill(name) for name in SKILLS}
    real, false = staged(one, parse_arm("forced"), copies), staged(one, parse_arm("forced_placebo"), copies)
    assert real == staged(one, parse_arm("target"), copies) == (copies[SKILLS[0]],)
    assert false == (placebo(copies[SKILLS[0]]),)
    assert not isinstance(real, str) and not isinstance(false, str)
    told = prompt_of(one, parse_arm("forced"), real)
    assert told == prompt_of(one, parse_arm("forced_placebo"), false) == prompt_of(one, parse_arm("forced@mcp"), real)
    assert told == f"{forcing_line([SKILLS[0]])}\n\n{one.prompt}" and "\n" not in forcing_line([SKILLS[0]])
    several = replace(one, target_skills=("maps-work", "sums-work"))
    both = staged(several, parse_arm("forced"), copies)
    assert not isinstance(both, str)
    assert "the skills maps-work, sums-work:" in prompt_of(several, parse_arm("forced"), both)
    assert isinstance(staged(a_task(4, "none"), parse_arm("forced"), copies), str)
    assert isinstance(staged(a_task(5, None), parse_arm("forced_placebo"), copies), str)


@given(st.lists(st.text("ab-\n{}\\$`'\"é", min_size=1, max_size=8), min_size=1, max_size=3, unique=True))
def test_a_judge_is_not_shown_the_order(names: list[str]) -> None:
    chosen = [SkillCopy(name, "", (), "") for name in names]
    one = a_task(0, SKILLS[0])
    told = prompt_of(one, parse_arm("forced"), chosen)
    record = {"prompt": told, "skills": [{"name": name} for name in names]}
    assert hide_arm(told, record, "") == one.prompt
    assert hide_arm(f"[step 1, user]\n{told}", record, "") == f"[step 1, user]\n{one.prompt}"


def test_the_proof_of_what_is_seen_is_that_of_the_target_and_rests_on_no_order() -> None:
    plan = a_plan(a_model(), arms=ARMS)
    asked = to_ask(plan)
    by_arm = {arm: each for each in asked for arm in each.arms}
    assert by_arm["forced"] is by_arm["target"] and by_arm["forced_placebo"] is by_arm["placebo"]
    assert {"target", "forced"} <= {*by_arm["forced"].arms} and set(by_arm) == {*ARMS}
    alone = to_ask(a_plan(a_model(), arms=("forced",)))
    assert len(alone) == 1 + 3 and {each.cell.prompt[:3] for each in alone} == {"Do "}
    told = {planned.arm.name: plan.cell(planned).prompt for planned in plan.trials()}
    assert "\n\nDo " in told["forced"] and told["target"].startswith("Do ")


def test_contrasts_of_forced_loading_are_a_family_of_their_own() -> None:
    found = pairs({name: parse_arm(name) for name in (*ARMS, "forced@mcp", "target@mcp")})
    assert {pair.name for pair in found if pair.kind == "loading"} == {
        "forced-control", "forced-forced_placebo", "forced-target", "forced_placebo-control", "forced@mcp-control",
        "forced@mcp-target@mcp",
    }  # fmt: skip
    assert not [pair for pair in found if "forced" in pair.name and pair.kind != "loading"]


@pytest.mark.slow
def test_forced_arms_change_no_other_figure() -> None:
    tasks = fixture_like(12, 4, 2)
    script = "base=0.35,target=0.3,placebo=0.2,negative=0.1,forced=0.2"
    arms = (*CONDITIONS, "placebo", "aa")
    plain, more = manifest(tasks, arms), manifest(tasks, (*arms, "forced", "forced_placebo"))
    (one,), (other,) = (reported(each, scripted(each, script, 2))["models"] for each in (plain, more))
    for old, new in ((one, other), *zip(one["skills"], other["skills"], strict=True)):
        assert old["verdict"] == new["verdict"] and old["efficiency"] == new["efficiency"]
        assert old["contrasts"] == [each for each in new["contrasts"] if each["kind"] != "loading"]
        assert old["arms"] == [each for each in new["arms"] if "forced" not in each["arm"]]
        assert old["loading"]["complier"] == new["loading"]["complier"]
    assert (one["controls"], one["calibration"]) == (other["controls"], other["calibration"])
    assert len([each for each in other["contrasts"] if each["kind"] == "loading"]) == 4


def made(passes: Mapping[str, Sequence[int]], loads: Loads, arms: Sequence[str] = ()) -> ModelEffectReport:
    """The model of a report over tasks with so many passes of three in each arm; what opens is for arms with skills."""
    count = len(next(iter(passes.values())))
    given = manifest([task(f"{n:03}", "a") for n in range(count)], tuple(arms or passes))
    results = [
        trial(f"{n:03}", arm, each, each < found[n], invoked="no" if arm == "control" else loads(n, each))
        for arm, found in passes.items() for n in range(count) for each in range(3)
    ]  # fmt: skip
    return build_report(typed(given), results).models[0]


def passes(count: int, *levels: float, seed: int = 1) -> dict[str, list[int]]:
    rng = np.random.default_rng(seed)
    names = ("control", "target", "forced")
    return {name: rng.binomial(3, level, count).tolist() for name, level in zip(names, levels, strict=False)}


def all_yes(_: int, __: int) -> str:
    return "yes"


def test_where_all_trials_load_the_complier_effect_is_that_of_the_offer() -> None:
    model = made(passes(20, 0.3, 0.7), all_yes)
    assert model.loading is not None and model.loading.testable
    (primary,) = (each for each in model.contrasts if each.kind == "primary")
    assert model.loading.complier.value == primary.delta.value and primary.t is not None
    assert (model.loading.complier.low, model.loading.complier.high) == (primary.t.low, primary.t.high)
    assert (model.loading.forced, model.loading.selection, model.loading.differs) == (None, None, None)
    assert model.loading.assumptions == ASSUMPTIONS


HELPS = (0.3, 0.7, 0.7)
UNTESTABLE: dict[str, tuple[int, tuple[float, float, float], Loads, str]] = {
    "no activation at all": (20, HELPS, lambda n, r: "no", "no trial of target loaded the skill"),
    "loading cannot be told": (20, HELPS, lambda n, r: "not_observable", "of 60 of 60 trials of target it cannot be told"),
    "told of all but one": (20, HELPS, lambda n, r: "not_observable" if n == r == 0 else "yes", "of 1 of 60 trials of target"),
    "hardly any": (20, HELPS, lambda n, r: "yes" if n == r == 0 else "no", "uptake"),
    "one task": (1, (0.0, 1.0, 1.0), all_yes, "1 of 1 tasks"),
    "few tasks differ": (5, (0.0, 1.0, 1.0), all_yes, "5 of 5 tasks"),
    "ties": (12, (0.0, 1.0, 1.0), all_yes, "all tasks differ by the same"),
    "nothing differs": (12, (1.0, 1.0, 1.0), all_yes, "0 of 12 tasks"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNTESTABLE)
def test_what_cannot_be_had_says_why(name: str) -> None:
    count, levels, loads, why = UNTESTABLE[name]
    model = made(passes(count, *levels), loads)
    found = model.loading
    assert found is not None and not found.testable and why in found.complier.note
    assert (found.complier.low, found.complier.high) == (None, None)
    for page in (text.render(report_of(model), RenderOptions(width=200)), junit.render(report_of(model))):
        assert "Reached" in page or "reached:" in page
        assert why in " ".join(page.split())
    assert (found.differs is None) == (found.selection is None or found.selection.low is None)
    if "told" in name:
        assert found.selection is not None and found.selection.value is None and found.unknown in (1, 60)


def report_of(model: ModelEffectReport) -> EffectReport:
    """A report with this model alone."""
    given = manifest([task("000", "a")], ("control", "target"))
    return replace(build_report(typed(given), []), models=(model,))


def test_nothing_is_said_where_no_arm_is_offered_a_skill_to_load() -> None:
    assert made({"control": [1] * 8, "forced": [2] * 8}, all_yes).loading is None
    assert made({"control": [1] * 8, "target@prompt": [2] * 8}, all_yes).loading is None
    missing = made({"target": [2] * 8}, all_yes, ("control", "target")).loading
    assert missing is not None and missing.complier.note and not missing.testable
    values = record_values(report_of(made(passes(8, 0.3, 0.7, 0.7), all_yes)))
    del values["models"][0]["loading"], values["models"][0]["skills"][0]["loading"]
    for arm in values["models"][0]["arms"]:
        del arm["success_given_invoked"]["bias"]
    older = convert_record(values, EffectReport).models[0]
    assert older.loading is None and older.arms[0].success_given_invoked.bias == "selection"


@pytest.mark.slow
def test_trials_that_load_themselves_are_held_against_forced_ones() -> None:
    tasks = 40
    # The skill helps in half of the tasks, and only there it is loaded.
    helped = [n % 2 for n in range(tasks)]
    rng = np.random.default_rng(3)
    noise = rng.integers(0, 2, tasks)
    own = {
        "control": [int(each) for each in noise],
        "target": [min(3, int(each) + 2 * good) for each, good in zip(noise, helped, strict=True)],
        "forced": [min(3, int(each) + 2 * good) for each, good in zip(rng.integers(0, 2, tasks), helped, strict=True)],
    }
    loading = made(own, lambda n, r: "yes" if helped[n] else "no").loading
    assert loading is not None and loading.selection is not None and loading.differs == "more"
    assert loading.complier.value == pytest.approx(2 / 3, abs=0.01)
    less = made(own, lambda n, r: "no" if helped[n] else "yes").loading
    # Who gains without loading breaks the exclusion: the effect is none that loading could have.
    assert less is not None and less.complier.value == pytest.approx(2 / 3, abs=0.01)
    turned = made({"control": own["control"], "target": own["control"], "forced": own["forced"]}, all_yes).loading
    assert turned is not None and turned.selection is not None and turned.selection.note


PLANTED = {
    "a third loads, +40": "base=0.35,loading=0.4,invoke=0.33,obey=0.9",
    "most load, +20": "base=0.35,loading=0.2,invoke=0.8",
    "half load, nothing": "base=0.5,loading=0,invoke=0.5",
    "half load, harm": "base=0.65,loading=-0.3,invoke=0.5",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED)
def test_what_is_planted_is_recovered(name: str) -> None:
    plan = parse_plan(f"scripted:{PLANTED[name]}")
    given = manifest(fixture_like(60, 0, 1), ARMS)
    (model,) = reported(given, scripted(given, PLANTED[name], 5))["models"]
    arms = {arm["arm"]: arm for arm in model["arms"]}
    contrasts = {each["name"]: each["delta"] for each in model["contrasts"]}
    effect = plan.loading or 0.0
    for figure, truth in (
        (arms["target"]["invoked"]["rate"], plan.invoke),
        (arms["forced"]["invoked"]["rate"], plan.obey),
        (contrasts["target-control"], plan.invoke * effect),
        (contrasts["forced-control"], plan.obey * effect),
        (contrasts["forced_placebo-control"], 0.0),
        (contrasts["placebo-control"], 0.0),
        (model["loading"]["complier"], effect),
        (model["loading"]["selection"], plan.invoke * effect * (1 - plan.obey)),
    ):
        assert figure["low"] is not None or figure["value"] == pytest.approx(truth)
        # Of so many figures some miss their 95 % interval, and hardly any one that is 1.8 times as wide.
        half = (figure["high"] - figure["low"]) / 2 if figure["low"] is not None else 1e-9
        assert abs(figure["value"] - truth) <= 1.8 * half, (figure, truth)
    assert model["loading"]["differs"] == "not shown"


@pytest.mark.slow
def test_the_three_figures_stand_apart_in_every_format_and_selection_is_marked() -> None:
    given = manifest(fixture_like(20, 0, 1), ARMS)
    report = build_report(typed(given), scripted(given, "base=0.35,loading=0.4,invoke=0.5,obey=0.95", 3))
    (model,) = report.models
    assert model.loading is not None
    wanted = (
        "reached:", "(target - control, ", "(forced - control, randomised):", "(complier effect, ", "forced loading:",
        "exclusion:", "monotonicity:", "placebo - control",
    )  # fmt: skip
    plain = re.sub(r"\\(.)", r"\1", markdown.render(report))
    for page in (text.render(report, RenderOptions(width=90)), plain, junit.render(report)):
        flat = " ".join(page.split())
        assert [each for each in wanted if each not in flat] == []
        assert "forced" in flat and "and all count" in flat
    assert all("by selection" in " ".join(page.split()) for page in (plain, text.render(report)))
    values = json.loads(json_.render(report))["models"][0]
    assert {arm["success_given_invoked"]["bias"] for arm in values["arms"]} == {"selection"}
    assert values["loading"]["complier"]["method"].startswith("Fieller's over tasks")
    rows = csv.DictReader(io.StringIO(csv_.render(report, RenderOptions(table="arms"))))
    notes = [row["note"] for row in rows if row["measure"] == "success_given_invoked"]
    assert notes and all("selection" in note for note in notes)
    table = [*csv.DictReader(io.StringIO(csv_.render(report, RenderOptions(table="contrasts"))))]
    (complier,) = (row for row in table if row["kind"] == "complier" and row["part"] == "collection")
    assert float(complier["value"]) == model.loading.complier.value
    assert Counter(row["kind"] for row in table if row["part"] == "collection")["loading"] == 4


def test_a_report_made_up_with_any_names_is_shown() -> None:
    from report_made import made as made_up
    from report_nasty import NASTY, UNSAFE, everywhere

    report = typed_report(everywhere(made_up(), lambda value: f"{NASTY}{value}"))
    assert not UNSAFE.search(text.render(report, RenderOptions(width=80)))


@pytest.mark.slow
def test_a_run_of_the_scripted_agent_recovers_what_is_planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial passes if and only if it loaded the skill: so the effect of loading is 100 points, whoever loads."""
    monkeypatch.chdir(write_collection(tmp_path / "collection", 8, 1))
    only_read(monkeypatch)
    script = "scripted:base=0,target=0,loading=1,spread=0,invoke=0.6,obey=0.8"
    words = ["run", "tasks", "--quiet", "--sandbox", "none", "--out", "out", "--agents", script, "--reps", "2"]
    assert group.main([*words, "--arms", "target,forced,forced_placebo"], standalone_mode=False) == 0
    (folder,) = (tmp_path / "collection/out/effectiveness").iterdir()
    results = load_run(str(folder)).results
    model = json.loads((folder / "report.json").read_text())["models"][0]
    assert {each.outcome for each in by(results, "forced") if each.invoked == "no"} == {"fail"}
    loaded = {arm: mean(each.invoked == "yes" for each in by(results, arm)) for arm in ("target", "forced")}
    assert 0.3 < loaded["target"] < loaded["forced"] < 1
    contrasts = {each["name"]: each["delta"]["value"] for each in model["contrasts"]}
    assert contrasts["target-control"] == pytest.approx(loaded["target"], rel=1e-5)
    assert contrasts["forced-control"] == pytest.approx(loaded["forced"], rel=1e-5)
    assert contrasts["forced_placebo-control"] == 0
    complier = model["loading"]["complier"]
    assert complier["value"] == 1 and complier["low"] <= 1 <= complier["high"] and model["loading"]["testable"]
    rates = {arm["arm"]: arm["invoked"]["rate"]["value"] for arm in model["arms"]}
    assert rates["target"] == pytest.approx(loaded["target"], rel=1e-5)
    probes = json.loads((folder / PROBES).read_text())["probes"]
    assert any({"forced", "target"} <= set(each["arms"]) for each in probes)
    paths = [path for path in folder.glob("trials/**/trial.json") if "forced" in str(path)]
    told = {json.loads(path.read_text())["prompt"] for path in paths}
    assert told and all(each.startswith(forcing_line(["x"]).partition("x")[0]) for each in told)


def by(results: Sequence[TrialResult], arm: str) -> list[TrialResult]:
    return [each for each in results if each.arm == arm]


def mean(values: Any) -> float:
    return float(np.mean([*values]))
