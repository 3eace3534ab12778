"""Simulated models of known accuracy, bias, abstention, confusion and calibration: a report must find what was put in.

Every sweep is drawn from a seed, so that a test passes always or never. The truths are worked out by hand from the
probabilities below, and are those of all prompts there could be, not of the ones drawn.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from made_runs import frozen, manifest, prompt, report_record, simulate
from thinned import repeated

from skill_health.config.settings import RouterSettings
from skill_health.router.plan.orders import presentation
from skill_health.router.records import NONE, Catalogue, ListedSkill, Prompt, RoutingRequest, RoutingResult
from skill_health.router.routers._load import open_choice, resolve
from skill_health.router.run.outcome import read_attempt, to_kept, to_result
from skill_health.router.scores.failures import failures
from skill_health.router.scores.judge import RunScores, judge, read_facts
from skill_health.router.scores.metrics import measure
from skill_health.router.scores.models import calibration, compare_models
from skill_health.router.scores.position import position, positions, stability
from skill_health.router.scores.skills import pairs, skills
from skill_health.stats.hypothesis_tests import group_permutation_test
from skill_health.stats.multiplicity import benjamini_hochberg

NAMES = tuple(f"skill-{n}" for n in range(8))
MODEL = "maker:one"

# A prompt is easy or hard, as often the one as the other; null ones are a quarter of all.
KNOWS, REJECTS, NULL = (0.95, 0.45), (0.9, 0.6), 0.25
# What happens where the right skill is not found.
FAILS, ABSTAINS, CONFUSES = 0.2, 0.2, 0.6
# A right answer names the neighbour second in half of the cases; half of the prompts accept it, the others reject it.
SECOND = 0.5
CONFIDENCE = 0.8

RIGHT, WRONG = sum(KNOWS) / 2, 1 - sum(KNOWS) / 2
SILENT = sum(REJECTS) / 2
_DISCOUNT = 1 / math.log2(3)
TRUTH = {
    "top1": (1 - NULL) * RIGHT + NULL * SILENT,
    "top1_skill": RIGHT,
    "top3": (1 - NULL) * (RIGHT + WRONG * CONFUSES) + NULL * SILENT,
    "acceptable": (1 - NULL) * (RIGHT + WRONG * CONFUSES / 2) + NULL * SILENT,
    "mrr": (1 - NULL) * (RIGHT + WRONG * CONFUSES / 2) + NULL * SILENT,
    "ndcg3": NULL * SILENT
    + (1 - NULL)
    / 2
    * (
        RIGHT
        + WRONG * CONFUSES * _DISCOUNT
        + RIGHT * (SECOND + (1 - SECOND) * 2 / (2 + _DISCOUNT))
        + WRONG * CONFUSES * (1 + 2 * _DISCOUNT) / (2 + _DISCOUNT)
    ),
    "abstention_precision": NULL * SILENT / (NULL * SILENT + (1 - NULL) * WRONG * ABSTAINS),
    "abstention_recall": SILENT,
    "abstention_f1": 2 * NULL * SILENT / (NULL * SILENT + (1 - NULL) * WRONG * ABSTAINS + NULL),
    "false_fire": 1 - SILENT,
    "false_abstention": WRONG * ABSTAINS,
    "rejected_at_1": WRONG * CONFUSES,
    "rejected_at_3": WRONG * CONFUSES + RIGHT * SECOND,
    "steals": (1 - NULL) * WRONG * CONFUSES / 2 + NULL * (1 - SILENT),
}


def neighbour(name: str) -> str:
    return NAMES[(NAMES.index(name) + 1) % len(NAMES)]


def drawn_prompts(rng: random.Random, count: int) -> list[Prompt]:
    """Prompts of random difficulty, which stands in their tags; as many of each kind as the probabilities say."""
    found = []
    for number in range(count):
        expected = None if number % 4 == 0 else NAMES[number % len(NAMES)]
        label: dict[str, Any] = {}
        if expected:
            label = {"acceptable" if number // 8 % 2 else "rejected": (neighbour(expected),)}
        found.append(prompt(f"p{number:03}", expected, tags=(rng.choice(["easy", "hard"]),), **label))
    return found


def answer(rng: random.Random, asked: Prompt, order: tuple[str, ...]) -> Sequence[str]:
    hard = "hard" in asked.tags
    if asked.expected is None:
        return [NONE] if rng.random() < REJECTS[hard] else [rng.choice(NAMES)]
    if rng.random() < KNOWS[hard]:
        return [asked.expected, *([neighbour(asked.expected)] if rng.random() < SECOND else [])]
    left = rng.random()
    if left < FAILS:
        return []
    return [NONE] if left < FAILS + ABSTAINS else [neighbour(asked.expected), asked.expected]


def sweep(seed: int, count: int = 96, replications: int = 3) -> RunScores:
    rng = random.Random(seed)
    given = manifest(drawn_prompts(rng, count), (MODEL,), NAMES, replications, seed=seed)
    results = simulate(given, {MODEL: answer}, seed, lambda rng, right: CONFIDENCE)
    return judge(read_facts(frozen(given)), results)


@pytest.fixture(scope="module", params=repeated(8, 40))
def sweeps(request: pytest.FixtureRequest) -> list[RunScores]:
    return [sweep(seed) for seed in range(request.param)]


def most_of(tries: int) -> int:
    """How many intervals at 95 % hold the truth at least: of 40, fewer than 34 do in 1 of 300 cases."""
    return int(0.85 * tries)


def covered(number: Any, truth: float) -> bool:
    return number.low is not None and bool(number.low <= truth <= number.high)


def test_metrics_hold_the_truth_in_their_intervals(sweeps: list[RunScores]) -> None:
    hits: Counter[str] = Counter()
    for sheet in sweeps:
        found = measure(sheet.columns[0], sheet.facts)
        hits.update(key for key, truth in TRUTH.items() if covered(getattr(found, key), truth))
    assert set(hits) == set(TRUTH)
    assert min(hits.values()) >= most_of(len(sweeps)), hits
    assert sum(hits.values()) >= 0.93 * len(sweeps) * len(TRUTH), hits


def test_failures_stability_and_calibration_hold_the_truth(sweeps: list[RunScores]) -> None:
    flips = []
    for hard in (0, 1):
        wrong = 1 - KNOWS[hard]
        skill = 1 - sum(share**2 for share in (KNOWS[hard], wrong * FAILS, wrong * ABSTAINS, wrong * CONFUSES))
        null = 1 - REJECTS[hard] ** 2 - len(NAMES) * ((1 - REJECTS[hard]) / len(NAMES)) ** 2
        flips.append((1 - NULL) * skill + NULL * null)
    valid = 1 - (1 - NULL) * WRONG * FAILS
    right = TRUTH["top1"]
    truth = {
        "failures": (1 - NULL) * WRONG * FAILS,
        "flips": sum(flips) / 2,
        "brier": (right * (1 - CONFIDENCE) ** 2 + (valid - right) * CONFIDENCE**2) / valid,
    }
    hits: Counter[str] = Counter()
    for sheet in sweeps:
        column, facts = sheet.columns[0], sheet.facts
        found = {
            "failures": failures(column, facts).after_retry.rate,
            "flips": stability(column).flip_rate,
            "brier": calibration(column, facts).brier,
        }
        hits.update(key for key in truth if covered(found[key], truth[key]))
        assert calibration(column, facts).ece.value == pytest.approx(abs(CONFIDENCE - right / valid), abs=0.12)
    assert min(hits[key] for key in truth) >= most_of(len(sweeps)), hits


def test_skills_and_confusions_hold_the_truth(sweeps: list[RunScores]) -> None:
    recalls = confusions = tried = 0
    for sheet in sweeps:
        confused = {(pair.expected, pair.picked): pair.rate for pair in pairs(sheet)}
        for skill in skills(sheet):
            if skill.prompts:
                tried += 1
                recalls += covered(skill.recall, RIGHT)
                rate = confused.get((skill.name, neighbour(skill.name)))
                confusions += rate is not None and covered(rate, WRONG * CONFUSES)
    assert tried == len(sweeps) * 6
    # 12 prompts a skill: right on average over the skills, not for each.
    assert recalls / tried >= 0.92 and confusions / tried >= 0.9, (recalls, confusions, tried)


@pytest.mark.parametrize("tries", repeated(12, 60))
@pytest.mark.parametrize("bias", [0.0, 0.15])
def test_position_bias_is_found_where_it_is(bias: float, tries: int) -> None:
    def biased(rng: random.Random, asked: Prompt, order: tuple[str, ...]) -> Sequence[str]:
        return [order[0]] if rng.random() < bias else answer(rng, asked, order)

    found = 0
    for seed in range(tries):
        given = manifest(drawn_prompts(random.Random(seed), 60), (MODEL,), NAMES, 3, seed=seed)
        sheet = judge(read_facts(frozen(given)), simulate(given, {MODEL: biased}, seed))
        tv = position(sheet.columns[0], sheet.facts, positions(sheet)).tv
        found += tv.p < 0.05
    # 60 tests at 5 %: more than 7 in 1 of 100 cases.
    assert found >= 0.75 * tries if bias else found <= max(2, 7 * tries // 60), found


@pytest.mark.parametrize("tries", repeated(8, 40))
def test_the_slope_by_place_is_recovered(tries: int) -> None:
    slope, hits = -0.25, 0

    def fading(rng: random.Random, asked: Prompt, order: tuple[str, ...]) -> Sequence[str]:
        place = order.index(asked.expected or "") + 1
        chance = 1 / (1 + math.exp(-(1.5 + slope * place)))
        return [asked.expected or ""] if rng.random() < chance else [neighbour(asked.expected or "")]

    for seed in range(tries):
        given = manifest([prompt(f"p{n}", NAMES[n % 8]) for n in range(80)], (MODEL,), NAMES, 3, seed=seed)
        sheet = judge(read_facts(frozen(given)), simulate(given, {MODEL: fading}, seed))
        hits += covered(position(sheet.columns[0], sheet.facts, positions(sheet)).slope, slope)
    assert hits >= most_of(tries), hits


def compared(seed: int, chances: Sequence[float], count: int = 50) -> RunScores:
    """Models that find the same prompts hard, and are right with these chances on average."""
    rng = random.Random(seed)
    prompts = [prompt(f"p{n}", "alpha") for n in range(count)]
    ease = {each.prompt_id: rng.choice([0.25, 0.0, -0.25]) for each in prompts}
    names = [f"maker:{n}" for n in range(len(chances))]
    given = manifest(prompts, names, replications=3)
    answers = {
        name: lambda rng, asked, order, chance=chance: ["alpha" if rng.random() < chance + ease[asked.prompt_id] else "beta"]
        for name, chance in zip(names, chances, strict=True)
    }  # fmt: skip
    return judge(read_facts(frozen(given)), simulate(given, answers, seed))


@pytest.mark.parametrize(
    ("models", "tries"),
    [
        pytest.param(models, *tries.values, marks=tries.marks)
        for models, few, many in ((2, 30, 300), (4, 6, 60))
        for tries in repeated(few, many)
    ],
)
def test_models_of_equal_skill_do_not_differ(models: int, tries: int) -> None:
    wrong = 0
    for seed in range(tries):
        found = compare_models(compared(seed, [0.7] * models))
        wrong += any((pair.difference.p_adjusted or 1) < 0.05 for pair in found)
    assert wrong <= max(1, 0.07 * tries), wrong


@pytest.mark.parametrize("tries", repeated(8, 40))
def test_differences_of_models_are_recovered_and_found(tries: int) -> None:
    hits = found = 0
    for seed in range(tries):
        (pair,) = compare_models(compared(seed, [0.7, 0.55]))
        hits += covered(pair.difference, 0.15)
        found += pair.difference.p_adjusted < 0.05
    # 80 % power were to be had at 9 points in the best case, which this is not.
    assert hits >= most_of(tries) and found >= 0.7 * tries, (hits, found)


@pytest.mark.parametrize("tries", repeated(10, 100))
def test_groups_without_difference_are_left_alone_and_one_with_is_found(tries: int) -> None:
    wrong = found = 0
    for seed in range(tries):
        rng = random.Random(seed)
        groups = [f"s{n % 10}" for n in range(100)]
        values = [rng.choice([0, 1 / 3, 2 / 3, 1, 1]) for _ in groups]
        none = benjamini_hochberg(list(group_permutation_test(values, groups, 2_000, seed).values()))
        wrong += min(q or 1 for q in none) < 0.05
        low = [value / 4 if group == "s3" else value for value, group in zip(values, groups, strict=True)]
        ps = group_permutation_test(low, groups, 2_000, seed)
        found += dict(zip(ps, benjamini_hochberg(list(ps.values())), strict=True))["s3"] < 0.05
    assert wrong <= 0.09 * tries and found >= 0.8 * tries, (wrong, found)


def scripted(
    script: str, seed: int, count: int = 150, replications: int = 3
) -> tuple[dict[str, Any], list[RoutingResult]]:
    """A run of the scripted router, its answers read as those of any model."""
    prompts = [prompt(f"p{n:03}", None if n % 4 == 0 else NAMES[n % 8]) for n in range(count)]
    listed = tuple(ListedSkill(name, f"Does {name}.") for name in NAMES)
    spec = f"scripted:{script},seed={seed},difficulty={seed}"
    router = open_choice(resolve(spec, RouterSettings()), Catalogue(listed), seed=seed)
    by_name = {skill.name: skill for skill in listed}

    async def ask() -> list[RoutingResult]:
        found = []
        for each in prompts:
            for replication in range(replications):
                order = presentation(NAMES, each.prompt_id, spec, replication, seed)
                attempts = []
                while not attempts or (len(attempts) < 2 and attempts[-1].outcome == "format_failure"):
                    request = RoutingRequest(
                        each, replication, tuple(by_name[n] for n in order), "text", None, len(attempts) + 1
                    )
                    attempts.append(read_attempt(to_kept(await router.ask(request), None), NAMES, True))
                found.append(to_result(each, spec, replication, order, attempts))
        return found

    given = manifest(prompts, [{"spec": spec, "kind": "simulated"}], NAMES, replications, seed=seed)
    return given, asyncio.run(ask())


@pytest.mark.parametrize("tries", repeated(2, 12))
def test_the_scripted_router_is_recovered(tries: int) -> None:
    script = (
        "skill=0.8,spread=0.4,reject=0.9,abstain=0.1,bias=0.2,malformed=0.05,error=0.02,confusion=skill-1>skill-2@0.4"
    )
    failed, asked = 0.05**2, 0.9  # a second attempt is given to a broken answer; abstaining comes before all else
    fair = 0.2 / 8 + 0.8 * 0.8
    truth = {
        "abstention_recall": (1 - failed) * 0.9,
        "false_abstention": (1 - failed) * 0.1,
        "other skills": (1 - failed) * asked * fair,
        "skill-1": (1 - failed) * asked * (0.2 / 8 + 0.8 * 0.6 * 0.8),
        "first attempt": 0.05 / 0.98,
    }
    hits: Counter[str] = Counter()
    for seed in range(tries):
        given, results = scripted(script, seed)
        report = report_record(given, results)
        (model,) = report.models
        recalls = {skill.name: skill.recall for skill in report.skills}
        numbers = {
            "abstention_recall": model.metrics.abstention_recall,
            "false_abstention": model.metrics.false_abstention,
            "other skills": recalls["skill-6"],
            "skill-1": recalls["skill-1"],
            "first attempt": model.failures.first_attempt.rate,
        }
        hits.update(key for key, value in truth.items() if covered(numbers[key], value))
        assert model.position.tv.p < 0.01 and model.position.slope.low < 0
        assert report.pairs[0].expected == "skill-1" and report.pairs[0].picked == "skill-2"
        assert 0.96 <= model.coverage.share <= 1
        assert any(note.startswith("Simulated") for note in report.notes)
    assert min(hits[key] for key in truth) >= 3 * tries // 4 and sum(hits.values()) >= 0.9 * tries * len(truth), hits


@pytest.mark.slow
def test_stated_probabilities_are_calibrated_and_others_are_not() -> None:
    for text, low, high in (("calibrated=1", 0.0, 0.06), ("confidence=0.99", 0.15, 0.5)):
        given, results = scripted(f"skill=0.7,noise=0.1,{text}", 3, 300)
        (model,) = report_record(given, results).models
        assert low <= model.calibration.ece.value <= high
