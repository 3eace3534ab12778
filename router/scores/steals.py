"""Skills that take what is not theirs: picked first though they are neither expected nor acceptable.

A description that instructs the router, or claims every request, shows here as a thief.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from skill_health.router.records import NONE
from skill_health.router.scores.judge import Judged
from skill_health.router.scores.numbers import number, share

MOST = 20


def thieves(rows: Iterable[Judged]) -> dict[str, Any]:
    """Who steals how often, the worst first.

    A skill's rate is over the calls in which it is neither expected nor acceptable, on prompts with a known answer.
    """
    rows = [row for row in rows if row.tested]
    taken: defaultdict[str, list[Judged]] = defaultdict(list)
    for row in rows:
        if row.picked is not None and row.fired and not row.accepted:
            taken[row.picked].append(row)
    calls = Counter(row.cluster for row in rows)
    own = _own(rows)
    order = sorted(taken, key=lambda skill: (-len(taken[skill]), skill))
    found = [_thief(skill, taken[skill], calls, own.get(skill, {})) for skill in order[:MOST]]
    return {"skills": len(taken), "thieves": found}


def _own(rows: Sequence[Judged]) -> Mapping[str, Counter[int]]:
    """In how many calls of each cluster a skill is expected or acceptable."""
    found: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for row in rows:
        for skill in {row.prompt.target or NONE, *row.prompt.acceptable}:
            found[skill][row.cluster] += 1
    return found


def _thief(skill: str, taken: Sequence[Judged], calls: Mapping[int, int], own: Mapping[int, int]) -> dict[str, Any]:
    hits = Counter(row.cluster for row in taken)
    sums = [(hits[at], chances) for at in sorted(calls) if (chances := calls[at] - own.get(at, 0)) > 0]
    return {
        "skill": skill,
        "calls": len(taken),
        "prompts": len({row.prompt.prompt_id for row in taken}),
        "rate": number(share(sums)),
        "from": [
            {"expected": expected, "calls": n}
            for expected, n in sorted(
                Counter(row.prompt.target or NONE for row in taken).items(), key=lambda item: (-item[1], item[0])
            )[:5]
        ],
    }
