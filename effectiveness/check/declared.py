"""Which skills a collection says work together, and where: read from frontmatter, sections and links, never guessed.

Only names of skills that are there count. A line that sets the other skill apart ("use X instead") declares nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from posixpath import dirname, normpath
from typing import Any

from skill_health.documents.effect_composition import DeclaredTogether, PairSource, TriedPair
from skill_health.rules.links._targets import read_target
from skill_health.skill.model import Field, Prose, Section, Skill
from skill_health.skill.sections import plain_title, roles_of
from skill_health.text.patterns import lazy

_KEYS = frozenset(
    "related related_skills depends depends_on dependencies requires required_skills skill_dependencies integrates_with "
    "integrations works_with works_well_with companions companion_skills complements complementary_skills pairs_with "
    "see_also".split()
)
# Sections that are about other skills beside those with the role "integration".
_TITLES = frozenset(("see also", "companion skills", "adjacent skills", "called by", "pairs with", "skill chain"))
_APART_TITLE = lazy(r"distinction|differen|versus|\bvs\b|alternative|when not|not to use|instead", re.I)
# The line says that the other skill is for something else, or in the place of this one.
_APART = lazy(
    r"\binstead\b|\brather than\b|\bunlike\b|\bnot to be confused\b|\bdo(?:es)? not (?:use|combine|load|mix)\b|"
    r"\bdon'?t (?:use|combine|load|mix|confuse)\b|\bnever (?:use|combine|load|mix)\b|\balternatives? to\b|\bconflicts? with\b|"
    r"\breplace[sd]?\b|\bsupersede[sd]?\b|\bdeprecated\b|\bformerly\b|\brenamed\b|\bmutually exclusive\b|\bincompatible\b|"
    r"\bnot (?:this|that) skill\b|\bout of scope\b|\bredirect(?:s|ed)?\b|\bsuccessor\b|\bdo \W*not\W* (?:load|use)\b|"
    r"[\u2705\u274c]",
    re.I,
)
# Beside a bare link it sends the reader away.
_AWAY = lazy(
    r"\broutes?(?:d)?\b|\bfor (?:those|these|that|anything else),? use\b|\beither this skill\b|\bbelongs? (?:to|in)\b",
    re.I,
)
# A sentence that says it in so many words, and how far it reaches.
_TOGETHER = lazy(
    r"\brequired (?:sub-?)?skills?\b|\brequired background\b|"
    r"\b(?:pairs?|paired|works?|combined?|combines|together|in combination) (?:well |best |together )?with\b",
    re.I,
)
_REACH = 120
_NAME = r"(?<![\w/.:@-])(?:[A-Za-z0-9][\w-]*:)?([a-z0-9]+(?:-[a-z0-9]+)*)(?![\w/:@-]|\.\w)"
_MARKED = lazy(r"(?:`|\*\*|\[)/?(?:[A-Za-z0-9][\w-]*:)?([a-z0-9]+(?:-[a-z0-9]+)*)/?(?:`|\*\*|\])")
_WORD = lazy(_NAME)
_HEAD = lazy(r"\s*/?(?:[A-Za-z0-9][\w-]*:)?([a-z0-9]+(?:-[a-z0-9]+)*)(?=\s*(?::|\u2013|\u2014|-\s|\u2192|->|\(|\Z))")
_QUOTE, _MOST = 200, 12
"""The longest quote, and the most skills that one may link to before its links are a catalogue."""


@dataclass(frozen=True, slots=True)
class SkillPlaces:
    """The skills of a collection by name, and their names by the folder that they lie in."""

    skills: Mapping[str, Skill]
    folders: Mapping[str, str]


def declared_pairs(skills: Iterable[Skill]) -> tuple[TriedPair, ...]:
    """Every two skills of which one says that it works with the other, sorted by their names, each place once."""
    given = sorted(skills, key=lambda skill: skill.path)
    places = SkillPlaces(
        {skill.name: skill for skill in reversed(given)}, {skill.folder: skill.name for skill in given}
    )
    found: dict[tuple[str, str], dict[tuple[str, int], DeclaredTogether]] = defaultdict(dict)
    for name in sorted(places.skills):
        for each in _declared(places.skills[name], places):
            first, second = sorted((each.skill, each.other))
            found[first, second].setdefault((each.path, each.line), each)
    return tuple(
        TriedPair(skills=names, declared=tuple(own[place] for place in sorted(own)))
        for names, own in sorted(found.items())
    )


def _declared(skill: Skill, places: SkillPlaces) -> Iterator[DeclaredTogether]:
    # Of several ways to say it on one line, the plainest counts.
    yield from _of_frontmatter(skill, places)
    yield from _of_sections(skill, places)
    yield from _of_sentences(skill, places)
    yield from _of_links(skill, places)


def _told(skill: Skill, other: str, line: int, source: PairSource) -> DeclaredTogether:
    text = " ".join(skill.lines[line - 1].split()) if line <= len(skill.lines) else ""
    quote = text if len(text) <= _QUOTE else text[: _QUOTE - 1] + "…"
    return DeclaredTogether(skill=skill.name, other=other, path=skill.path, line=line, source=source, quote=quote)


def _of_frontmatter(skill: Skill, places: SkillPlaces) -> Iterator[DeclaredTogether]:
    fields = skill.frontmatter.fields if skill.frontmatter else ()
    inner = [each for field in fields if field.key == "metadata" for each in field.fields]
    for field in (*fields, *inner):
        if field.key.lower().replace("-", "_") in _KEYS:
            for name in dict.fromkeys(_listed(field.value)):
                if name in places.skills and name != skill.name:
                    yield _told(skill, name, _line_of(skill, field, name), "frontmatter")


def _listed(value: Any) -> Iterator[str]:
    """The names in a value: a text with commas or spaces, a list, or a list of mappings with a name."""
    if isinstance(value, str):
        for word in re.split(r"[,;\s]+", value):
            yield word.strip("`'\"[]/").rpartition(":")[2]
    elif isinstance(value, Mapping):
        yield from _listed(value.get("name") or value.get("skill"))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _listed(each)


def _line_of(skill: Skill, field: Field, name: str) -> int:
    """The line of a field that names a skill; that of its key where none does plainly."""
    for line in range(field.key_span.line, max(field.span.end_line, field.key_span.line) + 1):
        if line <= len(skill.lines) and name in skill.lines[line - 1]:
            return line
    return field.key_span.line


def _of_sections(skill: Skill, places: SkillPlaces) -> Iterator[DeclaredTogether]:
    for section in _sections(skill):
        units: dict[int, list[Prose]] = defaultdict(list)
        for prose in skill.body.prose:
            if section.line < prose.line <= section.end_line:
                units[prose.unit].append(prose)
        for unit in units.values():
            if any(_APART.search(prose.text) for prose in unit):
                continue
            for prose in unit:
                for name, at in _names(prose, places):
                    if name != skill.name:
                        yield _told(skill, name, skill.body.position(prose, at)[0], "section")


def _of_sentences(skill: Skill, places: SkillPlaces) -> Iterator[DeclaredTogether]:
    for prose in skill.body.prose:
        said = _TOGETHER.search(prose.text)
        if said is None or _APART.search(prose.text):
            continue
        for name, at in _names(prose, places):
            end = prose.text.find(". ", said.end())
            if name != skill.name and said.end() <= at < min(said.end() + _REACH, end if end >= 0 else at + 1):
                yield _told(skill, name, skill.body.position(prose, at)[0], "sentence")


def _sections(skill: Skill) -> Iterator[Section]:
    for section in skill.body.sections:
        title = section.heading.title
        ours = "integration" in roles_of(title) or plain_title(title) in _TITLES
        if ours and not _APART_TITLE.search(title):
            yield section


def _names(prose: Prose, places: SkillPlaces) -> Iterator[tuple[str, int]]:
    """The skills that a text names, and where: by a marked name, at its head, or by a name of several words."""
    found: dict[str, int] = {}
    head = _HEAD.match(prose.text) if prose.item or prose.kind != "paragraph" else None
    for match in (*_MARKED.finditer(prose.text), *([head] if head else ())):
        found.setdefault(match.group(1), match.start(1))
    for match in _WORD.finditer(prose.text):
        if "-" in match.group(1):
            found.setdefault(match.group(1), match.start(1))
    yield from ((name, at) for name, at in found.items() if name in places.skills)


def _of_links(skill: Skill, places: SkillPlaces) -> Iterator[DeclaredTogether]:
    found = []
    for link in skill.body.links:
        target = read_target(link.target)
        if target.kind != "file":
            continue
        full = normpath(skill.path_of(target.path))
        other = places.folders.get(dirname(full) if full.lower().endswith("/skill.md") else full)
        if other is None or other == skill.name or places.skills[other].name != other:
            continue
        section = skill.body.section_at(link.line)
        title = section.heading.title if section else ""
        text = _paragraph(skill, link.line)
        if "boundaries" in roles_of(title) or any(each.search(text) for each in (_APART, _AWAY)):
            continue
        found.append((other, link.line))
    if len({other for other, _ in found}) <= _MOST:
        yield from (_told(skill, other, line, "link") for other, line in found)


def _paragraph(skill: Skill, line: int) -> str:
    """The heading above a line, and the whole text that the line is part of."""
    section = skill.body.section_at(line)
    around = [each.text for each in skill.body.prose if each.line <= line <= each.line + each.text.count("\n")]
    return "\n".join((section.heading.title if section else "", skill.lines[line - 1], *around))
