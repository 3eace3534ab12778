"""The skills that were found, parsed and named."""

from __future__ import annotations

import os

from skill_health.core.files import read_bytes
from skill_health.discovery.corpus import Discovery
from skill_health.discovery.plugins import Plugins
from skill_health.lint.check import load_skill
from skill_health.router.naming import REFUSE, Collection, name_skills
from skill_health.skill.model import Skill


def read_skills(discovery: Discovery) -> list[Skill]:
    """Read every skill of a collection, in the order of their paths. Never raises on bad content."""
    found = []
    for entry in discovery.entries:
        full = os.path.join(discovery.root, entry.path)
        data, problem = (b"", entry.problem) if entry.problem else read_bytes(full)
        found.append(load_skill(entry, data, problem))
    return found


def read_collection(discovery: Discovery, namesakes: str = REFUSE, plain: bool = False) -> tuple[Discovery, Collection]:
    """Read and name the skills of a collection; what it leaves out is no longer in the discovery."""
    found = name_skills(read_skills(discovery), Plugins(discovery.root), namesakes, plain)
    kept = {skill.path for skill in found.skills}
    return discovery._replace(entries=tuple(entry for entry in discovery.entries if entry.path in kept)), found
