"""What to do about a path that does not exist: the path that was probably meant."""

from __future__ import annotations

from posixpath import basename, normpath, relpath

from skill_health.rules._api import Context
from skill_health.rules.links._targets import index_of
from skill_health.skill.model import Skill

# Guessing compares with every file; hundreds of broken links in one file have one cause, which a few guesses show.
GUESSES = 40


def remedy(path: str, skill: Skill, context: Context, base: str = "", guess: bool = True) -> str:
    """One line of help: the path that was probably meant (with `guess`), else what to do."""
    meant = meant_path(path, skill, context, base) if guess else ""
    if meant:
        return f"did you mean {meant}?"
    if path.startswith(".."):
        return "correct the path, or bring what is needed into the skill: it may be installed without its neighbours"
    return "correct the path, add the file, or remove the reference"


def meant_path(path: str, skill: Skill, context: Context, base: str = "") -> str:
    """The path that was probably meant by a missing one, or ""; both relative to the folder `base` of the skill."""
    path = path.replace("\\", "/")
    local = normpath(f"{base}/{path}" if base else path)
    if local.startswith("../"):
        return _meant_outside(path, f"{skill.folder}/{base}".strip("/"), context)
    files = sorted(index_of(skill).files)
    same = [file for file in files if basename(file) == basename(path)]
    if len(same) == 1:
        return relpath(same[0], base or ".")
    # Imported here because the module is slow to load and broken paths are rare.
    from difflib import get_close_matches

    close = get_close_matches(local, files, 1, 0.85)
    return relpath(close[0], base or ".") if close else ""


def _meant_outside(path: str, folder: str, context: Context) -> str:
    rest = path
    while rest.startswith("../"):
        rest = rest[3:]
    climbs = (len(path) - len(rest)) // 3
    near = "/".join(rest.split("/")[-2:])
    tried = ["../" * n + rest for n in (climbs - 1, climbs + 1) if n > 0]
    for candidate in (*tried, f"../{near}", f"../../{near}"):
        if context.exists(normpath(f"{folder}/{candidate}" if folder else candidate)):
            return candidate
    return ""
