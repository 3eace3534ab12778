"""The Markdown files that a skill brings along, as one text: what a curator can search and no host shows.

Left out are files of tests and evaluations, which may hold the very prompts that a router is measured with.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace

from skill_health.core.boundary import Boundary
from skill_health.core.files import MAX_BYTES
from skill_health.router.records import Catalogue
from skill_health.skill.model import Skill
from skill_health.text.patterns import lazy

_OF_TESTS = lazy(r"(?i)(?:^|[/._-])(?:evals?|evaluations?|tests?|fixtures?)(?:[/._-]|$)")
_MARKDOWN = (".md", ".markdown")
MOST_OF_FILE, MOST = 40_000, 200_000
"""How many characters are searched of one file, and of all files of a skill."""


def is_markdown(name: str) -> bool:
    """Whether a file is one that references are read from, by its name."""
    return name.lower().endswith(_MARKDOWN)


def add_references(catalogue: Catalogue, skills: Iterable[Skill], root: str) -> Catalogue:
    """The catalogue with the references of the skills that it shows; `skills` are those it was made of."""
    by_path = {skill.path: skill for skill in skills}
    shown = [replace(one, references=read_references(by_path[one.path], root)) for one in catalogue.shown]
    return replace(catalogue, shown=tuple(shown))


def read_references(skill: Skill, root: str) -> str:
    """The text of a skill's Markdown files in the order of their paths; a file that cannot be read is left out.

    `root` is that of the collection. No link that leads out of it is followed.
    """
    boundary = Boundary(root)
    parts: list[str] = []
    room = MOST
    for name in skill.files:
        if room <= 0:
            break
        if is_markdown(name) and not _OF_TESTS.search(name):
            text = _text(boundary, os.path.join(root, skill.folder, name))[: min(MOST_OF_FILE, room)]
            parts.append(text)
            room -= len(text)
    return "\n".join(filter(None, parts))


def _text(boundary: Boundary, path: str) -> str:
    try:
        data = boundary.read(path, MAX_BYTES)
    except OSError:
        return ""
    return (data or b"").decode("utf-8", "replace")
