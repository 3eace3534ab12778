"""Passages that a text shares with evaluation material, found by fingerprints, then compared word by word."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from skill_health.rules.leakage._bundled import span_of
from skill_health.rules.leakage._material import PROMPT, TaskMaterial, TaskText
from skill_health.skill.model import Span
from skill_health.text import fingerprints as prints
from skill_health.text.fingerprints import SharedWords, Words

# How many words in a row count, by kind. Measured on 17,000 pairs of unrelated public skills (2026-11): shared runs of
# 8 to 11 words without function words are idioms ("import numpy as np from typing import ..."), and those dense in
# brackets and quotes are idioms up to 22 words; with these limits two remain, both stock phrases.
LEAST_PROSE, LEAST_COMMAND, LEAST_CODE = prints.GUARANTEE, 12, 24
LEAST_PROMPT = 12
_MARKS = "()[]{}=;:<>|\"'`"
# Words of prose that do not occur in programming languages.
_FUNCTION_WORDS = frozenset(
    "a an the of to this that these those was were are be been its it they their which who what how why whether at into than "
    "must should would have had every between after before only very also".split()
)

MOST_SKILLS = 3
MOST_TASKS = 3
# A fingerprint that recurs more often within one text is repetition (tables, padding) and would take quadratic time.
MOST_HERE = 16
MOST_THERE = 8


class Passage(NamedTuple):
    """What a text and a part of a task share: `words` words at `span`, quoted as each of the two has them.

    `least` is how many words a passage of this kind must have to be reported.
    """

    span: Span
    words: int
    least: int
    here: str
    there: str
    there_line: int
    part: TaskText
    task: TaskMaterial


class PassageIndex(NamedTuple):
    """The material by its fingerprints: hash -> (text, word) pairs; `texts` are (task, part, words)."""

    texts: tuple[tuple[TaskMaterial, TaskText, Words], ...]
    places: Mapping[int, list[tuple[int, int]]]
    boilerplate: frozenset[int]

    @classmethod
    def of(cls, tasks: Iterable[TaskMaterial]) -> "PassageIndex":
        """Index every part of every task, except boilerplate, which more than half of the tasks share."""
        tasks = tuple(tasks)
        texts = tuple((task, part, prints.split(part.text)) for task in tasks for part in task.parts)
        places: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for number, (_, _, words) in enumerate(texts):
            for value, at in _sparse(prints.fingerprints(words.words), MOST_THERE):
                places[value].append((number, at))
        most = max(MOST_TASKS, len(tasks) // 2)
        common = {value for value, at in places.items() if len({texts[n][0].folder for n, _ in at}) > most}
        return cls(texts, dict(places), frozenset(common))


def passages(
    text: str, index: PassageIndex, skills_with: Mapping[int, int], own_files: Collection[str]
) -> list[Passage]:
    """The passages of one text, in order; of overlapping ones the longest.

    `skills_with` says how many skills contain a fingerprint; `own_files` are the names of the skill's own files.
    """
    words = prints.split(text)
    best: list[tuple[int, int, SharedWords]] = []
    told: dict[tuple[int, SharedWords], list[bool]] = defaultdict(list)
    runs: dict[tuple[int, int], SharedWords] = {}
    for value, at in _sparse(prints.fingerprints(words.words), MOST_HERE):
        for number, there in index.places.get(value, ()):
            known = runs.get((number, at - there))
            if known is None or at >= known.a + known.length:
                known = prints.extend(words.words, index.texts[number][2].words, at, there)
                runs[number, at - there] = known
                best.append((known.length, number, known))
            told[number, known].append(value not in index.boilerplate and skills_with.get(value, 0) <= MOST_SKILLS)
    kept: list[tuple[SharedWords, int, int]] = []
    for length, number, run in sorted(best, key=lambda item: (-item[0], item[1], item[2].a, item[2].b)):
        rare = told[number, run]
        here = text[words.starts[run.a] : words.ends[run.a + length - 1]]
        least = _least(here, words.words[run.a : run.a + length])
        if index.texts[number][1].kind == PROMPT:
            least = max(least, LEAST_PROMPT)
        if length < least or sum(rare) * 2 <= len(rare):
            continue
        if any(name in here for name in own_files) and length < 2 * least:
            continue
        if all(run.a >= other.a + other.length or run.a + length <= other.a for other, _, _ in kept):
            kept.append((run, number, least))
    kept.sort(key=lambda item: item[0].a)
    return [_passage(text, words, run, least, *index.texts[number]) for run, number, least in kept]


def _sparse(found: list[tuple[int, int]], most: int) -> list[tuple[int, int]]:
    times = Counter(value for value, _ in found)
    return [(value, at) for value, at in found if times[value] <= most]


def _least(text: str, words: tuple[str, ...]) -> int:
    """How many words a passage must have to be more than an idiom or a repetition; unattainable if it says nothing."""
    different = set(words)
    if len(different) < 5 or sum(len(word) >= 4 and not word.isdigit() for word in different) < 3:
        return len(words) + 1
    if 3 * sum(text.count(mark) for mark in _MARKS) > len(words):
        return LEAST_CODE
    return LEAST_PROSE if sum(word in _FUNCTION_WORDS for word in words) >= 2 else LEAST_COMMAND


def _passage(
    text: str, words: Words, run: SharedWords, least: int, task: TaskMaterial, part: TaskText, theirs: Words
) -> Passage:
    start, end = words.starts[run.a], words.ends[run.a + run.length - 1]
    other = theirs.starts[run.b], theirs.ends[run.b + run.length - 1]
    line = part.text.count("\n", 0, other[0]) + 1
    return Passage(
        span_of(text, start, end), run.length, least, " ".join(text[start:end].split()),
        " ".join(part.text[slice(*other)].split()), line, part, task,
    )  # fmt: skip
