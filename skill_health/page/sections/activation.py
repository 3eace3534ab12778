"""Activation: how often live agents load each skill on a request, beside what the ranking of a router tells of that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from skill_health.documents.activation_report import ActivationReport, ModelActivation, SkillActivation
from skill_health.documents.caveats import FoundCaveat
from skill_health.page.drawing.drawn import Drawn
from skill_health.page.figures import MISSING, amount, count, share, text_cell
from skill_health.page.model import NumberTable, Origins, Page, PageCell, anchor
from skill_health.page.pictures._activation import last_activations
from skill_health.page.pictures.activation_calibration import NAME

ORDER, TITLE = 31, "Activation"
_MOST, _MOST_MODELS = 400, 12
_HEAD = (
    "Skill", "Loaded first where expected, %", "Of its loads right, %", "Loaded where it must not, %", "Loaded first",
    "Instead of it",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ActivationRow:
    """One agent of its last run: its figures over all skills, and a table of the skills.

    `rankings` say how far a router tells what it loads.
    """

    model: str
    version: str
    run: str
    day: str
    marks: tuple[FoundCaveat, ...]
    recall: PageCell
    precision: PageCell
    fires: PageCell
    near: PageCell
    known: PageCell
    planned: PageCell
    rankings: tuple[RankingRow, ...]
    skills: NumberTable
    left: int


@dataclass(frozen=True, slots=True)
class RankingRow:
    """How well one router's ranking tells what the agent loads; `why` that cannot be said, "" where it can."""

    router: str
    top1: PageCell
    auc: PageCell
    correlation: PageCell
    why: str


def build(page: Page, drawn: Drawn) -> Mapping[str, object] | None:
    """The agents by their last runs, the latest first; None where no agent was asked."""
    rows = list(_rows(page))
    if not rows:
        return None
    pictures = [pair for pair in drawn.whole if pair[0].name == NAME]
    return {"rows": rows[:_MOST_MODELS], "left": max(0, len(rows) - _MOST_MODELS), "pictures": pictures}


def _rows(page: Page) -> Iterator[ActivationRow]:
    paths = {skill.name: skill.path for skill in page.status.skills}
    for each in last_activations(page):
        report, model = each.report, each.model
        origins, metrics = page.origins, model.metrics
        skills = sorted(model.skills, key=lambda skill: (_low(skill), skill.skill))
        shown = [skill for skill in skills if skill.skill in paths]
        yield ActivationRow(
            model=model.model,
            version=f"{model.agent} {model.agent_version}" if model.agent_version else model.agent,
            run=report.run_id,
            day=report.created[:10],
            marks=each.marks,
            recall=share(origins, metrics.recall),
            precision=share(origins, metrics.precision),
            fires=share(origins, metrics.false_fire_none),
            near=share(origins, metrics.false_fire_near),
            known=count(origins, model, "known"),
            planned=count(origins, model, "planned"),
            rankings=tuple(_rankings(origins, report, model)),
            skills=NumberTable(
                _HEAD, tuple(_skill(origins, skill, paths) for skill in shown[:_MOST]), f"Skills, {model.model}"
            ),
            left=max(0, len(shown) - _MOST),
        )


def _low(skill: SkillActivation) -> float:
    return 2.0 if skill.recall.value is None else skill.recall.value


def _skill(origins: Origins, each: SkillActivation, paths: Mapping[str, str]) -> tuple[PageCell, ...]:
    instead = ", ".join(f"{name} {number}" for name, number in [*each.instead.items()][:3])
    return (
        PageCell(each.skill, each.skill, link=f"#{anchor(paths[each.skill])}"),
        share(origins, each.recall), share(origins, each.precision), share(origins, each.false_fire_near),
        count(origins, each, "opened"), text_cell(instead or MISSING),
    )  # fmt: skip


def _rankings(origins: Origins, report: ActivationReport, model: ModelActivation) -> Iterator[RankingRow]:
    tops = {each.router: each.top1 for each in report.routers}
    for each in model.calibration:
        if each.router in tops:
            yield RankingRow(
                each.router,
                share(origins, tops[each.router]),
                amount(origins, each.place_auc, digits=2),
                amount(origins, each.place_correlation, digits=2),
                each.place_auc.note if each.place_auc.value is None else "",
            )
