"""Skills of one name: which of them an arm can have, and which of them a task means."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from skill_health.bench.collection import SKIP, NamedCollection, left_out, name_skills
from skill_health.core.errors import UsageError
from skill_health.discovery.plugins import Plugins
from skill_health.effectiveness.tasks._api import Task
from skill_health.skill.model import Skill
from skill_health.text.near import either

_KEYS = ("target_skill", "irrelevant_skill", "related_skill", "unrelated_skill")


@dataclass(frozen=True, slots=True)
class NamedSkills:
    """Skills that an arm can have together, tasks that name them as their files do, and what to know of others."""

    skills: tuple[Skill, ...]
    tasks: tuple[Task, ...]
    notes: tuple[str, ...]


def settle_names(skills: Iterable[Skill], tasks: Sequence[Task], root: str, namesakes: str) -> NamedSkills:
    """Of skills with the same name and the same SKILL.md keep one, and give tasks the names by which skills are staged.

    An agent has one skill of a name, whatever plugin it comes from. With `namesakes` "skip" that is the one that a task
    names, as `plugin:skill` where it has to, else the first (see `name_skills`); otherwise all stay, for whoever stages
    them to refuse.

    Raises UsageError for a name that may be several skills, and for tasks that need several of one name.
    """
    found = name_skills(skills, Plugins(root))
    meant = _meant(found)
    by_path = {skill.path: skill for skill in found.skills}
    wanted: dict[str, dict[str, str]] = defaultdict(dict)
    settled = []
    for task in tasks:
        staged: dict[str, Any] = {}
        for key in _KEYS:
            paths = meant.get(getattr(task, key) or "", ())
            if len(paths) > 1:
                several = either([found.names[path].listed for path in paths])
                raise UsageError(f"{task.path}: {key} {getattr(task, key)!r} may be {several}: say which")
            for path in paths:
                staged[key] = by_path[path].name
                wanted[staged[key]][path] = found.names[path].listed
        settled.append(replace(task, **staged) if staged else task)
    for name, listed in wanted.items():
        if len(listed) > 1:
            both = " and ".join(listed.values())
            raise UsageError(
                f"tasks name {both}, and an agent has one skill called {name!r}: give each a run of its own"
            )
    if namesakes != SKIP:
        return NamedSkills(found.skills, tuple(settled), found.notes)
    kept: dict[str, Skill] = {}
    for skill in sorted(found.skills, key=lambda skill: (skill.path not in wanted.get(skill.name, ()), _depth(skill))):
        kept.setdefault(skill.name, skill)
    rest: dict[str, list[Skill]] = defaultdict(list)
    for skill in found.skills:
        if kept[skill.name] is not skill:
            rest[kept[skill.name].path].append(skill)
    skills = tuple(skill for skill in found.skills if kept[skill.name] is skill)
    return NamedSkills(skills, tuple(settled), (*found.notes, *left_out(rest, "an agent has one skill of a name")))


def _meant(found: NamedCollection) -> Mapping[str, Sequence[str]]:
    """What a task may call skills, and the paths of those that are called so; a listed name means no other skill."""
    others: dict[str, list[str]] = defaultdict(list)
    for path, names in found.names.items():
        for name in names.others:
            others[name].append(path)
    listed: dict[str, list[str]] = defaultdict(list)
    for path, names in found.names.items():
        listed[names.listed].append(path)
    # Two that are listed by one name cannot be told apart by any label: the first stands for both.
    return {**others, **{name: paths[:1] for name, paths in listed.items()}}


def _depth(skill: Skill) -> tuple[int, str]:
    return skill.path.count("/"), skill.path
