"""The skills that a task is for: one, several that belong together (a bundle), or none.

A file says a name, "none" for a negative control, or a list of names; everywhere else they are a tuple. Reports know a
bundle by one name, that of its skills in order with ` + ` between them: what is measured of a bundle is the bundle's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

TargetSkill = str | tuple[str, ...] | None
"""As a document holds it: null where nothing says which."""

NO_SKILL = "none"
_JOINED = " + "


def read_targets(value: str | Iterable[str] | None) -> tuple[str, ...] | None:
    """The skills in order, none of them for a negative control; None where nothing says which."""
    if value is None:
        return None
    names = (value,) if isinstance(value, str) else value
    return () if value == NO_SKILL else tuple(sorted(set(names)))


def write_targets(skills: tuple[str, ...] | None) -> TargetSkill:
    """The same as a document holds it: one skill by its name."""
    return skills if skills is not None and len(skills) > 1 else target_name(skills)


def target_name(skills: tuple[str, ...] | None) -> str | None:
    """The name by which reports know them: NO_SKILL for a negative control, None where nothing says which."""
    return None if skills is None else _JOINED.join(skills) or NO_SKILL


def bundle(skills: tuple[str, ...] | None) -> tuple[str, ...]:
    """The skills where they are several; of one skill its name says all."""
    return skills if skills is not None and len(skills) > 1 else ()


def bundle_digest(skills: Sequence[str], digests: Mapping[str, str | None]) -> str | None:
    """What tells a bundle from one with other contents; None where a skill of it is not known."""
    known = [digest for skill in skills if (digest := digests.get(skill))]
    return "+".join(known) if len(known) == len(skills) else None
