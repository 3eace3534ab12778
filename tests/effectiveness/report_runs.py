"""Whole runs in folders, as `effectiveness run` leaves them: their results are the scripted agent's."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from effects_made import MODEL, MORE_OF_TASK, fixture_like, manifest, replace, scripted, typed

from skill_health.documents._record import record_values
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.records import CONDITIONS
from skill_health.effectiveness.run.runs import EffectRun

SKILLS = tuple(f"skill-{n}" for n in range(12))


def tasks(targets: int = 15, controls: int = 5, skills: int = 12) -> list[dict[str, Any]]:
    return [MORE_OF_TASK | each for each in fixture_like(targets, controls, skills)]


def frozen(run_id: str = "20261121T050000Z-aaaaaaaa", models: Sequence[str] = (MODEL,), **more: Any) -> dict[str, Any]:
    """A manifest by the published schema; `more` replaces any of its keys."""
    skills = [{"name": name, "digest": f"digest of {name}", "description": f"Does {name}."} for name in SKILLS]
    used = more.pop("tasks", None) or tasks()
    arms, replications = more.pop("arms", CONDITIONS), more.pop("replications", 3)
    return manifest(used, arms, models, replications) | {"run_id": run_id, "skills": skills} | more


def run(run_id: str = "a", script: str = "target=0.4", seed: int = 3, **more: Any) -> EffectRun:
    """A run with all its results. `script` is what the scripted agent is told."""
    found = frozen(run_id, **more)
    specs = [model["spec"] for model in found["models"]]
    results = [each for spec in specs for each in scripted(found, script, seed, spec)]
    return EffectRun("", typed(found), tuple(results))


def kept(reports: Path, found: EffectRun) -> Path:
    """The folder of the run, written below a folder of reports."""
    folder = reports / "effectiveness" / found.run_id
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps(record_values(found.manifest)), encoding="utf-8")
    lines = [json.dumps(record_values(result), sort_keys=True) for result in found.results]
    (folder / "results.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


def forced(results: Iterable[TrialResult], outcome: Any, **where: Any) -> tuple[TrialResult, ...]:
    """The results with this outcome wherever all fields of `where` are as named; each may name several values."""

    def fits(result: TrialResult) -> bool:
        return all(
            getattr(result, key) in (value if isinstance(value, tuple) else (value,)) for key, value in where.items()
        )

    return tuple(replace(each, outcome=outcome) if fits(each) else each for each in results)
