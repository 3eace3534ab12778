"""Harbor's task.toml with instruction.md, environment/, solution/ and tests/ beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from skill_health.effectiveness.tasks._api import AGENT_TIMEOUT, Task
from skill_health.effectiveness.tasks._bad import check_schema, check_text, leftover
from skill_health.effectiveness.tasks._container import TaskParts, build, network_lines, timeout
from skill_health.effectiveness.tasks._folder import Folder, RefusedFile
from skill_health.registries.records import BadRecord
from skill_health.text.strict_toml import parse_toml

TITLE = "a Harbor task.toml"
FILE, PROMPT, SCHEMA = "task.toml", "instruction.md", "harbor-task"
VERIFIER_TIMEOUT = 600.0
WORKDIR = "/app"
KEYS = (
    "schema_version", "version", "task", "metadata", "verifier", "agent", "environment", "solution", "steps",
    "artifacts", "source", "multi_step_reward_strategy",
)  # fmt: skip
_VERIFIER = ("timeout_sec", "env", "user", "environment", "environment_mode")
_AGENT = ("timeout_sec", "user", "network_mode", "allowed_hosts")
_AT = re.compile(r"(?<!\s)\s*\(at (?:line (\d+), column \d+|end of document)\)$")
_HEADER = re.compile(r"\s*\[\[?\s*([\w.\"' -]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"\s*([\w-]+)\s*=")


def fits(folder: Folder) -> str:
    """A folder with a task.toml."""
    return FILE if folder.has(FILE) else ""


def load(folder: Folder) -> Iterator[Task | BadRecord]:
    """The one task of the folder."""
    text = folder.text(FILE)
    data, lines = _parse(text), _lines(text)
    check_schema(FILE, SCHEMA, data, lines)
    version = str(data.get("schema_version", data.get("version", "1.0")))
    # Most authors left the older key as they found it: no reader of this format ever asked for a version of it.
    if version.partition(".")[0] not in ("0", "1"):
        line = lines.get("schema_version", lines.get("version", 1))
        raise RefusedFile(
            FILE, f"schema version {version[:20]!r} is not known", "Known are the versions 0.x and 1.x.", line
        )
    agent, verifier = data.get("agent") or {}, data.get("verifier") or {}
    yield build(
        folder,
        TaskParts(
            format="harbor",
            prompt=check_text(PROMPT, folder.text(PROMPT)),
            metadata=data.get("metadata") or {},
            table="environment",
            environment=data.get("environment") or {},
            workdir=WORKDIR,
            verifier=verifier,
            verifier_timeout=timeout(verifier, VERIFIER_TIMEOUT),
            agent_timeout=timeout(agent, AGENT_TIMEOUT),
            verifier_folder="tests",
            oracle_folder="solution",
            oracle_env=(data.get("solution") or {}).get("env") or {},
            unsupported=list(_left_out(data, agent, verifier)),
            blockers=list(_blockers(data, verifier)),
        ),
    )


def _left_out(data: dict[str, Any], agent: dict[str, Any], verifier: dict[str, Any]) -> Iterator[str]:
    yield from network_lines("agent", agent)
    for table, settings in (("agent", agent), ("verifier", verifier)):
        if settings.get("user"):
            yield f"{table}.user {settings['user']}: everything runs as the user who started the run"
    if data.get("artifacts"):
        yield "artifacts: left out; the verifier's reward alone counts"
    yield from leftover("agent", agent, _AGENT)
    yield from leftover("verifier", verifier, _VERIFIER)
    yield from (f"{key}: not known here, left out" for key in data if key not in KEYS)


def _blockers(data: dict[str, Any], verifier: dict[str, Any]) -> Iterator[str]:
    if data.get("steps"):
        yield "steps: tasks of several steps are not run here"
    if verifier.get("environment") or verifier.get("environment_mode") == "separate":
        yield "verifier.environment: a container of the verifier's own is not started here"


def _parse(text: str) -> dict[str, Any]:
    try:
        return parse_toml(text)
    except ValueError as error:
        message = str(error)
        at = _AT.search(message)
        line = int(at[1]) if at and at[1] else text.rstrip("\n").count("\n") + 1
        raise RefusedFile(FILE, f"not TOML: {_AT.sub('', message)}", line=line) from None


def _lines(text: str) -> dict[str, int]:
    """The line of each dotted key, as far as it stands at the beginning of a line; the first one counts."""
    found: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.split("\n"), 1):
        if header := _HEADER.match(line):
            table = header[1]
            found.setdefault(table, number)
        elif key := _KEY.match(line):
            found.setdefault(f"{table}.{key[1]}" if table else key[1], number)
    return found
