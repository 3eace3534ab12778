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


def test_skills_are_told_apart_and_half_of_the_third_set_are_of_owners_that_were_not_read() -> None:
    assert [each.id for each in LABELLED] == list(range(1, 225))
    assert len({each.sha256 for each in LABELLED}) == len({(each.repository, each.path) for each in LABELLED}) == 224
    assert [len(of_set(LABELLED, name)) for name in SETS] == [180, 44]
    known = {owner(each) for each in of_set(LABELLED, "labelled")}
    assert sum(owner(each) not in known for each in of_set(LABELLED, "third")) == 22


def owner(label: LabelledSkill) -> str:
    """Whose a skill is: a registry's user, else the owner of the repository."""
    whose = label.path.split("/")[1] if label.repository == "openclaw/skills" else ""
    return whose or label.repository.split("/")[0]


@pytest.mark.parametrize("label", LABELLED, ids=lambda each: str(each.id))
def test_a_label_is_well_formed(label: LabelledSkill) -> None:
    each = label
    assert re.fullmatch("[0-9a-f]{40}", each.commit)
    assert re.fullmatch("[0-9a-f]{64}", each.sha256)
    order = list(all_categories())
    for given in (each.a, each.b or (), each.c, each.settled):
        assert list(given) == [key for key in order if key in given]
    assert (each.b is None) == (each.half == "third")
    if each.b is None:
        assert each.a == each.settled
    else:
        # Where a third reading says otherwise than both, it says why.
        differing = set(each.settled) ^ (set(each.a) & set(each.b))
        assert differing <= (set(each.a) ^ set(each.b)) | set(each.c) | set(each.why)


def test_labels_hold_no_text_of_the_skills() -> None:
    keys = {key for line in LABELS.read_text("utf-8").splitlines() for key in json.loads(line)}
    assert keys == {"id", "half", "repository", "commit", "path", "sha256", "a", "b", "c", "settled", "why"}


@pytest.mark.parametrize("name", SETS)
def test_counts_fit_the_labels(name: str) -> None:
    own = of_set(LABELLED, name)
    for category, counts in COUNTED[name].items():
        found = NeedCounts(*counts)
        assert min(found) >= 0
        assert found.cases == sum(category in each.settled for each in own), category
        assert found.right + found.wrong + found.missed <= len(own)


def test_the_documentation_has_the_counts() -> None:
    page = PAGE.read_text("utf-8")
    assert with_tables(page, COUNTED) == page
    assert all(name in page for name in COLLECTIONS)


def test_the_documentation_says_what_reaches_the_bar() -> None:
    reached = {name: [reaches_bar(NeedCounts(*counts)) for counts in COUNTED[name].values()] for name in SETS}
    verdicts = {name: [verdict for verdict in found if verdict is not None] for name, found in reached.items()}
    page = " ".join(PAGE.read_text("utf-8").split())
    assert verdicts == {"labelled": [True] * 12, "third": [False] * 5}
    assert "It reaches both in all twelve of them." in page
    assert "None of the five categories with ten cases reaches the bar there" in page


@pytest.mark.parametrize(
    ("counts", "verdict"),
    [((9, 1, 0), None), ((9, 1, 1), True), ((9, 2, 1), False), ((8, 0, 2), True), ((7, 0, 3), False),
     ((0, 0, 10), False)],
)  # fmt: skip
def test_the_bar_wants_both_and_ten_cases(counts: tuple[int, int, int], verdict: bool | None) -> None:
    assert reaches_bar(NeedCounts(*counts)) is verdict


def test_kappa_is_that_of_an_independent_computation() -> None:
    """By the table of both readers' answers, as Cohen (1960) has it."""
    for category in all_categories():
        table = {(x, y): 0 for x in (0, 1) for y in (0, 1)}
        for each in LABELLED:
            if each.b is not None:
                table[category in each.a, category in each.b] += 1
        n = sum(table.values())
        expected = sum((table[x, 0] + table[x, 1]) * (table[0, x] + table[1, x]) for x in (0, 1)) / n
        alike = table[0, 0] + table[1, 1]
        found = kappa(category, LABELLED)
        assert found is None if expected == n else found == pytest.approx((alike - expected) / (n - expected))
