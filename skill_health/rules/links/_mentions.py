"""Every mention of a file in SKILL.md, read and resolved once for all rules of the family.

A mention is a link, a path in inline code (`python scripts/x.py --flag`) or a path in plain words. Whether one that
leads nowhere was meant to be there, its words decide: see `_intent.py`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from posixpath import basename, dirname, normpath
from typing import NamedTuple

from skill_health.rules._api import Context
from skill_health.rules.links._memo import remembered
from skill_health.rules.links._targets import (
    LinkTarget,
    Target,
    index_of,
    is_absolute,
    is_stand_in,
    locate,
    read_target,
)
from skill_health.skill.model import CodeSpan, Link, Prose, Skill, Span
from skill_health.text.patterns import lazy

# The folders that the Agent Skills specification names for bundled files.
BUNDLE = frozenset(("scripts", "references", "assets"))
# Folders that authors bundle as well. A project may have them too, so the words must say that the file is to be used.
CUSTOMARY = frozenset(
    "resources reference examples templates rules prompts guides playbooks checklists schemas".split()
)
# Folders of a project: one of this name in a skill says nothing about a path that it lacks.
PROJECT = frozenset("src tests test lib app apps docs config packages cmd internal dist build public data".split())
# Folders that a running skill fills, wherever they are.
_FILLED = frozenset("data output outputs results logs cache tmp state".split())
_WRITTEN = (".json", ".jsonl", ".csv", ".tsv", ".txt", ".html", ".png")
# How hosts and authors spell the folder of the running skill (Claude Code, OpenClaw; read 2026-11).
_SKILL_DIR = lazy(
    r"(?:\$?\{?(?:CLAUDE_)?SKILL_?(?:DIR|PATH|ROOT|HOME)\}?|\$?\{(?:baseDir|skillDir|skill_path|skill_dir)\}|"
    r"<(?:this[-_ ])?skill(?:[-_ ](?:path|dir|directory|root|folder))?>)/",
    re.I,
)
_PLUGIN_ROOTS = ("${CLAUDE_PLUGIN_ROOT}/", "$CLAUDE_PLUGIN_ROOT/")
_EXTENSIONS = frozenset(
    "md mdx markdown txt rst py sh bash zsh js mjs cjs ts tsx jsx rb pl ps1 r lua sql json jsonl yaml yml toml csv tsv "
    "xml html css svg png jpg jpeg gif pdf docx pptx xlsx ipynb tex j2 jinja tmpl template".split()
)
_EDGES = "\"'`,;:.()[]*"
# What file names are made of; anything else is punctuation of the sentence.
_PLAIN = lazy(r"[\w.\-+@/]+\Z")
_NAME = lazy(r"[\w\-]+\Z")
# What stands before and after a file name alone if it is a guide to be read.
_TO_READ = lazy(r"\b(?:see|load|read|open|consult|refer to) (?:the )?[`*\"]{0,3}\Z", re.I)
_GUIDE = lazy(
    r"[`*\"]{0,3},? (?:for (?:(?:the|more|full|complete|detailed|all) ){0,3}(?:reference|guide|details|documentation|examples|"
    r"instructions|list|specification)\b|and follow (?:its|the) instructions|(?:from|in) this skill)",
    re.I,
)
_FOR = lazy(r"[`*\"]{0,3},? for ")
_STEM = lazy(r"(?<![\w/.\-])(?:\./)?(?:[A-Za-z][\w\-]{0,40}/){0,3}[A-Za-z][\w\-]{0,40}\Z")
# A script by its name alone, where the words or the title of the section say that it is one of the skill.
_SCRIPT = lazy(r"[A-Za-z][\w\-]*\.(?:py|sh|mjs|cjs|js|ts|ps1|rb)(?=\s|\Z)")
_THE_SCRIPT = lazy(
    r"\b(?:use|run|execute|call) the (?:(?:bundled|included|provided) )?`?([A-Za-z][\w\-]{0,60}\.(?:py|sh|mjs|cjs|js|ts|ps1|rb))`? script\b",
    re.I,
)
# How many sections back the title above one is looked for.
_NEAR = 50
_LISTS_SCRIPTS = lazy(
    r"(?:(?:bundled|included|helper|available|skill|utility) )?(?:scripts|files|script files|resources)\Z", re.I
)
# Parts of a path that only a skill has.
_INSIDE = ("/references/", "/scripts/", "/assets/", "/resources/", "/SKILL.md")


class FollowedLink(NamedTuple):
    """A link whose target is a relative path, where it leads, and the skill it names by its form ("" for none)."""

    link: Link
    target: Target
    place: LinkTarget
    skill: str


class PathMention(NamedTuple):
    """A path in inline code or in plain words.

    `path` is relative to the skill's folder. `state` is ok, spelled (exists under `actual`, which differs in case or
    slashes), missing, or elsewhere: missing here, but present in the skill that the plugin is named after, as `actual`.
    `text` is the code or word that holds the path, `line` and `col` are where the path starts, and `code` says whether
    it is inline code. `firm` says that by its form it can only mean a bundled file; else its words must say so.
    """

    path: str
    state: str
    actual: str
    text: str
    line: int
    col: int
    code: bool
    firm: bool

    @property
    def span(self) -> Span:
        """The region of the path."""
        return Span(self.line, self.col, self.line, self.col + len(self.path))


def skill_of(path: str) -> str:
    """The folder name of the skill that a relative path names by its form, or "".

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


@remembered
def followed_links(skill: Skill, context: Context) -> tuple[FollowedLink, ...]:
    """Every link and image of SKILL.md with a relative path, in file order."""
    found = []
    for link in skill.body.links:
        target = read_target(link.target)
        if target.kind == "file":
            found.append(FollowedLink(link, target, locate(target.path, skill, context), skill_of(target.path)))
    return tuple(found)


@remembered
def path_mentions(skill: Skill, context: Context) -> tuple[PathMention, ...]:
    """The paths in inline code and plain words that may mean a bundled file: those in code first, in file order.

    They end in a known extension, nothing in them is a pattern, and they begin with a folder of the skill, one that
    skills usually have, or the way to another skill.
    """
    found: list[PathMention] = []
    for code in skill.body.codes:
        if "." not in code.text:
            continue
        if "/" not in code.text:
            if (script := _SCRIPT.match(code.text)) and _is_listed(code, skill):
                found += _absent(script.group(), code.line, code.col, skill, context)
            continue
        for at, (path, state, actual, firm) in _read_paths(code.text, skill, context):
            line, col = _place_in_code(path, code.line, code.col + at, skill)
            found.append(PathMention(path, state, actual, code.text, line, col, True, firm))
    for prose in skill.body.prose:
        if ".md" in prose.text:
            found += _guides(prose, skill, context)
        if " script" in prose.text and (named := _THE_SCRIPT.search(prose.text)):
            found += _named(named.group(1), prose, named.start(1), skill, context)
        if "/" not in prose.plain or "." not in prose.plain:
            continue
        for at, (path, state, actual, firm) in _read_paths(prose.plain, skill, context):
            line, col = skill.body.position(prose, at)
            found.append(PathMention(path, state, actual, path, line, col, False, firm))
    return tuple(found)


def _guides(prose: Prose, skill: Skill, context: Context) -> Iterator[PathMention]:
    """The files that the words call a guide to be read, in a folder of any name or in none.

    What begins with `./` is beside this file, and needs fewer words. Other names are mostly files of the user or of the
    host; those in capitals (`AGENTS.md`) are the host's.
    """
    text, at = prose.text, prose.text.find(".md")
    while at >= 0:
        end, at = at, text.find(".md", at + 1)
        guide = _GUIDE.match(text, end + 3)
        if guide is None and _FOR.match(text, end + 3) is None:
            continue
        stem = _STEM.search(text, max(0, end - 160), end)
        if stem is None or _TO_READ.search(text, max(0, stem.start() - 24), stem.start()) is None:
            continue
        if guide is None and not stem.group().startswith("./"):
            continue
        name = f"{stem.group()}.md"
        first = name.partition("/")[0]
        if not stem.group().isupper() and first not in BUNDLE and first not in CUSTOMARY and first not in PROJECT:
            yield from _named(name, prose, stem.start(), skill, context)


def _is_listed(code: CodeSpan, skill: Skill) -> bool:
    """Whether inline code begins an item, a cell or a heading of a section that lists the files of the skill."""
    line = skill.lines[code.line - 1].lstrip("-*+#|>0123456789. ")
    if not line.startswith(f"`{code.text}`"):
        return False
    sections = skill.body.sections
    at = bisect_right(sections, code.line, key=lambda section: section.line) - 1
    if at < 0:
        return False
    here = sections[at].heading
    above = (section.heading for section in reversed(sections[max(0, at - _NEAR) : at]))
    parent = next((heading for heading in above if heading.level < here.level), here)
    return any(_LISTS_SCRIPTS.match(heading.title) for heading in (here, parent))


def _named(name: str, prose: Prose, at: int, skill: Skill, context: Context) -> Iterator[PathMention]:
    """The mention of a file at an offset of a paragraph, if the skill has no file of that name at all."""
    line, col = skill.body.position(prose, at)
    yield from _absent(name, line, col, skill, context)


@remembered
def _names(skill: Skill, context: Context) -> frozenset[str]:
    """The names of the files of a skill, without their folders."""
    return frozenset(map(basename, skill.files))


def _absent(name: str, line: int, col: int, skill: Skill, context: Context) -> Iterator[PathMention]:
    """The mention of a file, if the skill has no file of that name at all."""
    if is_stand_in(name) or basename(name) in _names(skill, context):
        return
    path = name.removeprefix("./")
    if state_of(path, skill, context)[0] == "missing":
        yield PathMention(path, "missing", "", path, line, col, False, True)


def _read_paths(text: str, skill: Skill, context: Context) -> Iterator[tuple[int, tuple[str, str, str, bool]]]:
    """Where in a text each path begins, and how `_read_path` reads it."""
    at = 0
    for word in text.split():
        if "/" in word and "." in word:
            at = text.find(word, at)
            read = _read_path(word, skill, context)
            if read is not None:
                yield at + max(0, word.find(read[0])), read
            at += len(word)


def _read_path(word: str, skill: Skill, context: Context) -> tuple[str, str, str, bool] | None:
    """Path, state, actual name and firmness of a word that may mean a bundled file, else None."""
    path, firm = bundled_path(word, skill)
    if not path:
        return None
    if path.startswith(".."):
        return _read_climb(path, skill, context)
    first = path[: path.find("/")]
    folders = index_of(skill).folders
    # What is deep below `scripts` or `examples` is a project's, unless the skill has that folder.
    deep = first in ("scripts", "examples") and path.count("/") > 1 and "/".join(path.split("/")[:2]) not in folders
    if not firm and deep:
        return None
    if firm and first in _FILLED and first not in folders:
        return None
    if not firm:
        # What is beside the scripts and is none may be what they write.
        known = first in BUNDLE or first in folders
        firm = known and first not in PROJECT and not (first == "scripts" and path.endswith(_WRITTEN))
        if not known and first not in CUSTOMARY:
            return _read_neighbour(path, first, skill, context)
    state, actual = state_of(path, skill, context)
    return None if state == "vague" else (path, state, actual, firm)


def _read_climb(path: str, skill: Skill, context: Context) -> tuple[str, str, str, bool] | None:
    """A path that climbs to another skill, to a file that only a skill has; None for any other."""
    full = normpath(skill.path_of(path))
    if full.startswith("..") or not any(part in path for part in _INSIDE):
        return None
    return path, ("ok" if context.exists(full) else "missing"), "", True


def _read_neighbour(path: str, first: str, skill: Skill, context: Context) -> tuple[str, str, str, bool] | None:
    """A path into another skill, written from a folder above this one that has its first folder; None for any other.

    A path by way of `skills` or a hidden folder may be one of the user's machine, so the other skill must be here.
    """
    inside = next((path.find(part) for part in _INSIDE if part in path), 0)
    if not inside:
        return None
    if first == "skills" or first[0] == ".":
        first = path[:inside]
    above, known = skill.folder, False
    while above:
        above = dirname(above)
        base = f"{above}/" if above else ""
        if context.exists(base + path):
            return path, "ok", "", True
        known = known or context.exists(base + first)
    return (path, "missing", "", True) if known else None


def bundled_path(word: str, skill: Skill) -> tuple[str, bool]:
    """The path inside the skill that a word of a command or sentence stands for, or "", and whether it says so.

    It says so if it begins with a variable for the skill's folder, or names that below a folder `skills`.
    """
    path = word.rpartition("=")[2].strip(_EDGES.replace(".", "") if word.startswith(".") else _EDGES)
    own = False
    if path[:1] in "${<SC" and (variable := _SKILL_DIR.match(path)):
        path, own = path[variable.end() :], True
    elif "skills/" in path and "://" not in path:
        for name in (skill.folder_name, skill.name):
            before, found, after = path.rpartition(f"/{name}/") if name else ("", "", "")
            if found and (before.endswith("skills") or after in index_of(skill).files):
                above = before.rpartition("skills")[0]
                if above in _PLUGIN_ROOTS or not is_stand_in(above):
                    path, own = after, True
                    break
    path = path.partition("#")[0].partition(":")[0].removeprefix("./")
    stem, dot, extension = path.rpartition(".")
    if not dot or extension.lower() not in _EXTENSIONS or stem.endswith("/") or is_absolute(path) or is_stand_in(path):
        return "", False
    return (path, own) if "/" in path and "//" not in path and _PLAIN.match(path) else ("", False)


def state_of(path: str, skill: Skill, context: Context) -> tuple[str, str]:
    """The state of a path inside the skill (see PathMention) and its actual name, if it has one."""
    place = locate(path, skill, context)
    if place.state != "missing":
        return place.state, place.actual
    above = skill.folder
    while above:
        above = dirname(above)
        if context.exists(f"{above}/{path}" if above else path):
            return "ok", ""
    skills, plugin = dirname(skill.folder), basename(dirname(dirname(skill.folder)))
    if plugin and context.exists(f"{skills}/{plugin}/{path}"):
        return "elsewhere", f"../{plugin}/{path}"
    return "missing", ""


def _place_in_code(path: str, line: int, col: int, skill: Skill) -> tuple[int, int]:
    """Where a path in inline code starts; inline code may be wrapped, so it can be on the next line."""
    if not skill.lines[line - 1].startswith(path, col - 1) and line < len(skill.lines):
        after = skill.lines[line].find(path)
        if after >= 0:
            return line + 1, after + 1
    return line, col
