"""How well skills are written, as text."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.documents._record import FullFigure
from skill_health.documents.quality_report import (
    PointFigures,
    QualityEffects,
    QualityOfSkill,
    QualityReport,
)
from skill_health.text.blocks import Block, Items, Sentence, Table, TitleBlock
from skill_health.text.numbers import count, p_value, points, with_interval

PAPER_MEAN = 6.2
"""Of twelve, what readers gave public skills in the mean (SkillsBench, appendix A.3)."""


def quality_blocks(report: QualityReport, lead: str = "") -> Iterator[Block]:
    """A table of skills, the signs that each lacks, how points and patterns are distributed, and what they go with."""
    names = [each.dimension for each in report.dimensions]
    rows = [
        (f"{lead}{each.path}", str(each.points), *(str(part.points) for part in each.dimensions))
        for each in report.skills
    ]
    yield Table(("skill", "of 12", *names), rows, most=200)
    if len(report.skills) <= 20:
        for each in report.skills:
            yield TitleBlock(f"{lead}{each.path}")
            yield Items(list(_lines(each)), most=100)
    yield TitleBlock(f"{count(len(report.skills), 'skill')}")
    figures: list[tuple[str, PointFigures]] = [("all twelve", report.points)]
    figures += [(each.dimension, each.figures) for each in report.dimensions]
    yield Table(
        ("points", "mean", "first quartile", "median", "third quartile"),
        [(name, f"{own.mean:.1f}", f"{own.lower:g}", f"{own.median:g}", f"{own.upper:g}") for name, own in figures],
    )
    yield Sentence(
        f"Readers of SkillsBench gave public skills {PAPER_MEAN} of 12 in the mean; these points are counted signs."
    )
    yield Table(
        ("pattern", "went with", "skills"),
        [(_words(each.pattern), each.side, f"{each.skills:,} of {each.n:,}") for each in report.patterns],
    )
    if report.effects:
        yield from _effects(report.effects)


def _lines(skill: QualityOfSkill) -> Iterator[str]:
    for part in skill.dimensions:
        missing = [sign.title for sign in part.signs if not sign.there]
        yield f"{part.dimension} {part.points} of 3" + (f"; not found: {'; '.join(missing)}" if missing else "")
    for place in skill.patterns:
        yield f"{place.side}: {_words(place.pattern)}, line {place.line}"
    if skill.contract:
        own = skill.contract
        yield f"contract: at most {own.tool_calls or '?'} calls and {own.tokens or '?'} tokens" + "".join(
            f"; {problem}" for problem in own.problems
        )


def _effects(effects: QualityEffects) -> Iterator[Block]:
    yield TitleBlock(f"Beside the gains of {count(effects.skills, 'skill')}")
    if effects.simulated:
        yield Sentence("Simulated: these gains are made up, and say nothing about any skill.", strong=True)
    yield Sentence(
        f"Points and gain, by ranks: {_shown(effects.correlation, with_interval(effects.correlation, '+.2f', 1.0))}."
    )
    yield Table(
        ("pattern", "went with", "showing", "others", "difference of gains, points [95 %]", "p", "p (Holm)"),
        [
            (
                _words(each.pattern), each.side, str(each.showing), str(each.others), _shown(each.difference, points(each.difference)),
                p_value(each.difference.p), p_value(each.difference.p_adjusted),
            )
            for each in effects.patterns
        ],
    )  # fmt: skip
    yield Sentence("Authors chose the patterns, nobody drew them by lot: a difference is no effect of a pattern.")
    yield Table(
        ("theme", "skills", "mean gain, points [95 %]", "p (Holm)"),
        [
            (each.theme, str(each.skills), _shown(each.gain, points(each.gain)), p_value(each.gain.p_adjusted))
            for each in effects.themes
        ],
    )
    if effects.contracts:
        yield Table(
            ("contract of", "agent and model", "at most", "measured [95 %]", "verdict"),
            [
                (
                    each.skill,
                    each.model,
                    f"{each.said:,} {each.measure}",
                    _shown(each.measured, with_interval(each.measured, ",.0f", 1.0)),
                    each.verdict,
                )
                for each in effects.contracts
            ],
        )


def _words(pattern: str) -> str:
    return pattern.replace("_", " ")


def _shown(figure: FullFigure, shown: str) -> str:
    return shown if figure.value is not None else figure.note or "not testable"
