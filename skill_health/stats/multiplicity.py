"""Corrects the p-values of several tests for their number. None (not testable) stays None and does not count.

scipy's `false_discovery_control` refuses untestable values, and scipy has no Holm correction. Both must work in a base
installation, which has no scipy.
"""

from __future__ import annotations

from collections.abc import Sequence

from skill_health.stats.distributions import round_p


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values that control the family-wise error rate (Holm, 1979). Raises ValueError outside [0, 1]."""
    order = _rank(ps)
    found: list[float | None] = [None] * len(ps)
    worst = 0.0
    for rank, (p, at) in enumerate(order):
        worst = max(worst, min(p * (len(order) - rank), 1.0))
        found[at] = round_p(worst)
    return found


def benjamini_hochberg(ps: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values that control the false discovery rate (1995). Raises ValueError outside [0, 1]."""
    order = _rank(ps)
    found: list[float | None] = [None] * len(ps)
    best = 1.0
    for rank, (p, at) in reversed(list(enumerate(order, 1))):
        best = min(best, p * len(order) / rank)
        found[at] = round_p(best)
    return found


def _rank(ps: Sequence[float | None]) -> list[tuple[float, int]]:
    known = [(p, at) for at, p in enumerate(ps) if p is not None]
    if wrong := [p for p, _ in known if not 0 <= p <= 1]:
        raise ValueError(f"{wrong[0]} is not a p-value")
    return sorted(known)
