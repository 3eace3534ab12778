"""What skills need, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skill_health.documents.needs_report import NeedFrequency, NeedsOfSkill, NeedsReport, SkillNeed
from skill_health.text.blocks import Block, Items, Sentence, Table, TitleBlock
from skill_health.text.numbers import count, share

_PLACES = 3


def needs_blocks(report: NeedsReport, prefix: str = "") -> Iterator[Block]:
    """Each skill with its needs and their best evidence, then the table. `prefix` leads from here to the root."""
    for skill in report.skills:
        yield TitleBlock(f"{prefix}{skill.path}")
        if skill.needs:
            yield Items([line for need in skill.needs for line in _lines(need, skill)], most=1_000)
        else:
            yield Sentence("needs nothing beyond a plain shell, as far as its text says")
    yield TitleBlock(f"What {count(len(report.skills), 'skill')} need{'s' * (len(report.skills) == 1)}")
    yield frequency_table(report.frequencies)


def _lines(need: SkillNeed, skill: NeedsOfSkill) -> Iterator[str]:
    places = []
    for each in need.evidence[:_PLACES]:
        file = (
            each.path.rpartition("/")[2]
            if each.path == skill.path
            else each.path[len(skill.path.rpartition("/")[0]) :].lstrip("/")
        )
        places.append(f"{file}:{each.line}: {each.text}")
    more = len(need.evidence) - _PLACES
    yield f"{need.category}: {'; '.join(dict.fromkeys(each.subject for each in need.evidence[:_PLACES]))}"
    yield from (f"    {place}" for place in places)
    if more > 0:
        yield f"    and {count(more, 'more place')}"


def frequency_table(frequencies: Sequence[NeedFrequency]) -> Table:
    """The share of skills that need each category, in per cent with Wilson's 95 % interval."""
    rows = [(each.title, each.category, f"{each.count:,} of {each.n:,}", share(each)) for each in frequencies]
    return Table(("category", "key", "skills", "% [95 %]"), rows)
