"""A skill's folder -> its frontmatter, its text and its files, without judging any of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skill_health.api.linting import PathText, named_paths
from skill_health.core.boundary import Boundary
from skill_health.core.errors import UsageError
from skill_health.discovery.corpus import discover
from skill_health.lint.check import load_skill as parse_entry
from skill_health.lint.pipeline import configure
from skill_health.lint.readable import read_entry


@dataclass(frozen=True, slots=True)
class LoadedSkill:
    """A skill as it stands on disk.

    `path` is that of its SKILL.md relative to `root`, that of its collection, and `files` are its other files, relative
    to its folder. `name` is the folder's where it declares none. `frontmatter` has what could be read of it, also where
    it is not valid YAML; `problems` say what is wrong with it, in words. `body` is the text below it.
    """

    name: str
    description: str
    path: str
    root: str
    frontmatter: Mapping[str, Any]
    body: str
    files: tuple[str, ...]
    problems: tuple[str, ...]


def load_skill(path: PathText) -> LoadedSkill:
    """Read one skill, from its folder or its SKILL.md.

    Nothing in it is executed, and no link out of its repository is followed.

    Raises UsageError where there is no skill, or more than one; never for what is in it.
    """
    (given,) = named_paths((path,))
    root, config = configure((given,), None, {})
    discovery = discover((given,), config, root)
    found = [entry for entry in discovery.entries if entry.target]
    if len(found) != 1:
        what = "no skill" if not found else f"{len(found)} skills"
        raise UsageError(f"{what} at {given}: name a folder with a SKILL.md, or that file")
    (entry,) = found
    skill = parse_entry(entry, *read_entry(Boundary(root), entry))
    return LoadedSkill(
        name=skill.name,
        description=skill.description,
        path=entry.path,
        root=root,
        frontmatter={field.key: field.value for field in (skill.frontmatter.fields if skill.frontmatter else ())},
        body="\n".join(skill.lines[skill.body.first_line - 1 :]),
        files=tuple(entry.files),
        problems=tuple(defect.message for defect in skill.defects),
    )
