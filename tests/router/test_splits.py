"""Train, validation and sealed test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import replace

from skill_health.core.errors import UsageError
from skill_health.router.records import NONE, Prompt
from skill_health.router.splits import SHARES, assign, near_pairs, spanning, split_table, with_families


def prompt(name: str, expected: str | None = "a", family: str = "", split: str = "", text: str = "") -> Prompt:
    return Prompt(name, text or f"text {name}", expected, family=family, split=split)


def where(prompts: Sequence[Prompt]) -> dict[str, str]:
    return {each.prompt_id: each.split for each in prompts}


def collection(classes: int, each: int) -> list[Prompt]:
    return [prompt(f"p{c}-{n}", f"skill-{c}" if c else None) for c in range(classes) for n in range(each)]


CLASSES, GROUPS = st.sampled_from([None, "a", "b", "c"]), st.sampled_from(["", "f", "g", "h"])
GIVEN = st.sampled_from(["", "", "", "train", "test", "dev"])
ANY = st.builds(prompt, st.integers(0, 10_000).map(str), CLASSES, GROUPS, GIVEN)
PROMPTS = st.lists(ANY, max_size=40, unique_by=lambda each: each.prompt_id)


@given(PROMPTS, st.integers(0, 99))
def test_everything_gets_a_split_and_nothing_else_changes(prompts: list[Prompt], seed: int) -> None:
    found = assign(prompts, seed)
    assert [replace(each, split="") for each in found] == [replace(each, split="") for each in prompts]
    assert all(each.split in {*SHARES, "dev"} for each in found)
    assert [b.split for a, b in zip(prompts, found, strict=True) if a.split] == [a.split for a in prompts if a.split]
    assert assign(found, seed + 1) == found


@given(PROMPTS, st.integers(0, 99), st.randoms())
def test_the_order_of_the_prompts_does_not_matter(prompts: list[Prompt], seed: int, random: Random) -> None:
    shuffled = prompts[:]
    random.shuffle(shuffled)
    assert where(assign(shuffled, seed)) == where(assign(prompts, seed))


@given(PROMPTS, st.integers(0, 99))
def test_no_family_is_torn_apart(prompts: list[Prompt], seed: int) -> None:
    assert spanning(assign(prompts, seed)).keys() == spanning(prompts).keys()


@pytest.mark.slow
def test_the_shares_come_out_overall_and_in_each_class() -> None:
    for seed in range(20):
        found = assign(collection(12, 20), seed)
        for row in split_table(found).values():
            assert row == {"test": 6, "train": 10, "validation": 4}
        small = assign(collection(60, 3), seed)
        assert all(
            row.get("train", 0) in (1, 2) and row.get("validation", 0) <= 1 for row in split_table(small).values()
        )
    totals = Counter(each.split for seed in range(20) for each in assign(collection(60, 3), seed))
    assert {split: round(count / totals.total(), 2) for split, count in totals.items()} == pytest.approx(
        dict(SHARES), abs=0.02
    )


def test_classes_of_one_keep_the_shares_together() -> None:
    assert Counter(each.split for each in assign(collection(100, 1))) == {"train": 50, "validation": 20, "test": 30}


def test_a_large_family_counts_with_its_size() -> None:
    prompts = [*collection(2, 40), *(prompt(f"f{n}", "skill-1", family="big") for n in range(20))]
    for seed in range(10):
        counts = Counter(each.split for each in assign(prompts, seed) if each.expected)
        assert all(abs(counts[split] - 60 * share) <= 10 for split, share in SHARES.items())


def test_a_further_prompt_moves_few() -> None:
    moved = []
    for seed in range(30):
        prompts = collection(10, 10)
        before = where(assign(prompts, seed))
        after = where(assign([*prompts, prompt("new", "skill-3")], seed))
        moved.append(sum(before[name] != after[name] for name in before))
        assert {name for name in before if before[name] != after[name]} <= {f"p3-{n}" for n in range(10)}
    assert max(moved) <= 3


def test_new_prompts_fill_up_what_is_missing() -> None:
    old = [prompt(f"o{n}", "a", split="train") for n in range(10)]
    new = [prompt(f"n{n}", "a") for n in range(10)]
    assert Counter(each.split for each in assign([*old, *new]))["train"] == 10


def test_seeds_differ_and_are_fixed() -> None:
    prompts = collection(4, 5)
    assert where(assign(prompts, 1)) != where(assign(prompts, 2))
    validated = {name for name, split in where(assign(prompts, 1)).items() if split == "validation"}
    assert validated == {"p0-3", "p1-1", "p2-1", "p3-0"}


@pytest.mark.parametrize("shares", [{}, {"a": 0}, {"a": -1, "b": 2}, {"a": float("nan")}, {"a": float("inf")}])
def test_shares_that_are_none(shares: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="the shares of the splits"):
        assign(collection(1, 3), shares=shares)


def test_a_split_without_a_share_gets_nothing() -> None:
    found = assign(collection(3, 7), shares={"train": 1, "validation": 0, "test": 1})
    assert {each.split for each in found} == {"train", "test"}


def test_tables_and_torn_families() -> None:
    prompts = [prompt("1", "a", "f", "test"), prompt("2", None, "f", "train"), replace(prompt("3", None), known=False)]
    assert split_table(prompts) == {"?": {"": 1}, "a": {"test": 1}, NONE: {"train": 1}}
    assert spanning(prompts) == {"f": ("test", "train")}


NEAR = "Sort the exported customer table by date and remove duplicate rows"


def test_prompts_that_are_nearly_the_same() -> None:
    texts = [NEAR, f"Please {NEAR.lower()}", f" {NEAR}. ", "Plot the daily temperatures of three cities"]
    prompts = [prompt(str(n), text=text) for n, text in enumerate([*texts, "do it", "you do it, then"], 1)]
    found = {(p.first.prompt_id, p.later.prompt_id): (p.same, p.similarity) for p in near_pairs(prompts)}
    assert found.keys() == {("1", "3"), ("1", "2")}
    assert found["1", "3"] == (True, 1.0)
    assert 0.8 <= found["1", "2"][1] <= 1


def test_prompts_that_are_nearly_the_same_share_a_family() -> None:
    prompts = [
        prompt("1", text=NEAR),
        prompt("2", text=f"{NEAR} now"),
        prompt("3", text="Plot something else entirely"),
    ]
    assert [each.family for each in with_families(prompts)] == ["1", "1", "3"]
    named = [prompts[0], replace(prompts[1], family="dates"), prompts[2]]
    assert [each.family for each in with_families(named)] == ["dates", "dates", "3"]
    apart = [replace(prompts[0], family="one"), replace(prompts[1], family="two")]
    assert [each.family for each in with_families(apart)] == ["one", "two"]
    for seed in range(9):
        found = assign(with_families(prompts), seed)
        assert found[0].split == found[1].split


@given(PROMPTS)
def test_families_are_kept(prompts: list[Prompt]) -> None:
    found = with_families(prompts)
    assert all(each.family for each in found)
    assert [b.family for a, b in zip(prompts, found, strict=True) if a.family] == [
        a.family for a in prompts if a.family
    ]
    assert with_families(found) == found
