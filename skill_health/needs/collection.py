"""The skills of a collection -> what each needs, and how many need each category."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import cast

from skill_health.core.boundary import Boundary
from skill_health.core.forks import map_forked
from skill_health.discovery.corpus import Discovery, Entry
from skill_health.documents.needs_report import (
    NeedCategory,
    NeedFrequency,
    NeedPlace,
    NeedsOfSkill,
    NeedsReport,
    SkillNeed,
)
from skill_health.needs.find import all_categories, find_needs
from skill_health.needs.model import SkillNeeds
from skill_health.needs.reading.read import ReadText
from skill_health.skill.decode import decode
from skill_health.skill.parse import parse_skill
from skill_health.stats.intervals import wilson_interval

_SNIFFED = 8_000
_BATCH, _MANY = 32, 200
"""Skills that are read at once, and from how many on that is shared."""


def needs_of_collection(discovery: Discovery, jobs: int = 1) -> tuple[SkillNeeds, ...]:
    """What each readable skill needs, by the path of its SKILL.md. No link out of the repository is followed.

    Large collections are read in as many processes as `jobs` says.
    """
    entries = sorted(discovery.entries, key=lambda each: each.path)
    batches = [entries[at : at + _BATCH] for at in range(0, len(entries), _BATCH)]
    work = partial(_needs_of, discovery.root)
    few = jobs < 2 or len(entries) < _MANY
    found = map(work, batches) if few else map_forked(work, batches, jobs, 1)
    return tuple(each for batch in found for each in batch)


def _needs_of(root: str, entries: Sequence[Entry]) -> list[SkillNeeds]:
    boundary = Boundary(root)
    read = bundled_reader(boundary)
    found = []
    for entry in entries:
        data, problem = (b"", entry.problem) if entry.problem else boundary.read_skill(entry.path)
        if not problem:
            found.append(find_needs(parse_skill(data, entry.path, entry.folder_name, entry.files), read))
    return found


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
