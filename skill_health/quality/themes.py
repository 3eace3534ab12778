"""Skills grouped by theme: clusters of names and descriptions by the words that they share.

The same texts give the same clusters in any order. A cluster is named after the terms that weigh most in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import fsum

from skill_health.stats.association import link_clusters
from skill_health.text.similarity import cosine, terms, vectors

LEAST = 0.12
"""The mean cosine of the texts of two clusters that are still one."""
ALONE = "other"
"""The theme of skills that are like no other."""
_NAMED = 3
_STOP = frozenset(
    "a an and any are as at be by can do for from how if in into is it its of on or other so that the their this to use used user"
    " uses using want wants when whenever which with you your skill skills help helps ask asks asked need needs needed work works"
    " working create creating guide provides via also not new based across about all where what will has have including include".split()
)


def find_themes(descriptions: Mapping[str, str]) -> dict[str, str]:
    """The theme of each skill, by its name; for some thousands of skills at most: the time grows with the square."""
    names = sorted(descriptions)
    found = vectors([terms(f"{name.replace('-', ' ')} {descriptions[name]}", _STOP) for name in names])
    clusters = link_clusters(
        [[cosine(one, other) for other in found[:at]] for at, one in enumerate(found)], LEAST
    )  # fmt: skip
    themes: dict[str, str] = {}
    taken: Counter[str] = Counter()
    for cluster in clusters:
        if len(cluster) == 1:
            themes[names[cluster[0]]] = ALONE
            continue
        weights: dict[str, list[float]] = {}
        for member in cluster:
            for term, weight in found[member].items():
                weights.setdefault(term, []).append(weight)
        ranked = sorted(weights, key=lambda term: (-round(fsum(sorted(weights[term])), 9), term))
        title = ", ".join(ranked[:_NAMED])
        taken[title] += 1
        title += f" ({taken[title]})" if taken[title] > 1 else ""
        themes.update({names[member]: title for member in cluster})
    return dict(sorted(themes.items()))
