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
    LabelledSkill,
    NeedCounts,
    kappa,
    read_labels,
    with_tables,
)
from skill_health.needs.find import all_categories

LABELLED = read_labels()
COUNTED = json.loads(FIGURES.read_text("utf-8"))


def test_a_hundred_skills_by_owners_that_are_in_one_half() -> None:
    assert [each.id for each in LABELLED] == list(range(1, 101))
    assert len({each.sha256 for each in LABELLED}) == 100
    owners = {
        half: {each.repository.split("/")[0] for each in LABELLED if each.half == half} for half in ("tuned", "sealed")
    }
    assert not owners["tuned"] & owners["sealed"]
    assert len(owners["sealed"]) == 9


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


@pytest.mark.parametrize("half", ["tuned", "sealed", "first"])
def test_counts_fit_the_labels(half: str) -> None:
    own = [each for each in LABELLED if each.half == ("sealed" if half == "first" else half)]
    for category, counts in COUNTED[half].items():
        found = NeedCounts(*counts)
        assert min(found) >= 0
        assert found.cases == sum(category in each.settled for each in own), category
        assert found.right + found.wrong + found.missed <= len(own)


def test_the_documentation_has_the_counts() -> None:
    page = PAGE.read_text("utf-8")
    assert with_tables(page, COUNTED) == page
    differing = sum(len(set(each.a) ^ set(each.b)) for each in LABELLED)
    assert f"the {differing} answers on which they differ" in " ".join(page.split())
    assert all(name in page for name in COLLECTIONS)


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
