"""Two skills alone and together: figures against other programs, verdicts, order, and what was declared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from effects_made import reported, trial, typed
from hypothesis import given, settings
from hypothesis import strategies as st
from pairs_made import BOTH, CELLS, FIRST, SAID, SECOND, SWAPPED, counted, pair_manifest
from scipy import stats

from skill_health.documents._record import encode_record
from skill_health.effectiveness.effects import contrasts
from skill_health.effectiveness.effects.build import build_report
from skill_health.effectiveness.effects.composition import compositions
from skill_health.effectiveness.effects.sheet import pair_arms, read_facts, read_sheet
from skill_health.effectiveness.workspace.staging import parse_arm


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few hundred resamples are enough where hardly any verdict hangs on an end of an interval."""
    monkeypatch.setattr(contrasts, "RESAMPLES", 300)


ROWS = [
    (1, 2, 1, 3), (0, 1, 0, 3), (2, 2, 3, 3), (1, 0, 1, 2), (0, 2, 2, 2), (1, 1, 1, 1), (2, 3, 1, 3), (0, 0, 1, 3),
    (1, 2, 2, 3), (3, 2, 3, 2), (0, 1, 1, 3), (1, 1, 2, 3),
]  # fmt: skip


def composed(rows: Sequence[Sequence[int]], of: int = 3, arms: Sequence[str] = CELLS, **more: Any) -> dict[str, Any]:
    """The one pair of a run whose tasks passed so often in each arm."""
    (model,) = reported(pair_manifest(len(rows), arms, replications=of, **more), counted(rows, of, arms))["models"]
    (pair,) = model["composition"]
    found: dict[str, Any] = pair
    return found


def test_figures_are_those_of_numpy_and_scipy() -> None:
    pair = composed(ROWS)
    none, one, other, both = np.array(ROWS).T / 3
    interaction = both - one - other + none
    assert (pair["tasks"], pair["differing"]) == (12, np.count_nonzero(np.abs(interaction) > 1e-9))
    assert pair["interaction"]["value"] == pytest.approx(interaction.mean(), rel=1e-5)
    exact = stats.permutation_test((interaction,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert pair["interaction"]["p"] == pytest.approx(exact.pvalue, rel=1e-5)
    plain = stats.ttest_1samp(interaction, 0).confidence_interval()
    squares = ((interaction - interaction.mean()) ** 2).sum()
    values, counts = np.unique(interaction.round(9), return_counts=True)
    away = [interaction[np.abs(interaction - v) > 1e-9] - v for v in values[counts == counts.max()]]
    wider = np.sqrt(1 + counts.max() / 12 * max((each**2).mean() for each in away) / squares)
    assert pair["interaction"]["high"] == pytest.approx(
        interaction.mean() + wider * (plain.high - interaction.mean()), rel=1e-4
    )
    effects = {name: each["value"] for name, each in pair["effects"].items()}
    means = {
        "first_alone": one - none, "second_alone": other - none, "over_first": both - one, "over_second": both - other,
        "main_first": (one - none + both - other) / 2, "main_second": (other - none + both - one) / 2,
    }  # fmt: skip
    assert effects == pytest.approx({name: each.mean() for name, each in means.items()}, abs=1e-6)
    saved = ((1 - one) * (1 - other) - (1 - none) * (1 - both)).mean()
    assert pair["independence"]["value"] == pytest.approx(saved, rel=1e-5)
    assert [pair["rates"][name]["value"] for name in ("control", "first", "second", "together")] == pytest.approx(
        [each.mean() for each in (none, one, other, both)], rel=1e-5
    )


def test_skills_that_save_failures_independently_have_no_departure_from_that() -> None:
    pair = composed([(20, 60, 50, 75)] * 12, of=100)
    assert pair["independence"]["value"] == pytest.approx(0, abs=1e-9)
    assert pair["interaction"]["value"] == pytest.approx(-0.15)


SPREAD = ((0, 0, 0, 1), (0, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (1, 0, 0, 0), (0, 0, 0, 0))


def around(row: Sequence[int], tasks: int) -> list[tuple[int, ...]]:
    """So many tasks that pass about so often of six trials, some once more in an arm."""
    return [tuple(a + b for a, b in zip(row, SPREAD[n % 6], strict=True)) for n in range(tasks)]


WORDS = {
    "synergistic": (around((1, 1, 2, 5), 12), "synergistic", "true"),
    "conflicting": (around((1, 4, 4, 1), 12), "conflicting", "contradicted"),
    "one conflicts with the other": (around((1, 4, 1, 1), 12), "conflicting", "contradicted"),
    "redundant": (around((1, 4, 4, 4), 40), "redundant", "contradicted"),
    "redundant, too few to say": (around((1, 4, 4, 4), 8), "inconclusive", "not shown"),
    "additive": (around((1, 2, 2, 3), 120), "additive", "true"),
    "additive, too few to say": (around((1, 2, 2, 3), 12), "inconclusive", "true"),
    "nothing": (around((2, 2, 2, 2), 12), "inconclusive", "not shown"),
    "harmful alone": (around((4, 5, 2, 3), 12), "inconclusive", "not shown"),
    "five tasks": ([(0, 0, 0, 6)] * 5, "not testable", "not testable"),
    "no task": ([], "not testable", "not testable"),
    "ceiling": ([(3, 6, 6, 6)] * 40, "not testable", "not testable"),
    "ceiling without skills": ([(6, 6, 6, 6)] * 40, "not testable", "not testable"),
    "worse from the ceiling": ([(6, 6, 6, 1)] * 12, "conflicting", "contradicted"),
    "floor": ([(0, 0, 0, 0)] * 40, "not testable", "not testable"),
}


@pytest.mark.parametrize("name", WORDS)
def test_verdicts(name: str) -> None:
    rows, word, truth = WORDS[name]
    if not rows:
        given_ = pair_manifest(4, replications=6)
        (model,) = reported(given_, [trial("000", "control", 0, True)])["models"]
        pair = model["composition"][0]
    else:
        pair = composed(rows, of=6)
    assert (pair["verdict"]["word"], pair["truth"]) == (word, truth), pair["verdict"]
    assert pair["verdict"]["reason"]


def test_what_near_the_ceiling_cannot_add_up_is_not_redundant() -> None:
    pair = composed(around((1, 4, 4, 5), 40), of=6)
    assert pair["interaction"]["high"] < 0 and pair["verdict"]["word"] != "redundant"
    assert any("Bliss" in note for note in pair["verdict"]["notes"])
    assert any("cannot be" in note for note in pair["verdict"]["notes"])


def test_the_order_of_listing_is_a_factor() -> None:
    arms = (*CELLS, SWAPPED)
    matters = composed([(*row, row[3]) for row in around((1, 2, 2, 4), 12)], of=6, arms=arms)
    assert matters["order"]["value"] == 0 and any("pooled" in note for note in matters["verdict"]["notes"])
    rows = [(*row, max(0, row[3] - 3)) for row in around((1, 2, 2, 5), 12)]
    matters = composed(rows, of=6, arms=arms)
    assert matters["order"]["p_adjusted"] < 0.05 and matters["order"]["value"] == pytest.approx(0.5)
    assert matters["rates"]["together"]["n"] == 2 * 12 * 6
    assert any(f"where {FIRST} is listed first" in note for note in matters["verdict"]["notes"])
    assert composed(around((1, 2, 2, 5), 12), of=6)["order"] is None


def test_a_task_without_one_of_the_cells_is_not_compared() -> None:
    results = [each for each in counted(ROWS) if not (each.task_id == "003" and each.arm == BOTH)]
    (model,) = reported(pair_manifest(len(ROWS)), results)["models"]
    (pair,) = model["composition"]
    assert (pair["tasks"], pair["missing"]) == (11, 3)


def test_a_biased_model_has_no_verdict_on_pairs() -> None:
    facts = read_facts(typed(pair_manifest(12)))
    sheet = read_sheet(facts, counted(around((1, 1, 2, 5), 12), of=3))
    (pair,) = compositions(sheet, (), {"scripted": ["everything gains"]})["scripted"]
    assert (pair.verdict.word, pair.verdict.reason) == ("not testable", "the run is biased: everything gains")
    assert pair.declared == () and pair.truth is None


def test_several_pairs_are_corrected_together() -> None:
    names = ["a", "b", "c", "d"]
    arms = ["control", *(f"subset:{each}" for each in names), "subset:a+b", "subset:c+d"]
    clear = around((0, 0, 0, 2), 12)
    rows = [(row[0], row[1], row[2], row[0], row[1], row[3], row[3]) for row in clear]
    given_ = pair_manifest(len(rows), arms, replications=6) | {"pairs": []}
    (model,) = reported(given_, counted(rows, 6, arms))["models"]
    assert [(each["first"], each["second"]) for each in model["composition"]] == [("a", "b"), ("c", "d")]
    alone = composed([row[:3] + row[5:6] for row in rows], of=6)
    assert alone["p_adjusted"] < model["composition"][0]["p_adjusted"] <= 2 * alone["p_adjusted"]
    assert not any("subset" in each["name"] for each in model["contrasts"])


@pytest.mark.parametrize(
    "arms",
    [
        ("control", f"subset:{FIRST}", BOTH),
        (f"subset:{FIRST}", f"subset:{SECOND}", BOTH),
        ("control", f"subset:{FIRST}", f"subset:{SECOND}", f"{BOTH}+hint"),
        ("control", "target"),
    ],
)
def test_without_all_four_cells_there_is_no_pair(arms: Sequence[str]) -> None:
    assert pair_arms({name: parse_arm(name) for name in arms}) == ()


def test_arms_with_the_hint_are_a_pair_of_their_own() -> None:
    names = [*CELLS, *(f"{name}+hint" for name in CELLS[1:])]
    found = pair_arms({name: parse_arm(name) for name in names})
    assert [(each.variant, each.together) for each in found] == [("", (BOTH,)), ("+hint", (f"{BOTH}+hint",))]


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 3)] * 4), min_size=1, max_size=9), st.randoms(use_true_random=False))
def test_neither_the_order_of_results_nor_the_names_matter(rows: list[tuple[int, ...]], chance: Any) -> None:
    results = counted(rows)
    made = typed(pair_manifest(len(rows)))
    whole = build_report(made, results)
    chance.shuffle(results)
    assert encode_record(build_report(made, results)) == encode_record(whole)
    (one,), swapped = whole.models[0].composition, composed([(a, c, b, d) for a, b, c, d in rows])
    other = reported(pair_manifest(len(rows)), counted(rows))["models"][0]["composition"][0]
    assert other["interaction"] == swapped["interaction"] and other["independence"] == swapped["independence"]
    assert other["effects"]["over_first"] == swapped["effects"]["over_second"]
    assert one.verdict.word == swapped["verdict"]["word"]


def test_what_was_declared_is_quoted() -> None:
    assert composed(around((1, 1, 2, 5), 12), of=6)["declared"] == [SAID]
    assert composed(around((1, 1, 2, 5), 12), of=6, declared=False)["truth"] is None
