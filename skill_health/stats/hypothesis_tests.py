"""Tests: of paired differences, of trials within tasks, of one group among many, and of equivalence within a margin.

scipy's tests are called wherever one fits; where none does, the function says why. All p-values are two-sided but
that of `no_worse`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np

from skill_health.stats.distributions import round_figure, round_p, t_cdf, t_quantile
from skill_health.stats.estimates import Estimate
from skill_health.stats.intervals import invert_hall, wilson_interval
from skill_health.stats.resampling import BLOCK, Floats, RandomStream

Counts = tuple[int, int]
"""Successes and trials."""
Group = TypeVar("Group", bound=Hashable)

_PATTERNS = 16
"""The number of non-zero differences up to which all sign patterns are enumerated, in a millisecond."""
_GRID = (*range(1, 65), 72, 90, 100, 110, 120, 840, 2520)
"""The denominators tried for writing the differences as whole numbers: those of a few replications."""
_WORK = 100_000_000
"""The most additions that a convolution may take."""
_TIE = 1e-7
"""Sums this close, in units of the largest difference, are equal: callers may have rounded to nine digits."""
_EXACT = 271
"""The number of non-zero differences up to which the signed-rank test is exact."""
_FEWEST = 3
"""The least number of strata from which a spread can be estimated."""
ALPHA = 0.05
"""The level of each of the two tests of equivalence."""


def sign_flip(differences: Sequence[float], resamples: int = 20_000, seed: int = 1) -> float | None:
    """The two-sided p-value of the mean difference under random sign flips; None if every difference is zero.

    One difference for each cluster. For clusters of unequal size give the sums, so that test and weighted mean agree. A
    zero stays zero under a flip: it changes neither the sum nor the p-value. The p-value is exact if all are multiples
    of a simple fraction (means of a few replications), however many they are, and otherwise for up to 16 that are not
    zero. Beyond that `resamples` seeded flips estimate it, the observed pattern counted as one of them (Phipson and
    Smyth, 2010).

    This is scipy's one-sample `permutation_test`, which the tests compare it with; that takes a second for 16 values,
    where adding them up pattern by pattern takes a millisecond. On a grid we compute the sum's distribution by
    convolution, which is exact even where 2^n patterns are too many to enumerate. We draw the flips ourselves, since
    numpy does not promise that scipy's generators draw the same in its next version.

    Raises:
        ValueError: if a difference is not finite.
    """
    values = np.sort(np.abs(np.asarray(differences, dtype=np.float64)))
    if not np.isfinite(values).all():
        raise ValueError("differences must be finite")
    observed = abs(float(np.sort(np.asarray(differences, dtype=np.float64)).sum()))
    scale = float(values[-1]) if len(values) else 0.0
    values = values[values > scale * 1e-12]
    if not len(values):
        return None
    steps = _steps_on_grid(values)
    if steps is not None:
        return round_p(_convolve(steps, observed * float(steps.sum()) / float(values.sum())))
    least = observed - _TIE * scale
    return _enumerate(values, least) if len(values) <= _PATTERNS else _sample(values, least, resamples, seed)


def _steps_on_grid(values: Floats) -> Floats | None:
    for parts in _GRID:
        steps = np.rint(values * parts)
        if np.abs(values * parts - steps).max() < 1e-6 and steps.min() >= 1:
            return steps if steps.sum() * len(steps) <= _WORK else None
    return None


def _convolve(steps: Floats, observed: float) -> float:
    total = int(steps.sum())
    chances = np.zeros(total + 1)
    chances[0] = 1.0
    # Of the sum of the positive ones; the sum of all is twice that, less the total.
    for step in steps.astype(np.int64):
        moved = chances.copy()
        moved[step:] += chances[: total + 1 - step]
        chances = 0.5 * moved
    far = np.abs(2 * np.arange(total + 1) - total) >= observed - 0.5
    return min(float(chances[far].sum()), 1.0)


def _enumerate(values: Floats, least: float) -> float:
    """The share of sign patterns whose sum is as far from zero; the first sign is fixed, since the rest is a mirror."""
    sums = values[:1]
    for value in values[1:]:
        sums = np.concatenate((sums + value, sums - value))
    return round_p(float((np.abs(sums) >= least).mean()))


def _sample(values: Floats, least: float, resamples: int, seed: int) -> float:
    stream, hits = RandomStream(seed), 0
    step = max(BLOCK // len(values), 1)
    for start in range(0, resamples, step):
        flips = stream.signs(min(step, resamples - start), len(values))
        hits += int((np.abs(flips @ values) >= least).sum())
    return round_p((1 + hits) / (1 + resamples))


def signed_rank(differences: Sequence[float]) -> float | None:
    """The two-sided p-value of the signed ranks (Wilcoxon, 1945); None if every difference is zero.

    Zeros are left out, and ties share the mean of their ranks. Up to 271 non-zero differences the p-value is exact, and
    beyond that it is the normal approximation with the correction for ties, which by then agrees to two or three
    digits.

    It is scipy's `wilcoxon` with `zero_method="wilcox"`, called with the right method for the case. With ties there is
    none: "auto" approximates (beyond 13 differences, in older versions always), "exact" ignores them, and a
    `PermutationMethod` takes a second for 14 differences, five for 16. In that case the signed ranks go to our own
    sign-flip test, which enumerates them by convolution.

    It tests whether the differences are symmetric about zero. With a few large losses against many small gains it may
    find a gain where the mean shows a loss: to test the mean, use the sign-flip test.

    Raises:
        ValueError: if a difference is not finite.
    """
    from scipy.stats import rankdata, wilcoxon  # type: ignore[import-untyped]

    values = np.asarray(differences, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError("differences must be finite")
    scale = float(np.abs(values).max()) if len(values) else 0.0
    values = values[np.abs(values) > scale * 1e-12]
    if not len(values):
        return None
    # Sizes that differ by rounding alone are tied.
    values = np.round(values / scale, 9)
    sizes = np.abs(values)
    exact = len(values) <= _EXACT
    if exact and len(np.unique(sizes)) < len(sizes):
        return sign_flip((np.sign(values) * rankdata(sizes)).tolist())
    # Beyond 50 differences "auto" is the approximation, whose own name depends on the version.
    method = "exact" if exact else "auto"
    return round_p(wilcoxon(values, zero_method="wilcox", correction=False, method=method).pvalue)


def exact_mantel_haenszel(pairs: Sequence[tuple[Counts, Counts]]) -> float | None:
    """The two-sided mid-p of successes in the first arm, given each stratum's successes; None if no trial matters.

    One entry for each stratum (a task): (successes, trials) of the first and of the second arm. The null hypothesis is
    that the arm makes no difference in any stratum, so its trials are exchangeable; the sum of the first arm's
    successes then is a sum of hypergeometric variables, whose distribution is a convolution. It is the exact form of
    the Mantel-Haenszel test. The mid-p (Lancaster, 1961) counts the observed sum's own probability by half: with a few
    dozen trials the plain p-value is below 0.05 only about half as often as it may be.

    Unlike the tests of a mean over tasks, it says nothing about strata that were not tried, and needs no minimum number
    of strata. It treats the trials of a stratum and arm as independent: if these resemble each other, it finds far too
    much (5 times out of 10 if each repeats the first). `t_test_over_strata` does not.

    scipy has the hypergeometric distribution, but no sum of several: its `permutation_test` exchanges over all strata.

    Raises:
        ValueError: if not 0 <= successes <= trials.
    """
    chances: Floats = np.ones(1)
    seen = expected = 0.0
    for (hits, trials), (others, more) in pairs:
        if not (0 <= hits <= trials and 0 <= others <= more):
            raise ValueError("successes must be between 0 and the trials")
        if not (trials and more):
            continue
        least, share = _hypergeometric(hits + others, trials, more)
        # Strata start at their least sum, and `seen` and `expected` count from there, too.
        chances = np.convolve(chances, share)
        seen += hits - least
        expected += float(share @ np.arange(len(share)))
    if len(chances) == 1:
        return None
    far = np.abs(np.arange(len(chances)) - expected)
    reach = abs(seen - expected)
    beyond = float(chances[far > reach + 1e-9].sum())
    return round_p(beyond + 0.5 * float(chances[np.abs(far - reach) <= 1e-9].sum()))


def t_test_over_strata(differences: Sequence[float]) -> float | None:
    """Student's two-sided p of the mean of one difference for each stratum; None for fewer than three.

    It is valid even if the trials of a stratum and arm resemble each other, or if an arm helps here and hurts there. If
    all differ by the same, it is as small as possible: the spread says nothing, and only the exchange of trials may
    decide.

    Raises:
        ValueError: if a difference is not finite.
    """
    from scipy.stats import ttest_1samp

    values = np.sort(np.asarray(differences, dtype=np.float64))
    if not np.isfinite(values).all():
        raise ValueError("differences must be finite")
    if len(values) < _FEWEST:
        return None
    if float(values.std(ddof=1)) / math.sqrt(len(values)) < 1e-12:
        return round_p(0.0) if abs(float(values.mean())) > 1e-12 else 1.0
    return round_p(float(ttest_1samp(values, 0).pvalue))


@lru_cache(maxsize=1024)
def _hypergeometric(successes: int, trials: int, others: int) -> tuple[int, Floats]:
    """The least number of successes among the first `trials`, and the probability of it and of each greater number."""
    from scipy.stats import hypergeom

    least, most = max(0, successes - others), min(trials, successes)
    return least, hypergeom.pmf(np.arange(least, most + 1), trials + others, trials, successes)


def group_permutation_test(
    values: Sequence[float], groups: Sequence[Group], resamples: int = 10_000, seed: int = 1
) -> dict[Group, float | None]:
    """For each group, the two-sided p of its mean against random sets of equal size drawn from all the values.

    A permutation test of exchangeability between the group and the others; one set of permutations serves all groups,
    each of which is tested by itself. None if there is only one group, or if all values are equal. scipy's
    `permutation_test` would draw a set for each of a hundred skills, and different ones with another version of numpy.
    """
    order = sorted(range(len(groups)), key=lambda at: str(groups[at]))
    names = list(dict.fromkeys(groups[at] for at in order))
    if len(names) < 2 or len(set(values)) < 2:
        return dict.fromkeys(names)
    ordered: Floats = np.array([values[at] for at in order], dtype=float)
    counts = Counter(groups)
    sizes = np.array([counts[name] for name in names])
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    centre = ordered.mean()
    seen = np.abs(np.add.reduceat(ordered, starts) / sizes - centre)
    stream = RandomStream(seed)
    beyond = np.zeros(len(names), dtype=np.int64)
    rows = max(1, BLOCK // len(ordered))
    for done in range(0, resamples, rows):
        shuffled = np.argsort(stream.uniforms(min(rows, resamples - done), len(ordered)), axis=1)
        means = np.add.reduceat(ordered[shuffled], starts, axis=1) / sizes
        beyond += (np.abs(means - centre) >= seen - 1e-12).sum(axis=0)
    return {name: round_p((hits + 1) / (resamples + 1)) for name, hits in zip(names, beyond, strict=True)}


class Equivalence(NamedTuple):
    """The result of two one-sided tests of a mean difference, in the unit of the differences.

    `low` and `high` are the ends of the 90 % interval, `p` the larger of the two p-values: it is below 0.05 exactly if
    the interval lies within the margin. `equivalent` is then True; it is False if the interval lies wholly beyond the
    margin, and None if neither is shown; `note` then says why.
    """

    p: float | None
    low: float | None
    high: float | None
    equivalent: bool | None
    note: str


def tost(mean: float, errors: tuple[float, float], freedom: float, margin: float) -> float:
    """The larger p-value of two one-sided t tests (Schuirmann, 1987): mean > -margin, and mean < margin.

    `errors` are the standard errors of the two, which are equal except for what `equivalence` adds to them; `freedom`
    is the degrees of freedom. scipy has both tests (`ttest_1samp` with an alternative), but takes no standard errors.
    """
    below, above = errors
    return max(t_cdf(-(mean + margin) / below, freedom), t_cdf((mean - margin) / above, freedom))


def least_half_width(clusters: int) -> float:
    """The least half-width for this many clusters: the share of differing ones that shows in none, 5 times out of 100.

    Let a share q of all clusters differ wholly and the others not at all. With probability (1 - q)^n, none of n
    clusters differs; that is 5 % for q = 1 - 0.05^(1/n): 45 % for 5 clusters, 14 % for 20, 10 % for 29.
    """
    return 1 - math.exp(math.log(ALPHA) / clusters)


def equivalence(differences: Sequence[float], margin: float) -> Equivalence:
    """Two one-sided paired t tests of the mean difference against +-margin; one difference, -1 to 1, for each cluster.

    The t interval alone is too narrow if few clusters differ, and has no width if none does: if a tenth of all clusters
    were lost, it would call the loss smaller in 8 to 12 % of all runs. So each end lies where it would with one more
    cluster that differs in this direction, by as much as those that differ at all; and never nearer than
    `least_half_width`.

    Raises:
        ValueError: if a difference is not between -1 and 1 or the margin not between 0 and 1.
    """
    values = np.sort(np.asarray(differences, dtype=np.float64))
    if not (np.abs(values) <= 1 + 1e-9).all() or not 0 < margin < 1:
        raise ValueError("differences must be between -1 and 1 and the margin between 0 and 1")
    clusters = len(values)
    if clusters < 2:
        return Equivalence(None, None, None, None, f"cannot be shown: only {clusters} tasks have both sides")
    mean, quantile = float(values.mean()), t_quantile(1 - ALPHA, clusters - 1)
    below, above = (half_width(values, side, quantile) for side in (-1, 1))
    low, high = round_figure(mean - below), round_figure(mean + above)
    p = round_p(tost(mean, (below / quantile, above / quantile), clusters - 1, margin))
    if p < ALPHA:
        return Equivalence(p, low, high, True, "")
    if low > margin or high < -margin:
        return Equivalence(p, low, high, False, "the difference is beyond the margin")
    return Equivalence(p, low, high, None, _explain((below + above) / 2, mean, margin))


def half_width(values: Floats, side: int, quantile: float) -> float:
    """The distance from the mean of two or more differences to the end of the interval on one side (-1 or 1).

    `quantile` is that of Student's t at the interval's level; see `equivalence` for why the interval is wider.
    """
    clusters = len(values)
    differing = values[np.abs(values) > 1e-12]
    if not len(differing):
        return least_half_width(clusters)
    further = side * float((differing**2).mean()) ** 0.5
    more = np.append(values, further)
    moved = abs(further - float(values.mean())) / (clusters + 1)
    plain, wider = (quantile * float(each.std(ddof=1)) / math.sqrt(len(each)) for each in (values, more))
    return float(max(plain, moved + wider, least_half_width(clusters)))


def _explain(half: float, mean: float, margin: float) -> str:
    if half >= margin:
        return f"cannot be shown: the half-width of {100 * half:.1f} pp exceeds the margin of {100 * margin:.1f} pp"
    return f"not shown: {100 * mean:+.1f} +- {100 * half:.1f} pp is not within the margin of {100 * margin:.1f} pp"


class OneSided(NamedTuple):
    """The end of the one-sided 95 % interval that decides, in the unit of the differences, and the p-value.

    Both are None where they cannot be had, and `note` says why.
    """

    end: float | None
    p: float | None
    note: str = ""


def no_worse(differences: Sequence[float], margin: float) -> OneSided:
    """Whether a mean difference of scores lies above -margin: `end` is the lower end of its one-sided interval.

    One difference, -1 to 1, for each cluster. The lower one of the two tests of `equivalence`, with what is added there
    for few clusters that differ, is made beside Student's after Hall's transformation, and the one that finds less
    counts: on the boundary that errs in at most 5 of 100 runs, also where a few clusters lose everything and the others
    nothing, which either test alone does not hold.

    Raises:
        ValueError: if a difference is not between -1 and 1 or the margin not between 0 and 1.
    """
    values = np.sort(np.asarray(differences, dtype=np.float64))
    if not (np.abs(values) <= 1 + 1e-9).all() or not 0 < margin < 1:
        raise ValueError("differences must be between -1 and 1 and the margin between 0 and 1")
    clusters = len(values)
    if clusters < 2:
        return OneSided(None, None, f"not testable: only {clusters} clusters have both sides")
    freedom, root = clusters - 1, math.sqrt(clusters)
    mean, spread, quantile = float(values.mean()), float(values.std(ddof=1)), t_quantile(1 - ALPHA, freedom)
    below = half_width(values, -1, quantile)
    end, p = mean - below, t_cdf(-(mean + margin) / (below / quantile), freedom)
    if clusters > 2 and spread > 1e-12:
        skewness = sample_skewness((values - mean) / spread)
        end = min(end, mean - spread * invert_hall(quantile, skewness, clusters))
        p = max(p, t_cdf(-root * hall_transform((mean + margin) / spread, skewness, clusters), freedom))
    return OneSided(round_figure(max(end, -1.0)), round_p(p))


def sample_skewness(standard: Floats) -> float:
    """The same as `scipy.stats.skew` without bias, of values with mean 0 and sample standard deviation 1."""
    n = len(standard)
    return float((standard**3).sum()) * n / ((n - 1) * (n - 2))


def hall_transform(z: float, skewness: float, n: int) -> float:
    """Hall's transformation of a standardised mean, of which `invert_hall` is the inverse."""
    return z + skewness * z**2 / 3 + skewness**2 * z**3 / 27 + skewness / (6 * n)


def both(one: float | None, other: float | None) -> float | None:
    """The p-value that both hold; None where one of them has none."""
    return None if one is None or other is None else max(one, other)


def stratified_difference(strata: Sequence[tuple[Counts, Counts]]) -> Estimate:
    """The difference of two shares within strata, each stratum with the weight of Mantel and Haenszel.

    One entry for each stratum: (successes, trials) of the first side and of the second; those without trials on a side
    do not count. The trials of a stratum and side are taken for independent. The interval is Newcombe's (1998, method
    10) from Wilson's intervals of the two weighted shares, each worth as many trials as its variance would be of, were
    all strata alike; where they are not, it is the wider. p is that of `exact_mantel_haenszel`. `n` counts trials,
    `clusters` strata.

    Raises:
        ValueError: if not 0 <= successes <= trials.
    """
    if any(not 0 <= hits <= trials for pair in strata for hits, trials in pair):
        raise ValueError("successes must be between 0 and the trials")
    found = [(one, other) for one, other in strata if one[1] and other[1]]
    if not found:
        return Estimate(None, note="not testable: nothing is known of both sides")
    weights = [one[1] * other[1] / (one[1] + other[1]) for one, other in found]
    total = math.fsum(weights)
    (p, low, high), (q, least, most) = (_weighted([pair[side] for pair in found], weights, total) for side in (0, 1))
    value = p - q
    below, above = (p - low) ** 2 + (most - q) ** 2, (high - p) ** 2 + (q - least) ** 2
    return Estimate(
        round_figure(value),
        round_figure(max(value - math.sqrt(below), -1.0)),
        round_figure(min(value + math.sqrt(above), 1.0)),
        n=sum(one[1] + other[1] for one, other in found),
        clusters=len(found),
        p=exact_mantel_haenszel(found),
        method="Newcombe's hybrid score, over strata",
    )


def _weighted(counts: Sequence[Counts], weights: Sequence[float], total: float) -> tuple[float, float, float]:
    """The weighted share of one side, and the ends of its interval."""
    share = math.fsum(w * hits / trials for w, (hits, trials) in zip(weights, counts, strict=True)) / total
    worth = total**2 / math.fsum(w**2 / trials for w, (_, trials) in zip(weights, counts, strict=True))
    share = min(max(share, 0.0), 1.0)
    return share, *wilson_interval(share * worth, worth)


_STAKE = 0.75
"""The largest share of the capital that may be lost on one value."""
_BOUNDS = 2001
"""How many means are tried for an interval, evenly spaced."""


def anytime_p(values: Sequence[float], bound: float, low: float, high: float) -> tuple[float, float]:
    """Is the mean of values between `low` and `high` above the bound, and is it below? A p-value of each, one-sided.

    They may be looked at after each value, in the order in which values come, and one may stop when one likes: the
    chance that the p of a null hypothesis that holds ever falls to alpha is at most alpha, whatever the values are
    distributed like. It is the inverse of the largest capital so far of one who bets against the hypothesis, with
    stakes that follow what has been seen: Waudby-Smith and Ramdas, "Estimating means of bounded random variables by
    betting", Journal of the Royal Statistical Society B 86 (2024), 1-27, sections 4.1 and B.3 (aGRAPA), by Ville's
    inequality.

    Raises:
        ValueError: for a value that is not between `low` and `high`, or a bound that is not within them.
    """
    if not low < bound < high:
        raise ValueError(f"{bound} is not between {low} and {high}")
    above, below = _capitals(values, np.array([bound]), low, high)
    return float(min(1.0, math.exp(-above[0]))), float(min(1.0, math.exp(-below[0])))


def anytime_interval(values: Sequence[float], alpha: float, low: float, high: float) -> tuple[float, float]:
    """An interval for the mean of bounded values that holds it with a chance of 1 - alpha over all moments at once.

    It is what `anytime_p` never had to reject at alpha / 2 on either side, widened to a step of a grid of 2,001 means.

    Raises:
        ValueError: for a value that is not between `low` and `high`.
    """
    bounds = np.linspace(low, high, _BOUNDS)
    above, below = _capitals(values, bounds[1:-1], low, high)
    limit = -math.log(alpha / 2)
    kept = np.flatnonzero((above < limit) & (below < limit)) + 1
    if not kept.size:  # pragma: no cover - what lies between two means of the grid
        return float(low), float(high)
    return float(bounds[kept[0] - 1]), float(bounds[kept[-1] + 1])


def _capitals(values: Sequence[float], bounds: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """For each bound the logarithms of the largest capitals of bets that the mean is above it, and below it."""
    unit, means = (np.asarray(values, dtype=float) - low) / (high - low), (bounds - low) / (high - low)
    if unit.size and not (unit.min() >= 0 and unit.max() <= 1):
        raise ValueError(f"a value is not between {low} and {high}")
    above, below = np.zeros_like(means), np.zeros_like(means)
    most_above, most_below = above.copy(), below.copy()
    total, spread = 0.5, 0.25
    for seen, value in enumerate(unit, 1):
        # What is staked on a value follows from those before it.
        gap = total / seen - means
        stake = gap / (spread / seen + gap * gap)
        above += np.log1p(np.clip(stake, 0, _STAKE / means) * (value - means))
        below += np.log1p(-np.clip(-stake, 0, _STAKE / (1 - means)) * (value - means))
        np.maximum(most_above, above, out=most_above)
        np.maximum(most_below, below, out=most_below)
        total += value
        spread += (value - total / (seen + 1)) ** 2
    return most_above, most_below
