"""Twelve points for how a skill is written: completeness, clarity, specificity and examples, 0 to 3 each.

The rubric is that of SkillsBench (Li et al., 2026, appendix A.3), which names the four and has them scored by readers.
Here each score follows from signs that are counted in SKILL.md, so that the same bytes have the same score; none is a
judgement of what the text says. docs/quality.md says how often the scores agree with readers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from skill_health.skill.authoring import find_format, find_invariant, states_bounds
from skill_health.skill.measure import Measures, measure
from skill_health.skill.model import Skill
from skill_health.text.patterns import lazy

MOST = 3
"""The most points of a dimension."""
_NAMED = (10, 30, 100)
"""From how many particular things on there is one point, two, three."""
_ONE_SCREEN, _SECTION = 160, 40
"""Lines of a text, and of its longest section, that are read at a glance."""
_HEADINGS, _PARTS, _COMMANDS = 3, 3, 15
_WHOLE, _SEVERAL = 3, 4
"""Lines of an example that is no fragment, and how many such are several."""
_PARTICULAR = lazy(
    r"https?://\S+|(?<![\w/])[\w.-]{0,80}/[\w./-]+|\b\w+\.[a-z]{2,4}\b|--?[a-z][\w-]+|\b[A-Z]{2,}\b|\b[A-Z]\w*[A-Z]\w*\b|\b\w+_\w+\b"
    r"|\d[\d.,%]*|[\"\u201c][^\"\u201d\n]{2,60}[\"\u201d]"
)


class QualitySign(NamedTuple):
    """What is looked for, and whether it is there."""

    title: str
    there: bool


class DimensionScore(NamedTuple):
    """The points of a dimension, 0 to 3, and the signs that they follow from."""

    points: int
    signs: tuple[QualitySign, ...]


def score_completeness(skill: Skill, counts: Measures) -> DimensionScore:
    """One point for each part beyond the first."""
    blocks = [block for block in skill.body.blocks if block.text.strip()]
    checked = "verification" in counts.roles or find_format(skill) is not None or find_invariant(skill) is not None
    signs = (
        QualitySign("the description says when to use it", counts.states_when),
        QualitySign("steps, or blocks of commands", "workflow" in counts.roles or len(blocks) > 1),
        QualitySign("what comes out, or how it is checked", checked),
        QualitySign("limits, or what goes wrong", "gotchas" in counts.roles or states_bounds(skill)),
    )
    return DimensionScore(max(0, sum(sign.there for sign in signs) - 1), signs)


def score_clarity(skill: Skill, counts: Measures) -> DimensionScore:
    """One point for each sign of order."""
    body = skill.body
    longest = max(
        (each.end_line - each.line for each in body.sections if each.heading.level > 1), default=counts.line_count
    )
    short = counts.line_count <= _ONE_SCREEN and longest <= _SECTION
    return _one_each(
        QualitySign(f"{_HEADINGS} headings or more", counts.heading_count >= _HEADINGS),
        QualitySign("lists, tables or blocks", len(body.items) + len(body.tables) + len(body.blocks) >= _PARTS),
        QualitySign(f"at most {_ONE_SCREEN} lines, and {_SECTION} in a section", short),
    )


def score_specificity(skill: Skill, counts: Measures) -> DimensionScore:
    """By the number of particular things: inline code, names, paths, numbers, and half the words in blocks."""
    body = skill.body
    named = sum(1 for prose in body.prose for _ in _PARTICULAR.finditer(prose.plain))
    things = len(body.codes) + named + sum(len(block.text.split()) for block in body.blocks) / 2
    return _one_each(*(QualitySign(f"{least} particular things or more", things >= least) for least in _NAMED))


def score_examples(skill: Skill, counts: Measures) -> DimensionScore:
    """One point for commands or a section of examples, another for a whole example, a third for several."""
    blocks = [block for block in skill.body.blocks if block.text.strip()]
    whole = sum(len(block.text.strip().splitlines()) >= _WHOLE for block in blocks)
    some = bool(blocks) or len(skill.body.codes) >= _COMMANDS or "examples" in counts.roles
    return _one_each(
        QualitySign("a block, a section of examples, or many commands", some),
        QualitySign("a block of code or data", bool(blocks)),
        QualitySign(f"{_SEVERAL} blocks of {_WHOLE} lines or more", whole >= _SEVERAL),
    )


def _one_each(*signs: QualitySign) -> DimensionScore:
    return DimensionScore(sum(sign.there for sign in signs), signs)


DIMENSIONS: Mapping[str, Callable[[Skill, Measures], DimensionScore]] = {
    "completeness": score_completeness,
    "clarity": score_clarity,
    "specificity": score_specificity,
    "examples": score_examples,
}


def score_quality(skill: Skill) -> dict[str, DimensionScore]:
    """The points of a skill by dimension."""
    counts = measure(skill)
    return {name: score(skill, counts) for name, score in DIMENSIONS.items()}
