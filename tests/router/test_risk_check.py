"""`skill-health router risk --against`: the risk of each skill beside what the real models of a run lost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from made_collection import Write
from made_runs import checked as checked_
from made_runs import frozen, manifest, prompt, put_run, result, values
from scipy.stats import mannwhitneyu
from statsmodels.stats.proportion import proportion_confint

from skill_health.core.errors import CLEAN, UsageError
from skill_health.core.validation import load_schema
from skill_health.documents.router_risk import RiskReport
from skill_health.documents.router_risk_check import ModelRiskCheck, RiskCheckReport
from skill_health.router.commands.import_ import command as import_command
from skill_health.router.commands.risk import command
from skill_health.router.records import NONE, Catalogue, ListedSkill, Prompt, RoutingResult
from skill_health.router.risk.assess import assess_risk, load_model
from skill_health.router.risk.validate import check_risk, check_text
from skill_health.router.runs import RouterRun
from skill_health.router.scores.judge import read_facts
from skill_health.router.scores.skills import FEW, skills

MODEL = "maker:one"


def listed(n: int) -> tuple[ListedSkill, ...]:
    """Skills as the manifest of `made_runs` lists them."""
    return tuple(
        ListedSkill(
            name, text := f"Handles {name} things for teams. Use when {name} is named.", description=text,
            path=f"skills/{name}/SKILL.md", body=f"How {name} things are handled, and when they are not.",
        )
        for name in (f"s{at:02}" for at in range(n))
    )  # fmt: skip


def rated(catalogue: Catalogue, risks: Sequence[float | None]) -> RiskReport:
    """A report that gives the skills these risks."""
    report = assess_risk(catalogue)
    by_name = dict(zip(catalogue.names, risks, strict=True))
    changed = [msgspec.structs.replace(each, probability=by_name[each.skill]) for each in report.skills]
    return msgspec.structs.replace(report, skills=tuple(changed))


def asked(
    names: Sequence[str], found: Sequence[int], each: int = FEW, model: str = MODEL, **more: Any
) -> tuple[dict[str, Any], list[RoutingResult]]:
    """A run with `each` prompts for every skill, of which the model finds so many."""
    prompts: list[Prompt] = []
    results = []
    for name, hits in zip(names, found, strict=True):
        for nth in range(each):
            prompts.append(prompt(f"{name}-{nth}", name))
            results.append(result(f"{name}-{nth}", (name if nth < hits else NONE,), model))
    return manifest(prompts, [more.pop("as_model", model)], names, **more), results


def read(given: dict[str, Any], results: Sequence[RoutingResult]) -> RouterRun:
    manifest_ = frozen(given)
    return RouterRun("", manifest_, read_facts(manifest_), tuple(results))


def checked(risks: Sequence[float | None], found: Sequence[int], **more: Any) -> RiskCheckReport:
    catalogue = Catalogue(listed(len(risks)))
    return check_risk(rated(catalogue, risks), catalogue, read(*asked(catalogue.names, found, **more)))


def only(report: RiskCheckReport) -> ModelRiskCheck:
    (model,) = report.models
    return model


OUTCOMES = st.lists(st.tuples(st.integers(0, 99), st.integers(0, FEW)), min_size=1, max_size=16)


@given(OUTCOMES)
def test_the_auc_is_that_of_mann_and_whitney_over_skills(skills_: list[tuple[int, int]]) -> None:
    risks, found = [risk / 100 for risk, _ in skills_], [hits for _, hits in skills_]
    model = only(checked(risks, found))
    gone = [risk for risk, hits in zip(risks, found, strict=True) if hits / FEW < 0.5]
    kept = [risk for risk, hits in zip(risks, found, strict=True) if hits / FEW >= 0.5]
    assert (model.lost, model.auc.n, len(model.skills)) == (len(gone), len(risks), len(risks))
    if gone and kept:
        assert model.auc.value == pytest.approx(mannwhitneyu(gone, kept).statistic / len(gone) / len(kept))
    else:
        assert model.auc.value is None and model.verdict == "too_few" and "not testable" in model.auc.note
    assert sum(each.skills for each in model.bins) == len(risks)
    assert sum(each.lost for each in model.bins) == len(gone)


APART = [0.9] * 8 + [0.1] * 20
VERDICTS = [
    # Risks, and which skills are lost.
    ("carries_over", APART, [0] * 8 + [FEW] * 20),
    ("does_not_carry_over", APART, [FEW] * 8 + [0] * 8 + [FEW] * 12),
    ("too_few", [0.9, 0.1, 0.2], [0, FEW, FEW]),
    ("too_few", [0.1, 0.9, 0.2], [0, FEW, FEW]),
    ("too_few", [0.9, *[0.1] * 14], [0, *[FEW] * 14]),
    ("too_few", APART, [FEW] * 28),
    ("too_few", APART, [0] * 28),
]


def can_be_beyond_chance(lost: int, of: int) -> bool:
    """Whether scipy's exact test would reject chance if all lost skills had the highest risks."""
    return bool(mannwhitneyu(range(of, of - lost, -1), range(of - lost), method="exact").pvalue <= 0.05)


@pytest.mark.parametrize(("verdict", "risks", "found"), VERDICTS)
def test_the_verdict_follows_from_the_interval(verdict: str, risks: list[float], found: list[int]) -> None:
    report = checked(risks, found)
    model = only(report)
    assert model.verdict == verdict
    if model.auc.low is not None and model.auc.high is not None:
        enough = can_be_beyond_chance(model.lost, len(model.skills))
        assert (enough and model.auc.low > 0.5) == (verdict == "carries_over")
        assert (enough and model.auc.low <= 0.5 and model.auc.high < report.promised) == (
            verdict == "does_not_carry_over"
        )
    assert report.promised == load_model().auc


def test_a_skill_is_lost_where_the_report_of_the_run_says_so() -> None:
    """Half is not lost, replications count as calls, and a failure of the format is no answer."""
    catalogue = Catalogue(listed(2))
    prompts = [prompt(f"{name}-{nth}", name) for name in catalogue.names for nth in range(6)]
    given = manifest(prompts, [{"spec": MODEL, "replications": 2}], catalogue.names, replications=2)
    right = {one.prompt_id: ("s00",) for one in prompts[:3]}
    results = [
        result(one.prompt_id, right.get(one.prompt_id, ()), replication=at) for one in prompts for at in range(2)
    ]
    run = read(given, results)
    model = only(check_risk(rated(catalogue, [0.2, 0.3]), catalogue, run))
    assert [(each.skill, each.found.value, each.lost) for each in model.skills] == [
        ("s01", 0.0, True), ("s00", 0.5, False),
    ]  # fmt: skip
    shown = {each.name: each.models[0].recall for each in skills(run.sheet)}
    assert all(each.found == shown[each.skill] for each in model.skills)


def test_skills_with_few_prompts_or_without_a_risk_do_not_count() -> None:
    model = only(checked([0.9, 0.1], [0, 0], each=FEW - 1))
    assert (model.skills, model.too_few_prompts, model.verdict) == ((), 2, "too_few")
    assert [each.skill for each in only(checked([None, 0.1], [0, 0])).skills] == ["s01"]


def test_a_family_of_prompts_is_one() -> None:
    catalogue = Catalogue(listed(1))
    prompts = [prompt(f"p{nth}", "s00", family="same") for nth in range(9)]
    run = read(manifest(prompts, skills=catalogue.names), [result(one.prompt_id, ("s00",)) for one in prompts])
    assert only(check_risk(rated(catalogue, [0.5]), catalogue, run)).skills == ()


def test_bins_are_those_of_the_model_with_wilson_s_interval() -> None:
    edges = [each.least for each in load_model().bins]
    risks = [edge + 0.01 for edge in edges] * 3
    model = only(checked(risks, [0, FEW, FEW, 0] * 3))
    assert [each.least for each in model.bins] == edges
    for each in model.bins:
        assert each.skills == 3 and each.mean == pytest.approx(each.least + 0.01, abs=1e-3)
        low, high = proportion_confint(each.lost, each.skills, method="wilson")
        assert (each.low, each.high) == pytest.approx((low, high), abs=1e-3)


def test_a_skill_that_is_listed_otherwise_now_is_left_out() -> None:
    names = Catalogue(listed(3)).names
    run = read(*asked(names, [0, FEW, FEW]))
    now = (ListedSkill("s00", "Another text.", path="skills/s00/SKILL.md"), *listed(3)[1:])
    report = check_risk(rated(Catalogue(now), [0.9, 0.5, 0.1]), Catalogue(now), run)
    assert [each.skill for each in only(report).skills] == ["s01", "s02"]
    assert "left out, since the run listed another text or none: s00" in report.notes


def unusable() -> Sequence[tuple[str, RouterRun]]:
    names = Catalogue(listed(2)).names
    given, results = asked(names, [0, FEW])
    other = manifest([prompt("p", "alpha")])
    return [
        ("but lexical", read(*asked(names, [0, 0], model="lexical", as_model={"spec": "lexical", "kind": "local"}))),
        ("but scripted", read(*asked(names, [0, 0], model="scripted", as_model={"spec": "scripted", "kind": "simulated"}))),
        ("give --listing codex", read({**given, "listing": "codex"}, results)),
        ("is not finished", read(given, results[:-1])),
        ("listed none of these skills", read(other, [result("p", ("alpha",))])),
    ]  # fmt: skip


@pytest.mark.parametrize(("why", "run"), unusable())
def test_a_run_that_tells_nothing_is_refused(why: str, run: RouterRun) -> None:
    catalogue = Catalogue(listed(2))
    with pytest.raises(UsageError, match=why):
        check_risk(rated(catalogue, [0.9, 0.1]), catalogue, run)


def test_an_imported_run_may_lack_calls_which_is_said() -> None:
    catalogue = Catalogue(listed(2))
    given, results = asked(catalogue.names, [0, FEW], imported=True)
    report = check_risk(rated(catalogue, [0.9, 0.1]), catalogue, read(given, results[:-1]))
    assert f"{MODEL}: 1 of 10 calls are missing (not_run 1)" in report.notes
    assert only(report).too_few_prompts == 1


def files(catalogue: Sequence[ListedSkill]) -> dict[str, str]:
    skills_ = {one.path: f"---\nname: {one.name}\ndescription: {one.text}\n---\n\n{one.body}\n" for one in catalogue}
    return {**skills_, "skill-health.toml": ""}


def risk(*arguments: str) -> Result:
    return CliRunner().invoke(command, [*arguments], standalone_mode=False)


def test_the_command_prints_both_forms(write: Write) -> None:
    root = write(files(listed(3)))
    put_run(root / "reports", *asked(Catalogue(listed(3)).names, [0, FEW, FEW]))
    done = risk(str(root), "--against", "last", "--format", "json")
    assert (done.return_value, done.exception) == (CLEAN, None)
    data = json.loads(done.output)
    Draft202012Validator(load_schema("router-risk-check")).validate(data)
    (model,) = data["models"]
    assert (data["run_id"], model["model"], model["verdict"], model["lost"]) == (
        "20260515T120000Z-abc", MODEL, "too_few", 1,
    )  # fmt: skip
    text = risk(str(root), "--against", "20260515T120000Z-abc").output
    assert f"{MODEL}: too few skills to tell whether the risk carries over" in text
    assert "1 of 3 skills lost" in text and "s00" in text and "n = 3 skills" in text


def test_a_run_of_a_real_model_on_this_listing_is_mentioned(write: Write) -> None:
    root = write(files(listed(2)))
    assert "--against" not in risk(str(root)).output
    put_run(root / "reports", *asked(Catalogue(listed(2)).names, [0, FEW]))
    said = f"{MODEL} was asked about this very listing: --against 20260515T120000Z-abc says"
    assert said in risk(str(root)).output
    assert said in json.loads(risk(str(root), "--format", "json").output)["notes"][0]
    check = root / "reports" / "router" / "20260515T120000Z-abc" / "check.json"
    failed = {"planted": [{"model": MODEL, "failed": True, "trusted": False}], "finished": []}
    check.write_text(json.dumps(values(checked_(failed))), "utf-8")
    assert "--against 2026" not in risk(str(root)).output
    check.unlink()
    skill = root / "skills" / "s00" / "SKILL.md"
    skill.write_text(skill.read_text("utf-8").replace("Handles", "Knows"), "utf-8")
    assert "--against" not in risk(str(root)).output


def test_a_run_of_the_plan_s_runner_that_was_imported(write: Write, tmp_path: Path) -> None:
    names = Catalogue(listed(3)).names
    asked_ = [(f"{name}-{nth}", name) for name in names for nth in range(FEW)]
    labels = [
        {"prompt_id": each, "prompt": f"Please do {each}.", "expected_primary_skill": name} for each, name in asked_
    ]
    root = write({**files(listed(3)), "prompts.jsonl": "".join(json.dumps(one) + "\n" for one in labels)})
    folder = tmp_path / "2026-05-15-1"
    folder.mkdir()
    for each, name in asked_:
        first = "s01" if name == "s00" else name
        answer = json.dumps({"ranking": [first], "confidence": 0.9, "rationale": "So."})
        record = {"prompt_id": each, "model_id": MODEL, "rep": 0, "status": "finished", "raw_text": answer}
        (folder / f"{each}.json").write_text(json.dumps(record), "utf-8")
    done = CliRunner().invoke(import_command, [str(folder), str(root / "skills")], standalone_mode=False)
    assert (done.return_value, done.exception) == (CLEAN, None)
    assert f"{MODEL} was asked" in risk(str(root)).output
    (model,) = json.loads(risk(str(root), "--against", "last", "--format", "json").output)["models"]
    assert [(each["skill"], each["found"]["value"]) for each in model["skills"] if each["lost"]] == [("s00", 0.0)]
    assert (model["model"], model["auc"]["n"]) == (MODEL, 3)


@pytest.mark.parametrize("damage", ["manifest.json", "results.jsonl"])
def test_a_damaged_run_is_not_mentioned_and_not_trusted(write: Write, damage: str) -> None:
    root = write(files(listed(2)))
    given, results = asked(Catalogue(listed(2)).names, [0, FEW])
    put_run(root / "reports", given, results)
    (root / "reports" / "router" / given["run_id"] / damage).write_text("\x00[[[\n", "utf-8")
    assert risk(str(root)).return_value == CLEAN and "--against" not in risk(str(root)).output
    assert isinstance(risk(str(root), "--against", given["run_id"]).exception, UsageError)


def test_names_of_strangers_cannot_forge_what_is_printed() -> None:
    report = checked([0.9, 0.1], [0, FEW], run_id="20260515T120000Z-abc")
    model = only(report)
    skills = tuple(msgspec.structs.replace(one, skill="s\x1b]0;\n") for one in model.skills)
    bad = msgspec.structs.replace(model, model="a\x1b[31m:b\n", skills=skills)
    text = check_text(msgspec.structs.replace(report, models=(bad,), notes=("\x1b[2J",)))
    assert "\x1b" not in text
