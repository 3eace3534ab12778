"""Parses the skills of a collection, and names them as they are listed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from skill_health.core.boundary import Boundary
from skill_health.discovery.corpus import Discovery
from skill_health.discovery.plugins import Plugins
from skill_health.lint.check import load_head, load_skill
from skill_health.lint.readable import read_entry
from skill_health.rules.routing._groups import name_key
from skill_health.skill.model import Skill

AS_LISTED, REFUSE, SKIP, BY_PATH = "as-listed", "refuse", "skip", "path"
UNREADABLE = frozenset(("directory", "dangling", "loop", "unreadable"))
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Names:
    """The listed name of a skill, and the other names a label may use: its plain name, and those of exact copies.

    `shared` is "" unless others are listed by the same name: then it is that name, and `listed` tells them apart.
    """

    listed: str
    others: tuple[str, ...] = ()
    shared: str = ""


@dataclass(frozen=True, slots=True)
class NamedCollection:
    """The skills that can be listed, their names by the path of SKILL.md, and notes on the others."""

    skills: tuple[Skill, ...] = ()
    names: Mapping[str, Names] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def name_skills(
    skills: Iterable[Skill], plugins: Plugins, namesakes: str = AS_LISTED, plain: bool = False
) -> NamedCollection:
    """Name the skills of a collection, in the order of their paths.

    Of skills with the same name and the same SKILL.md, one counts. What becomes of others that are listed by the same
    name is for `namesakes` to say: "as-listed" keeps that name as the `shared` one of each, and puts its folder before
    it to tell them apart; "refuse" keeps them all, for the catalogue to refuse; "skip" keeps one, the first of those
    with the fewest folders in their path; "path" puts each one's folder before its name in the listing. If `plain`,
    names have no plugins and stand for folders that a program makes: "as-listed" is then "refuse".
    """
    namesakes = REFUSE if plain and namesakes == AS_LISTED else namesakes
    ordered = sorted(skills, key=lambda skill: (skill.path.count("/"), skill.path))
    called = {skill.path: (plain_name(skill), plugins.qualify(skill.folder, plain_name(skill))) for skill in ordered}
    listed = {path: names[not plain] for path, names in called.items()}
    single, copies = _first_of(ordered, lambda skill: (name_key(plain_name(skill)), _content(skill)))
    left: dict[str, list[Skill]] = {}
    if namesakes == SKIP:
        single, left = _first_of(single, lambda skill: name_key(listed[skill.path]))
    shared: dict[str, str] = {}
    if namesakes in (BY_PATH, AS_LISTED):
        placed = _placed(single, listed, namesakes == AS_LISTED)
        shared = {path: listed[path] for path in placed} if namesakes == AS_LISTED else {}
        listed |= placed
    names = {}
    for skill in single:
        own = listed[skill.path]
        others = [name for one in (skill, *copies.get(skill.path, ())) for name in called[one.path]]
        others = [name for name in dict.fromkeys(others) if name != own]
        names[skill.path] = Names(own, tuple(others), shared.get(skill.path, ""))
    notes = (
        *left_out(copies, "name and SKILL.md are those of another"),
        *left_out(left, "another is listed by the same name"),
    )
    return NamedCollection(tuple(sorted(single, key=lambda skill: skill.path)), names, notes)


def plain_name(skill: Skill) -> str:
    """The name of a skill as in its own file, on one line."""
    return " ".join(skill.name.split())


def _placed(skills: Sequence[Skill], listed: Mapping[str, str], told: bool) -> dict[str, str]:
    """The names that tell skills apart which are listed by one name, by their paths.

    They have the whole folder in front where less leaves two alike and, with `told`, at the root as well.
    """
    several = Counter(name_key(listed[skill.path]) for skill in skills)
    alike = [skill for skill in skills if several[name_key(listed[skill.path])] > 1]
    short = {skill.path: _with_place(skill) for skill in alike}
    taken = Counter(name_key(short.get(skill.path, listed[skill.path])) for skill in skills)
    clear = {path for path, name in short.items() if taken[name_key(name)] == 1 and not (told and name == listed[path])}
    return {
        skill.path: short[skill.path] if skill.path in clear else f"{skill.folder or '.'}:{plain_name(skill)}"
        for skill in alike
    }


def _with_place(skill: Skill) -> str:
    """The name after the folder that tells it from its namesakes, without the skill's own where that has its name."""
    above, _, own = skill.folder.replace(os.sep, "/").rpartition("/")
    place = above if name_key(own) == name_key(plain_name(skill)) else skill.folder.replace(os.sep, "/")
    return f"{place}:{plain_name(skill)}" if place else plain_name(skill)


def _content(skill: Skill) -> Hashable:
    unreadable = any(defect.kind in UNREADABLE for defect in skill.defects)
    return (skill.path,) if unreadable else skill.text


def _first_of(skills: Iterable[Skill], key: Callable[[Skill], Hashable]) -> tuple[list[Skill], dict[str, list[Skill]]]:
    """The first skill of each key, and the others by the path of the first."""
    groups: dict[Hashable, list[Skill]] = {}
    for skill in skills:
        groups.setdefault(key(skill), []).append(skill)
    return [group[0] for group in groups.values()], {
        group[0].path: group[1:] for group in groups.values() if len(group) > 1
    }


def left_out(groups: Mapping[str, Sequence[Skill]], why: str) -> Iterator[str]:
    """One line on the skills that are left out: the first few groups, each with the path that is kept."""
    if groups:
        number = sum(map(len, groups.values()))
        told = [f"{', '.join(skill.path for skill in rest)} ({kept} stays)" for kept, rest in groups.items()]
        more = f" and {len(told) - _SHOWN} more such names" if len(told) > _SHOWN else ""
        yield f"{number} skill{'s' * (number != 1)} left out, because {why}: {'; '.join(told[:_SHOWN])}{more}"


def read_skills(discovery: Discovery, heads: bool = False) -> list[Skill]:
    """Read every skill of a collection, in the order of their paths. Never raises on bad content.

    With `heads` the Markdown of a skill is parsed only if it is looked at.
    """
    load = load_head if heads else load_skill
    boundary = Boundary(discovery.root)
    return [load(entry, *read_entry(boundary, entry)) for entry in discovery.entries]


def read_collection(
    discovery: Discovery, namesakes: str = REFUSE, plain: bool = False, heads: bool = False
) -> tuple[Discovery, NamedCollection]:
    """Read and name the skills of a collection; skills that are left out are removed from the discovery, too.

    `heads` is as in `read_skills`.
    """
    found = name_skills(read_skills(discovery, heads), Plugins(discovery.root), namesakes, plain)
    kept = {skill.path for skill in found.skills}
    return discovery._replace(entries=tuple(entry for entry in discovery.entries if entry.path in kept)), found
