"""Passages that a text shares with evaluation material, by fingerprints first and word by word then."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from skill_health.core import fingerprints as prints
from skill_health.core.fingerprints import Run, Words
from skill_health.core.skill import Span
from skill_health.rules.leakage._bundled import span_of
from skill_health.rules.leakage._material import PROMPT, Part, Task

LEAST = prints.GUARANTEE
LEAST_PROMPT = 12
MOST_SKILLS = 3
MOST_TASKS = 3
# A fingerprint that recurs more often within one text is repetition (tables, rules, padding), and would cost quadratic time.
MOST_HERE = 16
MOST_THERE = 8


@dataclass(frozen=True, slots=True)
class Passage:
    """What a text and a part of a task share: `words` words at `span`, quoted as they stand here and there."""

    span: Span
    words: int
    here: str
    there: str
    there_line: int
    part: Part
    task: Task


@dataclass(frozen=True, slots=True)
class Index:
    """The material by its fingerprints: hash -> (text, word) pairs; `texts` are (task, part, words)."""

    texts: tuple[tuple[Task, Part, Words], ...]
    places: Mapping[int, list[tuple[int, int]]]
    boilerplate: frozenset[int]

    @classmethod
    def of(cls, tasks: Iterable[Task]) -> Index:
        """Index every part of every task. What more than half of the tasks share is boilerplate."""
        tasks = tuple(tasks)
        texts = tuple((task, part, prints.split(part.text)) for task in tasks for part in task.parts)
        places: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for number, (_, _, words) in enumerate(texts):
            for value, at in _sparse(prints.fingerprints(words.words), MOST_THERE):
                places[value].append((number, at))
        most = max(MOST_TASKS, len(tasks) // 2)
        common = {value for value, at in places.items() if len({texts[n][0].folder for n, _ in at}) > most}
        return cls(texts, dict(places), frozenset(common))


def passages(text: str, index: Index, skills_with: Mapping[int, int], own_files: Collection[str]) -> list[Passage]:
    """The passages of one text, longest first where they overlap, in the order of the text.

    `skills_with` says in how many skills a fingerprint occurs; `own_files` are names of files of the skill.
    """
    words = prints.split(text)
    best: list[tuple[int, int, Run]] = []
    told: dict[tuple[int, Run], list[bool]] = defaultdict(list)
    runs: dict[tuple[int, int], Run] = {}
    for value, at in _sparse(prints.fingerprints(words.words), MOST_HERE):
        for number, there in index.places.get(value, ()):
            known = runs.get((number, at - there))
            if known is None or at >= known.a + known.length:
                known = prints.extend(words.words, index.texts[number][2].words, at, there)
                runs[number, at - there] = known
                best.append((known.length, number, known))
            told[number, known].append(value not in index.boilerplate and skills_with.get(value, 0) <= MOST_SKILLS)
    kept: list[tuple[Run, int]] = []
    for length, number, run in sorted(best, key=lambda item: (-item[0], item[1], item[2].a, item[2].b)):
        rare = told[number, run]
        least = LEAST_PROMPT if index.texts[number][1].kind == PROMPT else LEAST
        if length < least or sum(rare) * 2 <= len(rare) or not _telling(words.words[run.a : run.a + length]):
            continue
        here = text[words.starts[run.a] : words.ends[run.a + length - 1]]
        if any(name in here for name in own_files) and length < 2 * least:
            continue
        if all(run.a >= other.a + other.length or run.a + length <= other.a for other, _ in kept):
            kept.append((run, number))
    return [_passage(text, words, run, *index.texts[number]) for run, number in sorted(kept, key=lambda item: item[0].a)]


def _sparse(found: list[tuple[int, int]], most: int) -> list[tuple[int, int]]:
    times = Counter(value for value, _ in found)
    return [(value, at) for value, at in found if times[value] <= most]


def _telling(words: tuple[str, ...]) -> bool:
    """Whether a run says anything: five different words, among them three of four letters or more."""
    different = set(words)
    return len(different) >= 5 and sum(len(word) >= 4 and not word.isdigit() for word in different) >= 3


def _passage(text: str, words: Words, run: Run, task: Task, part: Part, theirs: Words) -> Passage:
    start, end = words.starts[run.a], words.ends[run.a + run.length - 1]
    other = theirs.starts[run.b], theirs.ends[run.b + run.length - 1]
    line = part.text.count("\n", 0, other[0]) + 1
    return Passage(
        span_of(text, start, end), run.length, " ".join(text[start:end].split()),
        " ".join(part.text[slice(*other)].split()), line, part, task,
    )  # fmt: skip
