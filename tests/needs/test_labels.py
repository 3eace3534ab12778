"""The labelled skills are well formed, and the documentation says of them what was counted."""

from __future__ import annotations

import json
import re

import pytest

from scripts.needs_figures import (
    COLLECTIONS,
    FIGURES,
    LABELS,
    PAGE,
    SETS,
    LabelledSkill,
    NeedCounts,
    kappa,
    of_set,
    reaches_bar,
    read_labels,
    with_tables,
)
from skill_health.needs.find import all_categories

LABELLED = read_labels()
COUNTED = json.loads(FIGURES.read_text("utf-8"))


def test_skills_are_told_apart_and_owners_of_the_first_two_sets_are_in_one() -> None:
    assert [each.id for each in LABELLED] == list(range(1, 181))
    assert len({each.sha256 for each in LABELLED}) == len({(each.repository, each.path) for each in LABELLED}) == 180
    assert [len(of_set(LABELLED, name)) for name in SETS] == [100, 80]
    owners = {
        half: {each.repository.split("/")[0] for each in LABELLED if each.half == half}
        for half in ("tuned", "sealed", "second")
    }
    assert not owners["tuned"] & owners["sealed"]
    assert len(owners["sealed"]) == 9
    assert owners["second"] <= owners["tuned"] | owners["sealed"]


@pytest.mark.parametrize("label", LABELLED, ids=lambda each: str(each.id))
def test_a_label_is_well_formed(label: LabelledSkill) -> None:
    each = label
    assert re.fullmatch("[0-9a-f]{40}", each.commit)
    assert re.fullmatch("[0-9a-f]{64}", each.sha256)
    order = list(all_categories())
    for given in (each.a, each.b, each.settled):
        assert list(given) == [key for key in order if key in given]
    assert set(each.a) & set(each.b) <= set(each.settled) <= set(each.a) | set(each.b)


def test_labels_hold_no_text_of_the_skills() -> None:
    keys = {key for line in LABELS.read_text("utf-8").splitlines() for key in json.loads(line)}
    assert keys == {"id", "half", "repository", "commit", "path", "sha256", "a", "b", "settled"}


@pytest.mark.parametrize(
    ("name", "halves"),
    [("hundred", SETS["hundred"]), ("second", ("second",)), ("before", ("second",)), ("first", ("sealed",))],
)
def test_counts_fit_the_labels(name: str, halves: tuple[str, ...]) -> None:
    own = [each for each in LABELLED if each.half in halves]
    for category, counts in COUNTED[name].items():
        found = NeedCounts(*counts)
        assert min(found) >= 0
        assert found.cases == sum(category in each.settled for each in own), category
        assert found.right + found.wrong + found.missed <= len(own)


def test_the_documentation_has_the_counts() -> None:
    page = PAGE.read_text("utf-8")
    assert with_tables(page, COUNTED) == page
    differing = [sum(len(set(each.a) ^ set(each.b)) for each in of_set(LABELLED, name)) for name in SETS]
    said = " ".join(page.split())
    assert f"the {sum(differing)} answers on which they differ ({differing[0]} among the first 100" in said
    assert f"{differing[1]} among the other 80" in said
    assert all(name in page for name in COLLECTIONS)


def test_the_documentation_names_the_categories_that_reach_the_bar() -> None:
    verdicts = {category: reaches_bar(NeedCounts(*counts)) for category, counts in COUNTED["second"].items()}
    page = " ".join(PAGE.read_text("utf-8").split())
    reached = [category for category, verdict in verdicts.items() if verdict]
    assert reached == ["runtime"]
    assert "**`runtime` reaches that" in page
    assert sum(verdict is False for verdict in verdicts.values()) == 9
    assert "The nine other categories with ten cases do not" in page


@pytest.mark.parametrize(
    ("counts", "verdict"),
    [
        ((9, 1, 0), None),
        ((9, 1, 1), True),
        ((9, 2, 1), False),
        ((8, 0, 2), True),
        ((7, 0, 3), False),
        ((0, 0, 10), False),
    ],
)
def test_the_bar_wants_both_and_ten_cases(counts: tuple[int, int, int], verdict: bool | None) -> None:
    assert reaches_bar(NeedCounts(*counts)) is verdict


def test_kappa_is_that_of_an_independent_computation() -> None:
    """By the table of both readers' answers, as Cohen (1960) has it."""
    for category in all_categories():
        table = {(x, y): 0 for x in (0, 1) for y in (0, 1)}
        for each in LABELLED:
            table[category in each.a, category in each.b] += 1
        n = sum(table.values())
        expected = sum((table[x, 0] + table[x, 1]) * (table[0, x] + table[1, x]) for x in (0, 1)) / n
        alike = table[0, 0] + table[1, 1]
        found = kappa(category, LABELLED)
        assert found is None if expected == n else found == pytest.approx((alike - expected) / (n - expected))
