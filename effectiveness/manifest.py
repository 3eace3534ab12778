"""What the manifest of a run says of its parts, and the keys that it wants results for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skill_health.bench import journal
from skill_health.bench.manifest import digest
from skill_health.bench.run_folder import Kind
from skill_health.config.settings import RouterSettings
from skill_health.effectiveness.records import Arm, Key, SkillCopy
from skill_health.effectiveness.results import FIELDS, is_missing
from skill_health.effectiveness.runs import KIND
from skill_health.effectiveness.tasks._api import Task

Staged = Mapping[tuple[str, Arm], tuple[SkillCopy, ...]]
"""What is staged for a task in an arm; pairs that are left out are not in it."""


def task_record(task: Task) -> dict[str, Any]:
    """A task as a manifest holds it."""
    return {
        "id": task.id,
        "slug": task.slug,
        "target_skill": task.target_skill,
        "irrelevant_skill": task.irrelevant_skill,
        "related_skill": task.related_skill,
        "unrelated_skill": task.unrelated_skill,
        "category": task.category,
        "difficulty": task.difficulty,
        "digest": task.digest,
        "verifier_digest": task.verifier.digest if task.verifier else "",
        "format": task.format,
    }


def skill_record(skill: SkillCopy) -> dict[str, Any]:
    """A skill of the collection as a manifest holds it."""
    return {"name": skill.name, "digest": skill.digest, "description": skill.description}


def staged_names(staged: Staged) -> dict[str, dict[str, list[str]]]:
    """The names of what is staged, by task and arm: which trials there are, and what they differ in."""
    found: dict[str, dict[str, list[str]]] = {}
    for (task, arm), skills in staged.items():
        found.setdefault(task, {})[arm.name] = [skill.name for skill in skills]
    return found


def staged_digest(staged: Staged) -> str:
    """A hash of the contents of what is staged, in listing order."""
    return digest([[task, arm.name, *[skill.digest for skill in skills]] for (task, arm), skills in staged.items()])


def config_digest(routing: RouterSettings, specs: Sequence[str], settings: Mapping[str, Any]) -> str:
    """A hash of the settings that outcomes can depend on: who is asked, and what agents of its choice are told."""
    used = sorted({part for spec in specs for part in spec.split(":")[1:2] if part in routing.providers})
    servers = [[name, routing.providers[name].protocol, routing.providers[name].base_url] for name in used]
    return digest([servers, dict(settings)])


def keys(manifest: Mapping[str, Any]) -> Iterator[Key]:
    """Every key that a run wants a result for, in the order of its finished results."""
    staged = manifest["staged"]
    for task in manifest["tasks"]:
        there = staged.get(task["id"], {})
        for model in manifest["models"]:
            for arm in manifest["arms"]:
                for replication in range(manifest["replications"] if arm in there else 0):
                    yield task["id"], model["spec"], arm, replication


def _keys(manifest: Mapping[str, Any]) -> Iterator[journal.Key]:
    return iter(keys(manifest))


def _covered(manifest: Mapping[str, Any]) -> Any:
    return [manifest["tasks"], manifest["skills"], manifest["staged"]]


OF_TRIALS = Kind(KIND, FIELDS, _keys, _covered, is_missing)
"""The runs of this package, for what is the same for all runs."""
