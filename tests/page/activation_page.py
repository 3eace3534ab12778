"""A page over made reports of activation."""

from __future__ import annotations

from typing import Any

from filled_records import page_over
from made_loads import AGENT, made_manifest, made_results
from msgspec.structs import replace

from skill_health.activation.report import build_activation_report
from skill_health.documents.activation_report import ActivationReport
from skill_health.documents.router_manifest import Prompt
from skill_health.page.model import Page

SKILLS = ("apples", "bread", "cider", "dates", "eggs", "figs", "grapes")


def activation_report(*agents: str, skills: tuple[str, ...] = SKILLS, simulated: bool = False) -> ActivationReport:
    """A report in which each agent loads what it should, but for the first skill."""
    prompts = [
        Prompt(f"{nth}-{each}", f"please do {name} {each}", name, rejected=(skills[nth - 1],))
        for nth, name in enumerate(skills)
        for each in range(2)
    ]
    prompts += [Prompt(f"none-{nth}", f"what time is it {nth}", None) for nth in range(3)]
    manifest = made_manifest(prompts, skills, agents or (AGENT,))
    manifest = replace(manifest, models=tuple(replace(model, simulated=simulated) for model in manifest.models))
    firsts = {each.prompt_id: [None if each.expected == skills[0] else each.expected] for each in prompts}
    results = [each for agent in agents or (AGENT,) for each in made_results(manifest, firsts, agent)]
    report = build_activation_report(manifest, results)
    return replace(report, run_id="20260201T000000Z-0123abcd") if simulated else report


def page_with(
    *reports: ActivationReport, skills: tuple[str, ...] = SKILLS, about: dict[str, str] | None = None
) -> Page:
    """A page with these skills, whose descriptions are those of the reports unless `about` says otherwise."""
    told = {name: f"Does {name.replace('-', ' ')}. Use when {name.replace('-', ' ')} is needed." for name in skills}
    records: dict[str, Any] = {"skills": [{"name": name, "path": f"skills/{name}/SKILL.md"} for name in skills]}
    own = {"descriptions": {f"skills/{name}/SKILL.md": text for name, text in (told | (about or {})).items()}}
    return page_over(records, own=own, activation=tuple(reports))
