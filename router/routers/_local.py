"""What all local routers share: what they read of a skill, the order of equals, abstention, and the answer in JSON."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from skill_health.router.records import NONE, Catalogue, ListedSkill, Prompt, Reply, RoutingRequest
from skill_health.router.routers._api import Setup

Rank = Callable[[str], Sequence[tuple[str, float]]]
"""A prompt's text -> (name, score) of every skill with a positive score, the best first."""

STEP = 1e-6
"""Scores are rounded to it."""

GIVEN = "given"
CHOSEN = "chosen on the train prompts"
NO_TRAIN = "none: there are no train prompts"
NO_NULL = "none: no train prompt expects that no skill applies"
ONLY_NULL = "none: every train prompt expects that no skill applies"


@dataclass(frozen=True, slots=True)
class Threshold:
    """Below `value` the router abstains; None means that it only does so where no score is positive.

    `train` prompts could be used, `nulls` of them expect that no skill applies, and `right` are answered right with
    this threshold (None where it was not chosen here). `note` says where the value comes from.
    """

    value: float | None
    note: str
    train: int = 0
    nulls: int = 0
    right: int | None = None

    def describe(self) -> dict[str, Any]:
        """What a manifest keeps of it."""
        return {
            "threshold": self.value, "threshold_note": self.note, "train_prompts": self.train,
            "train_nulls": self.nulls, "train_right": self.right,
        }  # fmt: skip


def threshold_of(settings: Mapping[str, Any], rank: Rank, train: Sequence[Prompt], names: Collection[str]) -> Threshold:
    """The threshold that the settings name (`threshold`, which may be None), else the one chosen on `train`."""
    if "threshold" in settings:
        return Threshold(settings["threshold"], GIVEN)
    return choose(rank, train, names)


def choose(rank: Rank, train: Sequence[Prompt], names: Collection[str]) -> Threshold:
    """The threshold with the most right first places, abstentions included; of equal ones the lowest.

    Candidates lie halfway between neighbouring scores of the best skill, below all of them (0) and above all. A prompt
    whose right answer is not known, or not in `names`, has no say. Without both kinds of prompts, those that
    a skill answers and those that none does, there is nothing to choose between: the value is None.
    """
    usable = [prompt for prompt in train if prompt.target == NONE or prompt.target in names]
    nulls = sum(prompt.target == NONE for prompt in usable)
    if not usable or nulls in (0, len(usable)):
        note = NO_TRAIN if not usable else NO_NULL if not nulls else ONLY_NULL
        return Threshold(None, note, len(usable), nulls)
    right_at: list[float] = []
    null_at: list[float] = []
    scores: set[float] = set()
    for prompt in usable:
        ranked = rank(prompt.text)
        name, score = ranked[0] if ranked else (NONE, 0.0)
        scores.add(score)
        if prompt.target == NONE:
            null_at.append(score)
        elif prompt.target == name:
            right_at.append(score)
    right_at.sort()
    null_at.sort()

    def right(cut: float) -> int:
        silent = sum(score == 0 for score in null_at) if cut == 0 else bisect_left(null_at, cut)
        return len(right_at) - bisect_left(right_at, cut) + silent

    value = min(_cuts(sorted(scores)), key=lambda cut: (-right(cut), cut))
    return Threshold(value, CHOSEN, len(usable), nulls, right(value))


def _cuts(scores: Sequence[float]) -> list[float]:
    between = [round((low + high) / 2, 7) for low, high in pairwise(scores)]
    return [0.0, *between, round(scores[-1] + STEP, 7)]


MOST = 10
"""How many names an answer holds at most."""

_DIGITS = 6

Explain = Callable[[str, str], str]
"""A prompt's text and a skill's name -> half a sentence on what they have in common, or ""."""


def in_order(catalogue: Catalogue) -> tuple[ListedSkill, ...]:
    """The skills that are shown, in an order that does not depend on that of the catalogue."""
    return tuple(sorted(catalogue.shown, key=lambda skill: (skill.name, skill.path, skill.text)))


def indexed(skill: ListedSkill, index: str) -> str:
    """What is searched of a skill: its name and the text that is listed; with `body` the whole of SKILL.md too."""
    name = skill.name.replace("-", " ").replace("_", " ")
    return "\n".join((name, skill.text, skill.body)) if index == "body" else f"{name}\n{skill.text}"


@dataclass(frozen=True, slots=True)
class LocalRouter:
    """A scoring function over a fixed catalogue, as a router.

    `score` gives one number for each of `names` (a name may stand there more than once: its best one counts). `slow`
    scoring is done in a thread, so that requests to servers that are under way are not held up.
    """

    names: tuple[str, ...]
    score: Callable[[str], Sequence[float]]
    threshold: Threshold
    none_allowed: bool
    settings: Mapping[str, Any]
    explain: Explain = lambda text, name: ""
    slow: bool = False

    @property
    def replicates(self) -> bool:
        """Never: the order of presentation does not matter."""
        return False

    def describe(self) -> Mapping[str, Any]:
        """The library, what was indexed, and the threshold with what it was chosen on."""
        return {**self.settings, **self.threshold.describe()}

    def rank(self, text: str) -> list[tuple[str, float]]:
        """The skills with a positive score, the best first; of equal scores the first name. Nothing is abstained."""
        return ranked(self.names, self.score(text))

    def first(self, text: str) -> str:
        """The answer's first name, or NONE where the router abstains."""
        found = self.rank(text)
        return NONE if self._abstains(found) else found[0][0]

    async def ask(self, request: RoutingRequest) -> Reply:
        """Rank the skills of the request by its prompt."""
        if not self.slow:
            return self._reply(request)
        import asyncio

        return await asyncio.to_thread(self._reply, request)

    async def close(self) -> None:
        """Nothing to let go of."""

    def _abstains(self, found: Sequence[tuple[str, float]]) -> bool:
        return not found or (self.none_allowed and found[0][1] < (self.threshold.value or 0.0))

    def _reply(self, request: RoutingRequest) -> Reply:
        text = request.prompt.text
        shown = {skill.name for skill in request.skills}
        found = [pair for pair in self.rank(text) if pair[0] in shown]
        abstains = self._abstains(found)
        # Where a skill must be named and none scores, the first name is as good a guess as any.
        silent = [NONE] if self.none_allowed else sorted(shown)[:1]
        ranking = silent if abstains else [name for name, _ in found[:MOST]]
        answer = {
            "ranking": ranking,
            "confidence": _confidence(found, self.threshold.value if abstains else None),
            "rationale": self._rationale(text, found, abstains),
        }
        return Reply(text=json.dumps(answer, ensure_ascii=True), requests=0)

    def _rationale(self, text: str, found: Sequence[tuple[str, float]], abstains: bool) -> str:
        if not found:
            return "no skill has a positive score"
        (name, score), *others = found
        said = [f"{name} scores {score:.4g}"]
        if others:
            said.append(f"{others[0][0]} {others[0][1]:.4g}")
        if abstains:
            said.append(f"below the threshold {self.threshold.value:.4g}")
        return "; ".join(filter(None, [", ".join(said), self.explain(text, name)]))


def ranked(names: Sequence[str], scores: Sequence[float]) -> list[tuple[str, float]]:
    """(name, score) of the positive scores, rounded, the best first; equal ones by name, each name once."""
    best: dict[str, float] = {}
    for name, score in zip(names, scores, strict=True):
        if score > best.get(name, 0.0):
            best[name] = score
    rounded = ((name, round(score, _DIGITS)) for name, score in best.items())
    return sorted((pair for pair in rounded if pair[1] > 0), key=lambda pair: (-pair[1], pair[0]))


def local_router(
    setup: Setup,
    names: Sequence[str],
    score: Callable[[str], Sequence[float]],
    settings: Mapping[str, Any],
    explain: Explain = lambda text, name: "",
    slow: bool = False,
) -> LocalRouter:
    """The router of a scoring function, with the threshold chosen on the train prompts of the setup."""
    threshold = threshold_of(setup.settings, lambda text: ranked(names, score(text)), setup.train, set(names))
    whole = {"index": setup.index, **settings}
    return LocalRouter(tuple(names), score, threshold, setup.none_allowed, whole, explain, slow)


def _confidence(found: Sequence[tuple[str, float]], threshold: float | None) -> float:
    """How clear the case is, 0.5 to 1; a share of scores and no probability, as calibration will show.

    For an answer the best score's share of the best two; for an abstention 1 where nothing scores and 0.5 at the
    threshold.
    """
    if not found:
        return 1.0
    best = found[0][1]
    if threshold is not None:
        return round(1 - best / (2 * threshold), 4)
    return round(best / (best + (found[1][1] if len(found) > 1 else 0.0)), 4)


_MOST = 8


def shared_words(
    split: Callable[[str], Iterable[str]], words: Mapping[str, Collection[str]]
) -> Callable[[str, str], str]:
    """How to name what a text has in common with the `words` of a skill; `split` cuts a text into words."""

    def explain(text: str, name: str) -> str:
        held = words.get(name, ())
        common = [word for word in dict.fromkeys(split(text)) if word in held]
        return f"shares {', '.join(common[:_MOST])}{' ...' if len(common) > _MOST else ''}" if common else ""

    return explain


def by_name(names: Sequence[str], texts: Sequence[Iterable[str]]) -> dict[str, frozenset[str]]:
    """The words of each name: those of all texts that bear it."""
    found: dict[str, frozenset[str]] = {}
    for name, words in zip(names, texts, strict=True):
        found[name] = found.get(name, frozenset()).union(words)
    return found
