"""Links to other skills: recognising them by their form."""

from __future__ import annotations

from skill_health.text.patterns import lazy

_NAME = lazy(r"[\w\-]+\Z")


def skill_of(path: str) -> str:
    """The folder name of the skill that a relative path leads to by its form, or "".

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
