"""A number fit to publish: with its n and its interval, or with the reason why there is none."""

from __future__ import annotations

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
