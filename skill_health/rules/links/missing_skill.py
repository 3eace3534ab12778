"""Missing skill: a link leads to another skill that is not there.

## What
Links of SKILL.md of the forms `../other/SKILL.md`, `../other/` and `skills/other/` whose target does not exist, once
per target. Where the collection has a skill of that name at another place, the help gives the path to it.

## Why
A hand-off between skills works only if the other one can be found. Such links break when a collection is flattened,
split or renamed, all of them at once.

## Bad
```markdown
For tables, use [the table skill](../../data/csv-tables/SKILL.md).
```

## Good
```markdown
For tables, use [the table skill](../csv-tables/SKILL.md).
```

## Fix
Correct the path, or name the skill without a link. `--fix --unsafe-fixes` writes the new path where exactly one skill
of the collection has that name.

## Source
evidence · 40 of 90 skills of one public collection link to siblings in a layout that it no longer has (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import relpath
from typing import Any

from skill_health.core.skill import Skill, Span
from skill_health.rules._api import Context, Corpus, CorpusContext, Edit, Fix, Hit, Severity, Summary
from skill_health.rules.links._followed import followed

CODE = "LI011"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


def collect(skill: Skill, context: Context) -> list[list[Any]]:
    """The missing skills that are linked to: [path, folder name, [[line, column, end column, column of path], ...]]."""
    found: dict[str, list[Any]] = {}
    for link, target, place, name in followed(skill, context):
        if name and place.state == "missing":
            at = skill.lines[link.line - 1].find(f"({target.path}", link.col - 1) + 2
            where = [link.line, link.col, link.end_col, at]
            found.setdefault(target.path, [target.path, name, []])[2].append(where)
    return list(found.values())


def check_corpus(corpus: Corpus, context: CorpusContext) -> Iterator[Hit]:
    """Report each missing skill once per file that links to it."""
    known: dict[str, list[Summary]] = {}
    for summary in corpus.skills:
        for name in sorted({summary.name, summary.folder.rpartition("/")[2]}):
            known.setdefault(name, []).append(summary)
    for summary in corpus.skills:
        for path, name, places in summary.facts.get(CODE) or ():
            line, col, end_col, _ = places[0]
            again = f" ({len(places)} links in this file)" if len(places) > 1 else ""
            message = f"link to the skill {name}: {path} does not exist{again}"
            help_line, fix = _remedy(summary, path, name, places, known)
            yield Hit(Span(line, col, line, end_col), message, help_line, summary.path, fix)


def _remedy(
    summary: Summary, path: str, name: str, places: list[list[int]], known: Mapping[str, list[Summary]]
) -> tuple[str, Fix | None]:
    candidates = known.get(name, [])
    if len(candidates) == 1 and candidates[0].path != summary.path:
        actual = relpath(candidates[0].path, summary.folder or ".")
        edits = [Edit(Span(line, at, line, at + len(path)), actual) for line, _, _, at in places if at > 1]
        return f"write {actual}", Fix(f"link to {actual}", tuple(edits)) if edits else None
    if candidates:
        return f"correct the path: {len(candidates)} skills of the collection have this name", None
    # Imported here because the module is slow to load and missing skills are rare.
    from difflib import get_close_matches

    close = get_close_matches(name, sorted(known), 1, 0.85)
    if close:
        return f"did you mean the skill {close[0]}?", None
    return "no skill of the collection has this name; correct it or remove the link", None
