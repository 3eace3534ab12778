"""The confound: are skills with a longer description simply found more often?"""

from __future__ import annotations

from collections.abc import Iterable

from skill_health import stats
from skill_health.router.scores.facts import RoutingRunFacts
from skill_health.router.scores.judge import Judged
from skill_health.router.scores.numbers import Number, left_out, not_testable, number

PER = 100
LEAST = 10


def length_slope(rows: Iterable[Judged], facts: RoutingRunFacts) -> Number:
    """The change of the log odds of a right first answer for each 100 characters more of the listed description.

    All prompts of a skill share its length, so that skills are the clusters: with a handful of them there is no
    telling, whatever the number of calls.
    """
    lengths, right, clusters = [], [], []
    for row in rows:
        skill = row.prompt.expected
        if row.tested and skill is not None and skill in facts.shown:
            lengths.append(len(facts.shown[skill].text) / PER)
            right.append(row.right)
            clusters.append(skill)
    tried = len(set(clusters))
    if tried < LEAST:
        return not_testable(f"{tried} skills with scored calls; at least {LEAST} are needed", len(right), tried)
    if len(set(lengths)) < 2:
        return not_testable("all descriptions are of one length", len(right), tried)
    if not stats.installed():
        return left_out()
    from skill_health.stats.position import clustered_slope

    return number(clustered_slope(lengths, right, clusters))
