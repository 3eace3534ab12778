"""Quantiles of the normal and of Student's distribution, and figures rounded the same on any machine.

None of it needs numpy. Student's distribution is scipy's, by the two functions that its `stats.t` calls: `scipy.stats`
takes 0.8 seconds of a processor to import and `scipy.special` 0.3, and code that only shows an interval needs no more
than that.
"""

from __future__ import annotations

from statistics import NormalDist


def normal_quantile(share: float) -> float:
    """The value below which this share (0 to 1, both excluded) of the standard normal distribution lies.

    It is the standard library's, so that a base installation, which has no scipy, has it too.
    """
    return NormalDist().inv_cdf(share)


def t_quantile(share: float, freedom: float) -> float:
    """The value below which this share of Student's t distribution lies; `freedom` need not be whole."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    return float(stdtrit(freedom, share))


def t_cdf(value: float, freedom: float) -> float:
    """The share of Student's t distribution up to a value; `freedom` need not be whole."""
    from scipy.special import stdtr

    return float(stdtr(freedom, value))


def round_figure(value: float) -> float:
    """A figure with 12 decimals: the last bits of sums and products differ between machines. -0.0 becomes 0.0."""
    return round(float(value), 12) + 0.0


def round_p(value: float) -> float:
    """A p-value with 9 significant digits; never 0, since no test can show that."""
    return float(f"{min(max(value, 1e-300), 1.0):.9g}")
