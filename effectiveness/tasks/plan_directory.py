"""A folder with task.md, metadata.json, verify.sh, starting/, oracle/solve.sh."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from skill_health.effectiveness.tasks._api import AGENT_TIMEOUT, VERIFIER_TIMEOUT, Task, script, task_digest
from skill_health.effectiveness.tasks._bad import bad, check_id, check_text
from skill_health.effectiveness.tasks._folder import Folder, RefusedFile
from skill_health.registries.records import BadRecord, RegistryRecord, parse_registries
from skill_health.registries.sources import MARKS, SourceFile

TITLE = "a folder with task.md and metadata.json"
PROMPT, METADATA, VERIFIER, ORACLE, STARTING = "task.md", "metadata.json", "verify.sh", "oracle/solve.sh", "starting"


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
    if not folder.has(VERIFIER):
        yield bad(folder, VERIFIER, "the file is missing: nothing would judge the outcome", task_id=data["id"])
        return
    yield _task(folder, data)


def _task(folder: Folder, data: Any) -> Task:
    prompt = check_text(PROMPT, folder.text(PROMPT))
    files = folder.tree(STARTING)
    agent_timeout = float(data.get("agent_timeout_sec") or data.get("timeout_sec") or AGENT_TIMEOUT)
    verifier_timeout = float(data.get("verifier_timeout_sec") or VERIFIER_TIMEOUT)
    verifier = [folder.file(VERIFIER, VERIFIER), *folder.tree("verifier", "verifier/")]
    oracle = folder.tree("oracle", "oracle/")
    solved = any(file.path == ORACLE for file in oracle)
    return Task(
        id=data["id"],
        slug=data["slug"],
        path=folder.shown,
        format="plan_directory",
        prompt=prompt,
        target_skill=data["target_skill"],
        irrelevant_skill=data.get("irrelevant_skill"),
        related_skill=data.get("related_skill"),
        unrelated_skill=data.get("unrelated_skill"),
        category=data.get("category", ""),
        difficulty=data.get("difficulty", ""),
        agent_timeout_sec=agent_timeout,
        files=files,
        verifier=script(("bash", VERIFIER), verifier, verifier_timeout),
        oracle=script(("bash", ORACLE), oracle, agent_timeout) if solved else None,
        unsupported=("rubric.json: not graded here",) if folder.has("rubric.json") else (),
        folder=folder.place,
        digest=task_digest(prompt, files, (), agent_timeout),
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
