"""One record per skill: health, routing and effect joined, and what to do next.

The questions come in this order, each cheaper than the next, and a skill that fails one needs no later one. Health is
of now; routing and effect are what the last runs left in their histories, marked where the skill has changed since.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from skill_health.core.files import read_bytes
from skill_health.documents.effect_history import Effects, ModelEffect, estimate
from skill_health.documents.router_history import ModelRouting, read_routing
from skill_health.lint.pipeline import LintResult
from skill_health.lint.report import LintReport
from skill_health.registries.records import Registries
from skill_health.rules._api import Severity
from skill_health.stats.estimates import Estimate

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


State = Literal["ok", "failed", "stale", "not measured", "not testable", "not listed", "fix first"]
LOST = 0.5
"""A skill fails routing where the whole interval of its recall lies below this, as a model routes it: more of the
requests that it is for are lost than found, and that is no chance. A router that merely counts words fails nobody."""
NO_SKILL = "none"


@dataclass(frozen=True, slots=True)
class SkillHealth:
    """What `lint` says of a skill now. `score` is None where it cannot be scored."""

    state: State
    score: float | None
    flags: tuple[str, ...]
    errors: int
    warnings: int
    infos: int


@dataclass(frozen=True, slots=True)
class SkillRouting:
    """Routing of a skill: the prompts in the registry that expect it, and its numbers by model, the best first."""

    state: State
    prompts: int
    models: tuple[SkillRouted, ...] = ()


@dataclass(frozen=True, slots=True)
class SkillEffects:
    """Effect of a skill: the folders of the tasks that name it as their target, and verdicts by model, latest first."""

    state: State
    tasks: tuple[str, ...]
    models: tuple[ModelEffect, ...] = ()


@dataclass(frozen=True, slots=True)
class SkillRecord:
    """Everything that is known of a skill. `path` is its SKILL.md's, relative to the root."""

    name: str
    path: str
    health: SkillHealth
    routing: SkillRouting
    effect: SkillEffects


def build_records(
    report: LintReport,
    result: LintResult,
    routed: RoutedSkills | None,
    effects: Effects | None,
    fail_on: str,
    names: Mapping[str, Sequence[str]],
) -> tuple[SkillRecord, ...]:
    """The records of the skills that were asked for, in the order of their paths. Pure.

    `fail_on` is the severity from which a finding fails a skill
    ("never" for none). `names` are those that a run of the router may list a skill by (see `router_history.names_now`):
    measurements go by name, and a name that several skills share is given none.
    """
    registries = result.registries or Registries()
    prompts = Counter(each.data.get("expected_primary_skill") for each in registries.prompts or ())
    times = Counter(
        result.facts[entry.path]["summary"]["name"] for entry in result.entries if entry.path in result.facts
    )
    records = []
    for entry in report.skills:
        own = result.facts[entry.path]["summary"]
        name = str(own["name"])
        alone = times[name] == 1
        health = _health(report, entry.path, fail_on)
        known = {name, *names[entry.path]}
        found_by = routed.of_any(names[entry.path]) if routed else ()
        routing = _route(own, sum(prompts[each] for each in known), found_by, health)
        tasks = tuple(_folder(each.path) for each in registries.tasks or () if each.data.get("target_skill") in known)
        found = effects.of(name) if effects and alone else ()
        benefit = _benefit(tasks, found, health, routing)
        records.append(SkillRecord(name, entry.path, health, routing, benefit))
    return tuple(records)


def _health(report: LintReport, path: str, fail_on: str) -> SkillHealth:
    own = [found for found in report.findings if found.skill == path]
    score = report.scores.skills.get(path) if report.scores else None
    counts = Counter(found.severity for found in own)
    bad = fail_on != "never" and any(found.severity.rank <= Severity(fail_on).rank for found in own)
    return SkillHealth(
        "failed" if bad else "ok",
        score.value if score else None,
        tuple(flag.message for flag in score.flags) if score else (),
        *(counts[severity] for severity in (Severity.ERROR, Severity.WARNING, Severity.INFO)),
    )


def _route(own: Mapping[str, Any], prompts: int, found: Sequence[SkillRouted], health: SkillHealth) -> SkillRouting:
    models = tuple(found)
    if health.state == "failed":
        return SkillRouting("fix first", prompts, models)
    if own["hidden"]:
        return SkillRouting("not listed", prompts, models)
    real = [each for each in models if not each.run.simulated]
    known = [each for each in real if each.recall.value is not None]
    if not known:
        return SkillRouting("not testable" if real else "not measured", prompts, models)
    if any(map(lost, known)):
        return SkillRouting("failed", prompts, models)
    return SkillRouting(_fresh(each.changed for each in known), prompts, models)


def lost(each: SkillRouted) -> bool:
    """Whether a model certainly loses more of the requests that a skill is for than it finds (LOST)."""
    sound = each.run.trusted is not False and not each.run.simulated and not each.local and not each.changed
    return sound and each.recall.high is not None and each.recall.high < LOST


def _benefit(
    tasks: tuple[str, ...], found: Sequence[ModelEffect], health: SkillHealth, routing: SkillRouting
) -> SkillEffects:
    models = tuple(found)
    if "failed" in (health.state, routing.state):
        return SkillEffects("fix first", tasks, models)
    real = [each for each in models if not each.simulated]
    if not real:
        return SkillEffects("not measured", tasks, models)
    current = [each.verdict for each in real if not each.changed]
    if "harmful" in current:
        return SkillEffects("failed", tasks, models)
    if current and set(current) <= {"not testable", "biased"}:
        return SkillEffects("not testable", tasks, models)
    return SkillEffects(_fresh(each.changed for each in real), tasks, models)


def _fresh(stale: Iterable[bool | None]) -> State:
    """Stale where every measurement is of another content."""
    return "stale" if all(list(stale)) else "ok"


def _folder(metadata: str) -> str:
    return metadata.rpartition("/")[0] or "."
