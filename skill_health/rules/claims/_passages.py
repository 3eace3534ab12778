"""Passages (a paragraph, a list item, a table row) and their sources: links, citations and claim ids."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from skill_health.rules._api import Context
from skill_health.rules.claims._ids import Id, claim_ids
from skill_health.rules.claims._places import row_start
from skill_health.rules.links._targets import locate, read_target
from skill_health.skill.model import Document, Link, Prose, Skill
from skill_health.text.patterns import lazy

REACH = 400  # how many neighbours are looked at, so that a list of a million items costs no more

_CITATION = lazy(
    r"https?://"
    r"|\[\^[\w-]{1,40}\]|\[\d{1,3}(?:,\s?\d{1,3})*\]"
    r"|\barXiv:\s?\w|\bdoi:\s?10\.|\b(?:RFC|CVE|ISO|IEC|NIST SP)[ -]\d"
    r"|\bet al\b"
    r"|\b[A-Z][\w'’.-]{1,40},?\s\(?(?:19|20)\d\d[a-z]?\)"
    r"|\([^()\n]{2,100},\s(?:19|20)\d\d[a-z]?\)"
)
_SOURCE_LINE = lazy(r"[\s*_>(\[]*(?:sources?|refs?|references?|data|based on|see|from)\b", re.IGNORECASE)
_FILE = lazy(r"[\w./-]*\w\.(?:md|csv|json|jsonl|tsv|pdf|ipynb|html|txt|ya?ml)(?:#[\w-]+)?")


class PassageSources(NamedTuple):
    """What can source a passage: the lines with a link, a file path or a citation, and the claim ids."""

    lines: frozenset[int]
    ids: tuple[Id, ...]

    def cited(self, lines: set[int]) -> bool:
        """Whether one of these lines has a link or a citation."""
        return not self.lines.isdisjoint(lines)

    def ids_in(self, lines: set[int]) -> set[str]:
        """The claim ids in these lines, or in a comment right beside them."""
        return {
            entry.name
            for entry in self.ids
            if entry.line in lines or (entry.comment and (entry.line - 1 in lines or entry.line + 1 in lines))
        }


def sources(skill: Skill, context: Context) -> PassageSources:
    """What can source a passage, by line."""
    body = skill.body
    lines = {link.line for link in body.links if _is_source(link, skill, context)}
    lines |= {code.line for code in body.codes if _FILE.fullmatch(code.text)}
    for prose in body.prose:
        for match in _CITATION.finditer(prose.text):
            lines.add(prose.line + prose.text.count("\n", 0, match.start()))
    return PassageSources(frozenset(lines), claim_ids(skill))


def _is_source(link: Link, skill: Skill, context: Context) -> bool:
    """Whether a link leads to something that can be a source: another place, and no file that does not exist."""
    if link.kind == "image" or link.target.startswith(("#", "mailto:")):
        return False
    target = read_target(link.target)
    return target.kind != "file" or locate(target.path, skill, context).state != "missing"


def extent(body: Document, index: int) -> set[int]:
    """The lines in which the passage of prose number `index` may be sourced.

    Its own lines; the sentence that introduces its list or table with a colon, and a line after it that begins with
    "Source"; for a heading, everything up to the next one.
    """
    prose = body.prose[index]
    if prose.kind == "heading":
        after = bisect_right(body.headings, prose.line, key=lambda heading: heading.line)
        last = body.headings[after].line - 1 if after < len(body.headings) else len(body.lines)
        return set(range(prose.line, last + 1))
    lines: set[int] = set()
    for part in _unit(body, index):
        lines.update(_lines(part))
    if prose.item or prose.kind == "cell":
        before = _neighbour(body, index, -1)
        if before and before.text.rstrip(" *_\n").endswith(":"):
            lines.update(_lines(before))
        after_it = _neighbour(body, index, 1)
        if after_it and _SOURCE_LINE.match(after_it.text):
            lines.update(_lines(after_it))
    return lines


def column(body: Document, index: int, offset: int) -> tuple[int, int]:
    """The (line, column) of a character of prose number `index`. A cell is looked for after the cells before it."""
    prose = body.prose[index]
    if prose.kind != "cell" or prose.line > len(body.lines):
        return body.position(prose, offset)
    first = row_start(body, index)
    source, at = body.lines[prose.line - 1], 0
    for cell in body.prose[first:index]:
        at = max(at, source.find(cell.text, at) + len(cell.text))
    return prose.line, max(at, source.find(prose.text, at)) + offset + 1


def _unit(body: Document, index: int) -> Iterator[Prose]:
    unit = body.prose[index].unit
    first = index
    while first > index - REACH and first and body.prose[first - 1].unit >= unit:
        first -= 1
    for prose in body.prose[first : first + REACH]:
        if prose.unit == unit:
            yield prose
        elif prose.unit < unit or not (prose.item or prose.kind == "cell"):
            break


def _lines(prose: Prose) -> range:
    return range(prose.line, prose.line + prose.text.count("\n") + 1)


def _neighbour(body: Document, index: int, step: int) -> Prose | None:
    """The paragraph before or after the list or table that contains prose number `index`."""
    at = index + step
    while 0 <= at < len(body.prose) and abs(at - index) < REACH:
        prose = body.prose[at]
        if prose.kind == "heading":
            return None
        if prose.kind == "paragraph" and not prose.item:
            return prose
        at += step
    return None
