"""`skill-health router risk`: what it reads of skills, what it makes of that, and what it prints."""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from made_collection import Write
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import mannwhitneyu
from statsmodels.discrete.discrete_model import Logit

from benchmarks.risk import RIDGE, auc_interval, auc_within, fit, lost_meanings
from skill_health.core.errors import CLEAN, UsageError
from skill_health.core.validation import load_schema
from skill_health.documents.router_risk import RatedRisk
from skill_health.router.commands.risk import command
from skill_health.router.lexicon import routability
from skill_health.router.lexicon.routability import LONGEST, PASSAGES, passages_of, read_features
from skill_health.router.records import Catalogue, ListedSkill
from skill_health.router.risk.assess import ALONE, SILENT, assess_risk, load_model, logistic, risk_text

CHARTS = ListedSkill(
    "charts", "Draws charts from tables. Use when numbers should be seen.", path="charts/SKILL.md",
    body="# Charts\n\n- Draw a chart from the table that the user names.\n- A line chart suits numbers over time.\n",
)  # fmt: skip
TABLES = ListedSkill(
    "tables", "Sorts and cleans tables, rows and columns.", path="tables/SKILL.md",
    body="Sort the rows of a table by one of its columns.\n\nClean columns before the table is sorted.\n",
)  # fmt: skip
# Its description says nothing of what its body is about.
VAGUE = ListedSkill(
    "helper", "Helps with things. Use when help is needed.", path="helper/SKILL.md",
    body="Draw charts from tables where numbers should be seen.\n\nInvoices are drawn as charts of invoices over time.\n",
)  # fmt: skip
SKILLS = (CHARTS, TABLES, VAGUE)


def rated(*skills: ListedSkill) -> dict[str, RatedRisk]:
    return {each.skill: each for each in assess_risk(Catalogue(skills)).skills}


def test_a_body_that_asks_for_another_skill_is_a_risk() -> None:
    found = rated(*SKILLS)
    helper, charts = found["helper"], found["charts"]
    assert (helper.thief, helper.taken, helper.lost, helper.passages) == ("charts", 2, 2, 2)
    assert "invoices" in helper.words and helper.trigger and not found["tables"].trigger
    assert (charts.lost, charts.thief) == (0, "")
    assert helper.probability is not None and charts.probability is not None
    assert helper.probability > 0.5 > charts.probability
    assert next(iter(assess_risk(Catalogue(SKILLS)).skills)).skill == "helper"


def test_words_that_the_description_has_are_not_missing() -> None:
    better = ListedSkill("helper", VAGUE.text + " Charts of invoices over time.", path=VAGUE.path, body=VAGUE.body)
    (before,) = (each for each in read_features(SKILLS) if each.skill is VAGUE)
    (after,) = (each for each in read_features((CHARTS, TABLES, better)) if each.skill is better)
    assert set(before.words) - set(after.words) >= {"invoices", "time"}
    assert after.missing < before.missing and after.lost < before.lost
    assert load_model().probability(after.values) < load_model().probability(before.values)


def test_what_a_host_cuts_is_not_listed() -> None:
    cut = ListedSkill("charts", CHARTS.text[:6], "truncated", CHARTS.text, CHARTS.body, path=CHARTS.path)
    (whole,) = (each for each in read_features(SKILLS) if each.skill is CHARTS)
    (less,) = (each for each in read_features((cut, TABLES, VAGUE)) if each.skill is cut)
    assert less.missing > whole.missing


PROSE = [
    ("Short.", []),
    ("# A heading that is long enough to be a passage", []),
    ("| a table | that is long enough to be a passage |", []),
    ("- An item of a list that says what to do now", ["An item of a list that says what to do now"]),
    ("> 12) A quoted and numbered line of some length", ["A quoted and numbered line of some length"]),
    ("```\nA line of code that is long enough to count\n```\n", []),
    ("~~~\nA fence that nobody closed, with a long line of text", []),
    ("x" * 999, ["x" * LONGEST]),
]


@pytest.mark.parametrize(("body", "passages"), PROSE)
def test_passages_are_lines_of_prose(body: str, passages: list[str]) -> None:
    assert passages_of(body) == passages


def test_the_first_passages_are_asked() -> None:
    lines = [f"Line number {n} of a body that goes on and on" for n in range(PASSAGES + 5)]
    assert passages_of("\n".join(lines)) == lines[:PASSAGES]


def test_one_skill_has_nobody_to_lose_to() -> None:
    report = assess_risk(Catalogue((CHARTS,)))
    (only,) = report.skills
    assert (only.probability, only.alike, only.note, only.lost, only.thief) == (None, None, ALONE, 0, "")
    assert f"not rated: {ALONE}" in risk_text(report)


def test_a_body_without_prose_is_not_rated_and_comes_last() -> None:
    report = assess_risk(Catalogue((ListedSkill("a", "Draws charts.", path="a/SKILL.md"), *SKILLS)))
    last = report.skills[-1]
    assert (last.skill, last.probability, last.note) == ("a", None, SILENT)


def test_no_skill_at_all() -> None:
    assert assess_risk(Catalogue(())).skills == ()
    assert "skill" in risk_text(assess_risk(Catalogue(())))


def test_namesakes_and_copies_are_told_apart_by_their_paths() -> None:
    """They are refused where a collection is read; what is given twice all the same is a tie, which nobody wins."""
    twins = [ListedSkill("charts", CHARTS.text, path=f"{place}/SKILL.md", body=CHARTS.body) for place in "ab"]
    found = assess_risk(Catalogue((*twins, TABLES))).skills
    assert [(each.path, each.lost) for each in found if each.skill == "charts"] == [
        ("a/SKILL.md", 2), ("b/SKILL.md", 2),
    ]  # fmt: skip
    assert next(each for each in found if each.path == "a/SKILL.md").similarity == pytest.approx(1)


TEXTS = st.text(st.sampled_from("abc \n#-`|><\x1b\u202e\ud800整理"), max_size=80)


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=6), st.randoms(use_true_random=False))
def test_any_text_in_any_order_is_rated_the_same(texts: list[tuple[str, str]], random: object) -> None:
    skills = [ListedSkill(f"s{n % 4}", text, path=f"{n}", body=body * 3) for n, (text, body) in enumerate(texts)]
    first = assess_risk(Catalogue(tuple(skills)))
    random.shuffle(skills)  # type: ignore[attr-defined]
    assert assess_risk(Catalogue(tuple(skills))) == first
    for each in first.skills:
        assert (each.probability is None) == bool(each.note)
        assert each.probability is None or 0 < each.probability < 1
        assert each.taken <= each.lost <= each.passages
    assert "\x1b" not in risk_text(first) and "\u202e" not in risk_text(first)


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=6))
def test_with_and_without_numpy_features_are_the_same(texts: list[tuple[str, str]]) -> None:
    skills = [ListedSkill(f"s{n}", text, path=f"{n}", body=body * 3) for n, (text, body) in enumerate(texts)]
    plain = list(read_features((*skills, *SKILLS)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(routability, "_MANY", 0)
        assert list(read_features((*skills, *SKILLS))) == plain


def test_meanings_are_lost_to_listings_that_are_closer() -> None:
    """VAGUE's body speaks of charts, and says so closer to the listing of the skill for charts."""
    features = list(read_features(SKILLS))
    found = lost_meanings(features, {"helper", "charts"})
    assert set(found) == {"helper", "charts"}
    assert found["helper"] == {"passages": 1.0, "windows": 1.0}
    assert found["charts"]["passages"] == 0.0


def test_the_model_says_what_it_rests_on() -> None:
    model = load_model()
    assert 0.5 < model.auc_low < model.auc < model.auc_high < 1
    assert sum(each.skills for each in model.bins) == model.skills
    assert sum(each.lost for each in model.bins) == model.lost
    edges = [each.least for each in model.bins]
    assert edges[0] == 0 and edges == sorted(edges)
    for least, end in pairwise(edges):
        assert model.alike(least) is model.alike((least + end) / 2) and model.alike(end) is not model.alike(least)
    assert model.alike(1) is model.bins[-1]


def test_a_collection_of_another_size_is_named_as_such() -> None:
    largest = load_model().largest
    skills = [ListedSkill(f"s{n}", "", path=f"{n}") for n in range(largest + 1)]
    (note,) = assess_risk(Catalogue(tuple(skills))).notes
    assert f" {largest + 1}" in note
    assert assess_risk(Catalogue(tuple(skills[:largest]))).notes == ()


@given(st.floats(-800, 800))
def test_the_logistic_function_is_that_of_scipy(x: float) -> None:
    assert logistic(x) == pytest.approx(float(expit(x)), abs=1e-15)


def made(seed: int, rows: int = 150) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    features = rng.random((rows, 2)) * [1, 5]
    return features, rng.random(rows) < expit(3 * features[:, 0] - 0.5 * features[:, 1] - 0.5)


@pytest.mark.parametrize("seed", range(5))
def test_the_fit_is_that_of_statsmodels_without_a_penalty(seed: int) -> None:
    features, lost = made(seed)
    expected = Logit(lost.astype(float), np.c_[np.ones(len(lost)), features]).fit(disp=0, tol=1e-12).params
    found = fit(features, lost, ridge=0)
    assert [found.intercept, *found.weights] == pytest.approx(list(expected), rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_the_fit_with_a_penalty_is_the_minimum_that_scipy_finds(seed: int) -> None:
    features, lost = made(seed, 60)
    scaled = (features - features.mean(axis=0)) / features.std(axis=0)

    def loss(weights: np.ndarray) -> float:
        logit = weights[0] + scaled @ weights[1:]
        return float(np.logaddexp(0, logit).sum() - logit[lost].sum() + RIDGE / 2 * weights[1:] @ weights[1:])

    best = minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-8})
    found = fit(features, lost)
    assert np.multiply(found.weights, features.std(axis=0)) == pytest.approx(best.x[1:], abs=1e-4)
    assert found.intercept + features.mean(axis=0) @ found.weights == pytest.approx(best.x[0], abs=1e-4)


@pytest.mark.slow
def test_the_auc_is_that_of_mann_and_whitney_within_each_collection() -> None:
    features, lost = made(7)
    scores, strata = features[:, 0].round(1), np.array(["a", "b", "c"] * 50)
    won = pairs = 0.0
    for name in "abc":
        own = strata == name
        bad, good = scores[own & lost], scores[own & ~lost]
        won += mannwhitneyu(bad, good).statistic
        pairs += len(bad) * len(good)
    assert auc_within(scores, lost, strata) == pytest.approx(won / pairs)
    low, high = auc_interval(scores, lost, strata)
    assert low < won / pairs < high
    assert auc_interval(scores, lost, strata) == (low, high)
    assert math.isnan(auc_within(scores, np.zeros(150, bool), strata))


def risk(*arguments: str) -> Result:
    return CliRunner().invoke(command, [*arguments], standalone_mode=False)


def files(*skills: ListedSkill) -> dict[str, str]:
    return {f"skills/{s.path}": f"---\nname: {s.name}\ndescription: {s.text}\n---\n\n{s.body}" for s in skills}


def test_the_command_prints_a_document_of_its_schema(write: Write) -> None:
    root = write(files(*SKILLS))
    done = risk(str(root), "--format", "json")
    assert (done.return_value, done.exception) == (CLEAN, None)
    data = json.loads(done.output)
    Draft202012Validator(load_schema("router-risk")).validate(data)
    assert data["skills"][0]["skill"] == "helper" and data["skills"][0]["thief"] == "charts"
    text = risk(str(root)).output
    assert re.search(r"thief: charts, [a-z ]+ 2 of 2 ", text)


def test_hosts_that_cut_a_description_are_named(write: Write) -> None:
    root = write({**files(*SKILLS), "skill-health.toml": "[listing.codex]\nbudget = 30\n"})
    found = json.loads(risk(str(root), "--format", "json").output)["skills"]
    assert any(cut["host"] == "codex" for each in found for cut in each["cuts"])
    assert "not shown in full by codex" in risk(str(root)).output


def test_all_skills_are_shown_on_demand(write: Write) -> None:
    many = [ListedSkill(f"s{n}", "Draws.", path=f"s{n}/SKILL.md", body=CHARTS.body) for n in range(23)]
    root = write(files(*many))
    assert "... and 3 more (--all shows them)" in risk(str(root)).output
    assert "more (--all" not in risk(str(root), "--all").output


def test_a_folder_without_skills_is_the_user_s_mistake(tmp_path: Path) -> None:
    assert isinstance(risk(str(tmp_path)).exception, UsageError)


def test_namesakes_are_told_apart_or_skipped(write: Write) -> None:
    twin = ListedSkill("charts", "Paints charts.", path="other/SKILL.md", body=CHARTS.body)
    root = write(files(*SKILLS, twin))
    both, one = risk(str(root), "--all"), risk(str(root), "--all", "--skip-namesakes")
    assert both.return_value == one.return_value == CLEAN
    assert "other:charts" in both.output and "other:charts" not in one.output
