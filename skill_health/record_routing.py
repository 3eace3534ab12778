"""What the router's last runs say of each single skill: read from their folders, never computed.

The history of the router has one line for a model; recall and precision of each skill stand in the report beside the
run. Both are other programs' files: what is wrong with them costs a note at most.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skill_health.core.estimates import Estimate
from skill_health.core.files import read_bytes
from skill_health.effect_history import estimate
from skill_health.router_history import ModelRouting, read_routing

REPORT, SCHEMA = "report.json", "skill-health/router-report/1"
_MOST_REPORT = 64 << 20


@dataclass(frozen=True, slots=True)
class SkillRouted:
    """One skill in the last run of one model. `local` is True for a router that computes, and asks no model.

    `recall` is how often the skill came first where it is expected, `precision` how often it was right where it came
    first. `changed` says whether its description is another one now, None where that is not known. `listed` is the name
    by which the run lists the skill.
    """

    run: ModelRouting
    local: bool
    recall: Estimate
    precision: Estimate
    changed: bool | None
    listed: str = ""


@dataclass(frozen=True, slots=True)
class RoutedSkills:
    """The last run of each model, the best first, and by name of a skill what they say of it, in the same order."""

    models: tuple[ModelRouting, ...] = ()
    skills: Mapping[str, tuple[SkillRouted, ...]] | None = None
    problems: tuple[str, ...] = ()

    def of(self, skill: str) -> tuple[SkillRouted, ...]:
        """What the models say of a skill, the best model first."""
        return (self.skills or {}).get(skill, ())

    def of_any(self, names: Sequence[str]) -> tuple[SkillRouted, ...]:
        """What the models say of a skill that has several names; of each model by the first name that it knows."""
        found = {each.run.model: each for name in reversed(names) for each in self.of(name)}
        return tuple(found[run.model] for run in self.models if run.model in found)


def read_skill_routing(folder: str, descriptions: Mapping[str, str]) -> RoutedSkills | None:
    """What the router's history in a folder of reports says of each skill; None where there is no history.

    `descriptions` are the skills' as they are now, by name. Never raises for what files hold.
    """
    routing = read_routing(folder, descriptions, tuple(descriptions))
    if routing is None:
        return None
    models = tuple(sorted(routing.models, key=_rank))
    found: dict[str, list[SkillRouted]] = {}
    problems = list(routing.problems)
    reports: dict[str, Mapping[str, Any] | None] = {}
    for run in models:
        if run.run_id not in reports:
            reports[run.run_id] = _report(os.path.join(folder, "router", run.run_id, REPORT))
        report = reports[run.run_id]
        try:
            rows = _rows(report, run) if report is not None else None
        except (ValueError, KeyError, TypeError, AttributeError):
            rows = None
        if rows is None:
            problems.append(
                f"the report of {run.run_id} is not there or cannot be read: {run.model} by skill is not known"
            )
            continue
        for name, row in rows.items():
            found.setdefault(name, []).append(row)
    return RoutedSkills(models, {name: tuple(rows) for name, rows in found.items()}, tuple(problems))


def _rank(run: ModelRouting) -> tuple[bool, bool, bool, float, str]:
    """Whoever answered for real, soundly and to all prompts comes first, and of those the best."""
    return (
        run.simulated,
        run.trusted is False,
        run.selection == "sweep",
        -(-1.0 if run.top1 is None else run.top1),
        run.model,
    )


def _report(path: str) -> Mapping[str, Any] | None:
    try:
        if os.path.getsize(path) > _MOST_REPORT:
            return None
        report = json.loads(read_bytes(path)[0])
    except (OSError, ValueError, RecursionError):
        return None
    return report if isinstance(report, dict) and report.get("schema") == SCHEMA else None


def _rows(report: Mapping[str, Any], run: ModelRouting) -> dict[str, SkillRouted] | None:
    """What a report says of each skill by one model; None where it does not know the model."""
    kinds = {str(each["model"]): each["kind"] for each in report["models"]}
    if run.model not in kinds:
        return None
    found = {}
    for skill in report["skills"]:
        for part in skill["models"]:
            if part["model"] == run.model:
                name = str(skill["name"])
                changed = None if run.changed is None else name in run.changed
                recall, precision = estimate(part["recall"]), estimate(part["precision"])
                found[name] = SkillRouted(run, kinds[run.model] == "local", recall, precision, changed, name)
    return found
