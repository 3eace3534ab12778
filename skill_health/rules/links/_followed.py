"""The links of SKILL.md, each read and followed once for all rules of the family."""

from __future__ import annotations

from typing import NamedTuple

from skill_health.rules._api import Context
from skill_health.rules.links._memo import remembered
from skill_health.rules.links._targets import LinkTarget, Target, locate, read_target
from skill_health.skill.model import Link, Skill
from skill_health.text.patterns import lazy

_NAME = lazy(r"[\w\-]+\Z")


def skill_of(path: str) -> str:
    """The folder name of the skill that a relative path names by its form, or "".

    The forms are `<anything>/other/SKILL.md`, `../other/` and `skills/other/`, the last slash optional.
    """
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if len(parts) < 2:
        return ""
    if parts[-1].lower() == "skill.md":
        return "" if parts[-2] == ".." else parts[-2]
    if (parts[-2] == "skills" or parts[:-1] == [".."]) and _NAME.match(parts[-1]):
        return parts[-1]
    return ""


class Followed(NamedTuple):
    """A link whose target is a relative path, where it leads, and the skill it names by its form ("" for none)."""

    link: Link
    target: Target
    place: LinkTarget
    skill: str


@remembered
def followed(skill: Skill, context: Context) -> tuple[Followed, ...]:
    """Every link and image of SKILL.md with a relative path, in file order."""
    found = []
    for link in skill.body.links:
        target = read_target(link.target)
        if target.kind == "file":
            found.append(Followed(link, target, locate(target.path, skill, context), skill_of(target.path)))
    return tuple(found)
