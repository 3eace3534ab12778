"""What was picked instead of what: the matrix with its rows and columns "none", sparse, and the pairs behind it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from skill_health.router.records import NONE
from skill_health.router.scores.facts import RoutingRunFacts
from skill_health.router.scores.judge import Judged, RunScores
from skill_health.router.scores.numbers import number, share
from skill_health.text.similarity import STOP, cosine, frequencies, terms, vectors

PAIRS = 200
WORDS = 8
_FEW = 2
"""A word in so many texts may tell two of them apart from the rest; in more, only if most do not have it."""


def matrix(rows: Iterable[Judged]) -> list[dict[str, Any]]:
    """The cells that are not 0, by the expected class and then the picked one.

    Both may be "none"; a picked null stands for an answer without a valid ranking. `prompts` counts distinct ones.
    """
    calls: Counter[tuple[str, str | None]] = Counter()
    prompts: defaultdict[tuple[str, str | None], set[str]] = defaultdict(set)
    for row in rows:
        if row.tested:
            cell = (row.prompt.target or NONE, row.picked)
            calls[cell] += 1
            prompts[cell].add(row.prompt.prompt_id)
    order = sorted(calls, key=lambda cell: (cell[0], cell[1] is None, cell[1] or ""))
    return [
        {"expected": cell[0], "picked": cell[1], "calls": calls[cell], "prompts": len(prompts[cell])} for cell in order
    ]


def pairs(sheet: RunScores) -> list[dict[str, Any]]:
    """Two skills of which one was picked where the other was expected, over all models, the most frequent first.

    `rate` is over the calls that expect `expected`; `similarity` is the cosine of the two texts as they are listed.
    """
    wrong: defaultdict[tuple[str, str], list[Judged]] = defaultdict(list)
    calls: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for row in sheet.scored:
        if row.tested and row.prompt.expected is not None:
            calls[row.prompt.expected][row.cluster] += 1
            if row.picked is not None and row.picked not in (NONE, row.prompt.expected):
                wrong[row.prompt.expected, row.picked].append(row)
    texts = _Texts(sheet.facts)
    order = sorted(wrong, key=lambda pair: (-len(wrong[pair]), pair))
    return [
        {
            "expected": expected, "picked": picked, "calls": len(wrong[expected, picked]),
            "prompts": len({row.prompt.prompt_id for row in wrong[expected, picked]}),
            "acceptable": sum(row.accepted for row in wrong[expected, picked]),
            "rate": number(_rate(wrong[expected, picked], calls[expected])),
            **texts.compare(expected, picked),
        }
        for expected, picked in order[:PAIRS]
    ]  # fmt: skip


def _rate(rows: Iterable[Judged], calls: Mapping[int, int]) -> Any:
    hits = Counter(row.cluster for row in rows)
    return share([(hits[cluster], calls[cluster]) for cluster in sorted(calls)])


class _Texts:
    """The listed texts as vectors, so that two of them can be compared."""

    def __init__(self, facts: RoutingRunFacts) -> None:
        texts = [terms(skill.text, STOP) for skill in facts.shown.values()]
        self._vectors = dict(zip(facts.shown, vectors(texts), strict=True))
        self._usual = {word for word, n in frequencies(texts).items() if n > max(_FEW, len(texts) / 2)}

    def compare(self, one: str, other: str) -> dict[str, Any]:
        """Similarity and the words that weigh most in it; None where a text is not listed or has no words.

        Words that most of the texts have, such as "use", are no reason to take one skill for another.
        """
        a, b = self._vectors.get(one) or {}, self._vectors.get(other) or {}
        if not a or not b:
            return {"similarity": None, "shared_words": []}
        shared = sorted((-a[word] * b[word], word) for word in a.keys() & b.keys() - self._usual)
        return {"similarity": cosine(a, b), "shared_words": [word for _, word in shared[:WORDS]]}
