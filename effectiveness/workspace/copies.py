"""Skills as they are staged: every file of a skill, read once, so that nothing that happens later changes an arm."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from skill_health.core.errors import UsageError
from skill_health.core.files import blake2b
from skill_health.discovery.corpus import LEFT_OUT
from skill_health.discovery.evaluations import eval_material
from skill_health.effectiveness.records import SkillCopy
from skill_health.effectiveness.tasks._folder import File, Folder, RefusedFile
from skill_health.skill.model import Skill

SKILL = "SKILL.md"


def copies(skills: Iterable[Skill], root: str) -> dict[str, SkillCopy]:
    """The skills of a collection by name, in the order of their names; their files are read below `root`.

    The folder of a copy has the skill's name, and its file is SKILL.md, however they are spelled in the collection. Its
    evaluations are no part of it: an agent that found them would know what is asked for.
    Raises UsageError for two skills of one name, for a name that cannot be a folder's, and for a file that cannot be
    staged: a skill with a part missing is another skill.
    """
    found: dict[str, SkillCopy] = {}
    places: dict[str, str] = {}
    for skill in skills:
        name = skill.name
        if name in found:
            raise UsageError(
                f"two skills are called {name!r}: {places[name]} and {skill.path}; an arm needs one: --skip-namesakes keeps "
                "the one that tasks name, else the first"
            )
        check_name(name, skill.path)
        places[name] = skill.path
        found[name] = _copy(skill, root)
    return dict(sorted(found.items()))


def check_name(name: str, where: str) -> None:
    """Raise UsageError for a name that cannot be a folder's."""
    if not name or name in (".", "..") or not name.isprintable() or set(name) & set("/\\:"):
        raise UsageError(f"{where}: {name!r} cannot be the name of a folder, so the skill cannot be staged")


def _copy(skill: Skill, root: str) -> SkillCopy:
    folder = Folder(os.path.realpath(os.path.join(root, skill.folder)), skill.folder or ".")
    try:
        files = [folder.file(skill.file_name, SKILL)]
        material = eval_material(skill.files)
        given = (path for path in skill.files if not LEFT_OUT & set(path.split("/")) and path not in material)
        files += [folder.file(path, path) for path in given]
    except RefusedFile as refused:
        raise UsageError(f"{folder.shown}/{refused.path}: {refused.message}; the skill cannot be staged") from None
    return make_copy(skill.name, skill.description, files)


def make_copy(name: str, description: str, files: Iterable[File], placebo: bool = False) -> SkillCopy:
    """A copy with its digest."""
    kept = tuple(sorted(files, key=lambda file: file.path))
    return SkillCopy(name, description, kept, digest_of(name, kept), placebo)


def skill_md(files: Iterable[File]) -> bytes:
    """The SKILL.md among the files of a skill, empty where there is none."""
    return next((file.data for file in files if file.path == SKILL), b"")


def digest_of(name: str, files: Iterable[File]) -> str:
    """A hash of a skill as it is staged, 32 hexadecimal digits; files in the order of their paths."""
    total = blake2b(digest_size=16)
    for raw, mark in [(name.encode(), b"n"), *((part, b"f") for file in files for part in _parts(file))]:
        total.update(mark + b"%d:" % len(raw) + raw)
    return total.hexdigest()


def _parts(file: File) -> tuple[bytes, ...]:
    return file.path.encode(), file.data, b"x" if file.executable else b""


def digests(found: Mapping[str, SkillCopy]) -> dict[str, str]:
    """The digest of each skill by its name."""
    return {name: copy.digest for name, copy in found.items()}
