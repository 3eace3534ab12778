"""How well the cheap ranking tells what a live agent loads: rank correlation, AUC, and the recall at each place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from skill_health import stats
from skill_health.activation.scores.routing import RoutedPrompts, RouterView
from skill_health.activation.scores.rows import METRICS, LoadRow, cluster_of, measure
from skill_health.documents._record import Figure
from skill_health.documents.activation_report import ActivationCalibration, CalibrationStep, PlaceStep, RouterBeside
from skill_health.documents.router_manifest import Prompt
from skill_health.router.scores.numbers import left_out, not_testable, number, share

_STEPS: tuple[PlaceStep, ...] = ("1", "2 to 3", "4 or later", "not ranked")


@dataclass(frozen=True, slots=True)
class _Pair:
    """A prompt with a number of a router's, and how many of its known requests were hits."""

    score: float
    hits: float
    total: float
    cluster: str


def beside(routed: RoutedPrompts, prompts: Iterable[Prompt], clustering: str) -> RouterBeside:
    """How often a router puts the expected skill first, over the prompts that it ranked."""
    sums: dict[str, list[float]] = {}
    for prompt in prompts:
        view = routed.views.get(prompt.prompt_id)
        if prompt.expected and view is not None:
            total = sums.setdefault(cluster_of(prompt, clustering), [0.0, 0.0])
            total[0] += view.first == prompt.expected
            total[1] += 1
    top1 = number(share([sums[each] for each in sorted(sums)], "no prompt that expects a skill was ranked"))
    return RouterBeside(router=routed.router, source=routed.source, top1=top1)


def calibrate(rows: Sequence[LoadRow], routed: RoutedPrompts, clustering: str) -> ActivationCalibration:
    """One agent's loads beside one router's ranking of the same prompts."""
    known = [row for row in rows if row.result.known and row.prompt.prompt_id in routed.views]
    expecting = [row for row in known if row.prompt.expected]
    views = routed.views
    places = _pairs(expecting, lambda row: row.right, lambda prompt: routed.height(prompt.prompt_id), clustering)
    margins = _pairs(expecting, lambda row: row.right, lambda prompt: views[prompt.prompt_id].margin, clustering)
    none = [row for row in known if row.prompt.known and row.prompt.expected is None]
    fires = _pairs(none, lambda row: row.stolen, lambda prompt: views[prompt.prompt_id].best, clustering)
    return ActivationCalibration(
        router=routed.router,
        prompts=len({row.prompt.prompt_id for row in expecting}),
        place_correlation=_correlation(places),
        place_auc=_area(places),
        margin_correlation=_correlation(margins),
        margin_auc=_area(margins),
        fire_auc=_area(fires, "no prompt without a skill was ranked with a score"),
        steps=tuple(_step(step, expecting, views, clustering) for step in _STEPS),
    )


def _pairs(
    rows: Sequence[LoadRow],
    hit: Callable[[LoadRow], bool],
    score: Callable[[Prompt], float | None],
    clustering: str,
) -> list[_Pair]:
    by_prompt: defaultdict[str, list[LoadRow]] = defaultdict(list)
    for row in rows:
        by_prompt[row.prompt.prompt_id].append(row)
    found = []
    for own in by_prompt.values():
        value = score(own[0].prompt)
        if value is not None:
            hits = sum(map(hit, own))
            found.append(_Pair(value, hits, len(own), cluster_of(own[0].prompt, clustering)))
    return found


_NO_PAIRS = "no prompt that expects a skill was ranked with a score"


def _correlation(pairs: Sequence[_Pair], why: str = _NO_PAIRS) -> Figure:
    if not pairs:
        return not_testable(why)
    if not stats.installed():
        return left_out()
    from skill_health.stats.association import clustered_rank_correlation

    clusters = [each.cluster for each in pairs]
    return number(
        clustered_rank_correlation([each.score for each in pairs], [each.hits / each.total for each in pairs], clusters)
    )


def _area(pairs: Sequence[_Pair], why: str = _NO_PAIRS) -> Figure:
    if not pairs:
        return not_testable(why)
    if not stats.installed():
        return left_out()
    from skill_health.stats.association import clustered_auc

    return number(
        clustered_auc(
            [each.score for each in pairs], [each.hits for each in pairs], [each.total for each in pairs],
            [each.cluster for each in pairs],
        )
    )  # fmt: skip


def _step(
    step: PlaceStep, rows: Sequence[LoadRow], views: Mapping[str, RouterView], clustering: str
) -> CalibrationStep:
    there = [row for row in rows if _step_of(views[row.prompt.prompt_id].place) == step]
    recall = measure(METRICS["recall"], there, clustering) if there else not_testable("no expected skill is there")
    return CalibrationStep(place=step, recall=recall)


def _step_of(place: float | None) -> PlaceStep:
    if place is None:
        return "not ranked"
    return "1" if place < 1.5 else "2 to 3" if place < 3.5 else "4 or later"
