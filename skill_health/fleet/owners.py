"""CODEOWNERS -> who answers for a file.

The last pattern that matches decides, as GitHub says (docs.github.com, "About code owners", read 2026-11). Sections of
GitLab are passed over, as are lines that GitHub does not know either: those with `!` or `[`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from skill_health.core.boundary import Boundary
from skill_health.discovery.ignores import Patterns, compile_patterns, ignored, ignored_within

PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
_WORD = re.compile(r"(?:\\.|[^\s\\])+")
_MOST_OWNERS = 20
_LONGEST = 100


class OwnedPattern(NamedTuple):
    """A line: whose the files are that it matches. One that ends in /* does not reach below a folder."""

    patterns: Patterns
    owners: tuple[str, ...]
    shallow: bool


def read_owners(boundary: Boundary) -> tuple[OwnedPattern, ...]:
    """The lines of the CODEOWNERS of a repository whose boundary begins at its top; () where there is none."""
    for place in PLACES:
        data = boundary.read_small(place)
        if data is not None:
            return tuple(filter(None, map(_line, data.decode("utf-8", "replace").splitlines())))
    return ()


def _line(text: str) -> OwnedPattern | None:
    # A backslash keeps the space or the # after it in the pattern.
    words = _WORD.findall(text)
    if not words or words[0][0] in "#![^":
        return None
    pattern = words[0]
    compiled = compile_patterns((pattern,))
    owners: list[str] = []
    for word in words[1:]:
        if word.startswith("#"):
            break
        owners.append(word[:_LONGEST])
    return OwnedPattern(compiled, tuple(owners[:_MOST_OWNERS]), pattern.endswith("/*")) if compiled else None


def find_owners(lines: Sequence[OwnedPattern], path: str) -> tuple[str, ...] | None:
    """Who answers for a path, relative to the top; () where a line says nobody, None where no line speaks of it."""
    for line in reversed(lines):
        stack = (line.patterns,)
        name = path.rpartition("/")[2]
        if ignored(stack, path, name, False) if line.shallow else ignored_within(stack, path, False):
            return line.owners
    return None
