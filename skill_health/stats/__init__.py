"""Statistics of repeated, clustered measurements: the only modules that import numpy or scipy.

Shares, quantiles and corrections for several tests need neither. What does is left out of a report, and said to be,
where they are not installed: the figures that are there are the same with and without them.
"""

from skill_health.core.extras import STATISTICS, missing_modules

LEFT_OUT = "not computed: numpy and scipy are not installed"


def installed() -> bool:
    """Whether what needs numpy and scipy can be computed here."""
    return not missing_modules(STATISTICS)
