"""The skill gives a wrong number of skills in its collection

## What
A number of skills that clearly refers to the collection the skill belongs to: "this repository has 42 skills", "all 42
skills", "28 skills total", or a description or paragraph that begins with "42 marketing skills". It is right if any
folder above the skill contains that many skills, with or without the skill itself; "40+" is right from 40 up. The
description, paragraphs, list items and headings are read; code, tables, quoted speech and counts of a part ("6
orchestration skills", or any count that a list of exactly that many names follows) are not. Sample skills in folders
called assets, examples, fixtures, tests, templates or samples need not be counted. Reported once per skill and number.
Opt-in: which of a collection's skills a number is about is often known to its author alone. Numbers in manifests and
READMEs are judged by RP031, which is on by default.

## Why
A count is the first number in a collection to go wrong, and the one every reader can check. An agent that trusts it
tells users of skills that are not there.

## Bad
```markdown
One context file feeds all 42 skills.      (there are 45)
```

## Good
```markdown
One context file feeds all skills.
```

## Fix
Correct the number, or leave it out. There is no automatic fix.

## Source
evidence · Of the collections in 529 public skills, one with index skills has wrong counts in most of them (2026-11).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from skill_health.rules._api import Context, Corpus, CorpusContext, Hit, Severity
from skill_health.rules.claims._words import pattern
from skill_health.skill.model import Prose, Skill, Span
from skill_health.text.patterns import lazy

MAX_LIST = 1200  # characters after a count within which its list may begin

# A colon, a dash or a full stop ends the phrase of the count itself ("skills for editors A, B and C. Names, ...").
_LIST_PART = lazy(r":\s|\.\s|\s[-\u2013\u2014]\s")
_COMMA = lazy(r",\s*(?:and\s|&\s)?|\s(?:and|&)\s")
_NAME = lazy(r"[\w&/+.-]++(?:\s[\w&/+.-]++){0,4}(?:\s?\([^()]{1,40}\))?")


def names_listed(number: int, text: str, at: int) -> bool:
    """Whether one of the two sentences after offset `at` lists exactly that many names."""
    if number < 2:
        return False
    for part in _LIST_PART.split(text[at : at + MAX_LIST])[:3]:
        part = part.strip().rstrip(".")
        # "Planning, build and test" may be two names or three.
        for names in (part.split(","), _COMMA.split(part)):
            if len(names) == number and all(_NAME.fullmatch(name.strip(" *_`\n")) for name in names):
                return True
    return False


def items_below(skill: Skill, prose: Prose) -> int:
    """The number of items of the list, or of rows of the table, that begins right below a paragraph; 0 for none."""
    body = skill.body
    first = prose.line + prose.text.count("\n") + 1
    nth = bisect_left(body.tables, first, key=lambda table: table.line)
    if nth < len(body.tables) and body.tables[nth].line <= first + 1:
        return body.tables[nth].rows
    nth = bisect_left(body.items, first, key=lambda item: item.line)
    if nth == len(body.items) or body.items[nth].line > first + 1:
        return 0
    depth, end, count = body.items[nth].depth, body.items[nth].line, 0
    for item in islice(body.items, nth, None):
        if item.line > end + 2 or item.depth < depth:
            break
        count, end = count + (item.depth == depth), max(end, item.end_line)
    return count


CODE = "CL008"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = False

MAX_COUNTS = 100  # per paragraph
_WHOLE = r"(?:collection|repository|repo|library|plugin|package|suite|bundle|marketplace|pack)"
_COUNT = r"(?<![\w.,/#$-])(\d{1,4})(\+?)\s+((?:[A-Za-z/&-]{1,24}\s+){0,4})skills\b(?!-)"
_BEFORE = (
    rf"\b(?:all(?:\s+of)?(?:\s+the)?|this\s+{_WHOLE}\b[^.;:()]{{0,40}}|{_WHOLE}\s+of(?:\s+over)?|total\s+of)[\s*_]*$"
)
_AFTER = rf"[\s*_]+(?:total\b|in\s+total\b|(?:are\s+)?in\s+(?:this|the)\s+(?:[\w-]+\s+)?{_WHOLE}\b|across\s+this\s+{_WHOLE}\b)"
# Words that make a count one of a part of the collection, or of something else.
_PART = r"\b(?:core|other|new|more|different|related|sibling|specialist|or|of|to|and|at|per|orchestration)\b"

# Skills in these folders are samples or material: they count only within the same folder.
_SAMPLES = frozenset("assets example examples fixture fixtures sample samples template templates test tests".split())


def collect(skill: Skill, context: Context) -> list[list[object]]:
    """Every count of the collection's skills: [number, at least, line, column, end column, words]."""
    found: list[list[object]] = []
    description = skill.field("description")
    if description is not None and "skills" in skill.description:
        for match in _counts(skill.description, True):
            if names_listed(int(match[1]), skill.description, match.end()):
                continue
            at = description.span
            found.append([int(match[1]), bool(match[2]), at.line, at.col, at.col + 1, _words(match)])
    for prose in skill.body.prose:
        if prose.kind != "cell" and "skills" in prose.plain:
            for match in islice(_counts(prose.plain, prose.kind == "paragraph" and not prose.item), MAX_COUNTS):
                number = int(match[1])
                if names_listed(number, prose.text, match.end()) or number == items_below(skill, prose):
                    continue
                line, col = skill.body.position(prose, match.start())
                found.append([int(match[1]), bool(match[2]), line, col, col + len(match[1]), _words(match)])
    return found


def check_corpus(corpus: Corpus, context: CorpusContext) -> Iterator[Hit]:
    """Report counts that match no folder above the skill."""
    everything = Counter(folder for skill in corpus.skills for folder in _above(skill.folder))
    below = Counter(folder for skill in corpus.skills for folder in _counting(skill.folder))
    for skill in corpus.wanted():
        above = _above(skill.folder)
        counts, with_samples = [below[folder] for folder in above], [everything[folder] for folder in above]
        wrong: dict[int, list[tuple[int, int, int, str]]] = {}
        for number, at_least, *place in skill.facts.get(CODE) or ():
            if not any(
                number <= count if at_least else number in (count, count - 1) for count in (*counts, *with_samples)
            ):
                wrong.setdefault(number, []).append(tuple(place))
        for (line, col, end_col, words), *rest in wrong.values():
            again = f" (again on line {', '.join(str(entry[0]) for entry in rest)})" if rest else ""
            yield Hit(
                Span(line, col, line, end_col),
                f'"{words}", but {_really(counts)}{again}',
                "Correct the number, or leave it out.",
                skill.path,
            )


def _counts(text: str, may_lead: bool) -> Iterator[re.Match[str]]:
    for match in pattern(_COUNT).finditer(text):
        before, after = text[max(0, match.start() - 80) : match.start()], text[match.end() : match.end() + 60]
        if before.count('"') % 2 or pattern(_PART).search(match[3]):
            continue
        leading = may_lead and match.start() < 8 and bool(match[3]) and not text[: match.start()].strip(" \n*_")
        if leading or pattern(_BEFORE).search(before) or pattern(_AFTER).match(after):
            yield match


def _words(match: re.Match[str]) -> str:
    return " ".join(match[0].split())


def _above(folder: str) -> list[str]:
    """The folders above a skill's own, the nearest first and the root ("") last."""
    folders = []
    while folder:
        folder = folder.rpartition("/")[0]
        folders.append(folder)
    return folders


def _counting(folder: str) -> list[str]:
    """The folders above a skill's own from which the path to it passes no folder of samples."""
    folders = []
    for above in _above(folder):
        folders.append(above)
        if above.rpartition("/")[2].lower() in _SAMPLES:
            break
    return folders


def _really(counts: list[int]) -> str:
    shown = sorted(set(counts))
    if len(shown) == 1:
        return f"the collection has {shown[0]}"
    return f"the folders above it hold {', '.join(map(str, shown[:-1]))} and {shown[-1]}"
