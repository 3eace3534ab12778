"""Unmentioned file: the skill bundles files that nothing in it mentions.

## What
Bundled files whose name occurs neither in SKILL.md nor in any other text file of the skill, and that are not in a
folder that SKILL.md mentions as a whole (`references/`, `assets/*.json`); one finding per skill. Letter case is
ignored. Left alone: licences, READMEs and instructions for people (HOW_TO_USE, USAGE, INSTALL), changelogs, tests and
evaluations, hidden files, package metadata, signatures and `__init__.py`.

## Why
An agent opens what SKILL.md points it to. A file that nothing mentions is not read, but is shipped, reviewed and kept
up to date.

## Bad
```markdown
<!-- references/ holds api.md and old-api.md -->
For the API, read `references/api.md`.
```

## Good
```markdown
For the API, read `references/api.md`; for calls before version 2, `references/old-api.md`.
```

## Fix
Say in SKILL.md when to read or run the file, or delete it. Not fixed automatically.

## Source
SHOULD · Agent Skills specification, "Progressive disclosure": files are loaded when SKILL.md refers to them (2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.links._targets import own_files
from skill_health.skill.model import Skill, Span
from skill_health.text.patterns import lazy

CODE = "LI013"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = True

_IGNORED = lazy(
    r"\A(?:HOW[-_]?TO[-_]?USE|USAGE|INSTALL(?:ATION)?|QUICK[-_]?START)\.|"
    r"(?:\A|/)(?:\.|__|(?:tests?|eval[^/]*|fixtures|expected[^/]*|node_modules|dist|build|agents|benchmarks?)/|"
    r"(?:LICEN[CS]E|NOTICE|COPYING|README|CHANGELOG|CHANGES|CONTRIBUTING|AUTHORS|VERSION|AGENTS|CLAUDE|SKILL|BENCHMARK|"
    r"Makefile|Dockerfile|package(?:-lock)?\.json|pyproject\.toml|requirements|setup\.|tsconfig|uv\.lock|"
    r"plugin\.json|metadata\.|manifest\.|skill[.-]|_meta|test_|conftest|expected[-_]|icon|logo)[^/]*\Z)|"
    r"_test\.|\.(?:sig|lock|pyc|asc|sha256|map|ttf|otf|woff2?)\Z",
    re.I,
)
_TEXT = (
    ".md", ".mdx", ".txt", ".py", ".sh", ".js", ".mjs", ".ts", ".json", ".yaml", ".yml", ".toml", ".html", ".rb",
    ".ps1",
)  # fmt: skip
_AFTER_FOLDER = frozenset("`*<{[$ \n\t)\"',;:|.\u2026")
# Bounds for folders that are more than a skill.
_MAX_READ, _MAX_LEFT = 200, 500


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report all such files of a skill at once, at its title."""
    left = [file for file in own_files(skill) if not _IGNORED.search(file)]
    if not left:
        return
    own = skill.text.lower()
    left = [file for file in left if not _named(file.lower(), own)]
    if left:
        whole: dict[str, bool] = {}
        left = [file for file in left if not _in_mentioned_folder(file.lower(), own, whole)]
    left = left[:_MAX_LEFT]
    for other in skill.files[:_MAX_READ] if left else ():
        if other.lower().endswith(_TEXT):
            text = (context.read(skill.path_of(other)) or "").lower()
            left = [file for file in left if file == other or not _named(file.lower(), text)]
    if left:
        line = skill.body.headings[0].line if skill.body.headings else 1
        names = ", ".join(left[:3]) + (f" and {len(left) - 3} more" if len(left) > 3 else "")
        what = "bundled files that nothing mentions" if len(left) > 1 else "a bundled file that nothing mentions"
        yield Hit(Span(line, 1), f"{what}: {names}", "say in SKILL.md when to use them, or delete them")


def _named(file: str, text: str) -> bool:
    """Whether a text mentions a file; both in lower case."""
    name = file[file.rfind("/") + 1 :]
    if name in text:
        return True
    stem = name.partition(".")[0]
    telling = "-" in stem or "_" in stem
    return (telling and stem in text) or ("/" in file and file.rpartition(".")[0] in text) or f"import {stem}" in text


def _in_mentioned_folder(file: str, text: str, known: dict[str, bool]) -> bool:
    folder = file.rpartition("/")[0]
    while folder:
        if folder not in known:
            known[folder] = _mentions_folder(folder, text)
        if known[folder]:
            return True
        folder = folder.rpartition("/")[0]
    return False


def _mentions_folder(folder: str, text: str) -> bool:
    """Whether a text mentions a folder itself, not merely a file in it."""
    at = text.find(folder + "/")
    while at >= 0:
        end = at + len(folder) + 1
        if end >= len(text) or text[end] in _AFTER_FOLDER:
            return True
        at = text.find(folder + "/", end)
    return any(form in text for form in (f"`{folder}`", f"{folder} folder", f"{folder} directory", f"({folder})"))
