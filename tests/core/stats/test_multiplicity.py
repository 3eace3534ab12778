"""Corrections for several tests: those of statsmodels."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from skill_health.stats.multiplicity import benjamini_hochberg, holm

Correction = Callable[[list[float | None]], list[float | None]]
BOTH = pytest.mark.parametrize(("correction", "method"), [(holm, "holm"), (benjamini_hochberg, "fdr_bh")])


@BOTH
@given(st.lists(st.none() | st.floats(1e-8, 1) | st.sampled_from([0.01, 0.04, 0.05]), max_size=12))
def test_it_is_the_correction_of_statsmodels(correction: Correction, method: str, ps: list[float | None]) -> None:
    known = [p for p in ps if p is not None]
    # Theirs looks for garbage in all of this process, each time.
    with patch("gc.collect"):
        expected = iter(multipletests(known, method=method)[1] if known else [])
    found = correction(ps)
    assert len(found) == len(ps)
    for before, after in zip(ps, found, strict=True):
        assert after == (None if before is None else pytest.approx(next(expected), rel=1e-7))


@BOTH
def test_what_is_not_testable_does_not_count(correction: Correction, method: str) -> None:
    assert correction([None, 0.02, None]) == [None, 0.02, None]
    assert correction([]) == []


@BOTH
@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
def test_what_is_no_p_value_is_refused(correction: Correction, method: str, p: float) -> None:
    with pytest.raises(ValueError, match="is not a p-value"):
        correction([0.5, p])
