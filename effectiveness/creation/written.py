"""The folder that a creator left -> the skills in it that can be staged, and why others cannot."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from skill_health.core.files import is_there
from skill_health.effectiveness.records import SkillCopy
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.tasks._scripts import text_of
from skill_health.effectiveness.trial.redact import holds_secret, redact
from skill_health.effectiveness.workspace.copies import SKILL, make_copy, skill_md
from skill_health.effectiveness.workspace.tree import FolderTree, contents, read_tree
from skill_health.skill.parse import parse_skill

FOLDER = "new-skills"
"""Where in its workspace a creator puts skills, each in a folder of its own."""
MOST_SKILLS, MOST_FILES, MOST_BYTES = 3, 30, 256 << 10
LONGEST_NAME, LONGEST_DESCRIPTION = 64, 1024
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
# What makes a host pass over a skill; the linter's other defects are matters of style, or of hosts.
_FATAL = frozenset((
    "oversized", "invalid-utf8", "nul", "utf-16", "no-frontmatter", "unclosed-frontmatter", "empty-frontmatter",
    "not-a-mapping", "yaml-error", "alias-bomb", "too-deep",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class WrittenSkills:
    """What a creator left: skills by their names, and one line for each thing that cannot be staged."""

    skills: tuple[SkillCopy, ...] = ()
    refused: tuple[str, ...] = ()


class _Refused(Exception):
    """Why a skill cannot be staged."""


def read_written(workspace: str, secrets: tuple[str, ...]) -> WrittenSkills:
    """The skills in the workspace of a creator that has ended; secrets are replaced in their files.

    Nothing is followed or run. A skill with a part that cannot be staged is refused as a whole.
    """
    place = os.path.join(workspace, FOLDER)
    if os.path.islink(place) or not os.path.isdir(place):
        return WrittenSkills((), (f"{FOLDER} is no folder",) if is_there(place, links=False) else ())
    tree = read_tree(place)
    names = [entry.path for entry in tree.entries if "/" not in entry.path]
    refused = list(tree.problems)
    found: list[SkillCopy] = []
    for name in names[:MOST_SKILLS]:
        try:
            found.append(_skill(tree, name, secrets))
        except _Refused as error:
            refused.append(f"{name[:LONGEST_NAME]}: {error}")
    if len(names) > MOST_SKILLS:
        refused.append(f"{len(names) - MOST_SKILLS} more than the {MOST_SKILLS} skills that can be staged")
    return WrittenSkills(tuple(found), tuple(refused))


def _skill(tree: FolderTree, name: str, secrets: tuple[str, ...]) -> SkillCopy:
    """One skill. Raises _Refused."""
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise _Refused("its folder's name is not lower-case letters, digits and single hyphens")
    files = list(_files(tree, name, secrets))
    if all(file.path != SKILL for file in files):
        raise _Refused(f"it has no {SKILL}")
    others = tuple(file.path for file in files if file.path != SKILL)
    skill = parse_skill(skill_md(files), f"{name}/{SKILL}", name, others)
    if fatal := next((defect for defect in skill.defects if defect.kind in _FATAL), None):
        raise _Refused(f"{SKILL}: {fatal.message}")
    if skill.name != name:
        raise _Refused("the name in its frontmatter is not its folder's")
    if not skill.description.strip() or len(skill.description) > LONGEST_DESCRIPTION:
        raise _Refused(f"its description is empty or has more than {LONGEST_DESCRIPTION:,} characters")
    return make_copy(name, skill.description, files)


def _files(tree: FolderTree, name: str, secrets: tuple[str, ...]) -> Iterator[File]:
    """The files of a skill, all of them text. Raises _Refused."""
    own = [entry for entry in tree.entries if entry.path == name or entry.path.startswith(f"{name}/")]
    if own[0].kind != "folder":
        raise _Refused("it is no folder")
    inner = [entry for entry in own if entry.kind != "folder"]
    if len(inner) > MOST_FILES or sum(entry.size for entry in inner) > MOST_BYTES:
        raise _Refused(f"it has more than {MOST_FILES} files or {MOST_BYTES >> 10} KiB")
    for entry in inner:
        data = contents(tree.folder, entry, MOST_BYTES)
        path = entry.path.removeprefix(f"{name}/")
        if data is None or not path.isprintable() or holds_secret(os.fsencode(path), secrets):
            raise _Refused("it holds something that is no plain file")
        if text_of(File(path, data)) is None:
            raise _Refused("a file of it is no text")
        yield File(path, redact(data, secrets), entry.executable)
