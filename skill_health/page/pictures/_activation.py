"""The agents that were given requests, each with its last run, and the marks of its figures."""

from __future__ import annotations

from dataclasses import dataclass

from skill_health.documents.activation_report import ActivationReport, ModelActivation, description_digest
from skill_health.documents.caveats import FoundCaveat, LoadFacts, find_load_caveats
from skill_health.page.model import Page
from skill_health.text.near import list_some


@dataclass(frozen=True, slots=True)
class AgentActivation:
    """One agent in the last report that has it. `changed` are skills that have another description by now."""

    report: ActivationReport
    model: ModelActivation
    changed: tuple[str, ...]

    @property
    def subject(self) -> str:
        """The agent with its model."""
        return self.model.model

    @property
    def marks(self) -> tuple[FoundCaveat, ...]:
        """Its marks, with their reasons."""
        model = self.model
        changed = [f"other descriptions by now: {list_some(self.changed)}"] if self.changed else []
        return find_load_caveats(LoadFacts(model.simulated, changed, model.unproved, model.preliminary))


def last_activations(page: Page) -> tuple[AgentActivation, ...]:
    """Each agent with the latest report that has it; those of no real model come last."""
    now = {skill.name: description_digest(page.own.descriptions.get(skill.path, "")) for skill in page.status.skills}
    found: dict[str, AgentActivation] = {}
    for report in page.activation:
        changed = tuple(name for name, mark in report.listing.items() if name in now and now[name] != mark)
        for model in report.models:
            found.setdefault(model.model, AgentActivation(report, model, changed))
    return tuple(sorted(found.values(), key=lambda each: each.model.simulated))
