"""A folder with task.md, metadata.json, verify.sh or rubric.json, starting/, oracle/solve.sh: read, and written."""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from skill_health.core.files import write_bytes
from skill_health.documents._targets import read_targets, write_targets
from skill_health.effectiveness.checks._api import make_check
from skill_health.effectiveness.rubric.model import Check, Criterion, Rubric, make_rubric
from skill_health.effectiveness.tasks._api import (
    AGENT_TIMEOUT,
    VERIFIER_TIMEOUT,
    Script,
    SetupCommand,
    Task,
    about_task,
    script,
    task_digest,
)
from skill_health.effectiveness.tasks._bad import bad, check_id, check_keys, check_schema, check_text
from skill_health.effectiveness.tasks._evals import NO_ORACLE, read_json
from skill_health.effectiveness.tasks._folder import File, Folder, RefusedFile, is_inside
from skill_health.effectiveness.tasks._preparation import SECONDS, unmet_needs
from skill_health.registries.records import BadRecord, RegistryRecord, parse_registries
from skill_health.registries.sources import MARKS, SourceFile
from skill_health.skill.frontmatter import HANDLER

TITLE = "a folder with task.md and metadata.json"
PROMPT, METADATA, VERIFIER, ORACLE, STARTING = "task.md", "metadata.json", "verify.sh", "oracle/solve.sh", "starting"
RUBRIC, CHECKING, SCHEMA = "rubric.json", "checking", "task-rubric"
_NOT_SLUG = re.compile(r"[^a-z0-9]+")


def fits(folder: Folder) -> str:
    """A task.md without frontmatter, or a metadata.json that names a target skill."""
    if folder.has(PROMPT) and not folder.is_fenced(PROMPT):
        return PROMPT
    return METADATA if folder.has(METADATA) and MARKS["tasks"] in folder.read(METADATA) else ""


def load(folder: Folder) -> Iterator[Task | BadRecord]:
    """The one task of the folder."""
    record = _metadata(folder)
    if isinstance(record, BadRecord):
        yield record
        return
    data = record.data
    check_id(METADATA, data["id"], record.line)
    if not folder.has(VERIFIER) and not folder.has(RUBRIC):
        yield bad(folder, VERIFIER, "the file is missing: nothing would judge the outcome", task_id=data["id"])
        return
    yield _task(folder, data)


def _task(folder: Folder, data: Any) -> Task:
    prompt = check_text(PROMPT, folder.text(PROMPT))
    files = folder.tree(STARTING)
    agent_timeout = float(data.get("agent_timeout_sec") or data.get("timeout_sec") or AGENT_TIMEOUT)
    verifier_timeout = float(data.get("verifier_timeout_sec") or VERIFIER_TIMEOUT)
    verifier = [folder.file(VERIFIER, VERIFIER), *folder.tree("verifier", "verifier/")] if folder.has(VERIFIER) else []
    rubric, checking, left_out = _rubric(folder, verifier_timeout) if folder.has(RUBRIC) else (None, None, ())
    commands = _preparation(folder) if rubric else ()
    oracle = folder.tree("oracle", "oracle/")
    solved = any(file.path == ORACLE for file in oracle)
    return Task(
        id=data["id"],
        slug=data["slug"],
        path=folder.shown,
        format="plan_directory",
        prompt=prompt,
        target_skills=read_targets(data["target_skill"]),
        irrelevant_skill=data.get("irrelevant_skill"),
        related_skill=data.get("related_skill"),
        unrelated_skill=data.get("unrelated_skill"),
        category=data.get("category", ""),
        difficulty=data.get("difficulty", ""),
        about=about_task(data),
        agent_timeout_sec=agent_timeout,
        files=files,
        verifier=script(("bash", VERIFIER), verifier, verifier_timeout) if verifier else None,
        oracle=script(("bash", ORACLE), oracle, agent_timeout) if solved else None,
        rubric=rubric,
        checking=checking,
        preparation=commands,
        blockers=tuple(unmet_needs(commands, checking.files if checking else ())),
        unsupported=left_out if solved or verifier else (*left_out, NO_ORACLE),
        folder=folder.place,
        digest=task_digest(prompt, files, (), agent_timeout, commands, checking),
    )


def _metadata(folder: Folder) -> RegistryRecord | BadRecord:
    """The validated metadata."""
    if not folder.has(METADATA):
        raise RefusedFile(METADATA, "the file is missing", "It holds at least id, slug and target_skill.")
    source = SourceFile("tasks", f"{folder.shown}/{METADATA}", folder.read(METADATA), task_path=PROMPT)
    found = parse_registries((source,))
    if found.bad:
        return found.bad[0]
    return (found.tasks or ())[0]


def _rubric(folder: Folder, timeout: float) -> tuple[Rubric | None, Script | None, tuple[str, ...]]:
    """The criteria, the files of their commands, and what an import could not carry over. Raises Refused.

    Beside a verifier, a rubric of somebody else's is left out.
    """
    _, data = read_json(folder, RUBRIC)
    if not isinstance(data, Mapping) or "criteria" not in data:
        if folder.has(VERIFIER):
            return None, None, (f"{RUBRIC}: not graded here, it is no object with criteria",)
        raise RefusedFile(RUBRIC, "not an object with criteria")
    check_keys(RUBRIC, ("goal_weight", "criteria", "variables", "prepare", "left_out"), data, {}, "a rubric")
    check_schema(RUBRIC, SCHEMA, data, {})
    variables = data.get("variables") or {}
    if odd := next((path for path in variables.values() if path and not is_inside(path)), ""):
        raise RefusedFile(RUBRIC, f"the variable for {odd[:80]!r} leads out of {CHECKING}/")
    try:
        rubric = make_rubric(map(_criterion, data["criteria"]), data.get("goal_weight", 0.5))
    except ValueError as error:
        raise RefusedFile(RUBRIC, str(error)) from None
    files = folder.tree(CHECKING)
    checking = script((), files, timeout, variables.items()) if files or variables else None
    return rubric, checking, tuple(data.get("left_out") or ())


def _preparation(folder: Folder) -> tuple[SetupCommand, ...]:
    """The commands that prepare the workspace; the file was checked before."""
    _, data = read_json(folder, RUBRIC)
    return tuple(
        SetupCommand(each["command"], float(each.get("seconds", SECONDS)), tuple(each.get("exits", (0,))), each.get("required", True))
        for each in data.get("prepare") or ()
    )  # fmt: skip


def _criterion(data: Mapping[str, Any]) -> Criterion:
    """Raises ValueError for a check that cannot be made."""
    check = None
    if found := data.get("check"):
        given = {key: value for key, value in found.items() if key != "kind"}
        try:
            check = make_check(found["kind"], **given)
        except (ValueError, TypeError) as error:
            raise ValueError(f"the criterion {data['id'][:40]!r}: {error}") from None
    return Criterion(data["id"], data["text"], data.get("points", 0.0), data.get("group", "goal"), check, RUBRIC)


def write_task(task: Task, place: str) -> None:
    """Write a task with a rubric into a new folder, from which `load` reads the same prompt, files and criteria.

    Raises ValueError for a task that such a folder cannot hold, and OSError or UsageError where it cannot be written.
    """
    if why := why_not_written(task):
        raise ValueError(why)
    metadata = {
        "id": task.id,
        "slug": _NOT_SLUG.sub("-", task.id.lower()).strip("-") or "task",
        "target_skill": write_targets(task.target_skills),
        **({"category": task.category} if task.category.strip() else {}),
        "agent_timeout_sec": task.agent_timeout_sec,
        **({"verifier_timeout_sec": task.checking.timeout_sec} if task.checking else {}),
    }
    checking = task.checking.files if task.checking else ()
    files = [
        File(PROMPT, task.prompt.encode()),
        File(METADATA, _as_json(metadata)),
        File(RUBRIC, _as_json(_rubric_values(task))),
        *(replace(file, path=f"{STARTING}/{file.path}") for file in task.files),
        *(replace(file, path=f"{CHECKING}/{file.path}") for file in checking),
    ]
    os.makedirs(place)
    for file in files:
        target = os.path.join(place, *file.path.split("/"))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        write_bytes(target, file.data)
        if file.executable:
            os.chmod(target, 0o755)


def why_not_written(task: Task) -> str:
    """Why a folder of this format cannot hold a task, "" where it can."""
    if task.blockers:
        return task.blockers[0]
    if task.rubric is None:
        return "it has no criteria"
    if task.verifier or task.oracle or task.env or task.places or task.skills:
        return "it has a verifier and surroundings of its own: run it as it is"
    if task.target_skills is None:
        return "nothing says which skill should help"
    if HANDLER.detect(task.prompt) or "\r" in task.prompt or task.prompt.startswith("\ufeff"):
        return "its prompt begins with a fence, or holds carriage returns, which task.md cannot"
    return ""


def missing_parts(task: Task) -> tuple[str, ...]:
    """What of a task a folder does not hold, as it was read: a line each."""
    return tuple(line for line in task.unsupported if line != NO_ORACLE)


def _rubric_values(task: Task) -> dict[str, Any]:
    rubric = task.rubric
    assert rubric is not None
    found: dict[str, Any] = {
        "goal_weight": rubric.goal_weight,
        "criteria": list(map(_criterion_values, rubric.criteria)),
    }
    if task.checking:
        found["variables"] = dict(task.checking.env)
    if task.preparation:
        found["prepare"] = [
            {"command": each.command, "seconds": each.seconds, "exits": list(each.exits), "required": each.required}
            for each in task.preparation
        ]
    if left_out := missing_parts(task):
        found["left_out"] = list(left_out)
    return found


def _criterion_values(criterion: Criterion) -> dict[str, Any]:
    check = {"check": _check_values(criterion.check)} if criterion.check else {}
    return {"id": criterion.id, "text": criterion.text, "points": criterion.points, "group": criterion.group, **check}


def _check_values(check: Check) -> dict[str, Any]:
    given: dict[str, list[str]] = defaultdict(list)
    for key, value in check.given:
        given[key].append(value)
    return {"kind": check.kind, **{key: values[0] if len(values) == 1 else values for key, values in given.items()}}


def _as_json(values: Mapping[str, Any]) -> bytes:
    return (json.dumps(values, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "surrogatepass")
