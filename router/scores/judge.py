"""Results beside their labels: what was right, and what was planned and is not there."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from skill_health.documents.router_manifest import CatalogueSkill, FrozenRouter, RouterManifest
from skill_health.documents.router_report import Untested
from skill_health.router.listing import shared_names
from skill_health.router.plan.orders import Orders
from skill_health.router.records import NONE, ListedSkill, Prompt, RoutingResult

LABEL_ONLY: Untested = "label_only"
NULL: Untested = "null_not_allowed"
UNKNOWN: Untested = "unknown_skill"
WHY: Mapping[Untested, str] = {
    LABEL_ONLY: "the label only says which skills must not fire",
    NULL: "no skill applies, which this template gives no way to answer; take --template none",
    UNKNOWN: "the collection does not have the skill that is expected",
}
"""Why a prompt has no right answer to count, as a report says it."""


@dataclass(frozen=True, slots=True)
class RoutingRunFacts:
    """A manifest as values.

    `prompts` are in the run's order; `clusters` gives each prompt the number of what is resampled with it, families
    counting as one. `shown` are the skills as listed, `omitted` those that the host leaves out. `untested` maps
    a prompt that has no right answer to count to a key of WHY.

    Where models saw only what a first stage left, `depth` is how many skills that is, else 0, and `shortlists` are the
    skills by prompt, the best first. `shared` are the listed names of several skills, with what tells those apart.
    """

    prompts: Mapping[str, Prompt]
    clusters: Mapping[str, int]
    models: tuple[FrozenRouter, ...]
    shown: Mapping[str, ListedSkill]
    omitted: Mapping[str, ListedSkill]
    untested: Mapping[str, Untested]
    none_allowed: bool
    seed: int
    orders: Orders
    shortlists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    depth: int = 0
    shared: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def listed(self) -> int:
        """How many skills a question lists at most."""
        return min(self.depth, len(self.shown)) if self.depth else len(self.shown)

    def asked(self, prompt_id: str) -> tuple[str, ...]:
        """The skills that a prompt's question lists."""
        return self.shortlists.get(prompt_id, ()) if self.depth else tuple(self.shown)

    def lists(self, skill: str | None, prompt_id: str) -> bool:
        """Whether a prompt's question lists a skill."""
        return skill in self.shown and (not self.depth or skill in self.shortlists.get(prompt_id, ()))

    @property
    def tested(self) -> tuple[Prompt, ...]:
        """The prompts that have a right answer to count."""
        return tuple(prompt for name, prompt in self.prompts.items() if name not in self.untested)


def read_facts(manifest: RouterManifest) -> RoutingRunFacts:
    """The facts of a manifest."""
    prompts = {prompt.prompt_id: prompt for prompt in manifest.prompts}
    shown, omitted = _listed(manifest.catalogue), _listed(manifest.omitted)
    none_allowed = manifest.template.none_allowed
    known = {*shown, *omitted}
    numbers: dict[str, int] = {}
    for prompt in prompts.values():
        numbers.setdefault(prompt.cluster, len(numbers))
    return RoutingRunFacts(
        prompts=prompts,
        clusters={name: numbers[prompt.cluster] for name, prompt in prompts.items()},
        models=manifest.models,
        shown=shown,
        omitted=omitted,
        untested={name: why for name, prompt in prompts.items() if (why := _untested(prompt, known, none_allowed))},
        none_allowed=none_allowed,
        seed=manifest.seed or 0,
        orders=manifest.orders,
        shortlists=_shortlists(manifest),
        depth=manifest.retrieval.k if manifest.retrieval else 0,
        shared={name: frozenset(skills) for name, skills in shared_names(shown.values()).items()},
    )


def _shortlists(manifest: RouterManifest) -> dict[str, tuple[str, ...]]:
    if not manifest.retrieval:
        return {}
    names = [skill.name for skill in manifest.catalogue]
    # A manifest that somebody has edited may say anything.
    return {
        prompt: tuple(names[at] for at in places if at < len(names))
        for prompt, places in manifest.retrieval.shortlists.items()
    }


def _listed(skills: Iterable[CatalogueSkill]) -> dict[str, ListedSkill]:
    return {
        skill.name: ListedSkill(
            skill.name, skill.text, skill.state, skill.description, path=skill.path, shared=skill.shared
        )
        for skill in skills
    }


def _untested(prompt: Prompt, known: set[str], none_allowed: bool) -> Untested | None:
    if prompt.target is None:
        return LABEL_ONLY
    if prompt.target == NONE:
        return None if none_allowed else NULL
    return None if prompt.target in known else UNKNOWN


DEEP = 3
"""How far down a ranking top-3, nDCG@3 and violations at 3 look."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One scored call beside its prompt.

    `picked` is the class that came first: a skill, NONE, or None where there is no valid answer. `rank` is the place
    of the right class in the ranking, from 1; None where it is not in it. `tested` is whether the prompt has a right
    class to count. `cluster` numbers what is resampled as a whole. `ambiguous` is whether what came first is a name
    that the right skill shares with others: nobody can tell which was meant, so that it does not count as right.
    """

    prompt: Prompt
    result: RoutingResult
    cluster: int
    tested: bool
    picked: str | None
    rank: int | None
    ambiguous: bool = False

    @property
    def right(self) -> bool:
        """Whether the right class came first."""
        return self.rank == 1

    @property
    def accepted(self) -> bool:
        """Whether the first of the ranking is right or acceptable."""
        return self.rank == 1 or (self.picked is not None and self.picked in self.prompt.acceptable)

    @property
    def fired(self) -> bool:
        """Whether a skill was picked."""
        return self.picked is not None and self.picked != NONE


@dataclass(frozen=True, slots=True)
class ModelScores:
    """All of one model: what was planned, every result, and those that are scored, in the manifest's order."""

    model: FrozenRouter
    results: tuple[RoutingResult, ...]
    scored: tuple[Judged, ...]

    @property
    def resolved(self) -> tuple[str, ...]:
        """The ids of the models that the provider named."""
        return tuple(sorted({result.resolved_model for result in self.results if result.resolved_model}))

    def planned(self, prompts: Iterable[Prompt]) -> int:
        """How many calls were planned for these prompts."""
        return sum(1 for _ in prompts) * self.model.replications

    def tested(self, where: Callable[[Judged], bool] = lambda row: True) -> list[Judged]:
        """The scored calls whose prompt has a right class, and which meet a condition."""
        return [row for row in self.scored if row.tested and where(row)]


@dataclass(frozen=True, slots=True)
class RunScores:
    """A whole run, judged. `foreign` counts results of no prompt or model of the manifest, and second results."""

    facts: RoutingRunFacts
    columns: tuple[ModelScores, ...]
    foreign: int

    @property
    def scored(self) -> list[Judged]:
        """The scored calls of all models."""
        return [row for column in self.columns for row in column.scored]


def judge(facts: RoutingRunFacts, results: Sequence[RoutingResult]) -> RunScores:
    """Put every result beside its label; the order of `results` does not matter."""
    order = {prompt_id: at for at, prompt_id in enumerate(facts.prompts)}
    kept: dict[str, dict[tuple[int, int], RoutingResult]] = {model.spec: {} for model in facts.models}
    foreign = 0
    for result in results:
        of_model = kept.get(result.model)
        at = order.get(result.prompt_id)
        if of_model is None or at is None or (at, result.replication) in of_model:
            foreign += 1
        else:
            of_model[at, result.replication] = result
    columns = []
    for model in facts.models:
        found = kept[model.spec]
        ordered = tuple(found[key] for key in sorted(found))
        columns.append(ModelScores(model, ordered, tuple(_judged(facts, each) for each in ordered if each.scored)))
    return RunScores(facts, tuple(columns), foreign)


def _judged(facts: RoutingRunFacts, result: RoutingResult) -> Judged:
    prompt = facts.prompts[result.prompt_id]
    ranking = result.ranking if result.status == "finished" else ()
    target = prompt.target
    return Judged(
        prompt=prompt,
        result=result,
        cluster=facts.clusters[result.prompt_id],
        tested=result.prompt_id not in facts.untested,
        picked=ranking[0] if ranking else None,
        rank=ranking.index(target) + 1 if target is not None and target in ranking else None,
        ambiguous=bool(ranking)
        and target in facts.shared.get(ranking[0], ())
        and facts.lists(target, result.prompt_id),
    )


def ndcg(row: Judged) -> float:
    """Discounted gain (nDCG) at 3: 2 for the right class, 1 for an acceptable one (Järvelin, Kekäläinen, 2002).

    The ideal ranking begins with the right class and goes on with as many acceptable ones as there are.
    """
    acceptable = set(row.prompt.acceptable) - {row.prompt.target}
    ranking = list(dict.fromkeys(row.result.ranking)) if row.picked is not None else []
    gains = [2 if name == row.prompt.target else int(name in acceptable) for name in ranking[:DEEP]]
    best = [2, *[1] * len(acceptable)][:DEEP]
    return _discounted(gains) / _discounted(best)


def _discounted(gains: Sequence[int]) -> float:
    return math.fsum(gain / math.log2(place + 1) for place, gain in enumerate(gains, 1))


def missing(column: ModelScores, prompts: int) -> Mapping[str, int]:
    """How many planned calls have no score, by status; those without any result are "not_run"."""
    counts = Counter(result.status for result in column.results if not result.scored)
    absent = prompts * column.model.replications - len(column.results)
    named: dict[str, int] = {status: counts[status] for status in sorted(counts)}
    return named | ({"not_run": absent} if absent > 0 else {})
