"""Known effects, planted through the scripted agent: the right verdicts at the declared rates (docs/statistics.md).

Runs are like those of the fixtures: 15 tasks with a target and 5 negative controls, six conditions, three replications.
All are drawn from seeds, so that a test passes always or never.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from effects_made import MODEL, fixture_like, manifest, reported, scripted, task

from skill_health.effectiveness.effects import contrasts
from skill_health.effectiveness.records import CONDITIONS
from skill_health.stats.estimates import Estimate

RUNS, FEW = 200, 5
ANY_TEXT_HELPS = "any text helps"
ANY_TEXT = "base=0.35,target={0},negative={0},placebo={0}"
BIASED = "negative={0},control_full={0},control_negative={0}"


@dataclass(frozen=True)
class Planted:
    """What is planted, the verdict that is right, how often it is given at least, and how often others at most."""

    script: str
    word: str
    right: float
    wrong: float = 0.05
    wrongly: tuple[str, ...] = ("harmful",)


EFFECTS = {
    "helps, +30 pp": Planted("base=0.35,target=0.3", "helps", 0.45),
    "helps, +40 pp": Planted("base=0.35,target=0.4", "helps", 0.85),
    "helps, tasks of unequal difficulty": Planted("base=0.35,target=0.3,spread=2.5", "helps", 0.60),
    "any text, +20 pp": Planted(ANY_TEXT.format(0.2), ANY_TEXT_HELPS, 0.15, wrongly=("helps", "harmful")),
    "any text, +30 pp": Planted(ANY_TEXT.format(0.3), ANY_TEXT_HELPS, 0.50, wrongly=("helps", "harmful")),
    "any text, +40 pp": Planted(ANY_TEXT.format(0.4), ANY_TEXT_HELPS, 0.80, wrongly=("helps", "harmful")),
    "harms, -30 pp": Planted("base=0.65,target=-0.3", "harmful", 0.70, wrongly=("helps",)),
    "no effect": Planted("base=0.35,target=0", "no evidence", 0.80, wrongly=("helps", "harmful")),
    "no effect, tasks of unequal difficulty": Planted(
        "base=0.5,target=0,spread=2.5", "no evidence", 0.60, wrongly=("helps", "harmful")
    ),
    "biased by -30 pp": Planted(f"base=0.65,target=0,{BIASED.format(-0.3)}", "biased", 0.80, 1.0),
    "biased by +40 pp": Planted(f"base=0.35,target=0,{BIASED.format(0.4)}", "biased", 0.95, 1.0),
    "ceiling": Planted("base=0.98,target=0.02", "not testable", 0.97, 0.0, ("helps", "harmful", "no evidence")),
}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Below 30 tasks no verdict depends on the bootstrap, and none ever on what trials use."""
    monkeypatch.setattr(contrasts, "RESAMPLES", 20)
    monkeypatch.setattr(contrasts, "_change", lambda both, measure: Estimate(None))


def words(script: str, runs: int) -> Counter[str]:
    """The verdicts on the collection over so many runs, each with tasks and draws of its own."""
    given = manifest(fixture_like(15, 5, 1), (*CONDITIONS, "placebo"))
    found: Counter[str] = Counter()
    for seed in range(1, runs + 1):
        (model,) = reported(given, scripted(given, script, seed))["models"]
        found[model["verdict"]["word"]] += 1
    return found


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", EFFECTS)
def test_the_right_verdict_at_the_declared_rate(name: str) -> None:
    planted = EFFECTS[name]
    found = words(planted.script, RUNS)
    assert found[planted.word] >= planted.right * RUNS, found
    assert sum(found[word] for word in planted.wrongly) <= planted.wrong * RUNS, found
    if planted.word not in ("biased", ANY_TEXT_HELPS):
        assert found["biased"] <= 0.05 * RUNS, found


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["helps, +40 pp", "no effect", "harms, -30 pp", "any text, +40 pp", "biased by +40 pp", "ceiling"]
)
def test_the_right_verdict_nearly_always(name: str) -> None:
    found = words(EFFECTS[name].script, FEW)
    assert found.most_common(1)[0][0] == EFFECTS[name].word and found[EFFECTS[name].word] >= 0.6 * FEW, found


def reports(script: str, runs: int, models: int) -> Iterator[list[str]]:
    """The verdicts of all models and skills of each run; 5 skills with 8 tasks each."""
    names = [f"{MODEL}:{n}" for n in range(models)]
    given = manifest([task(f"{n:03}", f"skill-{n % 5}") for n in range(40)], ("control", "target", "placebo"), names)
    for seed in range(1, runs + 1):
        results = [each for at, name in enumerate(names) for each in scripted(given, script, 10 * seed + at, name)]
        found = reported(given, results)["models"]
        yield [skill["verdict"]["word"] for model in found for skill in model["skills"]]


@pytest.mark.parametrize(
    "runs", [pytest.param(RUNS, marks=pytest.mark.exhaustive), pytest.param(2, marks=pytest.mark.slow)]
)
def test_no_skill_is_found_among_many_that_do_nothing(runs: int) -> None:
    wrong = sum({"helps", "harmful"} & set(found) != set() for found in reports("base=0.5,target=0", runs, 3))
    assert wrong <= 0.05 * runs


@pytest.mark.parametrize(
    "runs", [pytest.param(60, marks=pytest.mark.exhaustive), pytest.param(4, marks=pytest.mark.slow)]
)
def test_a_skill_that_helps_is_found_among_others_that_do_not(runs: int) -> None:
    script = "base=0.2,target=0,spread=0.5,skill.skill-2=0.75"
    found = list(reports(script, runs, 1))
    assert sum(words[2] == "helps" for words in found) >= 0.75 * runs
    assert sum("helps" in [*words[:2], *words[3:]] for words in found) <= 0.05 * runs
