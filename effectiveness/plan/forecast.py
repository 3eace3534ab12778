"""What a run is going to take: trials, dollars and hours, as far as they can be known before the first of them."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import fmean

from msgspec import UNSET

from skill_health.bench.budget import add_known, dollars
from skill_health.bench.http.messages import Usage
from skill_health.bench.journal import RESULTS, readable_lines
from skill_health.bench.prices import TieredPrice, cost
from skill_health.bench.progress import duration
from skill_health.bench.run_folder import earlier_runs
from skill_health.core.history import read_backwards
from skill_health.documents._record import convert_record, decode_record
from skill_health.documents.effect_history import EffectHistoryLine
from skill_health.documents.effect_manifest import EffectManifest
from skill_health.documents.effect_result import Key, TrialResult
from skill_health.effectiveness.plan.opening import MOST_INPUT, MOST_OUTPUT
from skill_health.effectiveness.plan.pairs import pair_notes
from skill_health.effectiveness.plan.plan import AgentModel, TrialPlan
from skill_health.effectiveness.records import CONTROL, DELIVERIES, FULL, LEAVE_OUT, NEGATIVE, PLACEBO, TARGET, WITHOUT
from skill_health.effectiveness.run.runs import KIND, read_result
from skill_health.effectiveness.tasks._api import Task
from skill_health.stats.multiplicity import FIRST_WEIGHT, SECOND_WEIGHT
from skill_health.text.near import list_some
from skill_health.text.numbers import count as counted

FOLDERS, TRIALS, FEWEST = 30, 1_000, 5
"""So many runs are looked at, so many trials of a model are enough, fewer than FEWEST are too few."""
_ABSURD = 10**8
_LINES = 20_000


@dataclass(frozen=True, slots=True)
class EarlierTrials:
    """What earlier trials of one model come to, on average; None where too few of them said so."""

    trials: int = 0
    usd: float | None = None
    seconds: float | None = None


@dataclass(slots=True)
class _Seen:
    trials: int
    usd: list[float]
    seconds: list[float]


def read_earlier(reports: str, specs: Collection[str]) -> dict[str, EarlierTrials]:
    """What the latest runs below a folder of reports tell of each of these models.

    What cannot be read there is passed over: a damaged old run must not keep a new one from starting.
    """
    seen = {spec: _Seen(0, [], []) for spec in specs}
    for number, (folder, values) in enumerate(earlier_runs(reports, KIND)):
        if number == FOLDERS or all(each.trials >= TRIALS for each in seen.values()):
            break
        if {model.spec for model in convert_record(values, EffectManifest).models}.intersection(seen):
            for result in readable_lines(os.path.join(folder, RESULTS), read_result):
                mine = seen.get(result.model)
                if mine is not None and mine.trials < TRIALS and result.scored and result.taken_from is UNSET:
                    _note(mine, result)
    return {spec: EarlierTrials(each.trials, _mean(each.usd), _mean(each.seconds)) for spec, each in seen.items()}


def read_controls(path: str, specs: Collection[str]) -> dict[tuple[str, str | None], float]:
    """How often a model passed without a skill when it was last tried, by model and skill (None: all tasks).

    `path` is a history; lines that are damaged or of another kind are passed over. Raises UsageError where it cannot
    be read.
    """
    found: dict[tuple[str, str | None], float] = {}
    for number, (_, raw) in enumerate(read_backwards(path)):
        if number == _LINES:
            break
        try:
            line = decode_record(raw, EffectHistoryLine)
        except ValueError:
            continue
        rate = line.control.value
        if line.model in specs and rate is not None and 0 <= rate <= 1:
            found.setdefault((line.model, line.skill), rate)
    return found


def _note(seen: _Seen, result: TrialResult) -> None:
    seen.trials += 1
    if result.cost_usd is not None and result.cost_usd < _ABSURD:
        seen.usd.append(result.cost_usd)
    if result.duration_ms is not None and result.duration_ms < _ABSURD:
        seen.seconds.append(result.duration_ms / 1000)


def _mean(values: list[float]) -> float | None:
    return round(fmean(values), 6) if len(values) >= FEWEST else None


TYPICAL = Usage(input_tokens=250_000, output_tokens=5_000, cached_tokens=200_000)
"""Tokens of a trial of some ten turns, where no earlier run says what one costs."""


@dataclass(frozen=True, slots=True)
class ModelTrialForecast:
    """The forecast of one model; what is not known is None. `seconds` let its server's limit of trials hold."""

    model: AgentModel
    trials: int
    usd_low: float | None
    usd_high: float | None
    seconds: float | None
    seconds_most: float
    earlier: EarlierTrials

    def line(self, width: int) -> str:
        """One line of the table."""
        name, simulated = self.model.spec.ljust(width), self.model.choice.agent.SIMULATED
        money = "simulated, free" if simulated else dollars(self.usd_low, self.usd_high)
        pace = "" if self.seconds is None else f", about {duration(self.seconds)}"
        rests = (
            f" (from {self.earlier.trials:,} earlier trials)" if self.earlier.usd is not None and not simulated else ""
        )
        return f"{name}  {self.trials:,} trials, {money}{rests}{pace}"


@dataclass(frozen=True, slots=True)
class TrialForecast:
    """The forecast of a run; sums are None where one of their parts is."""

    models: tuple[ModelTrialForecast, ...]
    trials: int
    usd_low: float | None
    usd_high: float | None
    seconds: float | None
    seconds_most: float
    price_version: str
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """The forecast for people."""
        width = max((len(each.model.spec) for each in self.models), default=0)
        found = [f"forecast: {self.trials:,} trials", *(f"  {each.line(width)}" for each in self.models)]
        asked = [each.model for each in self.models if not each.model.choice.agent.SIMULATED]
        if asked:
            found.append(f"  cost: {dollars(self.usd_low, self.usd_high)} by {self.price_version}")
            found += [f"  {line}" for line in _caps(asked)]
        most = f"at most {duration(self.seconds_most)}, where every trial takes all the time it has"
        found.append(f"  time: {most if self.seconds is None else f'about {duration(self.seconds)}; {most}'}")
        return [*found, *(f"  {note}" for note in self.notes)]


def forecast(
    plan: TrialPlan,
    price_version: str,
    earlier: Mapping[str, EarlierTrials],
    notes: Iterable[str] = (),
    done: Collection[Key] = (),
    concurrency: int = 1,
) -> TrialForecast:
    """What a plan is going to take, without the keys that are done, with so many trials under way in all."""
    left: Counter[str] = Counter()
    agents: Counter[str] = Counter()
    longest: Counter[str] = Counter()
    for planned in plan.trials():
        if planned.key not in done:
            left[planned.model.spec] += 1
            agents[planned.model.spec] += planned.arm.agents
            longest[planned.model.spec] += round(plan.timeout_of(planned.task)) * planned.arm.agents
    limits = plan.at_once(concurrency)
    models = tuple(
        _expected(
            model,
            left[model.spec],
            agents[model.spec],
            longest[model.spec],
            limits[model.server],
            earlier.get(model.spec, EarlierTrials()),
        )
        for model in plan.models
    )
    return TrialForecast(
        models=models,
        trials=sum(left.values()),
        usd_low=add_known((each.usd_low for each in models), 6),
        usd_high=add_known((each.usd_high for each in models), 6),
        seconds=_together(plan, [each.seconds for each in models], concurrency),
        seconds_most=_together(plan, [each.seconds_most for each in models], concurrency) or 0.0,
        price_version=price_version,
        notes=tuple(notes),
    )


def _expected(
    model: AgentModel, trials: int, agents: int, longest: float, limit: int, earlier: EarlierTrials
) -> ModelTrialForecast:
    """The forecast of one model, whose trials start so many `agents` in all."""
    low, high = _money(model.price, model.max_usd, earlier)
    seconds = None if earlier.seconds is None else agents * earlier.seconds / limit
    each = [None if usd is None else round(usd * agents, 6) for usd in (low, high)]
    return ModelTrialForecast(model, trials, each[0], each[1], seconds if trials else 0.0, longest / limit, earlier)


def _money(price: TieredPrice | None, cap: float | None, earlier: EarlierTrials) -> tuple[float | None, float | None]:
    """Dollars of one trial: as earlier ones or typical ones cost, and at most."""
    if price is None:
        return None, None
    if price.free:
        return 0.0, 0.0
    usual = cost(price, TYPICAL) if earlier.usd is None else earlier.usd
    return (usual if cap is None or usual is None else min(usual, cap)), cap


def _caps(models: Iterable[AgentModel]) -> Iterable[str]:
    """What one trial may spend, and where that comes from."""
    for model in models:
        if model.price is not None and not model.price.free and model.max_usd is not None:
            yield (
                f"a trial of {model.spec} may spend up to ${model.max_usd:.2f} (without --max-usd-per-trial the price of "
                f"{MOST_INPUT:,} tokens read and {MOST_OUTPUT:,} written)"
            )


def _together(plan: TrialPlan, seconds: list[float | None], concurrency: int) -> float | None:
    """The seconds of all models together: servers work side by side, as far as the limit of all trials lets them."""
    servers: dict[str, float] = {}
    work = 0.0
    limits = plan.at_once(concurrency)
    for model, each in zip(plan.models, seconds, strict=True):
        if each is None:
            return None
        servers[model.server] = servers.get(model.server, 0.0) + each
        work += each * limits[model.server]
    return max([*servers.values(), work / concurrency], default=0.0)


Rates = Mapping[tuple[str, str | None], float]
"""How often a model passed without a skill in an earlier run, by model and skill (None: all tasks)."""

_RATE, _WITHIN = 0.5, 0.5
# Of twenty tasks some ten do not differ in most runs: they are too easy or too hard.
_USUALLY = 0.5


def study_notes(plan: TrialPlan, rates: Rates) -> list[str]:
    """What can be detected, the least p, and where no verdict can be reached; the best case each time."""
    pairs, arms = plan.choices.pairs, plan.choices.arms
    found = pair_notes(pairs, plan.tasks, arms, len(plan.models))
    if pairs and not any(arm.condition == TARGET for arm in arms):
        return found
    return [*_collection(plan, rates), *_skills(plan), *_left_out(plan), *_controls(plan), *found]


def _left_out(plan: TrialPlan) -> Iterator[str]:
    """What it takes to try the skills without one of them, and where that tells nothing."""
    names = {arm.name for arm in plan.choices.arms}
    for condition, whole in ((LEAVE_OUT, FULL), (WITHOUT, TARGET)):
        arms = [arm for arm in plan.choices.arms if arm.condition == condition]
        if not arms:
            continue
        cells = sum(arm.condition == condition for _, arm in plan.staged)
        trials = cells * len(plan.models) * plan.choices.reps
        yield f"{condition}: {counted(len(arms), 'arm')}, {trials:,} of the trials, to rank skills by what is lost without them"
        if not any(replace(arm, condition=whole, argument="").name in names for arm in arms):
            yield f"warning: without the arm {whole} nothing shows what a skill contributes"


def _both(plan: TrialPlan, condition: str) -> list[Task]:
    """The tasks that have the control and this condition, with or without the hint as far as the run has both."""
    arms = [arm for arm in plan.choices.arms if arm.condition == condition]
    name = min(arms, key=lambda arm: (DELIVERIES.index(arm.delivery), arm.hint)).name if arms else ""
    names: dict[str, set[str]] = {}
    for task_id, arm in plan.staged:
        names.setdefault(task_id, set()).add(arm.name)
    return [task for task in plan.tasks if {name, CONTROL} <= names.get(task.id, set())]


_WEIGHT = 1 + SECOND_WEIGHT / FIRST_WEIGHT
"""How many tests of success one model is corrected for: its efficiency is tested in the same family."""
_PASSES = 0.8
"""Below this chance of passing, more negative controls are suggested."""


def _collection(plan: TrialPlan, rates: Rates) -> Iterator[str]:
    from skill_health.effectiveness.effects.contrasts import pairs
    from skill_health.stats.power import fewest_differing, smallest_p

    targets = [task for task in _both(plan, TARGET) if not task.is_control]
    count, models = len(targets), len(plan.models)
    others = sum(task.is_control for task in plan.tasks)
    yield f"tasks: {count} with and without the skill that should help, {others} negative control{'s' * (others != 1)}"
    if not count:
        yield f"warning: no task has both {TARGET} and {CONTROL}, so no verdict can be reached"
        return
    reps = f"{plan.choices.reps} replication{'s' * (plan.choices.reps != 1)}"
    tests = models * _WEIGHT
    best = _detectable(count, plan.choices.reps, tests)
    found = "no difference" if best is None else f"at best a difference of {100 * best:.0f} points"
    if best is not None and (texts := _useless(plan)):
        own = _detectable(count, plan.choices.reps, tests, 1 + len(texts))
        points = "none" if own is None else f"one of {100 * own:.0f}"
        found = f"{found}, {points} that is the skill's own, over {' and '.join(texts)} too"
    yield f"detectable: {found} ({count} tasks, {reps}, 80 % power)"
    if not _useless(plan):
        yield (
            f"note: without the arm {PLACEBO} or {NEGATIVE} no gain can be told from that of any text of this length"
        )
    least = smallest_p(count)
    every = pairs({arm.name: arm for arm in plan.choices.arms})
    others = models * sum(pair.kind not in ("primary", "loading") for pair in every)
    corrected = (
        f"{_p(least * tests)} corrected for {models} agent{'s' * (models != 1)} and for efficiency beside success"
    )
    one = f", {_p(least * others)} for one other contrast alone among {others} (Benjamini and Hochberg)"
    yield f"smallest p: {_p(least)} where all {count} tasks differ; {corrected}{one if others else ''}"
    needed = fewest_differing(tests)
    if count < needed:
        yield f"warning: no verdict can be reached: {needed} tasks must differ, and there are {count}"
    elif count * _USUALLY < needed:
        yield f"warning: {needed} of {count} tasks must differ for a verdict, and usually about half of them do"
    yield from _efficiency(plan, count)
    if best is not None:
        yield from _room(plan, rates, best)


def _efficiency(plan: TrialPlan, count: int) -> Iterator[str]:
    """How often a skill that halves what is taken is shown to be cheaper."""
    from skill_health.stats.power import chance_to_be_cheaper

    texts, models, margin = len(_useless(plan)), len(plan.models), plan.choices.margin
    half, whole = (
        chance_to_be_cheaper(count, plan.choices.reps, margin, texts, models, success=success) for success in (0.5, 1.0)
    )
    yield (
        f"efficiency: a skill that halves tokens or dollars without a loss is found to be cheaper in {100 * half:.0f} % "
        f"of runs where half of the trials pass, in {100 * whole:.0f} % where all do (margin {100 * margin:g} points)"
    )


def _room(plan: TrialPlan, rates: Rates, best: float) -> Iterator[str]:
    """Where an earlier control leaves no room for what could be detected."""
    from skill_health.effectiveness.effects.arms import CEILING

    for model in plan.models:
        found = {skill: rate for (spec, skill), rate in rates.items() if spec == model.spec}
        rate = found.get(None)
        if rate is not None and 1 - rate < best:
            yield (
                f"warning: {model.spec} passed {100 * rate:.0f} % without a skill when it was last tried: a gain "
                f"of the {100 * best:.0f} points that could be detected has no room"
            )
        elif rate is not None and rate < best:
            yield (
                f"warning: {model.spec} passed {100 * rate:.0f} % without a skill when it was last tried: a loss "
                f"of the {100 * best:.0f} points that could be detected has no room"
            )
        elif rate is None and not model.choice.agent.SIMULATED:
            first = sum(arm.condition == CONTROL for _, arm in plan.staged)
            yield (
                f"note: how often {model.spec} passes without a skill is not known; `--arms {CONTROL} --reps 1`, {first} "
                "trials, tells first whether there is room for a gain"
            )
        full = sorted(skill for skill, each in found.items() if skill is not None and each >= CEILING)
        if full:
            yield f"warning: {model.spec} passed nearly always without {list_some(full, 6)} when it was last tried"


def _skills(plan: TrialPlan) -> Iterator[str]:
    """What can be said of single skills."""
    from skill_health.stats.power import fewest_differing

    targets = [task for task in _both(plan, TARGET) if not task.is_control]
    counts = Counter(task.target_name or "" for task in targets)
    alone = fewest_differing(1)
    enough = sorted(skill for skill, count in counts.items() if count >= alone)
    together = len(enough) * len(plan.models)
    tests = max(1, together) * _WEIGHT
    needed = fewest_differing(tests)
    for skill in enough:
        best = _detectable(counts[skill], plan.choices.reps, tests)
        points = "" if best is None else f", at best {100 * best:.0f} points"
        short = "" if counts[skill] >= needed else f"; no verdict: {needed} must differ with {together} tested together"
        yield f"skill {skill}: {counts[skill]} tasks{points}{short}"
    few = sorted((skill for skill in counts if counts[skill] < alone), key=lambda skill: (-counts[skill], skill))
    if few:
        said = list_some([f"{skill} ({counts[skill]} task{'s' * (counts[skill] != 1)})" for skill in few], 6)
        yield f"warning: no verdict on single skills can be reached for {said}: each needs {alone} tasks that differ"


def _controls(plan: TrialPlan) -> Iterator[str]:
    """Whether the negative controls can be shown to do nothing."""
    from skill_health.stats.hypothesis_tests import least_half_width
    from skill_health.stats.power import chance_to_pass_controls, mde_from_sd

    margin, tasks = plan.choices.margin, _both(plan, NEGATIVE)
    # Over all tasks and over the negative controls: both must be shown, and fewer tasks show less.
    narrow = sum(task.is_control for task in tasks)
    count = narrow or len(tasks)
    if not count:
        yield f"warning: no task has the arm {NEGATIVE}, so nothing shows that an irrelevant skill does nothing"
        return
    # Without a share for power what is left is half of the 90 % interval, which equivalence is judged by.
    half = mde_from_sd(count, _spread(plan.choices.reps), alpha=0.1, power=0.5)
    half = None if half is None else max(half, least_half_width(count))
    if half is None or half > margin:
        about = "" if half is None else f", whose interval will be about +-{100 * half:.0f} points"
        kind = "negative control" if narrow else "task"
        yield f"note: a margin of {100 * margin:g} points cannot be shown with {count} {kind}{'s' * (count != 1)}{about}"
    full = any(arm.condition == FULL for arm in plan.choices.arms)
    chance = chance_to_pass_controls(narrow, len(tasks) - narrow, plan.choices.reps, margin, full)
    more = "; `effectiveness controls` writes more of them" if chance < _PASSES else ""
    yield (
        f"negative controls: {narrow} tasks, and {len(tasks) - narrow} more with the arm {NEGATIVE}, pass the validation "
        f"with probability {chance:.2f} if there is no bias (margin {100 * margin:g} points){more}"
    )


def _detectable(tasks: int, reps: int, tests: float, against: int = 1) -> float | None:
    from skill_health.stats.power import simulated_mde

    return simulated_mde(tasks, reps, tests, against)


def _useless(plan: TrialPlan) -> list[str]:
    """The arms that the target must beat beside the control, if a gain is to be the skill's own."""
    from skill_health.effectiveness.effects.contrasts import primary, useless_arms

    arms = {arm.name: arm for arm in plan.choices.arms}
    return [name for name in useless_arms(primary(arms)) if name in arms]


def _spread(reps: int) -> float:
    """The standard deviation of a task's difference of two means, where only the replications' own noise is left."""
    return math.sqrt(2 * _RATE * (1 - _RATE) * (1 - _WITHIN) / reps)


def _p(value: float) -> str:
    return f"{min(1.0, value):.2g}"
