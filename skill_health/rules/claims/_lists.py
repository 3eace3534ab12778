"""Whether a count is followed by a list of what it counts."""

from __future__ import annotations

from bisect import bisect_left
from itertools import islice

from skill_health.skill.model import Prose, Skill
from skill_health.text.patterns import lazy

MAX_LIST = 1200  # characters after a count in which its list may stand

# A colon, a dash or a full stop ends what belongs to the count itself ("skills for editors A, B and C. Names, ...").
_PART = lazy(r":\s|\.\s|\s[-\u2013\u2014]\s")
_COMMA = lazy(r",\s*(?:and\s|&\s)?|\s(?:and|&)\s")
_NAME = lazy(r"[\w&/+.-]++(?:\s[\w&/+.-]++){0,4}(?:\s?\([^()]{1,40}\))?")


def names_listed(number: int, text: str, at: int) -> bool:
    """Whether exactly that many names stand in a row in one of the two sentences that follow offset `at`."""
    if number < 2:
        return False
    for part in _PART.split(text[at : at + MAX_LIST])[:3]:
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
