"""Where a link points: reading a target as written, and finding it in the skill or on disk."""

import re
from posixpath import normpath
from typing import NamedTuple

from skill_health.rules._api import Context
from skill_health.skill.model import Link, Skill, Span
from skill_health.text.patterns import lazy

_SCHEME = lazy(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_DRIVE = lazy(r"[A-Za-z]:[\\/]")
_EXTENSION = lazy(r"\.[A-Za-z0-9]{1,8}\Z")
_STAND_IN = lazy(
    r"[<>{}$*|]|\.\.\.|\u2026|\bpath/to\b|\b(?:your|my|some|example|sample|foo)[-_.]|\bbar\.|\bYYYY|\bN{2,}\b|\bX{2,}\b",
    re.I,
)
# What authors write as a dummy target when they show the form of a link.
_DUMMIES = frozenset(
    "url uri link path href target file filename src source image img doc page here relative-path file-path "
    "image-url image.png image.jpg img.png file.md filename.md page.md doc.md path.md link.md name.md other.md "
    "file.ext file.py screenshot.png ... x y".split()
)


class Target(NamedTuple):
    """A link target as written, percent-decoded, without its query.

    `kind` is empty, external, anchor (a fragment of the same file), absolute or file.
    """

    kind: str
    path: str = ""
    fragment: str = ""


class LinkTarget(NamedTuple):
    """What a relative path leads to.

    `state` is ok, spelled (exists under `actual`, which differs in case or slashes), missing, or vague: missing, but a
    pattern, a made-up name or not a file name at all, or behind a link out of the repository, which another rule
    reports. `path` is relative to the root; `inside` says whether it stays in the skill.
    """

    state: str
    path: str
    inside: bool
    actual: str = ""


class FileIndex(NamedTuple):
    """The files and folders of a skill, relative to its folder, and the same by lower-case name."""

    files: frozenset[str]
    folders: frozenset[str]
    folded: dict[str, str]


def read_target(text: str) -> Target:
    """Parse a link target."""
    text = text.strip()
    if not text:
        return Target("empty")
    if text[0] == "#":
        return Target("anchor", "", _decoded(text[1:]))
    if text.startswith("//"):
        return Target("external")
    if ":" in text and (scheme := _SCHEME.match(text)):
        local = scheme.end() == 2 or scheme.group().lower() == "file:"
        return Target("absolute", text) if local else Target("external")
    path, _, fragment = text.partition("#")
    path = _decoded(path.partition("?")[0])
    if not path:
        return Target("external")
    return Target("absolute" if path[0] in "/~\\" else "file", path, _decoded(fragment))


def _decoded(text: str) -> str:
    if "%" not in text:
        return text
    # Imported here because the module is slow to load and percent signs are rare.
    from urllib.parse import unquote

    return unquote(text)


def is_stand_in(path: str) -> bool:
    """Whether a path is a pattern or a made-up name rather than the name of one file."""
    return path.lower() in _DUMMIES or _STAND_IN.search(path) is not None


def is_absolute(path: str) -> bool:
    """Whether a path starts at the root, at home or at a drive."""
    return path[:1] in ("/", "~", "\\") or _DRIVE.match(path) is not None


_last: list[tuple[Skill, FileIndex]] = []


def index_of(skill: Skill) -> FileIndex:
    """The index of a skill's files; remembered for the last skill, since every rule asks."""
    if _last and _last[0][0] is skill:
        return _last[0][1]
    files = frozenset((*skill.files, skill.file_name))
    folders = {path[:at] for path in skill.files for at in range(len(path)) if path[at] == "/"}
    folded = {path.lower(): path for path in (*sorted(folders, reverse=True), *sorted(files, reverse=True))}
    found = FileIndex(files, frozenset(folders), folded)
    _last[:] = [(skill, found)]
    return found


def own_files(skill: Skill) -> tuple[str, ...]:
    """The files of the skill without those of skills inside its folder."""
    nested = tuple(file[:-8] for file in skill.files if file[-9:].lower() == "/skill.md")
    return tuple(file for file in skill.files if not file.startswith(nested)) if nested else skill.files


def locate(path: str, skill: Skill, context: Context, base: str = "") -> LinkTarget:
    """Follow a relative path from the folder `base` of the skill ("" is the skill's own folder)."""
    index = index_of(skill)
    if not base and path in index.files:
        return LinkTarget("ok", skill.path_of(path), True)
    plain = path.replace("\\", "/")
    local = normpath(f"{base}/{plain}" if base else plain)
    full = normpath(skill.path_of(local))
    if skill.folder and full.startswith(f"{skill.folder}/"):
        # Out of the folder and in again.
        local = full[len(skill.folder) + 1 :]
    inside = not (local == ".." or local.startswith("../"))
    if local == "." or (inside and (local in index.files or local in index.folders)):
        return LinkTarget("spelled" if plain != path else "ok", full, inside, local)
    if inside and (actual := index.folded.get(local.lower())):
        return LinkTarget("spelled", full, inside, actual)
    if context.exists(full):
        return LinkTarget("spelled" if plain != path else "ok", full, inside, plain)
    named = _EXTENSION.search(plain) or plain[0] == "." or plain[-1] == "/" or local.partition("/")[0] in index.folders
    if not named or is_stand_in(plain) or (inside and context.leads_out(full)):
        return LinkTarget("vague", full, inside)
    return LinkTarget("missing", full, inside)


def name_absence(path: str, context: Context) -> str:
    """What is wrong with a missing path, relative to the root; nobody looks for what is outside."""
    return "leads out of the repository" if context.leads_out(path) else "does not exist"


def span_of(link: Link) -> Span:
    """The region of a link."""
    return Span(link.line, link.col, link.line, link.end_col)
