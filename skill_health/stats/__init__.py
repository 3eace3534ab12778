"""Statistics of repeated, clustered measurements. No other modules import numpy or scipy.

Proportions, quantiles and corrections for multiple tests need neither. Without them, a report leaves out the figures
that do, and says so; all other figures are the same with and without them.
"""

from skill_health.core.extras import STATISTICS, missing_modules

LEFT_OUT = "not computed: numpy and scipy are not installed"


def installed() -> bool:
    """Whether numpy and scipy are installed, so that the figures that need them can be computed."""
    return not missing_modules(STATISTICS)
