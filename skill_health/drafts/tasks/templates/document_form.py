"""A document in a form that the skill prescribes: notes are to be written up below its headings, with all figures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from skill_health.documents.proposal_draft import ProposalContent
from skill_health.drafts.tasks.model import DraftedTask
from skill_health.drafts.tasks.subject import DraftSubject
from skill_health.drafts.tasks.templates._api import (
    CheckedItem,
    RunScript,
    TemplateDraft,
    chosen_numbers,
    make_rubrics,
    writing_solution,
)
from skill_health.effectiveness.tasks._folder import File
from skill_health.skill.markdown import parse_document
from skill_health.skill.model import Document, Skill
from skill_health.text.patterns import lazy

TITLE = "block of Markdown with six headings or more, as the form of a document"
_FEWEST, _MOST = 6, 20
_HEADING = lazy(r"(?m)^(#{1,4}) +(\S.*)$")
_OPEN = lazy(r"[\[\]{}<>]|\.\.\.|\u2026|\bN\b|\bX\b|\d|\||`|\*\*?")
_FORM = lazy(r"(?i)\b(?:template|format|structure|layout|outline|report|document|output|form|header|sections?)\b")
_NAME = "write-up.md"
_FACTS = (
    "the north store counted {} crates",
    "the late shift answered {} calls",
    "the canteen served {} meals",
    "the workshop returned {} parts",
    "the archive scanned {} pages",
    "the garage washed {} vans",
    "the front desk issued {} badges",
    "the laundry folded {} sheets",
    "the post room franked {} letters",
    "the library lent {} volumes",
)


def draft(subject: DraftSubject, run: RunScript | None) -> Iterator[TemplateDraft]:
    """A task for each form, in the order of the skills' texts."""
    for skill in subject.skills:
        for kind, headings in _forms(skill):
            yield _task(subject, kind, headings)


def _forms(skill: Skill) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The forms that a SKILL.md prescribes: what each is for, and its headings as (marks, text), all different."""
    seen: set[tuple[tuple[str, str], ...]] = set()
    body: Document = skill.body
    for block in body.blocks:
        if block.info.lower() not in ("markdown", "md", ""):
            continue
        found = [
            (match[1], match[2].rstrip(" \t#"))
            for match in _HEADING.finditer(_outside_code(block.text))
            if not _OPEN.search(match[2]) and len(match[2]) <= 80 and match[2].isprintable()
        ]
        headings = list(dict.fromkeys(found))[:_MOST]
        section = body.section_at(block.line)
        title = _plain(section.heading.title) if section else ""
        above = "\n".join(body.lines[max(0, block.line - 4) : block.line - 1])
        if len({text for _, text in headings}) < max(_FEWEST, len(headings)) or not _FORM.search(f"{title}\n{above}"):
            continue
        if title and tuple(headings) not in seen:
            seen.add(tuple(headings))
            yield title, headings


def _outside_code(text: str) -> str:
    """A Markdown text without its blocks of code, where # begins a comment."""
    lines = text.split("\n")
    for block in parse_document(tuple(lines)).blocks:
        lines[block.line - 1 : block.end_line] = [""] * (block.end_line - block.line + 1)
    return "\n".join(lines)


def _plain(title: str) -> str:
    """The title of a section as words."""
    return " ".join(re.sub(r"[`*_\[\]]|\([^)]*\)|^\W*\d+[.):]?\s*", " ", title).split())[:80].strip(" :.-")


def _task(subject: DraftSubject, kind: str, headings: list[tuple[str, str]]) -> TemplateDraft:
    numbers = chosen_numbers(f"{subject.label} {kind}", len(_FACTS), 113, 9_871)
    facts = [fact.format(number) for fact, number in zip(_FACTS, numbers, strict=True)]
    goal = [
        CheckedItem(f"{_NAME} says that {fact}", "file_matches", {"path": _NAME, "pattern": rf"(?<!\d){number}(?!\d)"})
        for fact, number in zip(facts, numbers, strict=True)
    ]
    lines = [f"{marks} {text}" for marks, text in headings]
    rules = [
        CheckedItem(f"{_NAME} has the heading {line!r}", "file_matches", {"path": _NAME, "pattern": _line(line)})
        for line in lines
    ]
    rules += [
        CheckedItem(
            f"the heading {one!r} stands before {other!r}",
            "file_matches",
            {"path": _NAME, "pattern": f"(?ms){_line(one)[4:]}.*{_line(other)[4:]}"},
        )
        for one, other in pairwise(lines)
    ]
    notes = "".join(f"- {fact}\n" for fact in facts)
    done = "\n\n".join([lines[0], notes.rstrip(), *(f"{line}\n\nNot known." for line in lines[1:])]) + "\n"
    instruction = f"""\
# Write up this morning's notes

`notes.txt` holds what was said this morning, in no order. Please write it up as `{_NAME}`, in the form that we always use
where we say: {kind}. Every figure of the notes has to be in it, in digits and without separators. Where the form asks for
something that the notes do not say, write that it is not known. `notes.txt` stays as it is.
"""
    proposal = ProposalContent(
        title=f"Notes written up: {kind}",
        situation="Somebody has notes, and wants them written up in the form that the house always uses.",
        inputs=("notes.txt: ten sentences with a figure each",),
        outcome=f"{_NAME} with all ten figures, below the headings of the form",
        hidden=f"the {len(lines)} headings of the form, their levels and their order",
        needs=("input-file",),
        skills=subject.names,
    )
    task = DraftedTask(
        instruction,
        (File("notes.txt", notes.encode()),),
        make_rubrics(goal, rules),
        writing_solution({_NAME: done}),
        "documents",
    )
    return TemplateDraft(proposal, task)


def _line(text: str) -> str:
    """A pattern of a whole line."""
    return rf"(?m)^{re.escape(text)}[ \t\r]*$"
