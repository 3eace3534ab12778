"""SkillsBench's task.md: YAML frontmatter (schema 1.3) and the instruction; environment/, oracle/, verifier/."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from skill_health.effectiveness.tasks._api import AGENT_TIMEOUT, Task
from skill_health.effectiveness.tasks._bad import check_keys, check_schema, check_text, leftover
from skill_health.effectiveness.tasks._container import TaskParts, build, network_lines, timeout
from skill_health.effectiveness.tasks._folder import Folder, RefusedFile
from skill_health.registries.records import BadRecord
from skill_health.skill import frontmatter
from skill_health.skill.model import Field

TITLE = "a SkillsBench task.md"
FILE, SCHEMA = "task.md", "skillsbench-task"
VERIFIER_TIMEOUT = 600.0
WORKDIR = "/root"
KEYS = (
    "schema_version", "version", "task", "metadata", "agent", "verifier", "sandbox", "environment", "oracle",
    "solution", "source", "reward", "artifacts", "steps", "multi_step_reward_strategy",
)  # fmt: skip
_SPELLINGS = (("schema_version", "version"), ("sandbox", "environment"), ("oracle", "solution"))
_AGENT = ("prompt_prefix", "timeout_sec", "user", "network_mode", "allowed_hosts")
_VERIFIER = ("type", "timeout_sec", "env")


def fits(folder: Folder) -> str:
    """A task.md with frontmatter; where metadata.json stands beside it, it is the plan's."""
    return FILE if folder.is_fenced(FILE) and not folder.has("metadata.json") else ""


def load(folder: Folder) -> Iterator[Task | BadRecord]:
    """The one task of the folder."""
    data, lines, body = _read(folder)
    check_keys(FILE, KEYS, data, lines, "a task.md of schema 1.3")
    check_schema(FILE, SCHEMA, data, lines)
    for new, old in _SPELLINGS:
        if new in data and old in data:
            message = f"{new!r} and {old!r} are two spellings of one key"
            raise RefusedFile(FILE, message, "Keep one of them.", max(lines[new], lines[old]))
    version = str(data.get("schema_version", data.get("version", "1.3")))
    if version.partition(".")[0] != "1":
        line = lines.get("schema_version", lines.get("version", 1))
        raise RefusedFile(FILE, f"schema version {version[:20]!r} is not known", "Known are the versions 1.x.", line)
    prompt = check_text(FILE, body)
    for name in ("agent", "sandbox", "environment"):
        settings = data.get(name) or {}
        if settings.get("network_mode") == "allowlist" and not settings.get("allowed_hosts"):
            raise RefusedFile(
                FILE, f"{name}.network_mode is an allowlist without {name}.allowed_hosts", line=lines[name]
            )
    table = "environment" if "environment" in data else "sandbox"
    agent, verifier = data.get("agent") or {}, data.get("verifier") or {}
    if prefix := agent.get("prompt_prefix"):
        prompt = f"{prefix}\n\n{prompt}"
    yield build(
        folder,
        TaskParts(
            format="skillsbench",
            prompt=prompt,
            metadata=data.get("metadata") or {},
            table=table,
            environment=data.get(table) or {},
            workdir=WORKDIR,
            verifier=verifier,
            verifier_timeout=timeout(verifier, VERIFIER_TIMEOUT),
            agent_timeout=timeout(agent, AGENT_TIMEOUT),
            verifier_folder="verifier" if folder.has("verifier") else "tests",
            oracle_folder="oracle" if folder.has("oracle") else "solution",
            oracle_env=(data.get("oracle") or data.get("solution") or {}).get("env") or {},
            unsupported=[*_left_out(data, agent), *leftover("verifier", verifier, _VERIFIER)],
            blockers=list(_blockers(data, verifier)),
        ),
    )


def _left_out(data: dict[str, Any], agent: dict[str, Any]) -> Iterator[str]:
    yield from network_lines("agent", agent)
    if agent.get("user"):
        yield f"agent.user {agent['user']}: everything runs as the user who started the run"
    yield from leftover("agent", agent, _AGENT)
    for key in ("reward", "artifacts"):
        if data.get(key):
            yield f"{key}: left out; the verifier's reward alone counts"


def _blockers(data: dict[str, Any], verifier: dict[str, Any]) -> Iterator[str]:
    if data.get("steps"):
        yield "steps: tasks of several steps are not run here"
    if (kind := verifier.get("type", "test-script")) != "test-script":
        yield f"verifier.type {kind}: only test-script is run here"


def _read(folder: Folder) -> tuple[dict[str, Any], dict[str, int], str]:
    """The keys, the line of each (dotted where nested), and the instruction. Raises Refused."""
    matter, _, body, defects = frontmatter.read(folder.text(FILE))
    if matter is None or defects:
        first = min(defects, key=lambda defect: defect.span.line)
        raise RefusedFile(FILE, first.message, first.help[:1].upper() + first.help[1:], first.span.line)
    return {field.key: field.value for field in matter.fields}, dict(_lines(matter.fields)), body.strip("\n") + "\n"


def _lines(fields: tuple[Field, ...], prefix: str = "") -> Iterator[tuple[str, int]]:
    for field in fields:
        yield f"{prefix}{field.key}", field.key_span.line
        yield from _lines(field.fields, f"{prefix}{field.key}.")
