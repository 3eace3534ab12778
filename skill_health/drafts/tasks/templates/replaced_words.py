"""What the skill says to write in the place of something else: old snippets are to be brought up to date."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from skill_health.documents.proposal_draft import ProposalContent
from skill_health.drafts.tasks.model import DraftedTask
from skill_health.drafts.tasks.subject import DraftSubject
from skill_health.drafts.tasks.templates._api import (
    CheckedItem,
    RunScript,
    TemplateDraft,
    make_rubrics,
    writing_solution,
)
from skill_health.effectiveness.tasks._folder import File
from skill_health.skill.compile import compile_text
from skill_health.text.patterns import lazy

TITLE = "two things in code or more that are to be written in the place of others"
_FEWEST, _MOST = 2, 8
_SPAN = lazy(r"(?<!`)`([^`\n]{2,60})`(?!`)")
_LABELS = (
    "ash",
    "birch",
    "cedar",
    "elm",
    "fir",
    "hazel",
    "larch",
    "maple",
    "oak",
    "pine",
    "rowan",
    "spruce",
    "alder",
    "beech",
    "cherry",
    "holly",
    "juniper",
    "lime",
    "pear",
    "plane",
    "poplar",
    "quince",
    "sorb",
    "teak",
    "walnut",
    "willow",
    "yew",
    "acacia",
    "bamboo",
    "cork",
    "date",
    "ebony",
    "fig",
    "gum",
    "hornbeam",
    "ironwood",
)
_KEPT = (
    "the keys are at the front desk",
    "closed on the second Monday",
    "ask for two copies",
    "the lift takes six people",
    "bring a torch",
    "tea at four",
    "the blue door sticks",
    "park behind the mill",
)
_OLD, _NEW = "snippets.txt", "updated.txt"


@dataclass(frozen=True, slots=True)
class _Pair:
    """What is not to be written, and what instead."""

    wrong: str
    right: str


def draft(subject: DraftSubject, run: RunScript | None) -> Iterator[TemplateDraft]:
    """One task with all pairs of the skills, up to a limit."""
    pairs = _pairs(subject)
    if len(pairs) >= _FEWEST:
        yield _task(subject, pairs[:_MOST])


def _pairs(subject: DraftSubject) -> list[_Pair]:
    """The pairs that can be told apart by a program: none of them holds a part of another."""
    found: list[_Pair] = []
    for skill in subject.skills:
        for node in compile_text(skill.lines, skill.body.first_line):
            if node.kind != "anti-pattern" or node.alternative is None:
                continue
            wrong, right = _SPAN.findall(node.text), _SPAN.findall(node.alternative.text)
            # More than one on a side, and nothing says which belongs to which.
            if len(wrong) == len(right) == 1 and _is_plain(wrong[0]) and _is_plain(right[0]):
                found.append(_Pair(wrong[0].strip(), right[0].strip()))
    kept: list[_Pair] = []
    for pair in found:
        others = [text for each in kept for text in (each.wrong, each.right)]
        mixed = any(_overlap(pair.wrong, text) or _overlap(pair.right, text) for text in others)
        if not _overlap(pair.wrong, pair.right) and not mixed:
            kept.append(pair)
    return kept


def _is_plain(text: str) -> bool:
    """Whether a text is one that stands for itself: nothing to be filled in, and some letters."""
    return (
        text.isprintable()
        and len(re.findall(r"[A-Za-z]", text)) >= 2
        and not re.search(r"\.\.\.|\u2026|[<>{}\[\]]|\bYOUR|\$", text)
    )


def _overlap(one: str, other: str) -> bool:
    one, other = one.casefold(), other.casefold()
    return one in other or other in one


def _task(subject: DraftSubject, pairs: list[_Pair]) -> TemplateDraft:
    each = max(2, -(-(10 - len(pairs)) // len(pairs)))
    labels = iter(_LABELS)
    old: list[str] = []
    new: list[str] = []
    goal = [
        CheckedItem(f"{_NEW} is there", "file_exists", {"path": _NEW}),
        CheckedItem(f"{_OLD} is still there", "file_contains", {"path": _OLD, "text": pairs[0].wrong}),
    ]
    rules: list[CheckedItem] = []
    for turn in range(each):
        for nth, pair in enumerate(pairs):
            label = next(labels)
            old.append(f"{label}: {pair.wrong}")
            new.append(f"{label}: {pair.right}")
            rules.append(
                CheckedItem(
                    f"{label} is brought up to date, as the skill says",
                    "file_matches",
                    {"path": _NEW, "pattern": _line(new[-1])},
                )
            )
            if (turn * len(pairs) + nth) < len(_KEPT):
                label = next(labels)
                old.append(f"{label}: {_KEPT[turn * len(pairs) + nth]}")
                new.append(old[-1])
                goal.append(
                    CheckedItem(
                        f"{label}, which is right, stays as it is",
                        "file_matches",
                        {"path": _NEW, "pattern": _line(old[-1])},
                    )
                )
    for label, kept in zip(labels, _KEPT[len(goal) - 2 :], strict=False):
        old.append(f"{label}: {kept}")
        new.append(old[-1])
        goal.append(
            CheckedItem(
                f"{label}, which is right, stays as it is", "file_matches", {"path": _NEW, "pattern": _line(old[-1])}
            )
        )
    rules += [
        CheckedItem(
            f"{_NEW} nowhere holds {pair.wrong!r}", "file_contains", {"path": _NEW, "text": pair.wrong, "absent": True}
        )
        for pair in pairs
    ]
    goal.append(
        CheckedItem(
            f"{_NEW} has as many lines as {_OLD}", "command", {"command": f'test "$(grep -c . {_NEW})" = {len(old)}'}
        )
    )
    instruction = f"""\
# Bring the snippets up to date

`{_OLD}` is an old list: on each line a label, a colon, and what one of us noted. Some of the notes are not as we write such
things today; others are fine. Please write `{_NEW}`, with the same labels in the same order, one to a line, where every
note is as we write it today. A note that is right already stays letter by letter. `{_OLD}` stays as it is.
"""
    proposal = ProposalContent(
        title="Old snippets brought up to date",
        situation="A list of snippets has aged, and is to be as the house writes such things today.",
        inputs=(f"{_OLD}: {len(old)} labelled lines, of which {len(pairs) * each} are out of date",),
        outcome=f"{_NEW} with the same labels, where what was wrong is replaced and everything else is kept",
        hidden=f"{len(pairs)} things that are not to be written, and what is written in their place",
        needs=("input-file",),
        skills=subject.names,
    )
    task = DraftedTask(
        instruction,
        (File(_OLD, "".join(f"{line}\n" for line in old).encode()),),
        make_rubrics(goal, rules),
        writing_solution({_NEW: "".join(f"{line}\n" for line in new)}),
        "conventions",
    )
    return TemplateDraft(proposal, task)


def _line(text: str) -> str:
    """A pattern of a whole line."""
    return rf"(?m)^{re.escape(text)}[ \t\r]*$"
