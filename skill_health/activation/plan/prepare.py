"""Inputs and choices -> what is settled before the first agent is started: plan, manifest, place and forecast."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from statistics import fmean

from skill_health import __version__
from skill_health.activation.plan.inputs import ActivationChoices, ActivationInputs
from skill_health.activation.plan.plan import ACTIVATION, OF_ACTIVATION, ActivationPlan
from skill_health.activation.run.runs import read_load_result
from skill_health.bench.budget import add_known, dollars
from skill_health.bench.http.messages import Usage
from skill_health.bench.journal import RESULTS, readable_lines
from skill_health.bench.prices import PriceTable, TieredPrice, at_most, cost, price_table
from skill_health.bench.progress import duration
from skill_health.bench.run_folder import RunLocation, earlier_runs, find_place, revision_of
from skill_health.config.settings import RouterSettings
from skill_health.core.errors import UsageError
from skill_health.discovery.changes import Revision
from skill_health.documents._record import convert_record, record_values
from skill_health.documents.activation_manifest import ActivationManifest
from skill_health.documents.activation_result import LoadKey
from skill_health.documents.router_manifest import FrozenSelection
from skill_health.effectiveness.plan.choices import TrialChoices
from skill_health.effectiveness.plan.opening import freeze_agent, open_models, open_sandbox, secrets_of, with_terms_of
from skill_health.effectiveness.plan.plan import AgentModel, config_digest, freeze_skill, skills_digest
from skill_health.effectiveness.records import FULL, Arm
from skill_health.router.listing import catalogue_digest
from skill_health.router.plan.manifest import freeze_listing, prompts_digest
from skill_health.router.routers._load import LOCAL, resolve
from skill_health.text.numbers import count

AT_ONCE = 4
"""Agents under way at once, unless somebody says otherwise."""
TURN = Usage(input_tokens=40_000, output_tokens=4_000)
"""Tokens that one turn is assumed to take at most. Their price, for all turns, is the cap of a request."""
TYPICAL = Usage(input_tokens=35_000, output_tokens=400, cached_tokens=15_000)
"""Tokens of a request that ends with its first skill, where no earlier run says what one costs."""
_FOLDERS, _FEWEST, _MOST = 20, 5, 1_000
_FEW_NONE = 10


@dataclass(frozen=True, slots=True)
class LoadForecast:
    """What one agent is going to take; what is not known is None."""

    model: AgentModel
    calls: int
    usd_low: float | None
    usd_high: float | None
    seconds: float | None
    earlier: int

    def words(self, width: int) -> str:
        """One line of the table."""
        money = "simulated, free" if self.model.choice.agent.SIMULATED else dollars(self.usd_low, self.usd_high)
        pace = "" if self.seconds is None else f", about {duration(self.seconds)}"
        rests = f" (from {self.earlier:,} earlier requests)" if self.earlier >= _FEWEST else ""
        return f"{self.model.spec.ljust(width)}  {count(self.calls, 'request')}, {money}{rests}{pace}"


@dataclass(frozen=True, slots=True)
class ActivationForecast:
    """The forecast of a run."""

    models: tuple[LoadForecast, ...]
    seconds_most: float
    price_version: str
    notes: tuple[str, ...]

    @property
    def calls(self) -> int:
        """How many requests are left to be made."""
        return sum(each.calls for each in self.models)

    @property
    def usd_low(self) -> float | None:
        """Dollars as far as they can be known; None where a price is not."""
        return add_known((each.usd_low for each in self.models), 6)

    def lines(self) -> list[str]:
        """The forecast for people."""
        width = max((len(each.model.spec) for each in self.models), default=0)
        high = add_known((each.usd_high for each in self.models), 6)
        found = [f"forecast: {count(self.calls, 'request')}", *(f"  {each.words(width)}" for each in self.models)]
        if not all(each.model.choice.agent.SIMULATED for each in self.models):
            found.append(f"  cost: {dollars(self.usd_low, high)} by {self.price_version}")
        found.append(f"  time: at most {duration(self.seconds_most)}, where every request takes all the time it has")
        return [*found, *(f"  {note}" for note in self.notes)]


@dataclass(frozen=True, slots=True)
class PreparedActivation:
    """A run that can begin."""

    plan: ActivationPlan
    place: RunLocation
    prices: PriceTable
    forecast: ActivationForecast
    reports: str


def prepare(
    inputs: ActivationInputs,
    choices: ActivationChoices,
    selection: FrozenSelection,
    reports: str,
    time: datetime,
    *,
    named: str = "",
    anew: bool = False,
    keyless: bool = False,
    concurrency: int = AT_ONCE,
) -> PreparedActivation:
    """Find the agents and the sandbox, freeze what is asked, and find the folder of the run.

    That is the run that is `named`, else an unfinished one of the same identity (not when `anew`), else a new one.
    Nothing is written and nobody is asked; `keyless` models never can be. Raises UsageError for everything that the
    user can fix.
    """
    routing, skills = inputs.config.router, inputs.skills
    prices = price_table(routing)
    for spec in choices.routers:
        if resolve(spec, routing).kind != LOCAL:
            raise UsageError(
                f"--router {spec}: only free routers are asked on the spot; name a run of it by --router-run"
            )
    terms = TrialChoices(
        agents=choices.agents, arms=(Arm(FULL, delivery=choices.delivery),), seed=choices.seed, max_usd=choices.max_usd,
        weaker_proof=choices.weaker_proof, settings=choices.settings,
    )  # fmt: skip
    models = tuple(_capped(model, choices) for model in open_models(terms, routing, prices, keyless))
    smaller = [size for size in choices.sizes if size < len(skills)]
    plan = ActivationPlan(
        prompts=inputs.prompts,
        models=models,
        skills=skills,
        sizes=(*smaller, len(skills)),
        choices=choices,
        sandbox=open_sandbox(models, choices.sandbox, choices.image),
        secrets=secrets_of(models),
    )
    manifest = to_manifest(plan, inputs, routing, prices, selection, revision_of(inputs.root, reports), time)
    place = find_place(reports, record_values(manifest), time, OF_ACTIVATION, named, anew, plan.secrets)
    if place.stored is not None:
        plan = replace(plan, models=with_terms_of(models, convert_record(place.stored, ActivationManifest).models))
    done = {(str(a), str(b), int(c), int(d)) for a, b, c, d in place.done}
    told = _forecast(plan, prices.version, reports, done, concurrency)
    return PreparedActivation(plan, place, prices, told, reports)


def _capped(model: AgentModel, choices: ActivationChoices) -> AgentModel:
    """The model with the cap of one request: what was asked for, else the price of its turns."""
    if model.price is None or model.price.free or choices.max_usd is not None:
        return model
    most = at_most(model.price, choices.turns * (TURN.input_tokens or 0), choices.turns * (TURN.output_tokens or 0))
    return replace(model, max_usd=most)


def to_manifest(
    plan: ActivationPlan,
    inputs: ActivationInputs,
    routing: RouterSettings,
    prices: PriceTable,
    selection: FrozenSelection,
    revision: Revision,
    time: datetime,
) -> ActivationManifest:
    """The manifest of a run, but that the name of its folder will have a mark, too."""
    choices, skills = plan.choices, tuple(map(freeze_skill, plan.skills.values()))
    return ActivationManifest(
        version=1,
        kind="activation",
        run_id=f"{time:%Y%m%dT%H%M%SZ}",
        created=f"{time:%Y-%m-%dT%H:%M:%SZ}",
        tool_version=__version__,
        python=platform.python_version(),
        commit=revision.commit,
        dirty=revision.dirty,
        seed=choices.seed,
        replications=choices.reps,
        turns=choices.turns,
        timeout_sec=choices.timeout_sec,
        sizes=plan.sizes,
        delivery=choices.delivery,
        listing=inputs.catalogue.listing,
        sandbox=plan.sandbox,
        hashes={
            "catalogue": catalogue_digest(inputs.catalogue),
            "prompts": prompts_digest(plan.prompts),
            "skills": skills_digest(skills),
            "config": config_digest(routing, [model.spec for model in plan.models], choices.settings),
            "prices": prices.digest,
        },
        models=tuple(freeze_agent(model, plan.probes(), FULL, routing) for model in plan.models),
        price_table=prices.version,
        skills=skills,
        catalogue=freeze_listing(inputs.catalogue.shown),
        prompts=plan.prompts,
        selection=selection,
    )


def _forecast(
    plan: ActivationPlan, version: str, reports: str, done: Collection[LoadKey], concurrency: int
) -> ActivationForecast:
    left = Counter(planned.model.spec for planned in plan.loads() if planned.key not in done)
    earlier = _read_earlier(reports, [model.spec for model in plan.models])
    limits = plan.at_once(concurrency)
    models = []
    for model in plan.models:
        usd, seconds = earlier[model.spec]
        calls, known = left[model.spec], len(usd) >= _FEWEST
        low, high = _money(model.price, model.max_usd, fmean(usd) if known else None)
        pace = calls * fmean(seconds) / limits[model.server] if len(seconds) >= _FEWEST else None
        each = [None if one is None else round(one * calls, 6) for one in (low, high)]
        models.append(LoadForecast(model, calls, each[0], each[1], pace, max(len(usd), len(seconds))))
    most = sum(left.values()) * plan.choices.timeout_sec / max(1, min(concurrency, sum(limits.values())))
    return ActivationForecast(tuple(models), most, version, tuple(_study_notes(plan)))


def _money(price: TieredPrice | None, cap: float | None, usual: float | None) -> tuple[float | None, float | None]:
    """Dollars of one request: as earlier ones or typical ones cost, and at most."""
    if price is None:
        return None, None
    if price.free:
        return 0.0, 0.0
    usual = cost(price, TYPICAL) if usual is None else usual
    return (usual if cap is None or usual is None else min(usual, cap)), cap


def _read_earlier(reports: str, specs: Collection[str]) -> dict[str, tuple[list[float], list[float]]]:
    """Dollars and seconds of earlier requests of each model; what cannot be read is passed over."""
    found: dict[str, tuple[list[float], list[float]]] = {spec: ([], []) for spec in specs}
    for number, (folder, _) in enumerate(earlier_runs(reports, ACTIVATION)):
        if number == _FOLDERS:
            break
        for result in readable_lines(f"{folder}/{RESULTS}", read_load_result):
            mine = found.get(result.model)
            if mine is not None and result.scored and len(mine[1]) < _MOST:
                mine[0].extend([result.cost_usd] if result.cost_usd is not None else [])
                mine[1].extend([result.duration_ms / 1000] if result.duration_ms is not None else [])
    return found


def _study_notes(plan: ActivationPlan) -> list[str]:
    """What the labels can tell, and what they cannot."""
    positive = [prompt for prompt in plan.prompts if prompt.expected]
    none = sum(prompt.known and prompt.expected is None for prompt in plan.prompts)
    near = sum(bool(prompt.rejected) for prompt in plan.prompts)
    asked = len({prompt.expected for prompt in positive})
    lines = [
        f"prompts: {len(positive)} expect one of {count(asked, 'skill')}, {none} expect none, {near} name a skill that must "
        "not fire"
    ]
    if not positive:
        lines.append("warning: no prompt expects a skill, so recall is not testable")
    if none < _FEW_NONE:
        lines.append(f"note: {none} prompts for no skill: how often a skill fires there will hardly be known")
    if not near:
        lines.append("note: no prompt is a near miss of a skill, so false fires on them are not testable")
    return lines
