"""Planted synergy, conflict and redundancy of two skills, through the scripted agent: found at the declared rates.

40 tasks for both skills, three replications, both orders of listing. All is drawn from seeds, so that a test passes
always or never. docs/statistics.md has the rates over more settings.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from effects_made import manifest, scripted, task, typed
from pairs_made import CELLS, FIRST, SECOND, SWAPPED, counted, pair_manifest

from skill_health.documents.effect_composition import PairComposition
from skill_health.effectiveness.effects import contrasts
from skill_health.effectiveness.effects.composition import compositions
from skill_health.effectiveness.effects.sheet import read_facts, read_sheet

TASKS, RUNS, FEW = 40, 60, 3
SKILLS = f"skill.{FIRST}={{0}},skill.{SECOND}={{1}}"
PAIR, ORDER = f",pair.{FIRST}+{SECOND}={{0}}", f",order.{FIRST}+{SECOND}={{0}}"
DECIDED = ("synergistic", "conflicting", "redundant")


@dataclass(frozen=True)
class PlantedPair:
    """What is planted, and the verdict that is right ("" for none of DECIDED)."""

    script: str
    word: str = ""


PAIRS = {
    "synergy": PlantedPair(f"base=0.3,{SKILLS.format(0.1, 0.1)}{PAIR.format(0.3)}", "synergistic"),
    "synergy of skills that do nothing alone": PlantedPair(
        f"base=0.35,{SKILLS.format(0, 0)}{PAIR.format(0.3)}", "synergistic"
    ),
    "conflict": PlantedPair(f"base=0.3,{SKILLS.format(0.3, 0.3)}{PAIR.format(-0.6)}", "conflicting"),
    "one undoes the other": PlantedPair(f"base=0.35,{SKILLS.format(0.3, 0)}{PAIR.format(-0.3)}", "conflicting"),
    "redundancy": PlantedPair(f"base=0.3,{SKILLS.format(0.45, 0.45)}{PAIR.format(-0.45)}", "redundant"),
    "effects that add up": PlantedPair(f"base=0.3,{SKILLS.format(0.2, 0.2)}"),
    "no effect": PlantedPair(f"base=0.4,{SKILLS.format(0, 0)}"),
    "one of them helps": PlantedPair(f"base=0.4,{SKILLS.format(0.3, 0)}"),
    "one of them harms": PlantedPair(f"base=0.6,{SKILLS.format(0.2, -0.3)}"),
    "failures saved independently": PlantedPair(f"base=0.35,{SKILLS.format(0.4, 0.4)}{PAIR.format(-0.246)}"),
}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ends of an interval are known well enough by a few hundred resamples."""
    monkeypatch.setattr(contrasts, "RESAMPLES", 400)


def found(planted: PlantedPair, seed: int) -> PairComposition:
    """The pair in one run, with tasks and draws of its own."""
    tasks = [task(f"{n:03}", "") | {"target_skill": [FIRST, SECOND]} for n in range(TASKS)]
    made = manifest(tasks, (*CELLS, SWAPPED))
    sheet = read_sheet(read_facts(typed(made)), scripted(made, planted.script, seed))
    (pair,) = compositions(sheet, (), {})["scripted"]
    return pair


def words(planted: PlantedPair, runs: int) -> Counter[str]:
    return Counter(found(planted, seed).verdict.word for seed in range(1, runs + 1))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", PAIRS)
def test_the_right_verdict_at_the_declared_rate(name: str) -> None:
    planted = PAIRS[name]
    counts = words(planted, RUNS)
    assert counts[planted.word] >= (0.8 * RUNS if planted.word else 0), counts
    assert sum(counts[word] for word in DECIDED if word != planted.word) <= 0.05 * RUNS, counts


@pytest.mark.slow
@pytest.mark.parametrize("name", ["synergy", "conflict", "redundancy"])
def test_what_is_plain_is_found_each_time(name: str) -> None:
    assert words(PAIRS[name], FEW) == {PAIRS[name].word: FEW}


@pytest.mark.slow
def test_planted_orders_are_found() -> None:
    planted = PlantedPair(f"base=0.35,{SKILLS.format(0.1, 0.1)}{ORDER.format(0.4)}")
    for seed in (1, 2):
        order = found(planted, seed).order
        assert order is not None and order.value is not None and order.value > 0.2 and (order.p_adjusted or 1) < 0.05
    none = [found(PAIRS["no effect"], seed).order for seed in (1, 2)]
    assert all(each is not None and each.p_adjusted is not None and each.p_adjusted > 0.05 for each in none)


def interaction(rows: Any, of: int) -> PairComposition:
    sheet = read_sheet(read_facts(typed(pair_manifest(len(rows), replications=of))), counted(rows, of))
    (pair,) = compositions(sheet, (), {})["scripted"]
    return pair


@pytest.mark.parametrize(
    "times", [pytest.param(200, marks=pytest.mark.exhaustive), pytest.param(20, marks=pytest.mark.slow)]
)
def test_the_interval_of_the_interaction_contains_the_truth(times: int) -> None:
    """20 tasks of unequal difficulty with three trials in each arm: an interaction of 20 points."""
    rng = np.random.default_rng(7)
    held = runs = 0
    for _ in range(times):
        hard = rng.uniform(-0.15, 0.15, 20)[:, None]
        rows = rng.binomial(3, np.clip(np.array([0.3, 0.4, 0.4, 0.7]) + hard, 0, 1)).tolist()
        figure = interaction(rows, 3).interaction
        runs += figure.low is not None
        held += figure.low is not None and figure.high is not None and figure.low <= 0.2 <= figure.high
    assert runs > 0.9 * times and 0.9 * runs <= held <= (0.99 * runs if times > 20 else runs)
