"""Quantiles, and floats that are the same on any machine, without numpy.

Student's distribution is scipy's, by the two functions that its `stats.t` calls: `scipy.stats` takes 0.6 seconds of a
processor to import, `scipy.special` a third of that, and what only shows an interval has no other use for it.
"""

from __future__ import annotations

from statistics import NormalDist


def normal_quantile(share: float) -> float:
    """The quantile of the standard normal distribution."""
    return NormalDist().inv_cdf(share)


def t_quantile(share: float, freedom: float) -> float:
    """The quantile of Student's t distribution."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    return float(stdtrit(freedom, share))


def t_share(value: float, freedom: float) -> float:
    """The share of Student's t distribution up to a value."""
    from scipy.special import stdtr

    return float(stdtr(freedom, value))


def tidy(value: float) -> float:
    """Rounded to 12 decimals: the last bits of sums and products differ between machines. -0.0 becomes 0.0."""
    return round(float(value), 12) + 0.0


def tidy_p(value: float) -> float:
    """A p-value, rounded to 9 digits; never 0, which no test can show."""
    return float(f"{min(max(value, 1e-300), 1.0):.9g}")
