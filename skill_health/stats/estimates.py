"""A number fit to publish: with its n and its interval, or with the reason why there is none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A point estimate with its 95 % interval.

    `n` counts what was observed (calls, trials), `clusters` what is independent (prompts or families, tasks). `value`,
    `low` and `high` are None if they cannot be computed; `note` then says why in a few words. `p` is the p-value of the
    test that goes with it, `p_adjusted` the same after correction for several tests; `method` names the interval.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    clusters: int = 0
    p: float | None = None
    p_adjusted: float | None = None
    method: str = ""
    note: str = ""

    @property
    def half_width(self) -> float | None:
        """Half the width of the interval; None where there is none."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


def best_of(values: Sequence[float], k: int) -> float:
    """The expected maximum of k of these values, drawn without replacement: without bias for k new ones like them.

    It is the sum over the ordered values of value i times C(i - 1, k - 1) / C(n, k). For outcomes that are 0 or 1 that
    is pass@k, 1 - C(n - c, k) / C(n, k) with c successes (Chen et al., 2021, arXiv:2107.03374).

    Raises:
        ValueError: unless 1 <= k <= len(values).
    """
    if not 1 <= k <= len(values):
        raise ValueError(f"the best of {k} of {len(values)} values is not known")
    chosen = math.comb(len(values), k)
    ordered = enumerate(sorted(values))
    return math.fsum(value * (math.comb(below, k - 1) / chosen) for below, value in ordered if below >= k - 1)
