"""The roles of sections: which ones count, and how many entries each lists."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple, TypeVar

from skill_health.skill.model import CodeBlock, Document, Heading, Link, ListItem, MarkdownTable, Prose, Section
from skill_health.text.patterns import lazy


class Role(NamedTuple):
    """The titles that give a section this role, in lower case."""

    anywhere: tuple[str, ...]
    whole: tuple[str, ...] = ()


ROLES: dict[str, Role] = {
    "boundaries": Role(
        (
            "when not to", "not to use", "do not use", "don't use", "out of scope", "non-goals", "scope constraints",
            "scope and limits", "limits and scope", "does not cover", "does not do", "doesn't do", "does not ship",
            "applicability", "boundaries", "distinction from", "not covered", "limitations",
        ),
        ("scope", "language scope", "constraints"),
    ),
    "when_to_use": Role(
        (
            "when to use", "when to load", "when to activate", "when to invoke", "when to trigger", "when to run",
            "when to apply", "when to reach", "when this skill", "use this skill", "trigger phrases",
            "trigger conditions", "example questions", "common use cases",
        ),
        ("when", "use when", "use cases", "triggers", "activation", "applies to"),
    ),
    "gotchas": Role(
        (
            "gotcha", "gotchas", "pitfall", "pitfalls", "mistake", "mistakes", "troubleshooting", "caveat", "caveats",
            "known issues", "known limitations", "common issues", "common errors", "common problems", "common failures",
            "anti-pattern", "anti-patterns", "antipatterns", "anti patterns", "failure modes", "edge cases", "traps",
            "red flags", "warnings", "what can go wrong", "things to avoid", "what to avoid", "watch out",
            "don'ts", "donts", "limitations",
        ),
        ("avoid", "never do", "never", "risks", "don't", "dont", "error handling", "debugging tips"),
    ),
    "workflow": Role(
        (
            "workflow", "workflows", "step by step", "step-by-step", "procedure", "procedures", "how this skill works",
            "how to use", "quick start", "quickstart", "getting started", "quick reference", "practical guidance",
            "core process", "execution steps", "loading order", "how it works", "playbook", "runbook", "the process",
        ),
        ("steps", "process", "instructions", "usage", "method", "guidelines", "rules", "commands", "approach"),
    ),
    "examples": Role(
        ("example", "examples", "sample output", "sample outputs", "worked", "recipes", "sample session"),
        ("templates", "template", "sample", "samples", "demo", "output format", "snippets"),
    ),
    "verification": Role(
        (
            "verification", "verify", "validate", "checklist", "checklists", "success criteria",
            "acceptance criteria", "definition of done", "quality gate", "quality gates", "quality bar", "self-check",
            "sanity check", "sanity checks", "quality checks", "evaluation criteria", "before you finish",
        ),
        ("validation", "testing", "tests", "checks", "done when", "exit codes", "quality assurance"),
    ),
    "references": Role(
        (
            "references", "reference files", "reference docs", "reference documents", "reference documentation",
            "reference guides", "further reading", "see also", "resources", "bibliography", "detailed references",
            "additional documentation", "additional resources", "learn more", "source material",
        ),
        ("reference", "resources", "sources", "links", "documentation"),
    ),
    "integration": Role(
        (
            "related skills", "integration with", "works with", "cross-references", "cross references",
            "skill dependencies", "complementary skills", "distinction from", "integration points",
        ),
        ("integration", "integrations", "related", "dependencies", "siblings", "handoffs", "hand-offs", "composition"),
    ),
    "concepts": Role(
        ("core concepts", "key concepts", "core principles", "key principles", "fundamentals", "background"),
        ("concepts", "principles", "overview", "core philosophy", "theory"),
    ),
}  # fmt: skip

_CLEAN = lazy(r"[^a-z0-9'\- ]+")
_NUMBER = lazy(r"^(?:(?:step|phase|part|section|stage) )?\d[\d.]* *")
_STEP = lazy(r"^\W{0,4}(?:step|phase|stage) ?\d", re.IGNORECASE)


def _whole() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for name, role in ROLES.items():
        for title in role.whole:
            found[title] = found.get(title, frozenset()) | {name}
    return found


def _starts() -> dict[str, list[tuple[list[str], str]]]:
    found: dict[str, list[tuple[list[str], str]]] = {}
    for name, role in ROLES.items():
        for phrase in role.anywhere:
            words = phrase.split()
            found.setdefault(words[0], []).append((words, name))
    return found


_WHOLE, _STARTS = _whole(), _starts()
_NONE: frozenset[str] = frozenset()


def plain_title(title: str) -> str:
    """A heading in the form compared with aliases: lower case, without markup, numbering and punctuation."""
    text = " ".join(_CLEAN.sub(" ", title.lower().replace("\u2019", "'")).split())
    return _NUMBER.sub("", text).strip(" -'")


@lru_cache(maxsize=16384)
def roles_of(title: str) -> frozenset[str]:
    """The roles that a heading's title claims; often none, sometimes two ("Limitations and pitfalls")."""
    text = plain_title(title[:200])
    roles = _WHOLE.get(text, _NONE)
    words = text.split()
    for at, word in enumerate(words):
        for phrase, role in _STARTS.get(word, ()):
            if words[at : at + len(phrase)] == phrase:
                roles |= {role}
    return roles


def is_step(title: str) -> bool:
    """Whether a heading numbers a step of a procedure ("Step 2: build", "Phase 1")."""
    return _STEP.match(title) is not None


_STEPS = 3
_line = attrgetter("line")
Part = TypeVar("Part", CodeBlock, Heading, Link, ListItem, Prose, MarkdownTable)


def entries(body: Document, section: Section) -> int:
    """How many entries a section lists: the most of its top-level list items, subheadings, table rows and bold labels.

    A bold label is a paragraph that begins with bold text ("**Merge conflicts.** Two agents ...").
    """
    items = sum(1 for item in within(body.items, section) if item.depth == 1)
    below = [heading.level for heading in within(body.headings, section)]
    rows = sum(table.rows for table in within(body.tables, section))
    labels = sum(1 for p in within(body.prose, section) if p.kind == "paragraph" and not p.item and p.text[:2] == "**")
    return max(items, below.count(min(below)) if below else 0, rows, labels)


def within(parts: Sequence[Part], section: Section) -> Sequence[Part]:
    """Those of the parts, which are in line order, that start within a section, below its heading."""
    start = bisect_right(parts, section.line, key=_line)
    return parts[start : bisect_right(parts, section.end_line, lo=start, key=_line)]


def governing(body: Document) -> tuple[Section, ...]:
    """The sections without the document's own title, which names the skill, not a part of it."""
    sections = body.sections
    return sections[1:] if sections and sections[0].heading.level == 1 else sections


def outermost(tagged: Iterable[tuple[Section, frozenset[str]]], role: str) -> Iterator[Section]:
    """The sections of a role that are not inside another of that role, so that nothing is counted twice."""
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
