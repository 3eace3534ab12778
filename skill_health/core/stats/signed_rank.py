"""Wilcoxon's signed-rank test of paired differences, exact with ties and zeros."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skill_health.core.stats._numbers import tidy_p
from skill_health.core.stats.permutation import sign_flip

_EXACT = 271
"""Non-zero differences up to which the test is exact."""


def signed_rank(differences: Sequence[float]) -> float | None:
    """The two-sided p-value of the signed ranks (Wilcoxon, 1945); None where every difference is zero.

    Zeros are left out, and ties share the mean of their ranks. Up to 271 non-zero differences the p-value is exact, and
    beyond it is the normal approximation with the correction for ties, which by then agrees to two or three digits.

    It is scipy's `wilcoxon` with `zero_method="wilcox"`, called with the method that is right for the case. With ties
    none is: "auto" approximates, "exact" passes over them, and a `PermutationMethod` takes a second for 14 differences,
    five for 16. There the signed ranks go to our own sign-flip test, which enumerates them by convolution.

    It tests whether the differences are symmetric about zero. With a few large losses against many small gains it may
    find a gain where the mean shows a loss: the mean has the sign-flip test.

    Raises:
        ValueError: where a difference is not finite.
    """
    from scipy.stats import rankdata, wilcoxon  # type: ignore[import-untyped]

    values = np.asarray(differences, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError("differences must be finite")
    scale = float(np.abs(values).max()) if len(values) else 0.0
    values = values[np.abs(values) > scale * 1e-12]
    if not len(values):
        return None
    # Sizes that differ by rounding alone are tied.
    values = np.round(values / scale, 9)
    sizes = np.abs(values)
    exact = len(values) <= _EXACT
    if exact and len(np.unique(sizes)) < len(sizes):
        return sign_flip((np.sign(values) * rankdata(sizes)).tolist())
    # Beyond 50 differences "auto" is the approximation, whose own name depends on the version.
    method = "exact" if exact else "auto"
    return tidy_p(wilcoxon(values, zero_method="wilcox", correction=False, method=method).pvalue)
