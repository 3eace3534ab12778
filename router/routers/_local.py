"""What all local routers share: what they read of a skill, the order of equals, abstention, and the answer in JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import Any

from skill_health.router.lexicon.abstention import GIVEN, Threshold, choose
from skill_health.router.lexicon.fields import BODY, DESCRIPTION, spaced
from skill_health.router.lexicon.term_index import find_numpy
from skill_health.router.records import NONE, Catalogue, ListedSkill, Reply, RoutingRequest
from skill_health.router.routers._api import Setup

MOST = 10
"""How many names an answer holds at most."""

_DIGITS = 6
_MANY, _MANY_TIMES = 2_000, 4
"""From so many scores on, of which one in so many is wanted, numpy picks those that matter."""

Explain = Callable[[str, str], str]
"""A prompt's text and a skill's name -> half a sentence on what they have in common, or ""."""


def in_order(catalogue: Catalogue) -> tuple[ListedSkill, ...]:
    """The skills that are shown, in an order that does not depend on that of the catalogue."""
    return tuple(sorted(catalogue.shown, key=lambda skill: (skill.name, skill.path, skill.text)))


def listed_text(skill: ListedSkill) -> str:
    """The name of a skill as words, and what is listed of its description."""
    return f"{spaced(skill.listed_as)}\n{skill.text}"


def indexed(skill: ListedSkill, index: str) -> str:
    """What is searched of a skill as one text: what is listed, with "body" SKILL.md, with "content" references too."""
    more = () if index == DESCRIPTION else (skill.body,) if index == BODY else (skill.body, skill.references)
    return "\n".join((listed_text(skill), *more))


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
    at_end: Callable[[], None] = lambda: None

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
        return NONE if self._abstains(text, found) else found[0][0]

    async def ask(self, request: RoutingRequest) -> Reply:
        """Rank the skills of the request by its prompt."""
        if not self.slow:
            return self._reply(request)
        import asyncio

        return await asyncio.to_thread(self._reply, request)

    async def close(self) -> None:
        """Keep what another run need not compute again."""
        self.at_end()

    def _abstains(self, text: str, found: Sequence[tuple[str, float]]) -> bool:
        return not found or (self.none_allowed and found[0][1] < self.threshold.at(text))

    def _reply(self, request: RoutingRequest) -> Reply:
        text = request.prompt.text
        shown = {skill.name for skill in request.skills}
        found = ranked(self.names, self.score(text), MOST, shown)
        abstains = self._abstains(text, found)
        # Where a skill must be named and none scores, the first name is as good a guess as any.
        silent = [NONE] if self.none_allowed else [min(skill.name for skill in request.skills)]
        ranking = silent if abstains else [name for name, _ in found[:MOST]]
        answer = {
            "ranking": ranking,
            "confidence": _confidence(found, self.threshold.at(text) if abstains else None),
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
            said.append(f"below the threshold {self.threshold.at(text):.4g}")
        return "; ".join(filter(None, [", ".join(said), self.explain(text, name)]))


def ranked(
    names: Sequence[str], scores: Sequence[float], most: int | None = None, among: Collection[str] | None = None
) -> list[tuple[str, float]]:
    """(name, score) of the positive scores, rounded, the best first; equal ones by name, each name once.

    At most `most` of them, and only names in `among`, where these are given; `most` without `among` is for names that
    stand there once, or for the very first.
    """
    if len(names) != len(scores):
        raise ValueError(f"{len(scores)} scores for {len(names)} names")
    best: dict[str, float] = {}
    spare = 0 if among is None else max(len(names) - len(among), 0)
    for at in range(len(scores)) if most is None else _worth(scores, most + spare):
        name, score = names[at], scores[at]
        if score > best.get(name, 0.0) and (among is None or name in among):
            best[name] = score
    # Scores below all that can be among the first are not worth rounding.
    least = nlargest(most, best.values())[-1] - 2 * 10**-_DIGITS if most and len(best) > most else 0.0
    found = sorted((-round(score, _DIGITS), name) for name, score in best.items() if score > least)
    return [(name, -score) for score, name in found[:most] if score < 0]


def _worth(scores: Sequence[float], most: int) -> Iterable[int]:
    """The places of the best `most` positive scores, with those that come close; of few scores all places."""
    count = len(scores)
    numpy = find_numpy() if count >= _MANY and most * _MANY_TIMES <= count else None
    if numpy is None:
        return range(count)
    values = numpy.asarray(scores)
    least = numpy.partition(values, count - most)[count - most] - 2 * 10**-_DIGITS
    return numpy.flatnonzero((values > least) & (values > 0)).tolist()  # type: ignore[no-any-return]


def local_router(
    setup: Setup,
    names: Sequence[str],
    score: Callable[[str], Sequence[float]],
    settings: Mapping[str, Any],
    explain: Explain = lambda text, name: "",
    slow: bool = False,
    default: float | None = None,
    at_end: Callable[[], None] = lambda: None,
) -> LocalRouter:
    """The router of a scoring function, with the threshold that the setup gives or that its train prompts choose.

    `default` is the threshold where these cannot choose any.
    """
    if "threshold" in setup.settings:
        threshold = Threshold(setup.settings["threshold"], GIVEN)
    else:
        threshold = choose(
            lambda text: ranked(names, score(text), 1), setup.train, set(names), setup.criterion, default
        )
    whole = {"index": setup.index, **settings}
    return LocalRouter(tuple(names), score, threshold, setup.none_allowed, whole, explain, slow, at_end)


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
    split: Callable[[str], Iterable[str]], words_of: Callable[[str], Collection[str]]
) -> Callable[[str, str], str]:
    """How to name what a text has in common with the words of a skill; `split` cuts a text into words."""

    def explain(text: str, name: str) -> str:
        held = words_of(name)
        common = [word for word in dict.fromkeys(split(text)) if word in held]
        return f"shares {', '.join(common[:_MOST])}{' ...' if len(common) > _MOST else ''}" if common else ""

    return explain


def by_name(names: Sequence[str], texts: Sequence[Iterable[str]]) -> dict[str, frozenset[str]]:
    """The words of each name: those of all texts that bear it."""
    found: dict[str, frozenset[str]] = {}
    for name, words in zip(names, texts, strict=True):
        found[name] = found.get(name, frozenset()).union(words)
    return found
