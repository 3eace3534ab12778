"""The skills of a collection -> what each needs, and how many need each category."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, cast

from skill_health.core.boundary import Boundary
from skill_health.core.files import file_state
from skill_health.core.forks import map_forked
from skill_health.discovery.corpus import Entry
from skill_health.documents.needs_report import (
    NeedCategory,
    NeedFrequency,
    NeedPlace,
    NeedsOfSkill,
    NeedsReport,
    SkillNeed,
)
from skill_health.lint.readable import read_entry
from skill_health.needs.find import all_categories, find_needs
from skill_health.needs.model import SkillNeeds
from skill_health.needs.reading.read import ReadText
from skill_health.skill.decode import decode
from skill_health.skill.parse import parse_skill
from skill_health.stats.intervals import wilson_interval

_SNIFFED = 8_000
_BATCH, _MANY = 32, 200
"""Skills that are read at once, and from how many on that is shared."""


class FoundNeeds(NamedTuple):
    """What a skill needs (None: it cannot be read), and the states of all files that this rests on, by their paths."""

    needs: SkillNeeds | None
    files: Mapping[str, str]


class KeptNeeds:
    """What skills were found to need, kept in this process for as long as no file that it rests on is another one.

    `read` counts the skills that the last call of `needs_of_collection` had to read.
    """

    def __init__(self) -> None:
        self._known: dict[Entry, FoundNeeds] = {}
        self.read = 0

    def find(self, root: str, entry: Entry) -> FoundNeeds | None:
        """What is known of a skill; None where that may be another by now."""
        known = self._known.get(entry)
        if known is None or any(file_state(os.path.join(root, path)) != was for path, was in known.files.items()):
            return None
        return known

    def replace(self, found: dict[Entry, FoundNeeds], read: int) -> None:
        """Know this, and nothing else any more."""
        self._known, self.read = found, read


def needs_of_collection(
    root: str, skills: Iterable[Entry], jobs: int = 1, kept: KeptNeeds | None = None
) -> tuple[SkillNeeds, ...]:
    """What each readable skill needs, by the path of its SKILL.md. No link out of the repository is followed.

    Large collections are read in as many processes as `jobs` says. What is `kept` is not read again.
    """
    entries = sorted(skills, key=lambda each: each.path)
    found = {entry: known for entry in entries if kept and (known := kept.find(root, entry))}
    unknown = [entry for entry in entries if entry not in found]
    batches = [unknown[at : at + _BATCH] for at in range(0, len(unknown), _BATCH)]
    work = partial(_needs_of, root)
    few = jobs < 2 or len(unknown) < _MANY
    made = map(work, batches) if few else map_forked(work, batches, jobs, 1)
    found |= zip(unknown, (each for batch in made for each in batch), strict=True)
    if kept:
        kept.replace(found, len(unknown))
    return tuple(each for entry in entries if (each := found[entry].needs))


def _needs_of(root: str, entries: Sequence[Entry]) -> list[FoundNeeds]:
    boundary = Boundary(root)
    return [_found(boundary, entry) for entry in entries]


def _found(boundary: Boundary, entry: Entry) -> FoundNeeds:
    if entry.problem:
        return FoundNeeds(None, {})
    text_of, states = bundled_reader(boundary), {}

    def read(path: str) -> str | None:
        states[path] = file_state(os.path.join(boundary.root, path))
        return text_of(path)

    # What changes while it is read has another state the next time.
    states[entry.path] = file_state(os.path.join(boundary.root, entry.path))
    data, problem = read_entry(boundary, entry)
    skill = parse_skill(data, entry.path, entry.folder_name, entry.files)
    return FoundNeeds(None if problem else find_needs(skill, read), states)


def bundled_reader(boundary: Boundary) -> ReadText:
    """Reads texts of up to 1 MiB inside the repository; None for anything else."""

    def read(path: str) -> str | None:
        data = boundary.read_small(path)
        return None if data is None or b"\0" in data[:_SNIFFED] else decode(data)[0]

    return read


def need_frequencies(found: Iterable[SkillNeeds]) -> tuple[NeedFrequency, ...]:
    """How many skills need each category, with Wilson's interval; nothing where there is no skill."""
    skills = list(found)
    if not skills:
        return ()
    rows = []
    for category, module in all_categories().items():
        count = sum(category in each.categories for each in skills)
        low, high = wilson_interval(count, len(skills))
        rows.append(
            NeedFrequency(
                category=cast(NeedCategory, category), title=module.TITLE, count=count, n=len(skills), value=count / len(skills), low=low, high=high,
            )
        )  # fmt: skip
    return tuple(rows)


def needs_report(found: Sequence[SkillNeeds]) -> NeedsReport:
    """The document of a collection."""
    return NeedsReport(
        schema="skill-health/needs/1",
        skills=tuple(map(needs_record, found)),
        frequencies=need_frequencies(found),
    )


def needs_record(found: SkillNeeds) -> NeedsOfSkill:
    """What one skill needs, as documents have it."""
    return NeedsOfSkill(
        path=found.path,
        name=found.name,
        needs=tuple(
            SkillNeed(
                category=cast(NeedCategory, need.category),
                evidence=tuple(
                    NeedPlace(
                        path=each.path, line=each.line, kind=each.kind.value, subject=each.subject, text=each.text
                    )
                    for each in need.evidence
                ),
            )
            for need in found.needs
        ),
    )
