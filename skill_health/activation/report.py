"""Manifest and results -> the report of a run. Pure: the same files give the same bytes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from skill_health.activation.scores.calibration import beside, calibrate
from skill_health.activation.scores.routing import ROUTERS, RoutedPrompts, route_on_the_spot
from skill_health.activation.scores.rows import (
    METRICS,
    LoadRow,
    bounds_of,
    cluster_of,
    clustering_of,
    confusion_of,
    has_fixed_order,
    judge_loads,
    metrics_of,
    places_of,
    skills_of,
)
from skill_health.bench.budget import add_known
from skill_health.core.errors import UsageError
from skill_health.documents.activation_manifest import ActivationManifest
from skill_health.documents.activation_report import (
    ActivationPrompts,
    ActivationReport,
    IsolationProof,
    ModelActivation,
    PromptActivation,
    PromptClass,
    PromptLoads,
    RoutedPlace,
    SizeActivation,
    description_digest,
)
from skill_health.documents.activation_result import LoadResult
from skill_health.documents.effect_manifest import FrozenAgent
from skill_health.documents.router_manifest import Prompt
from skill_health.router.records import warn_of_templates
from skill_health.router.scores.numbers import not_testable, number
from skill_health.stats.intervals import clustered_quantile
from skill_health.text.near import list_some
from skill_health.text.numbers import count

_FEW_SKILLS, _MISSING, _UNTOLD = 10, 0.05, 0.05
_WIDE = 0.10
"""Half an interval of recall that is wider than this is preliminary."""

_LIVE = (
    "A skill counts as loaded where the agent was seen to open it: by the host's tool for skills, by reading its SKILL.md as "
    "a file or in a shell, or by a server's tool. That a model names a skill is not loading."
)
_FIRST = (
    "Each request is ended at the first skill that is opened, so a skill that would have been opened second counts as not "
    'loaded. What cannot be told is no "no": it is left out of the rates, and counted.'
)
_RANKING = (
    "Ranking a list bounds a description; this is what agents did with it. What loading is worth is another question "
    "(`effectiveness`)."
)
_INTERVALS = {
    "skill": "Intervals are 95 %. All prompts of a skill are taken as one observation, as are replications of a prompt; "
    "prompts for no skill are independent of each other.",
    "prompt": "Intervals are 95 % and over prompts, as too few skills are asked for to be a sample of skills: they speak of "
    "further prompts to these skills, and of no other skill.",
}


def build_activation_report(
    manifest: ActivationManifest,
    results: Sequence[LoadResult],
    routers: Sequence[str] = ROUTERS,
    runs: Sequence[RoutedPrompts] = (),
) -> ActivationReport:
    """The report. Beside it stand free `routers`, asked on the spot, and `runs` of a router that were made before."""
    clustering = clustering_of(manifest)
    rows = judge_loads(manifest, results)
    routed, problems = _routed(manifest, routers)
    routed = [*routed, *runs]
    return ActivationReport(
        schema="skill-health/activation-report/1",
        run_id=manifest.run_id,
        created=manifest.created,
        commit=manifest.commit,
        dirty=manifest.dirty,
        tool_version=manifest.tool_version,
        seed=manifest.seed,
        replications=manifest.replications,
        turns=manifest.turns,
        delivery=manifest.delivery,
        sandbox=manifest.sandbox.name,
        sizes=manifest.sizes,
        skills=len(manifest.skills),
        listing={skill.name: description_digest(skill.description) for skill in manifest.catalogue},
        prompts=ActivationPrompts(
            total=len(manifest.prompts),
            skill=sum(bool(prompt.expected) for prompt in manifest.prompts),
            none=sum(prompt.known and not prompt.expected for prompt in manifest.prompts),
            near_miss=sum(bool(prompt.rejected) for prompt in manifest.prompts),
        ),
        clustering="skill" if clustering == "skill" else "prompt",
        statements=(_LIVE, _FIRST, _INTERVALS[clustering], _RANKING),
        notes=(*_notes(manifest, rows), *problems),
        isolation=_isolation(results),
        routers=tuple(beside(each, manifest.prompts, clustering) for each in routed),
        models=tuple(_model(model, manifest, rows, routed, clustering) for model in manifest.models),
        requests=tuple(_request(prompt, manifest, rows, routed) for prompt in manifest.prompts),
    )


def _routed(manifest: ActivationManifest, routers: Sequence[str]) -> tuple[list[RoutedPrompts], list[str]]:
    found, problems = [], []
    for spec in dict.fromkeys(routers):
        try:
            found.append(route_on_the_spot(manifest, spec))
        except UsageError as error:
            problems.append(f"No ranking beside the figures: {error}.")
    return found, problems


def _model(
    model: FrozenAgent,
    manifest: ActivationManifest,
    rows: Sequence[LoadRow],
    routed: Sequence[RoutedPrompts],
    clustering: str,
) -> ModelActivation:
    mine = [row for row in rows if row.result.model == model.spec]
    whole = [row for row in mine if row.result.size == manifest.sizes[-1]]
    planned = {
        name: sum(metric.of(prompt) for prompt in manifest.prompts) * manifest.replications
        for name, metric in METRICS.items()
    }
    metrics = metrics_of(whole, clustering, planned)
    calls = len(manifest.prompts) * manifest.replications
    scored, known = (sum(getattr(row.result, name) for row in whole) for name in ("scored", "known"))
    untold = Counter(row.result.why or "no reason given" for row in whole if row.result.scored and not row.result.known)
    missing = Counter(row.result.outcome for row in whole if not row.result.scored)
    absent = calls - len(whole)
    seconds = [row.result.duration_ms / 1000 for row in whole if row.result.duration_ms is not None]
    places = places_of(whole, clustering)
    return ModelActivation(
        model=model.spec,
        agent=model.agent,
        agent_version=model.version,
        resolved=tuple(sorted({row.result.resolved_model for row in mine if row.result.resolved_model})),
        simulated=model.simulated,
        unproved=model.unproved,
        planned=calls,
        scored=scored,
        known=known,
        cannot_tell=dict(sorted(untold.items())),
        missing=dict(sorted(missing.items())) | ({"not_run": absent} if absent > 0 else {}),
        outcomes=dict(sorted(Counter(row.result.outcome for row in whole).items())),
        metrics=metrics,
        bounds=bounds_of(whole),
        sizes=tuple(
            SizeActivation(
                size=size,
                metrics=metrics_of([row for row in mine if row.result.size == size], clustering, planned),
            )
            for size in manifest.sizes
        ),
        places=places,
        fixed_order=any(place.recall.n for place in places) and has_fixed_order(whole),
        confusion=confusion_of(whole),
        skills=skills_of(manifest, whole),
        calibration=tuple(calibrate(whole, each, clustering) for each in routed),
        cost_usd=add_known((row.result.cost_usd for row in mine), 6),
        seconds=number(
            clustered_quantile(
                seconds, [_group(row, clustering) for row in whole if row.result.duration_ms is not None], 0.5
            )
        )
        if seconds
        else not_testable("no request was timed"),
        preliminary=tuple(
            _preliminary(metrics.recall.value, metrics.recall.low, metrics.recall.high, calls, scored, known)
        ),
    )


def _group(row: LoadRow, clustering: str) -> str:
    return cluster_of(row.prompt, clustering)


def _preliminary(
    value: float | None, low: float | None, high: float | None, calls: int, scored: int, known: int
) -> Iterator[str]:
    if value is not None and (low is None or high is None):
        yield "recall has no interval"
    elif low is not None and high is not None and (high - low) / 2 > _WIDE:
        yield f"half of the interval of recall is wider than {100 * _WIDE:.0f} points"
    if calls and (calls - scored) / calls > _MISSING:
        yield f"{calls - scored} of {count(calls, 'request')} have no score"
    if scored and (scored - known) / scored > _UNTOLD:
        yield f"of {scored - known} of {count(scored, 'request')} it cannot be told what was opened"


def _isolation(results: Sequence[LoadResult]) -> IsolationProof:
    return IsolationProof(
        calls=len(results),
        proved=sum(bool(result.tree) for result in results),
        reused=sum(result.served > 0 for result in results),
        renewed=sum(result.renewed for result in results),
        seen=sum(bool(result.request) and result.scored for result in results),
        trees=len({result.tree for result in results if result.tree}),
    )


def _request(
    prompt: Prompt, manifest: ActivationManifest, rows: Sequence[LoadRow], routed: Sequence[RoutedPrompts]
) -> PromptActivation:
    mine = [row for row in rows if row.prompt.prompt_id == prompt.prompt_id and row.result.size == manifest.sizes[-1]]
    by_model: defaultdict[str, list[LoadRow]] = defaultdict(list)
    for row in mine:
        by_model[row.result.model].append(row)
    return PromptActivation(
        prompt_id=prompt.prompt_id,
        text=prompt.text,
        classes=tuple(_classes(prompt)),
        expected=prompt.expected,
        acceptable=prompt.acceptable,
        rejected=prompt.rejected,
        models=tuple(
            PromptLoads(
                model=model.spec,
                first=_firsts(by_model[model.spec]),
                cannot_tell=sum(row.result.scored and not row.result.known for row in by_model[model.spec]),
                missing=manifest.replications - sum(row.result.scored for row in by_model[model.spec]),
            )
            for model in manifest.models
        ),
        routers=tuple(
            RoutedPlace(router=each.router, first=view.first, place=view.place, margin=view.margin, best=view.best)
            for each in routed
            if (view := each.views.get(prompt.prompt_id)) is not None
        ),
    )


def _firsts(rows: Sequence[LoadRow]) -> Mapping[str, int]:
    counts = Counter(row.first for row in rows if row.result.known)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _classes(prompt: Prompt) -> Iterator[PromptClass]:
    if prompt.expected:
        yield "skill"
    elif prompt.known:
        yield "none"
    if prompt.rejected:
        yield "near_miss"


def _notes(manifest: ActivationManifest, rows: Sequence[LoadRow]) -> Iterator[str]:
    simulated = [model.spec for model in manifest.models if model.simulated]
    if simulated:
        yield f"Simulated, no model of anybody's: {list_some(simulated)}. Such figures say something about this tool only."
    for model in manifest.models:
        if model.unproved:
            yield f"{model.spec} ran under a weaker proof: {model.unproved}."
    yield from warn_of_templates(manifest.prompts)
    asked = {prompt.expected for prompt in manifest.prompts if prompt.expected}
    if len(asked) < _FEW_SKILLS:
        yield f"Prompts ask for {count(len(asked), 'skill')}: the figures say little about other skills."
    silent = sorted({skill.name for skill in manifest.skills} - {str(name) for name in asked})
    if silent:
        yield f"No prompt expects {list_some(silent)}: whether agents load {'it' if len(silent) == 1 else 'them'} is not known."
    if manifest.selection.kind != "all":
        yield "Only a part of the prompts was asked; the figures are those of that part."
    untold = sum(row.result.scored and not row.result.known for row in rows)
    if untold:
        yield f"Of {count(untold, 'request')} it cannot be told what was opened; `cannot tell` says why for each agent."
    if len(manifest.sizes) > 1:
        yield (
            f"Figures are those with all {manifest.sizes[-1]} skills; smaller collections hold the skills of the label and "
            "others by lot."
        )
