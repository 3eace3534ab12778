"""Quantiles, and floats that are the same on any machine, without numpy."""

from __future__ import annotations

from statistics import NormalDist


def normal_quantile(share: float) -> float:
    """The quantile of the standard normal distribution."""
    return NormalDist().inv_cdf(share)


def t_quantile(share: float, freedom: float) -> float:
    """The quantile of Student's t distribution."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    return float(stdtrit(freedom, share))


def tidy(value: float) -> float:
    """Rounded to 12 decimals: the last bits of sums and products differ between machines. -0.0 becomes 0.0."""
    return round(float(value), 12) + 0.0


def tidy_p(value: float) -> float:
    """A p-value, rounded to 9 digits; never 0, which no test can show."""
    return float(f"{min(max(value, 1e-300), 1.0):.9g}")
