"""A run with fewer than three replications is preliminary for that, wherever its verdict is shown."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from effects_made import manifest, task, typed
from msgspec.structs import replace
from pairs_made import counted, pair_manifest
from records_made import health_of, skill_record

from skill_health.documents.effect_history import read_effects
from skill_health.documents.effect_manifest import EffectManifest
from skill_health.documents.effect_report import EffectReport
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.effects.build import build_report
from skill_health.effectiveness.effects.composition import compositions
from skill_health.effectiveness.effects.sheet import read_facts, read_sheet
from skill_health.effectiveness.reports import load, names
from skill_health.effectiveness.run.history import record_run
from skill_health.page.verdict.verdicts import verdict
from skill_health.stats.power import few_replications
from skill_health.status.next_steps import CommandBuilder
from skill_health.status.records import _benefit, _route

FEWER = few_replications(2).removesuffix(" (2)")
TASKS = 80


@cache
def run_of(reps: int) -> tuple[EffectManifest, list[TrialResult], EffectReport]:
    """A run in which the skill helps, and that nothing else makes preliminary."""
    arms = ("control", "negative", "target")
    planned = manifest([task(f"{n:03}", "plums") for n in range(TASKS)], arms, replications=reps)
    planned["skills"] = [{"name": "plums", "digest": "d", "description": ""}]
    results = [
        TrialResult(f"{n:03}", "scripted", arm, at, "pass" if arm == "target" or n % 8 == 0 else "fail")
        for n in range(TASKS) for arm in arms for at in range(reps)
    ]  # fmt: skip
    return typed(planned), results, build_report(typed(planned), results)


def said(reps: int, name: str) -> str:
    return load(name).render(run_of(reps)[2]).replace("\\", "").lower()


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_every_format_says_so(name: str) -> None:
    report = run_of(2)[2]
    assert report.models[0].verdict.word == "helps"
    assert report.models[0].verdict.preliminary == (f"{FEWER} (2)",) == report.preliminary
    assert "preliminary" in said(2, name) and f"{FEWER} (2)" in said(2, name)
    assert FEWER not in said(3, name)


@pytest.mark.slow
@pytest.mark.parametrize("reps", [1, 2, 3])
def test_the_pages_verdict_says_so(tmp_path: Path, reps: int) -> None:
    planned, results, report = run_of(reps)
    record_run(str(tmp_path), planned, report, results)
    found = read_effects(str(tmp_path), lambda: {"plums": "d"})
    assert found is not None
    (own,) = found.of("plums")
    # Of an agent that was really run: a simulated one decides no verdict.
    effect = replace(own, simulated=False)
    health = health_of(warnings=0)
    routing = _route(False, 0, [], health)
    benefit = _benefit(("tasks/1",), [effect], health, routing)
    shown = verdict(skill_record("plums", health, routing, benefit), CommandBuilder(()))
    assert shown.preliminary == (reps < 3)
    assert ("preliminary" in f"{shown.detail} {shown.reason}") == (reps < 3)
    assert (FEWER in shown.reason) == (reps < 3)


def test_the_verdict_on_a_pair_says_so() -> None:
    for reps in (2, 3):
        facts = read_facts(typed(pair_manifest(40, replications=reps)))
        rows = [[0, reps, reps, reps]] * 40
        (pair,) = compositions(read_sheet(facts, counted(rows, reps)), (), {})["scripted"]
        assert (f"{FEWER} ({reps})" in pair.verdict.preliminary) == (reps < 3)
