"""What the formats that are made for containers have in common: the environment, and what of it can be had here.

Where there is neither an image nor a Dockerfile, the files of environment/ are the workspace. Paths that only the
container has (`/tests`, `/logs/verifier`, the working directory ...) are replaced when the scripts are staged.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from skill_health.core.strict_json import quote
from skill_health.effectiveness.tasks._bad import leftover
from skill_health.effectiveness.tasks._dockerfile import CONTEXT, read_image
from skill_health.effectiveness.tasks._folder import File, Folder
from skill_health.effectiveness.tasks._scripts import RESERVED, default_value

SKILLS = "skills"
_LIMITS = ("cpus", "memory", "memory_mb", "storage", "storage_mb", "build_timeout_sec", "gpu_types")
_NEEDED = ("docker_image", "setup_commands", "mcp_servers", "healthcheck", "tpu", "kwargs", "docker_compose")
_TAKEN = ("env", "workdir", "skills_dir", "gpus", "network_mode", "allowed_hosts", "allow_internet", "os")
KNOWN = (*_LIMITS, *_NEEDED, *_TAKEN)
_COMPOSE = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")
_NOT_SEEN = ("Dockerfile", ".dockerignore", SKILLS)


@dataclass(slots=True)
class Environment:
    """What a trial starts from, and what of the environment cannot be had here."""

    workdir: str
    files: tuple[File, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    skills: tuple[str, ...] = ()
    unsupported: list[str] = field(default_factory=list)
    blockers: list[str] = field(default_factory=list)


def read_environment(folder: Folder, table: str, settings: Mapping[str, Any], workdir: str) -> Environment:
    """The environment that `settings`, the table of this name, and the folder environment/ describe.

    `workdir` is the format's own one, where neither says any. Raises Refused for files that are not read safely.
    """
    found = Environment(posixpath.normpath(settings.get("workdir") or workdir))
    if folder.has(f"{CONTEXT}/Dockerfile"):
        image = read_image(folder, f"{CONTEXT}/Dockerfile", found.workdir if settings.get("workdir") else "")
        found.workdir = image.workdir or found.workdir
        found.files = image.files
        found.env |= image.env
        found.unsupported += image.unsupported
        found.blockers += image.blockers
    else:
        found.files = folder.tree(CONTEXT, skip=_NOT_SEEN)
    if not found.workdir.startswith("/") or found.workdir == "/":
        found.blockers.append(f"{table}.workdir {found.workdir!r}: not a folder below / of a container")
    for name in _COMPOSE:
        if folder.has(f"{CONTEXT}/{name}"):
            found.blockers.append(f"{CONTEXT}/{name}: services are not started here")
    env, missing = read_env(settings.get("env") or {}, f"{table}.env")
    found.env |= env
    found.blockers += missing
    _read_settings(found, table, settings)
    found.skills = tuple(_skills(folder, settings.get("skills_dir") or f"{CONTEXT}/{SKILLS}"))
    return found


def read_env(wanted: Mapping[str, Any], table: str) -> tuple[dict[str, str], list[str]]:
    """Variables with `${NAME:-default}` as the default, and a line for each that would need one of this machine."""
    values, missing = {}, []
    for name, value in wanted.items():
        if name in RESERVED:
            missing.append(f"{table}.{name}: a trial sets it itself")
            continue
        text = default_value(str(value).lower() if isinstance(value, bool) else str(value))
        if text is None:
            missing.append(f"{table}.{name}: needs a variable of this machine ({value}), which no trial sees")
        else:
            values[name] = text
    return values, missing


def timeout(settings: Mapping[str, Any], default: float) -> float:
    """The time limit of a table in seconds."""
    return float(settings.get("timeout_sec") or default)


def network_lines(table: str, settings: Mapping[str, Any]) -> Iterator[str]:
    """A line where a table grants the agent more network than it has here."""
    mode = settings.get("network_mode")
    if mode not in (None, "no-network") or settings.get("allow_internet"):
        yield f"{table}: network access ({mode or 'allow_internet'}) is not granted; a trial reaches its model only"


def _read_settings(found: Environment, table: str, settings: Mapping[str, Any]) -> None:
    for key in _NEEDED:
        if settings.get(key):
            found.blockers.append(f"{table}.{key} {quote(settings[key])}: needs a container")
    if settings.get("gpus"):
        found.blockers.append(f"{table}.gpus {settings['gpus']}: no GPU is given to a trial")
    if settings.get("os") not in (None, "linux"):
        found.blockers.append(f"{table}.os {settings['os']}: needs a container")
    limits = [f"{key} {settings[key]}" for key in _LIMITS if settings.get(key)]
    if limits:
        found.unsupported.append(f"{table}: not enforced here: {', '.join(limits)}")
    found.unsupported += [*network_lines(table, settings), *leftover(table, settings, KNOWN)]


def _skills(folder: Folder, path: str) -> Iterator[str]:
    """The folders of the skills that the task brings; what leads out of the task is not its own."""
    for file in folder.tree(path) if _inside(path) else ():
        parts = file.path.split("/")
        if len(parts) == 2 and parts[1] == "SKILL.md":
            yield posixpath.join(folder.place, path, parts[0])


def _inside(path: str) -> bool:
    return not path.startswith("/") and ".." not in path.split("/")


def skill_of(metadata: Mapping[str, Any], skills: Sequence[str]) -> str | None:
    """The skill that should help: what the metadata say, else the only one that the task brings; None for neither."""
    named = metadata.get("target_skill")
    if isinstance(named, str) and named.strip():
        return named
    return posixpath.basename(skills[0]) if len(skills) == 1 else None
