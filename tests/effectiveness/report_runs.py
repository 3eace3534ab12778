"""Whole runs in folders, as `effectiveness run` leaves them: their results are the scripted agent's."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from effects_made import MODEL, fixture_like, manifest, scripted

from skill_health.effectiveness.records import CONDITIONS, TrialResult, to_line
from skill_health.effectiveness.run.runs import EffectRun

SKILLS = tuple(f"skill-{n}" for n in range(12))
_MORE = {
    "irrelevant_skill": "skill-11", "related_skill": None, "unrelated_skill": None, "digest": "d", "verifier_digest": "v",
    "format": "plan",
}  # fmt: skip


def tasks(targets: int = 15, controls: int = 5, skills: int = 12) -> list[dict[str, Any]]:
    return [_MORE | each for each in fixture_like(targets, controls, skills)]


def frozen(run_id: str = "20261121T050000Z-aaaaaaaa", models: Sequence[str] = (MODEL,), **more: Any) -> dict[str, Any]:
    """A manifest by the published schema; `more` replaces any of its keys."""
    base = {
        "run_id": run_id, "python": "3.11.9", "commit": None, "dirty": None, "price_table": None, "left_out": [], "skipped": [],
        "sandbox": {"name": "bubblewrap", "version": "0.8", "isolates": ["files", "network"], "image": ""},
        "limits": {
            "timeout_sec": None, "output_bytes": 1, "disk_bytes": 1, "files": 1, "processes": 1, "max_usd_per_trial": None,
        },
        "hashes": dict.fromkeys(("tasks", "skills", "staged", "config", "prices"), "h"),
        "skills": [{"name": name, "digest": f"digest of {name}", "description": f"Does {name}."} for name in SKILLS],
        "models": [
            {
                "spec": spec, "agent": spec.partition(":")[0], "version": "1.0", "model": "m", "protocol": "", "base_url": None,
                "simulated": spec.startswith(MODEL), "flags": [], "price": None, "max_usd": None,
            }
            for spec in models
        ],
    }  # fmt: skip
    used = more.pop("tasks", None) or tasks()
    arms, replications = more.pop("arms", CONDITIONS), more.pop("replications", 3)
    return manifest(used, arms, models, replications) | base | more


def run(run_id: str = "a", script: str = "target=0.4", seed: int = 3, **more: Any) -> EffectRun:
    """A run with all its results. `script` is what the scripted agent is told."""
    found = frozen(run_id, **more)
    specs = [model["spec"] for model in found["models"]]
    results = [each for spec in specs for each in scripted(found, script, seed, spec)]
    return EffectRun("", found, tuple(results))


def kept(reports: Path, found: EffectRun) -> Path:
    """The folder of the run, written below a folder of reports."""
    folder = reports / "effectiveness" / found.run_id
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps(found.manifest), encoding="utf-8")
    lines = [json.dumps(to_line(result), sort_keys=True) for result in found.results]
    (folder / "results.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


def forced(results: Iterable[TrialResult], outcome: Any, **where: Any) -> tuple[TrialResult, ...]:
    """The results with this outcome wherever all fields of `where` are as named; each may name several values."""

    def fits(result: TrialResult) -> bool:
        return all(
            getattr(result, key) in (value if isinstance(value, tuple) else (value,)) for key, value in where.items()
        )

    return tuple(replace(each, outcome=outcome) if fits(each) else each for each in results)
