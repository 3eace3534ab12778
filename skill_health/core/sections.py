"""What sections hold: which ones count, and how many things each lists."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import TypeVar

from skill_health.core.roles import is_step
from skill_health.core.skill import CodeBlock, Document, Heading, Link, ListItem, MarkdownTable, Prose, Section

_STEPS = 3
_line = attrgetter("line")
Part = TypeVar("Part", CodeBlock, Heading, Link, ListItem, Prose, MarkdownTable)


def entries(body: Document, section: Section) -> int:
    """How many things a section lists: the most of its top-level list items, subheadings, table rows and bold labels.

    A bold label is a paragraph that begins with bold text ("**Merge conflicts.** Two agents ...").
    """
    items = sum(1 for item in within(body.items, section) if item.depth == 1)
    below = [heading.level for heading in within(body.headings, section)]
    rows = sum(table.rows for table in within(body.tables, section))
    labels = sum(1 for p in within(body.prose, section) if p.kind == "paragraph" and not p.item and p.text[:2] == "**")
    return max(items, below.count(min(below)) if below else 0, rows, labels)


def within(parts: Sequence[Part], section: Section) -> Sequence[Part]:
    """The parts of a document, which are in the order of their lines, that start below the heading of a section."""
    start = bisect_right(parts, section.line, key=_line)
    return parts[start : bisect_right(parts, section.end_line, lo=start, key=_line)]


def governing(body: Document) -> tuple[Section, ...]:
    """The sections without the document's own title, which names the skill and not a part of it."""
    sections = body.sections
    return sections[1:] if sections and sections[0].heading.level == 1 else sections


def outermost(tagged: Iterable[tuple[Section, frozenset[str]]], role: str) -> Iterator[Section]:
    """The sections of a role that lie in no other of that role, so that nothing is counted twice."""
    last = 0
    for section, roles in tagged:
        if role in roles and section.line > last:
            last = section.end_line
            yield section


def is_procedure(body: Document) -> bool:
    """Whether the text has numbered steps under any title: a list of three, or headings "Step 1" and "Step 2"."""
    run, previous = 0, None
    for item in body.items:
        if item.ordered and item.depth == 1:
            run = run + 1 if previous is not None and item.line <= previous + 2 else 1
            if run >= _STEPS:
                return True
            previous = item.end_line
    return sum(1 for h in body.headings if is_step(h.title)) >= 2
