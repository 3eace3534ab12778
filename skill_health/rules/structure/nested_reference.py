"""A reference file is reached only through another reference file.

## What
A bundled Markdown file links to another one of the same skill, and SKILL.md mentions that other file nowhere: not by
link, not by path, not by its name or folder. A path of three folders or more below the skill is reported too, where
SKILL.md links to it.

## Why
Agents follow references from SKILL.md; a file that only another reference links to is often read in part or not at all.
The specification asks for one level.

## Bad
```markdown
SKILL.md:               See [advanced use](references/advanced.md).
references/advanced.md: The codes are in [codes](codes.md).
```

## Good
```markdown
SKILL.md: See [advanced use](references/advanced.md); for an error code, see [codes](references/codes.md).
```

## Fix
Mention the file in SKILL.md and say when to read it, or merge the two.

## Source
SHOULD · Agent Skills specification, "file references" (one level deep from SKILL.md), agentskills.io (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import dirname, join, normpath

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.structure._references import reference_files
from skill_health.skill.model import Skill, Span

CODE = "ST010"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = True
_FOLDERS = 3
_MOST = 200  # a folder with more is a library, and comparing all pairs would take too long


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report links that lead too deep, and links from one reference file to another that SKILL.md does not mention."""
    files = frozenset(skill.files)
    for link in skill.body.links:
        if link.target.count("/") < _FOLDERS or ".md" not in link.target:
            continue
        target = normpath(link.target.partition("#")[0])
        if target in files and target.endswith(".md") and target.count("/") >= _FOLDERS:
            message = f"'{target}' lies {target.count('/')} folders deep"
            yield Hit(Span(link.line, link.col, link.line, link.end_col), message, "Move it up to references/.")
    names = list(reference_files(skill))
    if len(names) > _MOST:
        return
    hidden = {name for name in names if not _mentioned(name, skill.text)}
    if not hidden or len(hidden) == len(names):
        return
    for name in names:
        if name in hidden:
            continue
        path = skill.path_of(name)
        text = context.read(path) or ""
        if ".md" not in text or not any(other.rpartition("/")[2] in text for other in hidden):
            continue
        document = context.document(path)
        for link in document.links if document else ():
            target = normpath(join(dirname(name), link.target.partition("#")[0]))
            if target in hidden:
                hidden.discard(target)
                message = f"'{target}' is reached only from here: SKILL.md does not mention it"
                span = Span(link.line, link.col, link.line, link.end_col)
                yield Hit(span, message, "Mention it in SKILL.md and say when to read it.", path=path)


def _mentioned(name: str, text: str) -> bool:
    """Whether SKILL.md names the file, its stem or its folder."""
    folder, _, base = name.rpartition("/")
    return base in text or base[:-3] in text or (folder.count("/") > 0 and folder + "/" in text)
