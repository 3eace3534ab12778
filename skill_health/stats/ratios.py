"""Ratios of two amounts (tokens, dollars) over clusters: the geometric mean, its interval and its test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from skill_health.stats.distributions import round_figure, round_p
from skill_health.stats.estimates import Estimate
from skill_health.stats.hypothesis_tests import sign_flip
from skill_health.stats.resampling import paired_t

_FEWEST = 6
"""Fewer clusters that differ cannot be significant: with five, chance alone has every sign alike 1 time in 16."""


def geometric_ratio(one: Sequence[float], other: Sequence[float], seed: int = 1) -> Estimate:
    """The geometric mean over clusters of one / other, for example 0.5 for half the tokens.

    One amount above zero on each side for every cluster. The interval is that of `paired_t` over the logarithms, and p
    the two-sided sign-flip test of their mean: exact where neither side is distinguished, that is where the logarithm
    is symmetric about zero, however heavy its tails. Amounts are skewed, and tests of the mean difference err up to 18
    times in 100 where one side alone has heavy tails. With fewer than six clusters that differ there is no p.

    Raises:
        ValueError: if the lists differ in length or an amount is not finite and above zero.
    """
    if len(one) != len(other):
        raise ValueError(f"{len(one)} amounts for {len(other)}")
    if not all(0 < each < math.inf for each in (*one, *other)):
        raise ValueError("amounts must be finite and above zero")
    logs = [math.log(a) - math.log(b) for a, b in zip(one, other, strict=True)]
    # Equal amounts differ by nothing, whatever the rounding of their logarithms.
    logs = [0.0 if abs(each) < 1e-12 else each for each in logs]
    if not logs:
        return Estimate(None, note="not known on both sides of any cluster")
    found = paired_t(logs)
    differing = sum(each != 0 for each in logs)
    return replace(
        found,
        value=_exponential(found.value),
        low=_exponential(found.low),
        high=_exponential(found.high),
        p=sign_flip(logs, seed=seed) if differing >= _FEWEST else None,
        method=f"{found.method}, on logarithms" if found.method else "",
        note=found.note
        if differing >= _FEWEST
        else f"not testable: {differing} of {len(logs)} clusters differ, 6 are needed",
    )


def _exponential(value: float | None) -> float | None:
    return None if value is None else round_figure(math.exp(value))


def below_one(ratio: Estimate) -> float | None:
    """The one-sided p of a ratio below 1, from the two-sided one of a symmetric test; None where there is none."""
    if ratio.p is None or ratio.value is None:
        return None
    return round_p(ratio.p / 2 if ratio.value < 1 else 1 - ratio.p / 2)
