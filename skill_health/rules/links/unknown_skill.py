"""Unknown skill: a section on related skills names one that the collection does not have.

## What
Names at the head of list items and table rows in sections titled Integration, Related skills, See also, Works with and
the like, if they are written as skill names (lower case with hyphens). A name close to an existing skill's is a
warning; any other is information, since it may be a skill of another collection, and is reported only if most of the
names in such places are skills of this one. Left alone: links (see LI011), names that the item calls a plugin, a tool
or part of something else, and those of a widely known public collection.

## Why
The agent is told to hand off to a skill that it cannot load; this is the usual leftover of a rename.

## Bad
```markdown
### Related skills

- **csv-table** - for tables
```

## Good
```markdown
### Related skills

- **csv-tables** - for tables
```

## Fix
Correct the name, or say in words what the other skill is and where it comes from. Not fixed automatically.

## Source
evidence · Leftover names after renames in two of four public collections (2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from skill_health.rules._api import Context, Corpus, CorpusContext, Hit, Severity
from skill_health.skill.model import Section, Skill, Span
from skill_health.text.patterns import lazy

CODE = "LI012"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = True

_TITLE = lazy(
    r"\A\W*(?:(?:skill )?integrations?(?: with (?:other )?skills?)?|"
    r"(?:related|companion|complementary|adjacent) skills?(?: (?:and|&) agents)?|"
    r"see also|works? (?:well )?with|cross[- ]references?|related)\W*\Z",
    re.I,
)
# One of these is in every title, unless a letter is one that only ignoring case makes an i, k or s.
_WORDS = (
    "integration", "related", "companion", "complementary", "adjacent", "see also", "work with", "works with",
    "work well with", "works well with", "cross-reference", "cross reference",
)  # fmt: skip
_FOLDED = "\u0130\u0131\u017f\u212a"
# The item itself says that the name belongs somewhere else.
_ELSEWHERE = lazy(
    r"\b(?:plugins?|external|third[- ]party|upstream|built-?in|bundled with|other collections?|marketplace|mcp server|"
    r"(?:cli|command-line) tool|from the|part of|separate (?:repo|repository|collection)|installed separately)\b",
    re.I,
)
# Skills of github.com/anthropics/skills (read 2026-11): named in many collections that do not contain them.
_WELL_KNOWN = frozenset(
    "algorithmic-art brand-guidelines canvas-design claude-api doc-coauthoring frontend-design internal-comms "
    "mcp-builder skill-creator slack-gif-creator theme-factory web-artifacts-builder webapp-testing".split()
)
_HEAD = lazy(r"[*_`]{0,4}([a-z0-9]++(?:-[a-z0-9]++)++)[*_`]{0,4}(?=\s|:|\Z)(?!['\w\s*]{0,3}plugin)")


def collect(skill: Skill, context: Context) -> list[list[Any]]:
    """Names of skills in sections about related ones: name, line, column."""
    found: dict[str, list[Any]] = {}
    if not may_have_section(skill.text):
        return []
    for section in skill.body.sections:
        if _TITLE.match(section.heading.title):
            for name, line, col in _names(section, skill):
                found.setdefault(name, [name, line, col])
    return list(found.values())


def check_corpus(corpus: Corpus, context: CorpusContext) -> Iterator[Hit]:
    """Report each unknown name once per file."""
    known = {name for s in corpus.skills for name in (s.name, s.folder.rpartition("/")[2])} | _WELL_KNOWN
    if not any(entry[0] not in known for summary in corpus.wanted() for entry in summary.facts.get(CODE) or ()):
        return
    named = [(summary, *entry) for summary in corpus.skills for entry in summary.facts.get(CODE) or ()]
    unknown = [entry for entry in named if entry[1] not in known]
    ours = len(unknown) * 2 <= len(named)
    for summary, name, line, col in unknown:
        # Imported here because the module is slow to load and unknown names are rare.
        from difflib import get_close_matches

        close = get_close_matches(name, sorted(known), 1, 0.9)
        message = f"no skill of this collection is called {name}"
        if not close:
            message += ", and nothing says that it is another collection's"
        help_line = f"did you mean {close[0]}?" if close else "correct the name, or say where that skill comes from"
        if close or ours:
            yield Hit(
                Span(line, col, line, col + len(name)),
                message,
                help_line,
                summary.path,
                severity=Severity.WARNING if close else None,
            )


def may_have_section(text: str) -> bool:
    """Whether a line may be the heading of such a section; if none may, the Markdown need not be parsed."""
    lowered = text.lower()
    if not text.isascii() and any(char in text for char in _FOLDED):
        return True
    for word in _WORDS:
        at = lowered.find(word)
        while at >= 0:
            end = lowered.find("\n", at)
            end = end if end >= 0 else len(lowered)
            # In front of a heading stand the marks of lists and quotes.
            if _TITLE.match(lowered[lowered.rfind("\n", 0, at) + 1 : end].lstrip("0123456789.) >-*+#\t")):
                return True
            at = lowered.find(word, end)
    return False


def _names(section: Section, skill: Skill) -> Iterator[tuple[str, int, int]]:
    """The names at the heads of the list items and table rows of a section: name, line, column."""
    unit = -1
    for prose in skill.body.prose:
        if not section.line < prose.line <= section.end_line or prose.unit == unit:
            continue
        unit = prose.unit
        match = _HEAD.match(prose.text) if prose.item or prose.kind == "cell" else None
        if match and not _ELSEWHERE.search(prose.text, match.end()):
            line, col = skill.body.position(prose, match.start(1))
            yield match.group(1), line, col
