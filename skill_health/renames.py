"""Which of the skills that are gone came back under another path."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

from skill_health.history_line import SkillLine

# From the surest sign to the weakest.
_SIGNS: tuple[Callable[[SkillLine], Hashable], ...] = (
    lambda skill: (skill.name, skill.description) if skill.description else None,
    lambda skill: skill.description,
    lambda skill: skill.name,
)


def renames(before: Mapping[str, SkillLine], after: Mapping[str, SkillLine]) -> tuple[tuple[str, str], ...]:
    """The pairs of an earlier and a later path that are one skill, sorted by the later.

    A skill is taken for another that is gone where its name or its description is the same and no third skill, gone
    or come, shares it: a guess between two would be worse than none.
    """
    gone = {path: skill for path, skill in before.items() if path not in after}
    come = {path: skill for path, skill in after.items() if path not in before}
    pairs: list[tuple[str, str]] = []
    for sign in _SIGNS:
        old, new = _unique(gone, sign), _unique(come, sign)
        for value in old.keys() & new.keys():
            pairs.append((old[value], new[value]))
            del gone[old[value]], come[new[value]]
    return tuple(sorted(pairs, key=lambda pair: pair[1]))


def _unique(skills: Mapping[str, SkillLine], sign: Callable[[SkillLine], Hashable]) -> dict[Hashable, str]:
    """The paths by their sign, without signs that two skills share."""
    found: dict[Hashable, str] = {}
    shared = set()
    for path, skill in skills.items():
        value = sign(skill)
        if value in found:
            shared.add(value)
        found[value] = path
    return {value: path for value, path in found.items() if value is not None and value not in shared}
