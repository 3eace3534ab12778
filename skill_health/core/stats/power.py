"""What a run of this size can show: minimum detectable effects, and why a result is preliminary.

Normal quantiles are the standard library's, so that a forecast works in a base installation, which has no scipy.
"""

from __future__ import annotations

import math

from skill_health.core.stats._numbers import normal_quantile, t_quantile, tidy

CLUSTERS, MISSING = 30, 0.05
"""Fewer clusters, or a larger share of missing calls, make a result preliminary."""


def mde_paired(
    prompts: int,
    replications: int,
    accuracy: float = 0.8,
    icc: float = 0.5,
    alpha: float = 0.05,
    power: float = 0.8,
) -> float:
    """The least difference of two accuracies that a paired comparison would find with this power, as a share.

    The best case: the two sides find the same prompts hard, so that only the replications' own noise is left. Then a
    prompt's difference has the variance 2 accuracy (1 - accuracy) (1 - icc) / replications, where `icc` is the share of
    the variance of a call that lies between prompts. The defaults give 11.2, 6.5 and 3.5 percentage points for 100
    prompts and 1, 3 and 10 replications.

    Raises:
        ValueError: for fewer than one prompt or replication.
    """
    if prompts < 1 or replications < 1:
        raise ValueError(f"no effect can be detected by {prompts} prompts x {replications} replications")
    sd = math.sqrt(2 * accuracy * (1 - accuracy) * (1 - icc) / replications)
    return tidy((normal_quantile(1 - alpha / 2) + normal_quantile(power)) * sd / math.sqrt(prompts))


def mde_from_sd(clusters: int, sd_of_differences: float, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """The same from the standard deviation of the clusters' differences that a run found; None below 2 clusters.

    Quantiles are Student's, within 2 % of the exact value from 5 clusters on.
    """
    if clusters < 2:
        return None
    reach = t_quantile(1 - alpha / 2, clusters - 1) + t_quantile(power, clusters - 1)
    return tidy(reach * sd_of_differences / math.sqrt(clusters))


def smallest_p(differing: int) -> float:
    """The least two-sided p-value that this many non-zero differences can reach: 2 of 2^n patterns."""
    return min(2.0 ** (1 - differing), 1.0) if differing > 0 else 1.0


def fewest_differing(tests: int, alpha: float = 0.05) -> int:
    """How many clusters must differ for a sign-flip test to be significant as the best of so many, after Holm.

    6 for one test, 7 for two and three, 8 for four to six: 2^(1 - n) x tests must be below alpha.

    Raises:
        ValueError: for no test at all.
    """
    if tests < 1:
        raise ValueError(f"nothing is tested by {tests} tests")
    return math.floor(1 - math.log2(alpha / tests)) + 1


def preliminary(
    clusters: int,
    half_width: float | None,
    missing_share: float,
    effect: float | None = None,
    units: str = "independent prompts or families",
    calls: str = "calls",
) -> list[str]:
    """Why a result is preliminary, in a few words each; [] where it is not.

    All are shares: `half_width` of the interval (None: it has none), `missing_share` of the planned calls, and the
    declared `effect` (None: none was declared). `units` and `calls` are what clusters and calls are called.
    """
    reasons = []
    if clusters < CLUSTERS:
        reasons.append(f"fewer than {CLUSTERS} {units} ({clusters})")
    if half_width is None:
        reasons.append("no interval")
    elif effect is not None and half_width > effect:
        reasons.append(f"half-width {100 * half_width:.1f} pp exceeds the declared effect of {100 * effect:.1f} pp")
    if missing_share > MISSING:
        reasons.append(f"{100 * missing_share:.1f} % of the {calls} are missing (more than {100 * MISSING:.0f} %)")
    return reasons
