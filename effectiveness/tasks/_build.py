"""A task of a container format from the parts that its own loader has read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from skill_health.effectiveness.tasks._api import Script, Task, script, task_digest
from skill_health.effectiveness.tasks._bad import check_id
from skill_health.effectiveness.tasks._container import Environment, read_env, read_environment, skill_of
from skill_health.effectiveness.tasks._folder import Folder, RefusedFile
from skill_health.effectiveness.tasks._scripts import (
    ORACLE,
    REWARDS,
    VERIFIER,
    WORKSPACE,
    names_place,
    replace_places,
    script_blockers,
    text_of,
)  # fmt: skip

_SKILL_KEYS = ("irrelevant_skill", "related_skill", "unrelated_skill")
_PLACES = (
    ("/logs/verifier", REWARDS), ("/tests", VERIFIER), ("/verifier", VERIFIER), ("/solution", ORACLE), ("/oracle", ORACLE),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TaskParts:
    """What a loader has read. `table` is how the environment's settings are called, `workdir` the format's default."""

    format: str
    prompt: str
    metadata: Mapping[str, Any]
    table: str
    environment: Mapping[str, Any]
    workdir: str
    verifier: Mapping[str, Any]
    verifier_timeout: float
    agent_timeout: float
    verifier_folder: str
    oracle_folder: str
    oracle_env: Mapping[str, Any] = field(default_factory=dict)
    unsupported: list[str] = field(default_factory=list)
    blockers: list[str] = field(default_factory=list)


def build(folder: Folder, parts: TaskParts) -> Task:
    """The task. Raises Refused where it has no verifier, and for files that are not read safely."""
    task_id = folder.place.rpartition("/")[2]
    check_id("", task_id)
    environment = read_environment(folder, parts.table, parts.environment, parts.workdir)
    places = ((environment.workdir, WORKSPACE), *_PLACES)
    blockers = [*parts.blockers, *environment.blockers]
    verifier = _script(
        folder, parts.verifier_folder, "test.sh", parts.verifier_timeout, parts.verifier, places, blockers
    )
    if verifier is None:
        raise RefusedFile(f"{parts.verifier_folder}/test.sh", "the file is missing: nothing would judge the outcome")
    oracle = _script(
        folder, parts.oracle_folder, "solve.sh", parts.agent_timeout, {"env": parts.oracle_env}, places, blockers
    )
    prompt = replace_places(parts.prompt, [(path, ".") for path, role in places if role == WORKSPACE])
    unsupported = [*parts.unsupported, *environment.unsupported]
    if prompt != parts.prompt:
        unsupported.append(f"the prompt's {environment.workdir} is given as '.', the current directory")
    blockers += _start_blockers(environment)
    target = skill_of(parts.metadata, environment.skills)
    if target is None:
        blockers.append("no target skill: name it as target_skill of the metadata ('none' for a negative control)")
    env = tuple(sorted(environment.env.items()))
    return Task(
        id=task_id,
        slug=task_id,
        path=folder.shown,
        format=parts.format,
        prompt=prompt,
        target_skill=target,
        **{key: _word(parts.metadata, key) for key in _SKILL_KEYS},
        category=_word(parts.metadata, "category") or "",
        difficulty=_word(parts.metadata, "difficulty") or "",
        agent_timeout_sec=parts.agent_timeout,
        files=environment.files,
        env=env,
        verifier=verifier,
        oracle=oracle,
        grading="reward",
        places=places,
        unsupported=tuple(unsupported),
        blockers=tuple(dict.fromkeys(blockers)),
        skills=environment.skills,
        folder=folder.place,
        digest=task_digest(prompt, environment.files, env, parts.agent_timeout),
    )


def _script(
    folder: Folder,
    name: str,
    entry: str,
    timeout_sec: float,
    settings: Mapping[str, Any],
    places: tuple[tuple[str, str], ...],
    blockers: list[str],
) -> Script | None:
    """The script of a folder, or None where it has no `entry`; why it cannot run is added to `blockers`."""
    files = folder.tree(name)
    if not any(file.path == entry for file in files):
        return None
    env, missing = read_env(settings.get("env") or {}, f"{name}.env")
    blockers += [*missing, *script_blockers(name, files, places)]
    return script(("bash", entry), files, timeout_sec, env.items(), places)


def _start_blockers(environment: Environment) -> Iterator[str]:
    """A line for a starting file that names the working directory: unlike scripts, it is given as it is."""
    for file in environment.files:
        text = text_of(file)
        line = names_place(text, environment.workdir) if text else 0
        if line:
            yield f"{file.path}:{line}: a starting file names {environment.workdir}, which only a container has"


def _word(metadata: Mapping[str, Any], key: str) -> str | None:
    value = metadata.get(key)
    return value if isinstance(value, str) and value.strip() else None
