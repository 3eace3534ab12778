"""Lines of the benchmarks' histories and records of skills, whole and made up: a test changes what it is about."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from skill_health.documents._record import NotedFigure
from skill_health.documents.daily_run import DailyRun, DailySkill, DailySummary
from skill_health.documents.effect_history import ModelEffect
from skill_health.documents.router_history import SCHEMA, ModelRouting, RouterHistoryMetrics
from skill_health.documents.skill_grades import SkillGrade, grade_all, grade_lint
from skill_health.documents.skill_record import (
    SkillEffects,
    SkillHealth,
    SkillRecord,
    SkillRouted,
    SkillRouting,
    SkillState,
)
from skill_health.page.model import GRADE_TONES, SkillVerdict
from skill_health.rules._api import Severity
from skill_health.status.records import effect_grade, routing_grade


def number(value: float | None, low: float | None = None, high: float | None = None, n: int = 4) -> dict[str, Any]:
    return {"value": value, "low": low, "high": high, "n": n, "clusters": n}


def router_line(model: str = "lexical:bm25", top1: Any = None, **changes: Any) -> dict[str, Any]:
    """A line of the router's history by its published form."""
    none = {name: number(None, n=0) for name in RouterHistoryMetrics.__struct_fields__}
    failures = {"rate": number(0.0), "kinds": {}}
    record = {
        "schema": SCHEMA, "time": "2026-11-20T05:00:00Z", "run_id": "run-1", "manifest": "m", "commit": None, "dirty": None,
        "version": "0.1", "model": model, "kind": "local", "resolved": [], "prompts": "p", "catalogue": "c",
        "template": {"name": "t", "version": None, "digest": None}, "replications": 3, "imported": False,
        "settings": {"mode": "m", "listing": "l", "orders": "o", "index": None, "seed": 1}, "selection": "all",
        "planned": 150, "n": 147, "coverage": 0.98, "missing": {}, "simulated": False, "trusted": True,
        "metrics": none | {"top1": number(0.78, 0.65, 0.88, 120) if top1 is None else top1},
        "failures": {"first_attempt": failures, "after_retry": failures}, "cost_usd": None, "cost_known": 0,
        "latency_ms": {"median": None, "p95": None},
    }  # fmt: skip
    return record | changes


def effect_line(skill: str | None = "plums", model: str = "loop:maker:m", **changes: Any) -> dict[str, Any]:
    """A line of the effectiveness history by its published form."""
    record = {
        "version": 1, "kind": "effectiveness", "created": "2026-11-20T05:00:00Z", "run_id": "run-1", "manifest": "m",
        "commit": None, "dirty": None, "tool_version": "0.1", "model": model, "agent": "loop", "agent_version": None,
        "resolved": [], "simulated": False, "skill": skill, "skill_digest": "d", "hashes": {}, "sandbox": "bubblewrap",
        "seed": 1, "replications": 3, "tasks": 8, "trials": 48, "scored": 47, "outcomes": {"pass": 20, "fail": 27},
        "control": number(0.5), "target": number(0.7), "delta": number(0.2, 0.05, 0.35, 8), "p": 0.01, "p_adjusted": 0.02,
        "verdict": "helps", "reason": "the interval lies above zero", "preliminary": ["fewer than 30 tasks (8)"], "biased": [],
        "cost_usd": 1.0,
    }  # fmt: skip
    return record | changes


def figure(value: float | None, low: float | None = None, high: float | None = None, n: int = 12) -> NotedFigure:
    return NotedFigure(value=value, low=low, high=high, n=n, clusters=n, note="")


ROUTING = ModelRouting(
    model="maker:m", time="2026-11-20T05:00:00Z", run_id="run-1", top1=0.8, low=0.7, high=0.9, top1_n=58, n=58, planned=60,
    selection="all", simulated=False, trusted=True, changed=(), coverage=58 / 60,
)  # fmt: skip
EFFECT = ModelEffect(
    model="loop:m", skill="plums", time="2026-11-20T05:00:00Z", run_id="run-1", verdict="helps", reason="", tasks=8, scored=47,
    trials=48, simulated=False, changed=False, delta=figure(0.2, 0.1, 0.3, 8), biased=(), preliminary=(),
)  # fmt: skip
DAY = DailyRun(
    schema="skill-health/history/1", time="2026-11-20T04:00:00Z", commit=None, dirty=None, version="0.1.0", profile="standard",
    configuration="c", rules="r", as_of="2026-11-20", paths=(".",), skills={}, other=(), claims=None,
    summary=DailySummary(skills=0, mean=None, min=None, max=None, flagged=None, errors=0, warnings=0, infos=0),
)  # fmt: skip


def daily_skill(name: str = "a", **more: Any) -> DailySkill:
    """One skill of a daily run, of which nothing is known but what is given."""
    known: dict[str, Any] = {
        "score": None, "flagged": None, "components": {}, "evidence": {}, "counts": {}, "description": None, "listed": True,
        "tokens": None, "lines": None, "findings": (),
    }  # fmt: skip
    return DailySkill(name=name, **known | more)


def daily_run(day: int = 20, mean: float | None = 0.9, **more: Any) -> DailyRun:
    """A daily run of November 2026, by default over no skill."""
    summary = replace(DAY.summary, skills=1, mean=mean)
    return replace(DAY, time=f"2026-11-{day:02}T04:00:00Z", **{"summary": summary} | more)


def health_of(state: SkillState = "ok", score: float | None = 0.9, **more: Any) -> SkillHealth:
    """What lint says of a skill: by default that nothing is wrong."""
    known: dict[str, Any] = {"flags": (), "errors": 0, "warnings": 0, "infos": 0}
    told = {**known, **more}
    counts = {Severity.ERROR: told["errors"], Severity.WARNING: told["warnings"], Severity.INFO: told["infos"]}
    grade = SkillGrade.FAIL if state == "failed" else grade_lint(counts, bool(told["flags"]), "never", "warning")
    return SkillHealth(state=state, **{"grade": grade, "score": score} | told)


FOUND = SkillRouted(
    model="maker:m", run_id="run-1", time="2026-11-20T05:00:00Z", local=False, simulated=False, trusted=True, selection="all",
    recall=figure(0.8, 0.6, 0.9), precision=figure(0.9, 0.7, 1.0), changed=False, listed="plums",
)  # fmt: skip


def routing_of(state: SkillState = "ok", prompts: int = 3, models: tuple[SkillRouted, ...] = ()) -> SkillRouting:
    return SkillRouting(state=state, grade=routing_grade(models, 0.5), prompts=prompts, models=models)


def effects_of(
    state: SkillState = "ok", tasks: tuple[str, ...] = ("tasks/1",), models: tuple[ModelEffect, ...] = ()
) -> SkillEffects:
    return SkillEffects(state=state, grade=effect_grade(models), tasks=tasks, models=models)


def skill_record(name: str, own: SkillHealth, route: SkillRouting, effect: SkillEffects) -> SkillRecord:
    """What is known of a skill, joined."""
    path = f"skills/{name}/SKILL.md"
    grade = grade_all((own.grade, route.grade, effect.grade))
    return SkillRecord(
        name=name, path=path, digest=None, grade=grade, health=own, routing=route, effect=effect, next=(),
        composition=SkillGrade.NOT_MEASURED, activation=SkillGrade.NOT_MEASURED,
    )  # fmt: skip


def judged_as(
    detail: str, tone: str, question: int, reason: str = "", advice: str = "", command: str = ""
) -> SkillVerdict:
    """A verdict by its tone: what was found, the question that it answers, and why."""
    grade = next(grade for grade, own in GRADE_TONES.items() if own == tone)
    return SkillVerdict(grade, detail, question, reason, advice, command)
