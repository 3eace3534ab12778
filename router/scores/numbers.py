"""Judged calls -> one published number: its value and interval, what it rests on and how it was had."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from typing import Literal

from skill_health import stats
from skill_health.documents._record import Figure
from skill_health.router.scores.judge import Judged
from skill_health.stats.distributions import round_figure
from skill_health.stats.estimates import Estimate
from skill_health.stats.intervals import clustered_mean, clustered_proportion

_SHARED = tuple(field.name for field in fields(Estimate))


def number(estimate: Estimate, planned: int | None = None, scored: int | None = None) -> Figure:
    """An estimate as a report holds it, with the share of planned calls that are scored (of those it is about)."""
    coverage = (estimate.n if scored is None else scored) / planned if planned else None
    return Figure(coverage=coverage, **{name: getattr(estimate, name) for name in _SHARED})


def not_testable(why: str, n: int = 0, clusters: int = 0) -> Figure:
    """A number that cannot be had, and why."""
    return number(Estimate(None, n=n, clusters=clusters, note=f"not testable: {why}"))


def clustered(rows: Iterable[Judged], *values: Callable[[Judged], float]) -> list[list[float]]:
    """One row for each cluster, in the clusters' order: the sum of each value, and last the number of calls."""
    sums: dict[int, list[float]] = {}
    for row in rows:
        total = sums.setdefault(row.cluster, [0.0] * (len(values) + 1))
        for at, value in enumerate(values):
            total[at] += value(row)
        total[-1] += 1
    return [sums[cluster] for cluster in sorted(sums)]


def left_out(planned: int | None = None) -> Figure:
    """A number that needs libraries that are not installed."""
    return number(Estimate(None, note=stats.LEFT_OUT), planned)


def difference(
    rows: Sequence[Sequence[float]], seed: int, interval: Literal["Student's", "bootstrap"] = "bootstrap"
) -> Estimate:
    """The mean difference of two sides and its sign-flip p, from rows (sum, prompts), one for each cluster."""
    shares, weights = [total / n for total, n in rows], [n for _, n in rows]
    if not stats.installed():
        return Estimate(round_figure(math.fsum(total for total, _ in rows) / sum(weights)), note=stats.LEFT_OUT)
    from skill_health.stats.hypothesis_tests import sign_flip
    from skill_health.stats.resampling import paired_bootstrap, paired_t

    estimate = paired_t(shares, weights) if interval == "Student's" else paired_bootstrap(shares, weights, seed=seed)
    return replace(estimate, p=sign_flip([round(total, 9) for total, _ in rows], seed=seed))


def proportion(rows: Iterable[Judged], value: Callable[[Judged], float], why: str) -> Estimate:
    """The share of calls for which `value` is 1; `why` says what is missing where there is no call."""
    return share(clustered(rows, value), why)


def share(sums: Sequence[Sequence[float]], why: str = "no call is scored") -> Estimate:
    """The same from rows (successes, calls), one for each cluster."""
    found = clustered_proportion([row[0] for row in sums], [row[1] for row in sums])
    return found if found.n else replace(found, note=f"not testable: {why}")


def mean(sums: Sequence[Sequence[float]], calls: int, why: str = "no call is scored") -> Estimate:
    """A ratio of sums between 0 and 1 that need not count calls: from rows (above, below), one for each cluster.

    `calls` is what is said to be behind it. With 0 in all denominators there is no value, and `why` says so.
    """
    found = clustered_mean([row[0] for row in sums], [row[1] for row in sums])
    return replace(found, n=calls) if found.value is not None else Estimate(None, n=calls, note=f"not testable: {why}")
