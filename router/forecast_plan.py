"""The forecast of a planned run of the router, and the reservation for each of its calls.

earlier = read_earlier(reports, [model.spec for model in plan.models if model.wired], plan.choices.mode)
forecast_plan(plan, table.version, earlier, train, done).lines()
Run(..., reserve=reservations(earlier))
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from skill_health.config.settings import Provider
from skill_health.router.earlier import EarlierCalls
from skill_health.router.forecast import UNCALIBRATED, CallForecast, Load, forecast, most
from skill_health.router.plan import Key, OpenModel, RouterPlan
from skill_health.router.records import NONE, Prompt, RoutingRequest
from skill_health.router.routers._load import PROVIDER
from skill_health.router.sizes import question_size, schema_size, size_of

TYPICAL_OUTPUT = 120
"""Tokens of a ranking of a few names with a sentence of rationale, where no earlier run says more."""
NULL_SHARE = 0.20
"""A smaller share of prompts that expect no skill says too little about abstention."""


def forecast_plan(
    plan: RouterPlan,
    price_version: str,
    earlier: Mapping[str, EarlierCalls],
    notes: Iterable[str] = (),
    done: Collection[Key] = (),
    concurrency: int | None = None,
) -> CallForecast:
    """What a plan is going to take, without the keys that are done; `concurrency` is what the user allows in all."""
    size = question_size(plan.template, plan.catalogue.shown, plan.choices.mode)
    sizes = {prompt.prompt_id: size(prompt.text) for prompt in plan.prompts}
    limits = plan.limits(concurrency)
    left: dict[str, list[int]] = {model.spec: [] for model in plan.models}
    for call in plan.calls():
        if call.key not in done:
            left[call.model.spec].append(sizes[call.prompt.prompt_id])
    loads = [_load(model, left[model.spec], earlier.get(model.spec), limits[model.group]) for model in plan.models]
    return forecast(loads, price_version, notes)


def reservations(earlier: Mapping[str, EarlierCalls]) -> Callable[[OpenModel, RoutingRequest], float]:
    """What one request can cost at most, in dollars; 0 where no price is known."""

    def reserve(model: OpenModel, request: RoutingRequest) -> float:
        told = earlier.get(model.spec)
        size = size_of(request.text) + schema_size(request.schema)
        return most(model.price, size, told.factor if told else UNCALIBRATED, max_output(model))

    return reserve


def max_output(model: OpenModel) -> int:
    """The tokens that an answer of this model may have."""
    return (model.choice.provider or Provider("")).max_output_tokens


def _load(model: OpenModel, sizes: Sequence[int], earlier: EarlierCalls | None, limit: int) -> Load:
    told = earlier or EarlierCalls()
    provider = model.choice.provider or Provider("")
    return Load(
        model=model.spec,
        calls=len(sizes),
        input_bytes=sum(sizes),
        typical_output=TYPICAL_OUTPUT if told.output_tokens is None else told.output_tokens,
        max_output=max_output(model),
        price=model.price,
        local=model.choice.kind != PROVIDER,
        factor=told.factor,
        group=model.group,
        concurrency=limit,
        per_minute=provider.requests_per_minute,
        seconds=told.seconds,
        repeated=len(sizes),
    )


def study_notes(plan: RouterPlan, train: Collection[Prompt] = ()) -> list[str]:
    """What so many prompts and replications can show, and why it is preliminary where it is."""
    from skill_health.stats.power import mde_paired, preliminary_reasons

    names = {skill.name for skill in (*plan.catalogue.shown, *plan.catalogue.omitted)}
    allowed = {*names, NONE} if plan.template.none_allowed else names
    tested = [prompt for prompt in plan.prompts if prompt.target in allowed]
    clusters = len({prompt.cluster for prompt in tested})
    nulls = sum(prompt.target == NONE for prompt in tested)
    reps = max((model.replications for model in plan.models), default=1)
    found = [
        f"prompts: {len(plan.prompts)} over {len(plan.catalogue.shown)} skills, {len(tested)} with a right answer to "
        f"count ({clusters} {'cluster' if clusters == 1 else 'clusters'}), {nulls} of them expecting no skill"
    ]
    if any(not model.wired for model in plan.models):
        chosen = f"chosen on {len(train)} train prompts" if train else "none, since no prompt is in the split train"
        found.append(f"thresholds of local routers: {chosen}")
    if clusters >= 2:
        points = 100 * mde_paired(clusters, reps)
        found.append(
            f"detectable: at best a difference of {points:.1f} points of top-1 between two runs "
            f"({clusters} clusters, {reps} {'replication' if reps == 1 else 'replications'}, 80 % power)"
        )
    # Width and missing calls are not known yet: only the number of clusters can speak here.
    found += [f"preliminary: {reason}" for reason in preliminary_reasons(clusters, 0.0, 0.0)]
    if plan.template.none_allowed and tested and nulls < NULL_SHARE * len(tested):
        found.append(
            f"preliminary: {nulls} of {len(tested)} prompts expect no skill; abstention needs {NULL_SHARE:.0%} of them"
        )
    return found
