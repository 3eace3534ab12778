"""Presentation orders: the published vectors, balance, and that nothing but seed, prompt and replication matters."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.router.plan.orders import plan_seed, presentation, rotated, shuffled

CORPUS = (
    "advanced-evaluation bdi-mental-states context-compression context-degradation context-fundamentals "
    "context-optimization evaluation filesystem-context harness-engineering hosted-agents latent-briefing "
    "memory-systems multi-agent-patterns project-development tool-design"
).split()
# Seeds and orders as published with the plan's second run: the places of CORPUS in presentation order.
VECTORS = [
    ("p001", "composer-2", 0, 1462825660, [11, 3, 1, 10, 8, 9, 12, 0, 2, 7, 14, 13, 4, 6, 5]),
    ("p001", "claude-opus-4-7", 0, 2416519045, [5, 14, 8, 3, 13, 11, 10, 0, 1, 7, 4, 2, 6, 12, 9]),
    ("p050", "gpt-5.5", 2, 3902933707, [3, 4, 12, 13, 7, 5, 0, 6, 2, 10, 1, 14, 11, 9, 8]),
]
NAMES = st.lists(st.text(min_size=1, max_size=5), unique=True, max_size=12)


@pytest.mark.parametrize(("prompt", "model", "replication", "seed", "places"), VECTORS)
def test_the_published_shuffle(prompt: str, model: str, replication: int, seed: int, places: list[int]) -> None:
    assert plan_seed(prompt, model, replication, 1) == seed
    wanted = tuple(CORPUS[place] for place in places)
    assert presentation(CORPUS, prompt, model, replication, 1, "plan") == wanted == shuffled(CORPUS, seed)


@given(NAMES, st.text(max_size=5), st.integers(0, 50), st.integers(0, 9))
def test_every_order_holds_every_skill_once(names: list[str], prompt: str, replication: int, seed: int) -> None:
    for orders in ("cyclic", "plan"):
        found = presentation(names, prompt, "m", replication, seed, orders)  # type: ignore[arg-type]
        assert sorted(found) == sorted(names)


@given(NAMES.filter(lambda names: len(names) > 1), st.text(max_size=5), st.integers(0, 9), st.randoms())
def test_cyclic_is_a_latin_square_over_replications_in_any_order_of_files(
    names: list[str], prompt: str, seed: int, random: object
) -> None:
    mixed = list(names)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    rows = [rotated(names, prompt, replication, seed) for replication in range(len(names))]
    assert rows == [rotated(mixed, prompt, replication, seed) for replication in range(len(names))]
    for place in range(len(names)):
        assert len({row[place] for row in rows}) == len(names)


def test_models_see_the_same_order_and_seeds_different_ones() -> None:
    assert presentation(CORPUS, "p1", "a", 0, 1) == presentation(CORPUS, "p1", "b", 0, 1)
    assert len({presentation(CORPUS, "p1", "a", 0, seed) for seed in range(20)}) > 15
    assert len({presentation(CORPUS, f"p{n}", "a", 0, 1) for n in range(40)}) > 10


def test_positions_are_balanced_over_prompts() -> None:
    places = Counter(rotated(CORPUS, f"p{n}", r, 3).index("evaluation") for n in range(1000) for r in range(3))
    assert len(places) == 15
    expected = 3000 / 15
    chi = sum((places[place] - expected) ** 2 / expected for place in range(15))
    assert chi < 3 * 36.1  # the 0.1 % point of chi-square with 14 degrees; replications of a prompt are not independent
