"""The staged skills as the model is told of them: name, description and place; the rest is read when it is needed."""

from __future__ import annotations

import html
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from skill_health.effectiveness.loop.files import RefusedToolCall, read_bytes

FILE = "SKILL.md"
_MOST = 1000
_LONGEST = 4096

SYSTEM = """\
You are an agent that works in a folder, the workspace. Do the task that the user gives you, with your tools. Paths are
relative to the workspace. Nobody is there to answer questions, so decide for yourself. When the task is done, say so in
a short final message, and call no tool in it."""

_SKILLS = """\
There are skills: folders with instructions for tasks of a certain kind, and sometimes with scripts and further files.
Only their descriptions are given here. When a description fits the task, read the skill's file at its location with the
tool `read` before you begin, and do as it says. Paths in it are relative to the folder that it lies in."""


@dataclass(frozen=True, slots=True)
class LoopSkill:
    """One skill: what its frontmatter says of it, and where its file is, relative to the workspace."""

    name: str
    description: str
    path: str


def find(workspace: str, folder: str, order: Sequence[str] = ()) -> tuple[LoopSkill, ...]:
    """The skills in the folder, those of `order` first; a folder whose SKILL.md cannot be read is none."""
    try:
        names = sorted(os.listdir(os.path.join(workspace, folder)))[:_MOST]
    except OSError:
        return ()
    ranks = {name: rank for rank, name in enumerate(order)}
    found = []
    for name in sorted(names, key=lambda name: ranks.get(name, len(ranks))):
        path = f"{folder}/{name}/{FILE}"
        try:
            data = read_bytes(workspace, path)
        except RefusedToolCall:
            continue
        found.append(_listed(name, path, data))
    return tuple(found)


def _listed(folder: str, path: str, data: bytes) -> LoopSkill:
    from skill_health.skill import frontmatter
    from skill_health.skill.decode import decode

    matter = frontmatter.read(decode(data)[0]).matter
    fields = {key: matter.get(key) if matter else None for key in ("name", "description")}
    said = {key: " ".join(str(field.value).split()) if field else "" for key, field in fields.items()}
    return LoopSkill(said["name"][:_LONGEST] or folder, said["description"][:_LONGEST], path)


def system_prompt(skills: Iterable[LoopSkill]) -> str:
    """What the model is told before the task; of skills nothing at all where there are none."""
    entries = [
        f"<skill>\n<name>{html.escape(skill.name, quote=False)}</name>\n"
        f"<description>{html.escape(skill.description, quote=False)}</description>\n"
        f"<location>{html.escape(skill.path, quote=False)}</location>\n</skill>"
        for skill in skills
    ]
    if not entries:
        return SYSTEM
    return "\n".join([SYSTEM, "", _SKILLS, "", "<available_skills>", *entries, "</available_skills>"])
