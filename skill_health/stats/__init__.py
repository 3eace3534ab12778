"""Statistics of repeated, clustered measurements. No other modules import numpy or scipy.

Proportions, quantiles and corrections for multiple tests need neither. Without them, a report leaves out the figures
that do, and says so; all other figures are the same with and without them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from skill_health.core.extras import STATISTICS, missing_modules

LEFT_OUT = "not computed: numpy and scipy are not installed"


def installed() -> bool:
    """Whether numpy and scipy are installed, so that the figures that need them can be computed."""
    return not _WITHOUT.get() and not missing_modules(STATISTICS)


_WITHOUT = ContextVar("without", default=False)


@contextmanager
def without() -> Iterator[None]:
    """Within it, they count as not installed: a report that was made so comes out the same."""
    before = _WITHOUT.set(True)
    try:
        yield
    finally:
        _WITHOUT.reset(before)
