"""The skills of a collection -> the points, patterns and contract of each, and how they are distributed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from typing import cast

from skill_health.census.measure import quantile
from skill_health.core.boundary import Boundary
from skill_health.discovery.corpus import Entry
from skill_health.documents.quality_report import (
    AuthoringPattern,
    DeclaredContract,
    DimensionFigures,
    DimensionPoints,
    PatternCount,
    PatternPlace,
    PatternSide,
    PointFigures,
    QualityDimension,
    QualityEffects,
    QualityOfSkill,
    QualityReport,
    SoughtSign,
)
from skill_health.lint.readable import read_entry
from skill_health.skill.authoring import SIDES, find_patterns
from skill_health.skill.contract import find_contract_problems, read_contract
from skill_health.skill.model import Skill
from skill_health.skill.parse import parse_skill
from skill_health.skill.rubric import DIMENSIONS, score_quality


def quality_of_collection(root: str, skills: Iterable[Entry]) -> tuple[QualityOfSkill, ...]:
    """Each readable skill, by the path of its SKILL.md. No link out of the repository is followed."""
    boundary = Boundary(root)
    found = (_quality_of_entry(boundary, entry) for entry in sorted(skills, key=lambda each: each.path))
    return tuple(each for each in found if each)


def _quality_of_entry(boundary: Boundary, entry: Entry) -> QualityOfSkill | None:
    data, problem = read_entry(boundary, entry)
    return None if problem else quality_of_skill(parse_skill(data, entry.path, entry.folder_name, entry.files))


def quality_of_skill(skill: Skill) -> QualityOfSkill:
    """The points of a skill with their signs, the patterns that show, and its contract."""
    scores = score_quality(skill)
    return QualityOfSkill(
        path=skill.path,
        name=skill.name,
        description=skill.description,
        points=sum(score.points for score in scores.values()),
        dimensions=tuple(
            DimensionPoints(
                dimension=cast(QualityDimension, name),
                points=score.points,
                signs=tuple(SoughtSign(title=sign.title, there=sign.there) for sign in score.signs),
            )
            for name, score in scores.items()
        ),
        patterns=tuple(_patterns(skill)),
        contract=_contract(skill),
    )


def _patterns(skill: Skill) -> Iterator[PatternPlace]:
    for name, at in find_patterns(skill).items():
        yield PatternPlace(pattern=cast(AuthoringPattern, name), side=cast(PatternSide, SIDES[name]), line=at.line)


def _contract(skill: Skill) -> DeclaredContract | None:
    found = read_contract(skill)
    if found is None:
        return None
    return DeclaredContract(
        tool_calls=found.tool_calls,
        tokens=found.tokens,
        applies_to=found.applies_to,
        fallback=found.fallback,
        problems=tuple(each.message for each in find_contract_problems(skill)),
    )


def quality_report(found: Sequence[QualityOfSkill], effects: QualityEffects | None = None) -> QualityReport:
    """The document of a collection. Raises ValueError where there is no skill."""
    by_name = {
        name: [part.points for each in found for part in each.dimensions if part.dimension == name]
        for name in DIMENSIONS
    }
    showing = [{place.pattern for place in each.patterns} for each in found]
    return QualityReport(
        schema="skill-health/quality/1",
        skills=tuple(found),
        points=_figures([each.points for each in found]),
        dimensions=tuple(
            DimensionFigures(dimension=cast(QualityDimension, name), figures=_figures(points))
            for name, points in by_name.items()
        ),
        patterns=tuple(
            PatternCount(
                pattern=cast(AuthoringPattern, name),
                side=cast(PatternSide, side),
                skills=sum(name in own for own in showing),
                n=len(found),
            )
            for name, side in SIDES.items()
        ),
        effects=effects,
    )


def _figures(points: Sequence[int]) -> PointFigures:
    if not points:
        raise ValueError("there is no skill")
    ordered = sorted(points)
    lower, median, upper = (quantile(ordered, share) for share in (0.25, 0.5, 0.75))
    return PointFigures(n=len(ordered), mean=round(fmean(ordered), 6), lower=lower, median=median, upper=upper)
