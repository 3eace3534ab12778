"""What a run is going to take: calls, tokens, dollars and time, as far as they can be known before it.

    found = forecast([Load(...), ...], price_version, notes)     pure arithmetic, for whatever makes calls to models
    found.lines()                                                what people read before the first call
    most(load)                                                   dollars one call can cost at most: the reservation

Tokens are bytes / 4 times a factor of the model, which earlier runs give (`router.earlier`), else 1. Dollars range from
a typical answer to the longest that is allowed. Where a model's price or pace is not known, neither is the sum.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import median

from skill_health.bench.budget import add_known, dollars
from skill_health.bench.http.messages import Usage
from skill_health.bench.journal import RESULTS, read_manifest, readable_lines
from skill_health.bench.prices import MAX_TOKENS, TieredPrice, at_most, cost
from skill_health.bench.progress import duration
from skill_health.bench.run_folder import run_ids, runs_folder
from skill_health.config.settings import Provider
from skill_health.core.errors import SkillHealthError
from skill_health.documents._record import convert_record
from skill_health.documents.router_manifest import RouterManifest
from skill_health.router.lexicon.abstention import can_cross_fit
from skill_health.router.plan.plan import Key, OpenModel, RouterPlan, question_sizes
from skill_health.router.records import NONE, Mode, Prompt, RoutingRequest
from skill_health.router.routers._load import PROVIDER
from skill_health.router.runs import ROUTER, read_result
from skill_health.router.scores.judge import RoutingRunFacts, read_facts
from skill_health.router.template import load_template, question_size, schema_size, size_of

BYTES_PER_TOKEN = 4
MARGIN = 1.5
"""How far above the estimate the tokens of a call may lie where no earlier run says more (other scripts, code)."""


@dataclass(frozen=True, slots=True)
class Factor:
    """Tokens for each BYTES_PER_TOKEN bytes: on average and at most, as seen in `calls` of earlier runs."""

    mean: float = 1.0
    most: float = MARGIN
    calls: int = 0


UNCALIBRATED = Factor()


@dataclass(frozen=True, slots=True)
class Load:
    """What one model is going to be asked: `calls`, with `input_bytes` in all of them together.

    `typical_output` and `max_output` are tokens of one answer. `price` is None where it is not known. Models of one
    `group` share its `concurrency` and `per_minute` (0: no limit). `seconds` is what a call takes, None where it is not
    known; `local` ones cost nothing and take no time to speak of. `repeated` calls may be made a second time. `batched`
    ones take as long as their provider does.
    """

    model: str
    calls: int
    input_bytes: int = 0
    typical_output: int = 0
    max_output: int = 0
    price: TieredPrice | None = None
    local: bool = False
    factor: Factor = UNCALIBRATED
    group: str = ""
    concurrency: int = 1
    per_minute: int = 0
    seconds: float | None = None
    repeated: int = 0
    batched: bool = False


@dataclass(frozen=True, slots=True)
class ModelCallForecast:
    """The forecast of one model. `usd_repeated` is the most where every call that may be repeated is."""

    load: Load
    input_tokens: int
    output_low: int
    output_high: int
    usd_low: float | None
    usd_high: float | None
    usd_repeated: float | None
    seconds: float | None

    def line(self, width: int) -> str:
        """One line of the table."""
        name = self.load.model.ljust(width)
        if self.load.local:
            return f"{name}  {self.load.calls:,} calls, computed here, free"
        tokens = f"{self.input_tokens:,} tokens in, {self.output_low:,} to {self.output_high:,} out"
        pace = "time not known" if self.seconds is None else f"about {duration(self.seconds)}"
        pace = "in batches" if self.load.batched else pace
        return f"{name}  {self.load.calls:,} calls, {tokens}, {dollars(self.usd_low, self.usd_high)}, {pace}"


@dataclass(frozen=True, slots=True)
class CallForecast:
    """The forecast of a run. The sums are None where one of their parts is; `seconds` lets groups run side by side."""

    models: tuple[ModelCallForecast, ...]
    price_version: str
    calls: int
    usd_low: float | None
    usd_high: float | None
    usd_repeated: float | None
    seconds: float | None
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """The forecast for people."""
        width = max((len(each.load.model) for each in self.models), default=0)
        found = [f"forecast: {self.calls:,} calls", *(f"  {each.line(width)}" for each in self.models)]
        asked = [each for each in self.models if not each.load.local]
        if asked:
            most = ""
            if self.usd_repeated is not None and self.usd_high is not None and self.usd_repeated > self.usd_high:
                most = f"; at most ${self.usd_repeated:.4f} where every answer has to be asked for again"
            found.append(f"  cost: {dollars(self.usd_low, self.usd_high)} by {self.price_version}{most}")
            pace = "not known: no earlier run of these models" if self.seconds is None else duration(self.seconds)
            if any(each.load.batched for each in asked):
                pace = f"{pace} and up to a day for batches" if self.seconds else "up to a day"
            found.append(f"  time: {pace}")
            found += [f"  {_tokens(each.load)}" for each in asked]
        return [*found, *(f"  {note}" for note in self.notes)]


def forecast(loads: Sequence[Load], price_version: str, notes: Iterable[str] = ()) -> CallForecast:
    """The forecast of what these models are going to be asked."""
    models = tuple(_expected(load) for load in loads)
    groups: dict[str, list[float | None]] = {}
    for each in models:
        groups.setdefault(each.load.group, []).append(each.seconds)
    times = [add_known(seconds, 9) for seconds in groups.values()]
    return CallForecast(
        models=models,
        price_version=price_version,
        calls=sum(load.calls for load in loads),
        usd_low=add_known((each.usd_low for each in models), 9),
        usd_high=add_known((each.usd_high for each in models), 9),
        usd_repeated=add_known((each.usd_repeated for each in models), 9),
        seconds=None if None in times else max((time for time in times if time is not None), default=0.0),
        notes=tuple(notes),
    )


def tokens_at_most(size: int, factor: Factor) -> int:
    """How many tokens so many bytes can be: the factor's most, and never more than one for each byte."""
    return min(math.ceil(size / BYTES_PER_TOKEN * factor.most), max(size, 0), MAX_TOKENS)


def most(price: TieredPrice | None, size: int, factor: Factor, max_output: int) -> float:
    """Dollars that one call of so many bytes can cost at most; 0 where no price is known."""
    return 0.0 if price is None else at_most(price, tokens_at_most(size, factor), max_output)


def _expected(load: Load) -> ModelCallForecast:
    calls = load.calls
    input_tokens = round(load.input_bytes / BYTES_PER_TOKEN * load.factor.mean)
    low, high = min(load.typical_output, load.max_output), load.max_output
    if load.local or not calls:
        return ModelCallForecast(load, input_tokens, low * calls, high * calls, 0.0, 0.0, 0.0, 0.0)
    usd_low = usd_high = usd_repeated = None
    if load.price is not None:
        each = cost(load.price, Usage(input_tokens=round(input_tokens / calls), output_tokens=low))
        dearest = most(load.price, math.ceil(load.input_bytes / calls), load.factor, high)
        usd_low = None if each is None else round(each * calls, 9)
        usd_high, usd_repeated = round(dearest * calls, 9), round(dearest * (calls + load.repeated), 9)
    seconds = None if load.seconds is None else calls * load.seconds / max(1, load.concurrency)
    if seconds is not None and load.per_minute and not load.batched:
        seconds = max(seconds, calls / load.per_minute * 60)
    return ModelCallForecast(load, input_tokens, low * calls, high * calls, usd_low, usd_high, usd_repeated, seconds)


def _tokens(load: Load) -> str:
    factor = load.factor
    if not factor.calls:
        return f"tokens of {load.model}: bytes / {BYTES_PER_TOKEN}, not calibrated: no earlier run of it"
    return f"tokens of {load.model}: bytes / {BYTES_PER_TOKEN} x {factor.mean:.2f}, from {factor.calls:,} calls of earlier runs"


FOLDERS, CALLS, FEWEST = 30, 1_000, 5
"""So many runs are looked at, so many calls of a model are enough, fewer than FEWEST are too few."""
ABSURD = 10**8
LEAST_FACTOR, MOST_FACTOR = 0.25, 8.0
HEADROOM = 1.1


@dataclass(frozen=True, slots=True)
class EarlierCalls:
    """What earlier calls of one model come to; None where too few of them said so."""

    factor: Factor = UNCALIBRATED
    output_tokens: int | None = None
    seconds: float | None = None


@dataclass(slots=True)
class _Seen:
    ratios: list[tuple[int, float]] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)


def read_earlier(reports: str, specs: Collection[str], mode: Mode) -> dict[str, EarlierCalls]:
    """What the latest runs below a folder of reports tell of each of these models, asked in the same mode."""
    seen = {spec: _Seen() for spec in specs}
    for number, name in enumerate(run_ids(reports, ROUTER)):
        if number == FOLDERS or all(len(each.times) >= CALLS for each in seen.values()):
            break
        folder = os.path.join(runs_folder(reports, ROUTER), name)
        try:
            manifest = convert_record(read_manifest(folder), RouterManifest)
        except (SkillHealthError, ValueError):
            continue
        if manifest.mode == mode and any(model.spec in seen for model in manifest.models):
            _read_run(folder, manifest, seen)
    return {spec: _earlier(each) for spec, each in seen.items()}


def _read_run(folder: str, manifest: RouterManifest, seen: Mapping[str, _Seen]) -> None:
    facts = read_facts(manifest)
    size_of = _size(manifest, facts)
    for result in readable_lines(os.path.join(folder, RESULTS), read_result):
        mine = seen.get(result.model)
        if mine is None or len(mine.times) >= CALLS or not result.scored or result.attempts != 1:
            continue
        prompt = facts.prompts.get(result.prompt_id)
        read, written, took = result.usage.input_tokens, result.usage.output_tokens, result.duration_ms
        if size_of and prompt and read is not None and 0 < read < ABSURD:
            size = size_of(prompt)
            mine.ratios.append((size, read / size))
        if written is not None and 0 < written < ABSURD:
            mine.outputs.append(written)
        if took is not None and 0 < took < ABSURD:
            mine.times.append(took / 1000)


def _size(manifest: RouterManifest, facts: RoutingRunFacts) -> Callable[[Prompt], int] | None:
    """The bytes of that run's questions by the prompt; None where its template is no longer there."""
    try:
        template = load_template(manifest.template.name)
    except SkillHealthError:
        return None
    if template.digest != manifest.template.digest:
        return None
    if not facts.depth:
        size = question_size(template, list(facts.shown.values()), manifest.mode)
        return lambda prompt: size(prompt.text)

    def size_of(prompt: Prompt) -> int:
        listed = [facts.shown[name] for name in facts.asked(prompt.prompt_id)]
        return question_size(template, listed, manifest.mode)(prompt.text)

    return lru_cache(maxsize=None)(size_of)


def _earlier(seen: _Seen) -> EarlierCalls:
    factor = UNCALIBRATED
    if len(seen.ratios) >= FEWEST:
        size = sum(each for each, _ in seen.ratios)
        mean = _within(sum(each * ratio for each, ratio in seen.ratios) / size * BYTES_PER_TOKEN)
        highest = max(ratio for _, ratio in seen.ratios) * BYTES_PER_TOKEN
        factor = Factor(round(mean, 4), round(max(mean, _within(highest)) * HEADROOM, 4), len(seen.ratios))
    return EarlierCalls(
        factor,
        round(median(seen.outputs)) if len(seen.outputs) >= FEWEST else None,
        round(median(seen.times), 3) if len(seen.times) >= FEWEST else None,
    )


def _within(factor: float) -> float:
    return min(max(factor, LEAST_FACTOR), MOST_FACTOR)


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
    sizes = question_sizes(plan)
    limits = plan.limits(concurrency)
    left: dict[str, list[int]] = {model.spec: [] for model in plan.models}
    for call in plan.calls():
        if call.key not in done:
            left[call.model.spec].append(sizes[call.prompt.prompt_id])
    loads = [load_of(model, left[model.spec], earlier.get(model.spec), limits[model.group]) for model in plan.models]
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


def load_of(model: OpenModel, sizes: Sequence[int], earlier: EarlierCalls | None, limit: int) -> Load:
    """What a model is asked where its questions have these sizes in bytes, and so many calls may be under way."""
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
        seconds=0.0 if model.batched else told.seconds,
        repeated=len(sizes),
        batched=model.batched,
    )


def study_notes(plan: RouterPlan, train: Sequence[Prompt] = ()) -> list[str]:
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
        if any(prompt.split for prompt in train):
            chosen = f"chosen on {len(train)} train prompts"
        elif can_cross_fit(train):
            chosen = f"cross-fitted on {len(train)} prompts, which have no split"
        else:
            chosen = "their own, if any: no prompt is in the split train"
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
