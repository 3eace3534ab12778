"""The part of the page about each skill: everything behind its line in the overview."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from skill_health.documents.lint_report import LintedSkill
from skill_health.documents.needs_report import NeedsOfSkill
from skill_health.documents.next_steps import NextStep
from skill_health.documents.skill_grades import SkillGrade
from skill_health.documents.skill_record import SkillRecord
from skill_health.page.data.source import file_address
from skill_health.page.drawing.drawn import Drawn
from skill_health.page.model import Page, SkillVerdict, anchor
from skill_health.page.skill.budget import HtmlBudget, TextExcerpt, cut
from skill_health.page.skill.effects import EffectReports, EffectSection, HtmlBudgets, bench, effect
from skill_health.page.skill.health import Found, HealthSection, by_skill, health
from skill_health.page.skill.needs import NeedsSection, needs, needs_by_path
from skill_health.page.skill.routing import RouterReports, RoutingSection, book, routing

ORDER, TITLE = 40, "Skill by skill"
FINDINGS, NEEDS, PROMPTS, TASKS, LINKS, VIEWS = 250_000, 120_000, 250_000, 150_000, 120_000, 500_000
"""Bytes of HTML that all skills together may spend, so that a page stays below 3 MB; those most in need go first."""
_LONGEST = 1_600
FEW = 40
"""So many parts stand on a page from the start; of more skills only those that were asked for."""


@dataclass(frozen=True, slots=True)
class SkillPart:
    """Everything that is known of a skill, ready to be shown."""

    name: str
    path: str
    anchor: str
    source: str
    verdict: SkillVerdict
    steps: tuple[NextStep, ...]
    description: TextExcerpt
    health: HealthSection
    needs: NeedsSection
    routing: RoutingSection
    effect: EffectSection


@dataclass(frozen=True, slots=True)
class _Sources:
    """What all skills are looked up in, each read once."""

    linted: dict[str, LintedSkill]
    found: Found
    needed: Mapping[str, NeedsOfSkill]
    routes: RouterReports
    trials: EffectReports
    findings: HtmlBudget
    lines: HtmlBudget
    prompts: HtmlBudget
    runs: HtmlBudgets


def build(page: Page, drawn: Drawn) -> Mapping[str, object]:
    """The parts, and the pictures of those that have some."""
    return {"parts": parts(page), "drawn": drawn, "few": len(page.status.skills) <= FEW}


def parts(page: Page) -> Iterator[SkillPart]:
    """The parts in the order of the overview. Reads what was kept of failing trials below the page's folder."""
    sources = _Sources(
        {each.path: each for each in page.lint.skills},
        by_skill(page.lint),
        needs_by_path(page.needs),
        book(page.origins, page.runs.shelf, page.router),
        bench(page.origins, page.runs, page.effects),
        HtmlBudget(FINDINGS),
        HtmlBudget(NEEDS),
        HtmlBudget(PROMPTS),
        HtmlBudgets(HtmlBudget(TASKS), HtmlBudget(LINKS), HtmlBudget(VIEWS)),
    )
    records = page.status.skills
    made = {
        at: _part(page, records[at], sources)
        for at in sorted(range(len(records)), key=lambda at: (_verdict(page, records[at]).need, at))
    }
    return (made[at] for at in range(len(records)))


def _verdict(page: Page, record: SkillRecord) -> SkillVerdict:
    return page.verdicts.get(record.path) or SkillVerdict(SkillGrade.NOT_MEASURED, "", 1, "")


def _part(page: Page, record: SkillRecord, sources: _Sources) -> SkillPart:
    return SkillPart(
        record.name,
        record.path,
        anchor(record.path),
        file_address(page.own.source, record.path),
        _verdict(page, record),
        record.next,
        cut(page.own.descriptions.get(record.path, ""), _LONGEST),
        health(page.origins, record, sources.linted.get(record.path), sources.found, sources.findings, page.own.source),
        needs(sources.needed.get(record.path), sources.lines),
        routing(record, sources.routes, sources.prompts),
        effect(record, sources.trials, sources.runs),
    )
