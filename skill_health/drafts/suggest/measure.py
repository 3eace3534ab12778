"""A description -> how it routes labelled prompts, by routers that cost nothing; and two such measurements compared."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from skill_health import stats
from skill_health.core.errors import UsageError
from skill_health.core.extras import STATISTICS, tell_missing
from skill_health.documents._record import Figure
from skill_health.drafts.material import DraftingCollection
from skill_health.router.lexicon.abstention import AbstentionCriterion
from skill_health.router.records import Catalogue, ListedSkill, Prompt
from skill_health.router.routers._load import LOCAL, open_choice, resolve
from skill_health.router.routers._local import LocalRouter
from skill_health.router.scores.numbers import difference, number
from skill_health.router.splits import TEST
from skill_health.stats.estimates import Estimate
from skill_health.stats.power import MOST_MISSING

FREE = ("lexical", "lexical:tfidf", "lexical:overlap")
"""The routers that are used unless others are named: those that need no extra."""
Rights = Mapping[str, float]
"""By the id of a prompt, the share of routers or answers that put the right skill first; missing prompts have none."""


@dataclass(frozen=True, slots=True)
class SplitPrompts:
    """The prompts with a known answer: those to select on, and those that are sealed."""

    train: tuple[Prompt, ...]
    sealed: tuple[Prompt, ...]
    unsplit: int


def split_prompts(collection: DraftingCollection) -> SplitPrompts:
    """The prompts of a collection by their splits. Raises UsageError where either side is empty."""
    names = collection.by_name
    known = [each for each in collection.prompts if each.known and (each.expected is None or each.expected in names)]
    sealed = tuple(prompt for prompt in known if prompt.split == TEST)
    train = tuple(prompt for prompt in known if prompt.split not in ("", TEST))
    unsplit = sum(not prompt.split for prompt in known)
    if not train or not sealed:
        lacking = "sealed prompts (the split test)" if train else "prompts to select on (the split train)"
        raise UsageError(
            f"there are no {lacking}: `skill-health draft prompts` and `draft review` make split prompts, and "
            "`skill-health router prompts --write-split` splits those that are there"
        )
    families = {prompt.cluster for prompt in train} & {prompt.cluster for prompt in sealed}
    if families:
        raise UsageError(
            f"{len(families)} families of prompts are on both sides of the split: what was selected on would confirm "
            "itself; split them anew by `skill-health router prompts --write-split`"
        )
    return SplitPrompts(train, sealed, unsplit)


def route_prompts(
    collection: DraftingCollection,
    skill: ListedSkill,
    description: str,
    prompts: Sequence[Prompt],
    train: Sequence[Prompt],
    routers: Sequence[str],
) -> Rights:
    """How the routers do on prompts if the skill has this description; thresholds are chosen on `train` alone.

    Raises UsageError for a name that is none, or of a router that is not free.
    """
    listed = exchange_description(collection.catalogue, skill, description)
    opened = [_open(collection, listed, train, spec) for spec in routers]
    return {
        prompt.prompt_id: math.fsum(router.first(prompt.text) == prompt.target for router in opened) / len(opened)
        for prompt in prompts
    }


def exchange_description(catalogue: Catalogue, skill: ListedSkill, description: str) -> Catalogue:
    """The same listing, in which one skill has another description."""
    shown = (
        replace(each, text=description, description=description) if each.path == skill.path else each
        for each in catalogue.shown
    )
    return replace(catalogue, shown=tuple(shown))


def _open(collection: DraftingCollection, listed: Catalogue, train: Sequence[Prompt], spec: str) -> LocalRouter:
    routing = collection.config.router
    choice = resolve(spec, routing)
    if choice.kind != LOCAL:
        raise UsageError(
            f"{spec} is not free: --routers takes local routers (see `router models`), and --models models"
        )
    criterion = AbstentionCriterion(routing.false_fires, routing.abstention == "balanced")
    router = open_choice(choice, listed, train=tuple(train), seed=routing.seed, criterion=criterion)
    return cast(LocalRouter, router)


def mean_right(rights: Rights, prompts: Sequence[Prompt]) -> float:
    """The share of these prompts that is routed right; there is at least one, and none is missing."""
    return round(math.fsum(rights[prompt.prompt_id] for prompt in prompts) / len(prompts), 9)


def keep_answered(prompts: Sequence[Prompt], measured: Sequence[Rights]) -> tuple[Prompt, ...]:
    """The prompts that are missing from none of these measurements: what is compared is compared on the same ones."""
    return tuple(prompt for prompt in prompts if all(prompt.prompt_id in rights for rights in measured))


def is_testable(answered: Sequence[Prompt], prompts: Sequence[Prompt]) -> bool:
    """Whether so few prompts are missing that the others can stand for them."""
    return bool(answered) and (len(prompts) - len(answered)) / len(prompts) <= MOST_MISSING


def cluster_differences(prompts: Sequence[Prompt], before: Rights, after: Rights) -> list[list[float]]:
    """One row for each independent prompt: the sum of differences, and how many prompts it has."""
    sums: dict[str, list[float]] = {}
    for prompt in prompts:
        total = sums.setdefault(prompt.cluster, [0.0, 0.0])
        total[0] += round(after[prompt.prompt_id] - before[prompt.prompt_id], 9)
        total[1] += 1
    return list(sums.values())


def require_statistics() -> None:
    """Raise UsageError where the libraries for intervals and tests are not installed."""
    if not stats.installed():
        raise UsageError(tell_missing("suggest description", "bench", *STATISTICS))


def compare_rights(rows: Sequence[Sequence[float]], seed: int) -> tuple[Estimate, Figure]:
    """The mean difference with its interval and the sign-flip p, as an estimate and as a report holds it.

    Raises UsageError as `require_statistics` does.
    """
    require_statistics()
    found = replace(difference(rows, seed), n=int(sum(row[1] for row in rows)), clusters=len(rows))
    return found, number(found)
