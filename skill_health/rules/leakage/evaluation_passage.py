"""The skill quotes the material it is tested with

## What
Compares every skill, bundled text files included, with the task directories beside it (prompt, verifier, oracle,
expected output, rubric) and reports each passage that they share, ignoring case and punctuation: every run of at least
8 words of prose, 12 words of a command, 24 words of code, or 12 words if only the prompt has it. From one and a half
times that length it is an error. The finding gives both places. Left alone: passages that more than three skills share
or more than half of the tasks (boilerplate), and commands that call a file of the skill itself, which the oracle takes
from the skill.

## Why
A skill that contains the answers passes its tests and helps nobody; every number measured with those tasks is
worthless.

## Bad
```markdown
Write `total_active=4182` and `median_days=17` to summary.txt, sorted by region.      (so says verify.sh)
```

## Good
```markdown
Write the totals that the task asks for, one `name=value` a line.
```

## Fix
Remove the passage, or replace the task. If the skill is right to say it, the task measures copying. There is no
automatic fix.

## Source
evidence · 0.03 % of the pairs of unrelated public skills share 8 words by chance, nearly all of it boilerplate
(measured on 529 skills, 2026-11); fingerprints after Schleimer, Wilkerson and Aiken, "Winnowing", SIGMOD 2003.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from skill_health.rules._api import Context, Corpus, CorpusContext, Hit, Severity
from skill_health.rules.leakage._bundled import all_texts
from skill_health.rules.leakage._material import PROMPT, load_tasks
from skill_health.rules.leakage._passages import Passage, PassageIndex, passages
from skill_health.skill.model import Skill
from skill_health.text import fingerprints as prints

CODE = "LE007"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True

_CERTAIN = 1.5
_HELP = "Remove the passage from the skill, or replace the task: what it measures now is copying."


def collect(skill: Skill, context: Context) -> Any:
    """The fingerprints of every text of the skill: [[path, hashes], ...]; None if there are no tasks."""
    if not context.registries.tasks:
        return None
    found = []
    for path, text in all_texts(skill, context):
        hashes = [value for value, _ in prints.fingerprints(prints.words_of(text))]
        if hashes:
            found.append([path or skill.path, hashes])
    return {"texts": found, "files": sorted({file.rpartition("/")[2] for file in skill.files})}


def check_corpus(corpus: Corpus, context: CorpusContext) -> Iterator[Hit]:
    """Report each passage once, with the source that shares most of it."""
    facts = {skill.path: skill.facts[CODE] for skill in corpus.wanted() if skill.facts.get(CODE)}
    if not facts or not context.registries.tasks:
        return
    tasks = load_tasks(context.registries.tasks, context)
    index = PassageIndex.of(tasks)
    shared = any(value in index.places for fact in facts.values() for _, hashes in fact["texts"] for value in hashes)
    skills_with: Counter[int] = Counter()
    for fact in filter(None, (skill.facts.get(CODE) for skill in corpus.skills if shared)):
        skills_with.update({value for _, hashes in fact["texts"] for value in hashes if value in index.places})
    for owner, fact in facts.items():
        for path, hashes in fact["texts"]:
            if index.places.keys().isdisjoint(hashes):
                continue
            text = context.read(path)
            for passage in passages(text or "", index, skills_with, frozenset(fact["files"])):
                yield _hit(path, owner, passage)


def _hit(path: str, owner: str, passage: Passage) -> Hit:
    part, task = passage.part, passage.task
    ours, theirs = passage.here, passage.there
    place = f"{part.path}:{passage.there_line}"
    there = "" if theirs == ours else f", there {_short(theirs)}"
    message = f"{passage.words} words of the {part.kind} of task {task.name!r} ({place}): {_short(ours)}{there}"
    weak = passage.words < _CERTAIN * passage.least or part.kind == PROMPT
    return Hit(passage.span, message, _HELP, path, severity=Severity.WARNING if weak else None, also=(owner,))


def _short(text: str) -> str:
    return repr(text if len(text) <= 160 else text[:100] + " ... " + text[-50:])
