"""What cannot be read is not gone: whoever judges a whole collection refuses where a part of it cannot be looked at."""

from __future__ import annotations

from collections.abc import Iterable

from skill_health.core.boundary import Boundary
from skill_health.core.errors import UsageError
from skill_health.discovery.corpus import Entry, UnreadFolder

UNREADABLE = "unreadable"
"""The problem of a SKILL.md for which the system refuses to tell what is in it."""


def read_entry(boundary: Boundary, entry: Entry) -> tuple[bytes, str]:
    """The bytes of a SKILL.md, and "" or the kind of defect that kept them from being read.

    Raises UsageError where they cannot be read though the permissions let us, as on a bad disk.
    """
    if entry.problem:
        return b"", entry.problem
    data, problem = boundary.read_skill(entry.path)
    if problem == UNREADABLE:
        raise UsageError(
            f"cannot read {entry.path}, though its permissions allow it: look after the disk, or try again"
        )
    return data, problem


def require_readable(entries: Iterable[Entry], unread: Iterable[UnreadFolder]) -> None:
    """Raise UsageError where a folder could not be searched or a SKILL.md not be read: what is in it is not gone."""
    files = (UnreadFolder(entry.path, "not readable") for entry in entries if entry.problem == UNREADABLE)
    for path, reason in (*unread, *files):
        raise UsageError(f"cannot read {path or '.'}: {reason}: make it readable, or exclude it in the configuration")
