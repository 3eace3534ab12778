"""The two stages of a run by themselves: what the first leaves, what the second makes of it; and shared names."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import UNSET, UnsetType

from skill_health.documents._record import Figure
from skill_health.documents.router_manifest import RouterManifest
from skill_health.documents.router_report import RecallAt, RetrievalReport, StageFigures
from skill_health.router.records import Prompt
from skill_health.router.scores.judge import Judged, ModelScores, RoutingRunFacts
from skill_health.router.scores.numbers import number, proportion, share

DEPTHS = (1, 3, 5, 10, 20, 30, 50, 100)
"""The depths that recall is told for, beside that of the run."""
_NO_SKILL = "no prompt expects a skill of the collection"


def retrieval(manifest: RouterManifest, facts: RoutingRunFacts) -> RetrievalReport | UnsetType:
    """How often the right skill is among the first so many that were retrieved; UNSET for a run in one stage."""
    frozen = manifest.retrieval
    if not frozen:
        return UNSET
    prompts = [prompt for prompt in facts.tested if prompt.expected is not None]
    depths = sorted({*(depth for depth in DEPTHS if depth < frozen.k), frozen.k})
    return RetrievalReport(
        k=frozen.k,
        router=frozen.router,
        index=frozen.index,
        recall=tuple(_recall(prompts, facts, depth) for depth in depths),
    )


def _recall(prompts: Sequence[Prompt], facts: RoutingRunFacts, depth: int) -> RecallAt:
    hits = [prompt.expected in facts.asked(prompt.prompt_id)[:depth] for prompt in prompts]
    return RecallAt(
        depth=depth,
        prompts=_over(prompts, hits, lambda prompt: facts.clusters[prompt.prompt_id]),
        skills=_over(prompts, hits, lambda prompt: str(prompt.expected)),
    )


def _over(prompts: Sequence[Prompt], hits: Sequence[bool], cluster: Callable[[Prompt], int | str]) -> Figure:
    sums: dict[int | str, list[float]] = {}
    for prompt, hit in zip(prompts, hits, strict=True):
        total = sums.setdefault(cluster(prompt), [0.0, 0.0])
        total[0] += hit
        total[1] += 1
    return number(share([sums[key] for key in sums], _NO_SKILL))


def stages(column: ModelScores, facts: RoutingRunFacts) -> StageFigures | UnsetType:
    """What a model made of what was retrieved for it; UNSET for a run in one stage."""
    if not facts.depth:
        return UNSET
    rows = column.tested(lambda row: row.prompt.expected is not None)
    planned = column.planned(prompt for prompt in facts.tested if prompt.expected is not None)

    def retrieved(row: Judged) -> bool:
        return facts.lists(row.prompt.expected, row.prompt.prompt_id)

    left = [row for row in rows if retrieved(row)]
    none = "no right skill was retrieved" if rows else "no call is scored"
    return StageFigures(
        retrieved=number(proportion(rows, retrieved, "no call is scored"), planned),
        ranked=number(proportion(left, lambda row: row.right, none)),
        product=number(proportion(rows, lambda row: row.right, "no call is scored"), planned),
    )


def ambiguous(column: ModelScores, facts: RoutingRunFacts) -> Figure | UnsetType:
    """How often a pick may have been right and does not count; UNSET where no two skills are listed by one name."""
    if not facts.shared:
        return UNSET
    return number(
        proportion(column.tested(), lambda row: row.ambiguous, "no call is scored"), column.planned(facts.tested)
    )
