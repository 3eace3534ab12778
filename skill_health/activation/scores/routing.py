"""Where routers put the skill that a prompt expects: on the spot over the listing of a run, or in their own run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import cast

from skill_health.config.settings import RouterSettings
from skill_health.core.errors import UsageError
from skill_health.documents.activation_manifest import ActivationManifest
from skill_health.documents.router_manifest import NONE, Prompt
from skill_health.router.records import Catalogue, ListedSkill
from skill_health.router.routers._load import LOCAL, open_choice, resolve
from skill_health.router.routers._local import LocalRouter
from skill_health.router.runs import RouterRun

ROUTERS = ("lexical:tfidf",)
"""The free router that stands beside a run, unless somebody names others."""


@dataclass(frozen=True, slots=True)
class RouterView:
    """What a router makes of one prompt. `first` is None where it finds nothing, or abstains.

    `place` is that of the expected skill from 1, its mean over replications; None where it is not ranked or none is
    expected. `margin` is its score less the best other one, `best` the best of all; None where a router has no scores.
    """

    first: str | None
    place: float | None
    margin: float | None = None
    best: float | None = None


@dataclass(frozen=True, slots=True)
class RoutedPrompts:
    """One router over the prompts of a run. `source` is the run it comes from, "" for one made on the spot.

    `listed` is how many skills it ranks: an expected skill that is not ranked counts as one place behind them all.
    """

    router: str
    source: str
    listed: int
    views: Mapping[str, RouterView]

    def height(self, prompt_id: str) -> float | None:
        """How far ahead the expected skill stands, a number that is higher the better; None without a view."""
        view = self.views.get(prompt_id)
        if view is None:
            return None
        return -(self.listed + 1.0 if view.place is None else view.place)


def route_on_the_spot(manifest: ActivationManifest, spec: str) -> RoutedPrompts:
    """Rank what the manifest lists by a free router. Raises UsageError for any other one."""
    choice = resolve(spec, RouterSettings())
    if choice.kind != LOCAL:
        raise UsageError(f"--router {spec}: only free routers are asked on the spot; name a run of it by --router-run")
    catalogue = Catalogue(
        tuple(
            ListedSkill(each.name, each.text, each.state, each.description, path=each.path)
            for each in manifest.catalogue
        ),
        manifest.listing,
    )
    router = cast(
        LocalRouter,
        open_choice(choice, catalogue, seed=manifest.seed, none_allowed=True, settings={"threshold": 0.0}),
    )
    views = {prompt.prompt_id: _view(prompt, router.rank(prompt.text)) for prompt in manifest.prompts}
    return RoutedPrompts(spec, "", len(manifest.catalogue), views)


def _view(prompt: Prompt, ranked: Sequence[tuple[str, float]]) -> RouterView:
    names = [name for name, _ in ranked]
    best = ranked[0][1] if ranked else 0.0
    if prompt.expected is None:
        return RouterView(names[0] if names else None, None, None, best)
    own = dict(ranked).get(prompt.expected, 0.0)
    other = max((score for name, score in ranked if name != prompt.expected), default=0.0)
    place = names.index(prompt.expected) + 1.0 if prompt.expected in names else None
    return RouterView(names[0] if names else None, place, round(own - other, 9), best)


def route_as_in(manifest: ActivationManifest, run: RouterRun) -> list[RoutedPrompts]:
    """What each model of a router run made of the prompts that are the same there. Raises UsageError without any."""
    asked = {prompt.prompt_id: prompt for prompt in run.manifest.prompts}
    same = {
        prompt.prompt_id: prompt
        for prompt in manifest.prompts
        if (other := asked.get(prompt.prompt_id)) and (other.text, other.expected) == (prompt.text, prompt.expected)
    }
    if not same:
        raise UsageError(f"{run.run_id} asks none of the prompts of {manifest.run_id}, or expects other skills there")
    found: defaultdict[str, defaultdict[str, list[tuple[str, ...]]]] = defaultdict(lambda: defaultdict(list))
    for result in run.results:
        if result.scored and result.status == "finished" and result.prompt_id in same:
            found[result.model][result.prompt_id].append(result.ranking)
    listed = len(run.manifest.catalogue)
    return [
        RoutedPrompts(
            spec, run.run_id, listed, {name: _of_rankings(same[name], rankings) for name, rankings in by.items()}
        )
        for spec, by in found.items()
    ]


def _of_rankings(prompt: Prompt, rankings: Sequence[tuple[str, ...]]) -> RouterView:
    firsts = Counter(ranking[0] if ranking else NONE for ranking in rankings)
    first = min(firsts, key=lambda name: (-firsts[name], name))
    places = [ranking.index(prompt.expected) + 1.0 for ranking in rankings if prompt.expected in ranking]
    # A skill that one of several rankings leaves out has no mean place.
    whole = bool(places) and len(places) == len(rankings)
    return RouterView(None if first == NONE else first, round(fmean(places), 9) if whole else None)
