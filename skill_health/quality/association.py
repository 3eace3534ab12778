"""Points and patterns of skills, and the gains that were measured with them: what goes with what.

Which skills show a pattern is their authors' choice, not chance: a difference here is no effect of the pattern.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from skill_health.documents._record import FullFigure
from skill_health.documents.effect_report import EffectReport
from skill_health.documents.quality_report import (
    ContractCheck,
    ContractMeasure,
    ContractVerdict,
    QualityEffects,
    QualityOfSkill,
    ThemeEffect,
)
from skill_health.effectiveness.effects.arms import full_figure
from skill_health.effectiveness.effects.authoring import WrittenSkill, associate_authoring
from skill_health.quality.themes import find_themes
from skill_health.stats.hypothesis_tests import sign_flip
from skill_health.stats.multiplicity import holm
from skill_health.stats.resampling import paired_bootstrap


class MeasuredCost(NamedTuple):
    """What a model took of a measure where a skill was offered."""

    skill: str
    model: str
    measure: ContractMeasure
    mean: FullFigure


def costs_of_runs(reports: Sequence[EffectReport]) -> list[MeasuredCost]:
    """The mean calls of tools and tokens of trials in which the skill was offered as files."""
    found = []
    for report in reports:
        for model in report.models:
            for own in model.skills:
                arm = next((each for each in own.arms if each.arm == "target"), None)
                if arm and not own.skills:
                    found.append(MeasuredCost(own.skill, model.model, "tool calls", arm.tool_calls))
                    found.append(
                        MeasuredCost(own.skill, model.model, "tokens", _sum(arm.input_tokens, arm.output_tokens))
                    )
    return found


def _sum(read: FullFigure, written: FullFigure) -> FullFigure:
    """Both together; the ends are those of two intervals added, which is never too narrow."""
    parts = [(getattr(read, name), getattr(written, name)) for name in ("value", "low", "high")]
    value, low, high = (None if one is None or other is None else one + other for one, other in parts)
    return FullFigure(
        value=value, low=low, high=high, n=read.n, clusters=read.clusters, p=None, p_adjusted=None,
        method=f"{read.method}, both ends added" if low is not None else "", note=read.note or written.note,
    )  # fmt: skip


def associate(
    skills: Sequence[QualityOfSkill],
    gains: Mapping[str, float],
    runs: Sequence[str],
    costs: Sequence[MeasuredCost] = (),
    simulated: bool = False,
) -> QualityEffects:
    """What points and patterns go with, over the skills with a gain; a name that several skills have is left out."""
    named = Counter(each.name for each in skills)
    known = [each for each in skills if each.name in gains and named[each.name] == 1]
    written = [
        WrittenSkill(each.name, each.points, frozenset(place.pattern for place in each.patterns)) for each in known
    ]
    found = associate_authoring(written, gains)
    contracts = [check for each in known for check in _check_contract(each, costs)]
    themes = find_themes({each.name: each.description for each in known})
    return QualityEffects(
        runs=tuple(runs),
        simulated=simulated,
        skills=found.skills,
        correlation=found.correlation,
        patterns=found.patterns,
        themes=tuple(_theme_effects(themes, gains)),
        contracts=tuple(contracts),
    )


def _theme_effects(themes: Mapping[str, str], gains: Mapping[str, float]) -> Iterator[ThemeEffect]:
    members: dict[str, list[float]] = {}
    for skill, theme in themes.items():
        members.setdefault(theme, []).append(gains[skill])
    ranked = sorted(members, key=lambda theme: (-len(members[theme]), theme))
    adjusted = holm([sign_flip(members[theme]) for theme in ranked])
    for theme, p in zip(ranked, adjusted, strict=True):
        estimate = replace(paired_bootstrap(members[theme]), p=sign_flip(members[theme]), p_adjusted=p)
        yield ThemeEffect(theme=theme, skills=len(members[theme]), gain=full_figure(estimate, "skill"))


def _check_contract(skill: QualityOfSkill, costs: Sequence[MeasuredCost]) -> list[ContractCheck]:
    if skill.contract is None:
        return []
    said = {"tool calls": skill.contract.tool_calls, "tokens": skill.contract.tokens}
    return [
        ContractCheck(
            skill=skill.name, model=cost.model, measure=cost.measure, said=most, measured=cost.mean,
            verdict=_judge(most, cost.mean),
        )
        for cost in costs
        if cost.skill == skill.name and (most := said[cost.measure]) is not None
    ]  # fmt: skip


def _judge(said: int, measured: FullFigure) -> ContractVerdict:
    if measured.low is None or measured.high is None:
        return "open"
    return "exceeded" if measured.low > said else "kept" if measured.high <= said else "open"
