"""Examples of input and output: the same is asked of inputs with other names, which the outputs then have, too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from skill_health.core.files import blake2b
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
from skill_health.skill.model import Skill
from skill_health.text.fingerprints import words_of
from skill_health.text.patterns import lazy

TITLE = "example of an input with its output, both with a name that could be another"
_LABEL = lazy(r"(?i)^[ \t>*_-]*(?:\*\*)?(input|output)\b[^:\n]{0,20}:(?:\*\*)?[ \t]*(?P<rest>[^\n]*)$")
# What could be any other: names in capitals or with capitals, digits or underscores inside.
_NAME = lazy(
    r"(?<![\w/.-])(?:[A-Z][A-Z0-9]{2,}|[a-z]+_[a-z_]+|[a-z]+[A-Z]\w+|[A-Z][a-z]+[A-Z]\w*|[A-Z][a-z]{3,})(?![\w-])"
)
_COUNT, _LONGEST = 10, 2_000
_VOWELS, _CONSONANTS = "aeiou", "bcdfghklmnprstvz"


@dataclass(frozen=True, slots=True)
class _Example:
    """An input with its output, the title of the section it stands in, and the names in both."""

    given: str
    wanted: str
    title: str
    names: tuple[str, ...]


def draft(subject: DraftSubject, run: RunScript | None) -> Iterator[TemplateDraft]:
    """One task for each section with such examples."""
    for skill in subject.skills:
        by_title: dict[str, list[_Example]] = {}
        for example in _examples(skill):
            by_title.setdefault(example.title, []).append(example)
        for title, examples in by_title.items():
            yield _task(subject, title, examples)


def _examples(skill: Skill) -> Iterator[_Example]:
    """The pairs of a text: what is labelled as input, and the output that follows it."""
    lines, given = skill.lines, ""
    blocks = {block.line: block for block in skill.body.blocks}
    for nth, line in enumerate(lines, 1):
        label = _LABEL.match(line)
        if not label:
            continue
        text = label["rest"].strip().strip("`\"'") or next(
            (blocks[at].text.strip("\n") for at in (nth + 1, nth + 2) if at in blocks), ""
        )
        if label[1].lower() == "input":
            given = text
            continue
        section = skill.body.section_at(nth)
        title = " ".join(re.sub(r"[`*_]", "", section.heading.title).split())[:80] if section else ""
        names = _free_names(given, text)
        if title and names and max(len(given), len(text)) <= _LONGEST and given != text and _follows(given, text):
            yield _Example(given, text, title, names)
        given = ""


def _follows(given: str, wanted: str) -> bool:
    """Whether an output says again what the input says: what brings words of its own could be worded otherwise, too."""
    known, words = set(words_of(given)), words_of(wanted)
    return 4 * sum(word in known for word in words) >= 3 * len(words) > 0


def _free_names(given: str, wanted: str) -> tuple[str, ...]:
    """The names of both texts whose parts stand nowhere else in either, so that they can be others in both alike."""
    found = []
    for name in dict.fromkeys(_NAME.findall(given)):
        stem = name[:4].casefold()
        for text in (given, wanted):
            whole = len(re.findall(rf"(?<![\w-]){re.escape(name)}(?![\w])", text))
            if not whole or len(re.findall(re.escape(stem), text.casefold())) != whole:
                break
        else:
            if given.find(name) > 0 or not name.istitle():
                found.append(name)
    return tuple(found[:6])


def _renamed(example: _Example, nth: int) -> tuple[str, str]:
    """The pair with other names: as long, with capitals in the same places, and in the same order by alphabet."""
    fresh = sorted({_name_like(name, nth, turn) for turn, name in enumerate(example.names)})
    chosen = dict(zip(sorted(example.names), fresh, strict=False)) if len(fresh) == len(example.names) else {}
    made = {name: _shape(name, chosen.get(name) or _name_like(name, nth, at)) for at, name in enumerate(example.names)}
    pattern = re.compile(
        "|".join(rf"(?<![\w-]){re.escape(name)}(?!\w)" for name in sorted(made, key=len, reverse=True))
    )
    given, wanted = (pattern.sub(lambda found: made[found.group()], text) for text in (example.given, example.wanted))
    return given, wanted


def _name_like(name: str, nth: int, turn: int) -> str:
    """Letters that can be said, as many as a name has, and that follow from it and the number of the case."""
    mark = blake2b(f"{name}|{nth}|{turn}".encode(), digest_size=32).digest()
    letters = [(_CONSONANTS, _VOWELS)[at % 2] for at in range(len(name))]
    return "".join(each[mark[at % 32] % len(each)] for at, each in enumerate(letters))


def _shape(name: str, letters: str) -> str:
    """These letters with the capitals, digits and underscores of a name."""
    padded = (letters * 2)[: len(name)] if len(letters) < len(name) else letters
    return "".join(
        old if not old.isalpha() else new.upper() if old.isupper() else new
        for old, new in zip(name, padded, strict=False)
    )


def _task(subject: DraftSubject, title: str, examples: Sequence[_Example]) -> TemplateDraft:
    cases = [_renamed(examples[nth % len(examples)], nth) for nth in range(_COUNT)]
    names = [f"{nth:02}.txt" for nth in range(1, _COUNT + 1)]
    goal = [
        CheckedItem(
            f"done/{name} holds what the skill makes of asked/{name}",
            "file_contains",
            {"path": f"done/{name}", "text": wanted.strip()},
        )
        for name, (_, wanted) in zip(names, cases, strict=True)
    ]
    rules = [
        CheckedItem(
            f"done/{name} holds that and nothing else",
            "file_matches",
            {"path": f"done/{name}", "pattern": rf"\A\s*{re.escape(wanted.strip())}\s*\Z"},
        )
        for name, (_, wanted) in zip(names, cases, strict=True)
    ]
    instruction = f"""\
# Ten of them

Each file in `asked/` is a case. Please do with each what we always do where we say "{title}", and write what comes of it
into a file of the same name in `done/`: that alone, one case to a file. The files in `asked/` stay as they are.
"""
    proposal = ProposalContent(
        title=f"Ten cases: {title}",
        situation="Somebody has ten cases, and wants of each what the house always makes of such.",
        inputs=("asked/01.txt to asked/10.txt: a case each",),
        outcome="done/01.txt to done/10.txt with what comes of them",
        hidden="how the output is written, which the skill shows by examples with other names",
        needs=("input-file",),
        skills=subject.names,
    )
    task = DraftedTask(
        instruction,
        tuple(
            File(f"asked/{name}", f"{given.strip()}\n".encode()) for name, (given, _) in zip(names, cases, strict=True)
        ),
        make_rubrics(goal, rules),
        writing_solution(
            {f"done/{name}": f"{wanted.strip()}\n" for name, (_, wanted) in zip(names, cases, strict=True)}
        ),
        "transformations",
    )
    return TemplateDraft(proposal, task)
