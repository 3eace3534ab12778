"""The links of SKILL.md, each read and followed once for all rules of the family."""

from typing import NamedTuple

from skill_health.rules._api import Context
from skill_health.rules.links._memo import remembered
from skill_health.rules.links._skills import skill_of
from skill_health.rules.links._targets import LinkTarget, Target, locate, read_target
from skill_health.skill.model import Link, Skill


class Followed(NamedTuple):
    """A link whose target is a relative path, where it leads, and the skill it means by its form ("" for none)."""

    link: Link
    target: Target
    place: LinkTarget
    skill: str


@remembered
def followed(skill: Skill, context: Context) -> tuple[Followed, ...]:
    """Every link and image of SKILL.md with a relative path, in the order of the file."""
    found = []
    for link in skill.body.links:
        target = read_target(link.target)
        if target.kind == "file":
            found.append(Followed(link, target, locate(target.path, skill, context), skill_of(target.path)))
    return tuple(found)
