"""Does it matter in which of two arms a trial was? Trials exchanged within their tasks, exactly; and Student's test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from skill_health.core.stats._numbers import tidy_p
from skill_health.core.stats._random import Floats

Counts = tuple[int, int]
"""Successes and trials."""
_FEWEST = 3
"""Strata of which a spread can be told."""


def exchange(pairs: Sequence[tuple[Counts, Counts]]) -> float | None:
    """The two-sided mid-p of successes in the first arm, given each stratum's successes; None where no trial matters.

    One entry for each stratum (a task): (successes, trials) of the first and of the second arm. The hypothesis is that
    in no stratum the arm makes a difference, so that its trials can be exchanged; the sum of the first arm's successes
    then is a sum of hypergeometric variables, whose distribution is a convolution. It is the exact form of the
    Mantel-Haenszel test. The mid-p (Lancaster, 1961) counts the observed sum's own chance by half: with a few dozen
    trials the plain p-value is about half as often below 0.05 as it may be.

    It says nothing of strata that were not tried, and needs no minimum of strata; that is what tells it from the tests
    of a mean over tasks. It takes the trials of a stratum and arm for independent: where these resemble each other, it
    finds far too much (5 times out of 10 where each repeats the first). `over_strata` does not.

    scipy has the hypergeometric distribution and no sum of several: its `permutation_test` exchanges over all strata.

    Raises:
        ValueError: where not 0 <= successes <= trials.
    """
    chances: Floats = np.ones(1)
    seen = expected = 0.0
    for (hits, trials), (others, more) in pairs:
        if not (0 <= hits <= trials and 0 <= others <= more):
            raise ValueError("successes must be between 0 and the trials")
        if not (trials and more):
            continue
        least, share = _hypergeometric(hits + others, trials, more)
        # Strata start at their least sum: `seen` and `expected` are counted from there, too.
        chances = np.convolve(chances, share)
        seen += hits - least
        expected += float(share @ np.arange(len(share)))
    if len(chances) == 1:
        return None
    far = np.abs(np.arange(len(chances)) - expected)
    reach = abs(seen - expected)
    beyond = float(chances[far > reach + 1e-9].sum())
    return tidy_p(beyond + 0.5 * float(chances[np.abs(far - reach) <= 1e-9].sum()))


def over_strata(differences: Sequence[float]) -> float | None:
    """Student's two-sided p of the mean of one difference for each stratum; None for fewer than three.

    It holds where the trials of a stratum and arm resemble each other, or where an arm helps here and hurts there.
    Where all differ by the same it is as small as can be: the spread says nothing, and `exchange` alone may decide.

    Raises:
        ValueError: where a difference is not finite.
    """
    from scipy.stats import ttest_1samp  # type: ignore[import-untyped]

    values = np.sort(np.asarray(differences, dtype=np.float64))
    if not np.isfinite(values).all():
        raise ValueError("differences must be finite")
    if len(values) < _FEWEST:
        return None
    if float(values.std(ddof=1)) / math.sqrt(len(values)) < 1e-12:
        return tidy_p(0.0) if abs(float(values.mean())) > 1e-12 else 1.0
    return tidy_p(float(ttest_1samp(values, 0).pvalue))


@lru_cache(maxsize=1024)
def _hypergeometric(successes: int, trials: int, others: int) -> tuple[int, Floats]:
    """The least number of successes among the first `trials`, and the chances of it and of each greater number."""
    from scipy.stats import hypergeom

    least, most = max(0, successes - others), min(trials, successes)
    return least, hypergeom.pmf(np.arange(least, most + 1), trials + others, trials, successes)
