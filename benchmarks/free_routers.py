"""How often free routers find the right skill of public collections with labelled prompts, and when they keep silent.

`python -m benchmarks free_routers --tree FOLDER`, where FOLDER holds checked-out repositories OWNER+NAME: _labelled.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple, cast

import numpy as np
from msgspec.structs import replace
from scipy.stats import rankdata

from benchmarks._labelled import SEALED, TUNE, LabelledSet, load_sets
from benchmarks._measure import Failed, Options
from skill_health.config.settings import RouterSettings
from skill_health.router.lexicon.abstention import Criterion, choose
from skill_health.router.lexicon.search import DEFAULT
from skill_health.router.records import Prompt
from skill_health.router.routers._load import open_choice, resolve
from skill_health.router.routers._local import LocalRouter
from skill_health.stats.intervals import clustered_proportion, wilson_interval

TITLE = "Free routers on public prompts"
ROUNDS = 1
ROUTERS = ("lexical:bm25", "lexical:overlap", "lexical:tfidf", "embed:minilm", "lexical", "hybrid")
NEW = ("lexical", "hybrid")
MODES = {
    "description": "Routers read what is listed: name and description. This is what a model sees.",
    "content": "Routers read what no host shows: SKILL.md and the bundled Markdown files, too. A curator can.",
}
CRITERIA: dict[str, Criterion | None] = {
    "default": None, "most-right": Criterion(), "balanced": Criterion(balanced=True),
    **{f"{limit:g}": Criterion(limit) for limit in (0.5, 0.3, 0.2, 0.1)},
}  # fmt: skip
FEWEST_NULLS = 10
SLOW, MANY = "embed:minilm", 100
_RESAMPLES = 2_000


class Answer(NamedTuple):
    """A prompt, the first three skills that a router names for it, and the score of the best."""

    prompt: Prompt
    named: tuple[str, ...]
    score: float


def run(options: Options) -> Iterator[str]:
    """A table of the sets, one of each mode, and one of abstention."""
    sets = list(load_sets(options.tree)) if options.tree else []
    if not sets:
        raise Failed("name a folder of checked-out repositories OWNER+NAME by --tree")
    yield _about(sets)
    silent: list[str] = []
    for mode, what in MODES.items():
        rows: list[str] = []
        for one in sets:
            for spec in ROUTERS:
                if spec == SLOW and mode == "content" and len(one.catalogue.shown) > MANY:
                    rows.append(
                        f"| {one.name} | `{spec}` | – | not measured: 16 windows of each skill take too long | | | |"
                    )
                    continue
                router = _open(spec, one, mode)
                ranks = {prompt.text: router.rank(prompt.text) for prompt in one.prompts}
                answers = [_answer(prompt, ranks[prompt.text]) for prompt in one.prompts]
                rows.append(_row(one, spec, answers))
                if spec in NEW and sum(prompt.expected is None for prompt in one.prompts) >= FEWEST_NULLS:
                    silent += _abstention(one, spec, mode, ranks, answers)
                router.at_end()
        yield f"#### Mode `{mode}`\n\n{what}"
        yield "\n".join([_HEAD, *rows])
    yield _ABSTENTION
    yield "\n".join([_SILENT, *silent])


_HEAD = (
    "| set | router | tuned half, top-1 | sealed half, top-1 | over skills | sealed half, top-3 | over skills |\n"
    "|---|---|---|---|---|---|---|"
)
_ABSTENTION = (
    "#### When no skill applies\n\nPrompts without a split: thresholds are cross-fitted. *AUC* is how often the best score "
    "of a prompt with a skill is above that of one without (0.5: it says nothing), with a bootstrap interval over prompts. "
    "*False fires* is the share of prompts without a skill that are answered with one; *top-1* is over the prompts with a "
    "skill, and *lost* what the threshold takes from it. `default` is without any label, `balanced` the least balanced "
    "error, `most-right` the most right answers, a number the declared limit."
)
_SILENT = (
    "| set | mode | router | AUC | threshold | false fires | top-1 | lost, points |\n|---|---|---|---|---|---|---|---|"
)


def _about(sets: Sequence[LabelledSet]) -> str:
    rows = [
        "| set | skills | prompts tuned on | sealed | without a skill | skills asked for |",
        "|---|---|---|---|---|---|",
    ]
    for one in sets:
        halves = Counter(prompt.split for prompt in one.prompts if prompt.expected)
        nulls = sum(prompt.expected is None for prompt in one.prompts)
        asked = len({prompt.expected for prompt in one.prompts} - {None})
        skills = len(one.catalogue.shown)
        rows.append(f"| {one.name} | {skills} | {halves[TUNE]} | {halves[SEALED]} | {nulls} | {asked} |")
    return "\n".join(rows)


def _open(spec: str, one: LabelledSet, mode: str) -> LocalRouter:
    return cast(LocalRouter, open_choice(resolve(spec, RouterSettings()), one.catalogue, index=mode))


def _answer(prompt: Prompt, found: Sequence[tuple[str, float]]) -> Answer:
    return Answer(prompt, tuple(name for name, _ in found[:3]), found[0][1] if found else 0.0)


def _row(one: LabelledSet, spec: str, answers: Sequence[Answer]) -> str:
    tuned = _half(answers, TUNE)
    right = sum(_first(answer) for answer in tuned)
    cells = [f"{100 * right / len(tuned):.1f}"]
    for count in (_first, _among):
        sealed = _half(answers, SEALED)
        cells += [_over_prompts([count(answer) for answer in sealed]), _over_skills(sealed, count)]
    return f"| {one.name} | `{spec}` | {' | '.join(cells)} |"


def _half(answers: Sequence[Answer], half: str) -> list[Answer]:
    return [answer for answer in answers if answer.prompt.expected and answer.prompt.split == half]


def _first(answer: Answer) -> bool:
    return answer.named[:1] == (answer.prompt.expected,)


def _among(answer: Answer) -> bool:
    return answer.prompt.expected in answer.named


def _over_prompts(right: Sequence[bool]) -> str:
    low, high = wilson_interval(sum(right), len(right))
    return f"{100 * sum(right) / len(right):.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def _over_skills(answers: Sequence[Answer], count: Callable[[Answer], bool]) -> str:
    """The interval where skills, not prompts, are what another collection would bring anew."""
    ordered = sorted(answers, key=lambda answer: str(answer.prompt.expected))
    groups = [list(group) for _, group in groupby(ordered, key=lambda answer: answer.prompt.expected)]
    found = clustered_proportion([sum(map(count, group)) for group in groups], list(map(len, groups)))
    if found.low is None or found.high is None:
        return f"– ({found.note or 'too few skills'})"
    return f"[{100 * found.low:.1f}, {100 * found.high:.1f}]"


def _abstention(
    one: LabelledSet, spec: str, mode: str, ranks: Mapping[str, Sequence[tuple[str, float]]], answers: Sequence[Answer]
) -> Iterator[str]:
    asked = [replace(prompt, split="") for prompt in one.prompts]
    positive = [answer for answer in answers if answer.prompt.expected]
    free = sum(map(_first, positive)) / len(positive)
    area = _area([answer.score for answer in positive], [a.score for a in answers if a.prompt.expected is None])
    for name, criterion in CRITERIA.items():
        train = asked if criterion else ()
        found = choose(ranks.__getitem__, train, one.catalogue.names, criterion or Criterion(), DEFAULT)
        speaks = {
            answer.prompt.text: answer.score > 0 and answer.score >= found.at(answer.prompt.text) for answer in answers
        }
        fires = [speaks[prompt.text] for prompt in asked if prompt.expected is None]
        right = sum(_first(answer) and speaks[answer.prompt.text] for answer in positive) / len(positive)
        yield (
            f"| {one.name} | {mode} | `{spec}` | {area} | {name} | {_over_prompts(fires)} | {100 * right:.1f} | "
            f"{100 * (free - right):.1f} |"
        )


def _area(with_skill: Sequence[float], without: Sequence[float]) -> str:
    def area(some: np.ndarray, others: np.ndarray) -> float:
        ranks = rankdata(np.r_[some, others])[: len(some)]
        return float((ranks.sum() - len(some) * (len(some) + 1) / 2) / (len(some) * len(others)))

    some, others = np.array(with_skill), np.array(without)
    rng = np.random.default_rng(1)
    drawn = [area(rng.choice(some, len(some)), rng.choice(others, len(others))) for _ in range(_RESAMPLES)]
    low, high = np.percentile(drawn, (2.5, 97.5))
    return f"{area(some, others):.2f} [{low:.2f}, {high:.2f}]"
