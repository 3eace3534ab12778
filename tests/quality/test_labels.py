"""The readings are well formed, and the documentation says of them what was counted."""

from __future__ import annotations

import re

import pytest

from scripts.quality_figures import HALVES, PAGE, kept_figures, read_labels, with_tables
from skill_health.skill.authoring import SIDES
from skill_health.skill.rubric import DIMENSIONS, MOST

LABELLED = read_labels()
COUNTED = kept_figures()


def test_half_of_the_skills_are_sealed_and_none_is_in_both_halves() -> None:
    assert len({each.id for each in LABELLED}) == len({each.sha256 for each in LABELLED}) == len(LABELLED) == 100
    assert [sum(each.half == half for each in LABELLED) for half in HALVES] == [50, 50]
    assert all(each.a for each in LABELLED)
    assert len({each.repository for each in LABELLED}) == 7


def test_readings_are_well_formed() -> None:
    for label in LABELLED:
        assert re.fullmatch("[0-9a-f]{40}", label.commit) and re.fullmatch("[0-9a-f]{64}", label.sha256), label.id
        for reading in (*([label.a] if label.a else []), label.b, COUNTED[str(label.id)]):
            assert len(reading.points) == len(DIMENSIONS) and all(0 <= each <= MOST for each in reading.points)
            assert list(reading.patterns) == [name for name in SIDES if name in reading.patterns], label.id
        assert label.settled <= set(label.b.patterns), label.id


@pytest.mark.slow
def test_the_page_has_the_figures_that_were_counted() -> None:
    page = PAGE.read_text("utf-8")
    assert with_tables(page, LABELLED, COUNTED) == page


def test_agreement_is_that_of_statsmodels_and_the_text_says_it() -> None:
    import numpy as np
    from statsmodels.stats.inter_rater import cohens_kappa

    sealed = [each for each in LABELLED if each.half == "sealed"]
    text = " ".join(PAGE.read_text("utf-8").split())
    for reader, said in (("b", "agree with a reader at {:.2f} ["), ("a", "] and {:.2f} [")):
        table = np.zeros((13, 13))
        for each in sealed:
            table[COUNTED[str(each.id)].total, getattr(each, reader).total] += 1
        assert said.format(cohens_kappa(table, wt="quadratic", return_results=False)) in text
    for name, rule in (
        ("heavy_without_fast_path", "AU006"),
        ("recipe_without_bounds", "AU007"),
        ("tool_without_fallback", "AU008"),
    ):
        seen = [each for each in sealed if name in COUNTED[str(each.id)].patterns]
        right = sum(name in each.settled for each in seen)
        said = " ".join((PAGE.parent / "rules" / f"{rule}.md").read_text("utf-8").split())
        assert f"it was right in {right} of {len(seen)}" in said
