"""Prompts -> what a router that is computed here would pick of a collection.

No model is asked, and nothing is written.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from skill_health.api.linting import PathText, named_paths
from skill_health.core.errors import UsageError
from skill_health.router.inputs import load_listing
from skill_health.router.records import NONE
from skill_health.router.routers._load import LOCAL, open_choice, resolve
from skill_health.router.routers._local import LocalRouter

ROUTER = "lexical"


@dataclass(frozen=True, slots=True)
class RankedSkill:
    """A skill and its score for a prompt: above 0, and comparable only within one answer of one router."""

    name: str
    score: float


@dataclass(frozen=True, slots=True)
class RoutedPrompt:
    """What a router makes of a prompt.

    `picked` is the skill that it names first; None where it would rather name none, as no score reaches its threshold.
    `ranking` holds all skills with a score, the best first, whatever is picked. Of `listed` skills it chose.
    """

    prompt: str
    router: str
    picked: str | None
    ranking: tuple[RankedSkill, ...]
    listed: int


def route(
    prompts: str | Sequence[str],
    *paths: PathText,
    router: str = ROUTER,
    listing: str | None = None,
    config_file: PathText | None = None,
) -> tuple[RoutedPrompt, ...]:
    """Route one prompt, or several, over the skills that `paths` name (default: here) and the collection around them.

    `router` is one that needs no key and no network, such as "lexical" or "hybrid" (extra embed); `listing` is "full"
    or the key of a host, whose cuts then count. A free router bounds what descriptions are worth: it is a floor, not
    what a model would do, and its threshold is the default of the router, as there are no labels to choose one on.

    Raises UsageError for a router that asks a model, an empty collection, and two skills of one name.
    """
    given = load_listing(named_paths(paths), os.fspath(config_file) if config_file else None, listing)
    choice = resolve(router, given.config.router)
    if choice.kind != LOCAL:
        raise UsageError(
            f"{router!r} asks a model, which costs: take a router that is computed here, such as {ROUTER!r}"
        )
    opened = cast(LocalRouter, open_choice(choice, given.catalogue))
    answers = []
    for prompt in (prompts,) if isinstance(prompts, str) else prompts:
        first = opened.first(prompt)
        ranking = tuple(RankedSkill(name, score) for name, score in opened.rank(prompt))
        answers.append(
            RoutedPrompt(prompt, router, None if first == NONE else first, ranking, len(given.catalogue.shown))
        )
    return tuple(answers)
