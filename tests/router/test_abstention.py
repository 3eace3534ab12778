"""When a free router says that no skill applies: which threshold is chosen, on whom, and without whom."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.router.lexicon import abstention
from skill_health.router.lexicon.abstention import FEWEST, AbstentionCriterion, ScoredPrompt, best_cut, choose, fold_of
from skill_health.router.records import NONE, Prompt

Ranked = list[tuple[str, float]]


def prompts(*labels: tuple[str, str | None], split: str = "train") -> tuple[Prompt, ...]:
    return tuple(Prompt(f"p{n}", text, expected, split=split) for n, (text, expected) in enumerate(labels))


MANY = [(f"asks {n}", "one") for n in range(FEWEST)]
NULLS = [(f"chats {n}", None) for n in range(FEWEST)]
NOTES: list[tuple[str, tuple[Prompt, ...], str]] = [
    ("no prompts", (), abstention.NO_TRAIN),
    ("only answerable ones", prompts(("a", "one")), abstention.NO_NULL),
    ("only null ones", prompts(("a", None)), abstention.ONLY_NULL),
    ("labels that say nothing", (Prompt("p", "a", None, known=False),), abstention.NO_TRAIN),
    ("a skill that is not listed", prompts(("a", "gone"), ("b", None)), abstention.ONLY_NULL),
    ("too few nulls without a split", prompts(*MANY, *NULLS[1:], split=""), abstention.TOO_FEW),
    ("too few others without a split", prompts(*MANY[1:], *NULLS, split=""), abstention.TOO_FEW),
]


@pytest.mark.parametrize(("train", "note"), [case[1:] for case in NOTES], ids=[case[0] for case in NOTES])
def test_where_there_is_nothing_to_choose_from_the_router_keeps_its_default(
    train: tuple[Prompt, ...], note: str
) -> None:
    found = choose(lambda text: [("one", 0.5)], train, {"one"})
    assert (found.value, found.note, found.right, found.at("a")) == (None, note, None, 0.0)
    found = choose(lambda text: [("one", 0.5)], train, {"one"}, default=0.25)
    assert (found.value, found.note, found.at("a")) == (0.25, abstention.DEFAULT, 0.25)


SCORED = st.lists(
    st.builds(ScoredPrompt, st.booleans(), st.booleans(), st.integers(0, 6).map(lambda step: step / 10)),
    min_size=2, max_size=14,
).filter(lambda scored: len({one.null for one in scored}) == 2)  # fmt: skip


def answered(scored: Sequence[ScoredPrompt], cut: float) -> tuple[float, float]:
    """The shares of nulls that a skill answers, and of the others that are answered right: as a router decides."""
    speaks = [one.score > 0 and one.score >= cut for one in scored]
    fires = [spoken for one, spoken in zip(scored, speaks, strict=True) if one.null]
    right = [spoken and one.right for one, spoken in zip(scored, speaks, strict=True) if not one.null]
    return sum(fires) / len(fires), sum(right) / len(right)


@given(SCORED, st.booleans())
def test_the_threshold_is_the_lowest_of_the_best(scored: list[ScoredPrompt], balanced: bool) -> None:
    scored = [ScoredPrompt(one.null, one.right and one.score > 0, one.score) for one in scored]
    nulls = sum(one.null for one in scored)

    def gain(cut: float) -> float:
        fires, right = answered(scored, cut)
        return round(right - fires if balanced else right * (len(scored) - nulls) - fires * nulls, 9)

    grid = [step / 20 for step in range(16)]
    found = best_cut(scored, AbstentionCriterion(balanced=balanced))
    assert gain(found) == max(map(gain, grid))
    below = max((one.score for one in scored if one.score < found), default=-1)
    assert all(gain(cut) < gain(found) for cut in grid if cut <= below)


@given(SCORED, st.sampled_from((0.0, 0.2, 0.5, 0.9)))
def test_a_declared_limit_is_kept_by_the_lowest_threshold_that_does(scored: list[ScoredPrompt], limit: float) -> None:
    found = best_cut(scored, AbstentionCriterion(limit))
    assert answered(scored, found)[0] <= limit
    lower = [step / 20 for step in range(16) if step / 20 < found]
    highest_below = max((one.score for one in scored if one.score < found), default=-1)
    assert all(answered(scored, cut)[0] > limit for cut in lower if cut <= highest_below)


def noisy(seed: int, count: int) -> tuple[Callable[[str], Ranked], tuple[Prompt, ...]]:
    """A router whose scores say nothing of the label, and prompts of which half expect no skill."""
    rng = random.Random(seed)
    scores = {f"text {n}": rng.random() for n in range(count)}
    asked = tuple(Prompt(f"p{n}", f"text {n}", "one" if n % 2 else None) for n in range(count))
    return lambda text: [("one", scores[text])], asked


def test_no_prompt_has_a_say_in_its_own_answer() -> None:
    """Turning the label of one prompt round moves the threshold of others, and never its own."""
    rank, asked = noisy(1, 60)
    before = choose(rank, asked, {"one"})
    assert before.note == abstention.CROSS_FITTED and set(before.by_text) == {prompt.text for prompt in asked}
    moved = 0
    for nth, prompt in enumerate(asked):
        turned = Prompt(prompt.prompt_id, prompt.text, None if prompt.expected else "one")
        after = choose(rank, (*asked[:nth], turned, *asked[nth + 1 :]), {"one"})
        assert after.at(prompt.text) == before.at(prompt.text)
        moved += any(after.at(other.text) != before.at(other.text) for other in asked)
    assert moved


@pytest.mark.slow
def test_cross_fitting_does_not_flatter_a_router_that_knows_nothing() -> None:
    """Over many runs the balanced accuracy of noise is one half; chosen on the same prompts it would be more."""
    fitted, flattered = [], []
    for seed in range(300):
        rank, asked = noisy(seed, 40)
        found = choose(rank, asked, {"one"}, AbstentionCriterion(balanced=True))
        scored = [(prompt, rank(prompt.text)[0][1]) for prompt in asked]
        own = [(score >= found.at(prompt.text)) == (prompt.target != NONE) for prompt, score in scored]
        same = [(score >= (found.value or 0.0)) == (prompt.target != NONE) for prompt, score in scored]
        fitted.append(sum(own) / len(own))
        flattered.append(sum(same) / len(same))
    assert abs(sum(fitted) / len(fitted) - 0.5) < 0.02
    assert sum(flattered) / len(flattered) > 0.55


def test_a_family_is_in_one_fold_and_the_order_of_prompts_is_nothing() -> None:
    rank, asked = noisy(2, 50)
    assert choose(rank, asked[::-1], {"one"}) == choose(rank, asked, {"one"})
    family = [Prompt(f"f{n}", f"paraphrase {n}", "one", family="same") for n in range(20)]
    assert len({fold_of(prompt) for prompt in family}) == 1
    assert len({fold_of(prompt) for prompt in asked}) == abstention.FOLDS
    assert fold_of(Prompt("a", " Two  Words", None)) == fold_of(Prompt("b", "two words", "one"))


def test_the_train_prompts_choose_for_all_others() -> None:
    scores = {"a": 0.9, "b": 0.8, "c": 0.1}
    train = prompts(("a", "one"), ("b", "one"), ("c", None))
    found = choose(lambda text: [("one", scores[text])], train, {"one"})
    assert (found.value, found.note, found.right, found.by_text) == (0.45, abstention.CHOSEN, 3, {})
    assert found.at("never seen") == 0.45
    assert found.describe()["train_nulls"] == 1


MANIFEST = {
    "threshold": 0.5, "threshold_note": "why", "train_prompts": 4, "train_nulls": 3, "train_right": 2,
}  # fmt: skip
DESCRIBED: list[tuple[dict[str, float], dict[str, list[float]]]] = [
    ({}, {}),
    ({"a": 0.3}, {"thresholds": [0.3]}),
    ({"a": 0.3, "b": 0.1, "c": 0.3}, {"thresholds": [0.1, 0.3]}),
]


@pytest.mark.parametrize(("by_text", "more"), DESCRIBED)
def test_a_manifest_has_the_thresholds_of_single_prompts_where_there_are_any(
    by_text: dict[str, float], more: dict[str, list[float]]
) -> None:
    assert abstention.Threshold(0.5, "why", 4, 3, 2, by_text).describe() == MANIFEST | more


@pytest.mark.parametrize(("value", "by_text", "at"), [
    (0.5, {"a": 0.3}, 0.3), (0.5, {"a": 0.0}, 0.0), (0.5, {"b": 0.3}, 0.5), (None, {}, 0.0), (None, {"a": 0.3}, 0.3),
])  # fmt: skip
def test_a_prompt_has_its_own_threshold_else_that_of_all(
    value: float | None, by_text: dict[str, float], at: float
) -> None:
    assert abstention.Threshold(value, "why", by_text=by_text).at("a") == at


@pytest.mark.parametrize(("nulls", "others", "unknown", "enough"), [
    (FEWEST, FEWEST, 0, True), (FEWEST - 1, FEWEST, 0, False), (FEWEST, FEWEST - 1, 0, False),
    (FEWEST + 1, FEWEST + 1, 0, True), (FEWEST, FEWEST - 1, 1, False), (2 * FEWEST, FEWEST - 1, 0, False),
])  # fmt: skip
def test_a_threshold_is_cross_fitted_where_there_are_enough_prompts_of_both_kinds(
    nulls: int, others: int, unknown: int, enough: bool
) -> None:
    kinds: list[tuple[str | None, bool]] = [(None, True)] * nulls + [("one", True)] * others + [(None, False)] * unknown
    asked = [Prompt(f"p{n}", f"text {n}", expected, known=known) for n, (expected, known) in enumerate(kinds)]
    assert abstention.can_cross_fit(asked) == enough
