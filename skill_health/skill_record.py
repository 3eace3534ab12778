"""One record per skill: health, routing and effect joined, and what to do next.

The questions come in this order, each cheaper than the next, and a skill that fails one needs no later one. Health is
of now; routing and effect are what the last runs left in their histories, marked where the skill has changed since.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from skill_health.core.registries import Registries
from skill_health.effect_history import Effects, ModelEffect
from skill_health.engine import LintResult
from skill_health.formats._api import Report
from skill_health.record_routing import RoutedSkills, SkillRouted
from skill_health.rules._api import Severity

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
    report: Report,
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


def _health(report: Report, path: str, fail_on: str) -> SkillHealth:
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
