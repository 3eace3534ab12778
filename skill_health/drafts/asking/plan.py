"""Questions and the models that are asked them -> everything that is settled before the first call."""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from skill_health import __version__
from skill_health.bench import journal
from skill_health.bench.budget import beyond_caps, dollars
from skill_health.bench.http.endpoint import Endpoint, base_url, key_variable, open_endpoint
from skill_health.bench.http.messages import Usage
from skill_health.bench.manifest import digest
from skill_health.bench.prices import PriceTable, TieredPrice, at_most, cost, price_table
from skill_health.bench.providers._api import ProviderProtocol
from skill_health.bench.redact import keys_in_use
from skill_health.bench.run_folder import Kind, RunLocation, find_place
from skill_health.config.settings import Provider, RouterSettings
from skill_health.core.errors import UsageError
from skill_health.core.extras import missing_modules, tell_missing
from skill_health.documents._record import convert_record, record_values
from skill_health.documents.draft_answer import DraftAnswer
from skill_health.documents.draft_manifest import DraftManifest, FrozenQuestion, FrozenWriter
from skill_health.router.routers._load import PROVIDER, resolve

DRAFTING = "drafting"
"""The kind of a drafting in its manifest, and the folder of its runs."""
DraftedThing = Literal["prompts", "tasks", "descriptions", "leaks"]
BYTES_PER_TOKEN, MARGIN = 4, 1.5
"""How many bytes a token has, and how far above that estimate the tokens of a question may lie."""


@dataclass(frozen=True, slots=True)
class OpenWriter:
    """A model that is ready. `endpoint` is None for one that is only described."""

    spec: str
    model: str
    protocol: ProviderProtocol
    provider: Provider
    where: str
    endpoint: Endpoint | None
    price: TieredPrice | None

    def most_usd(self, size: int, output: int) -> float:
        """The most dollars of one attempt: a question of so many bytes, an answer of so many tokens; 0 for no price."""
        tokens = min(size, math.ceil(size / BYTES_PER_TOKEN * MARGIN))
        return 0.0 if self.price is None else at_most(self.price, tokens, output)


@dataclass(frozen=True, slots=True)
class DraftQuestion:
    """What is asked: the user's turn, the rules before it, and the JSON Schema of the answer."""

    text: str
    system: str = ""
    schema: Mapping[str, Any] | None = None

    @property
    def size(self) -> int:
        """Its bytes."""
        return len(f"{self.system}{self.text}{self.schema or ''}".encode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class PlannedQuestion:
    """One question of a plan.

    `make` gives the question, from the texts of the answers to the questions it comes `after`, by their ids (those that
    have none are missing); None where nothing is left to ask. `read` says what is wrong with the form of an answer, ""
    where nothing is: such an answer is asked for once more. `recipe` stands for the question in the manifest, `size`
    for its bytes in a forecast; `typical` are the tokens that an answer usually has.
    """

    question: str
    writer: OpenWriter
    make: Callable[[Mapping[str, str]], DraftQuestion | None]
    read: Callable[[str], str]
    recipe: str
    size: int
    max_output: int
    typical: int
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DraftingPlan:
    """What is asked."""

    of: DraftedThing
    seed: int
    questions: tuple[PlannedQuestion, ...]

    @property
    def writers(self) -> tuple[OpenWriter, ...]:
        """Who is asked, each once."""
        return tuple({planned.writer.spec: planned.writer for planned in self.questions}.values())


@dataclass(frozen=True, slots=True)
class PreparedDrafting:
    """A drafting that can begin. `keys` are kept out of files; `created` is when it began first."""

    plan: DraftingPlan
    place: RunLocation
    prices: PriceTable
    keys: tuple[str, ...]
    created: datetime
    run_id: str


def _keys(values: Mapping[str, Any]) -> Iterator[journal.Key]:
    yield from ((each.question,) for each in convert_record(values, DraftManifest).questions)


OF_DRAFTING = Kind(
    DRAFTING,
    ("question",),
    _keys,
    lambda values: values.get("questions"),
    lambda values: convert_record(values, DraftAnswer).scored,
)
"""Draftings, for what is the same for all journals."""


def open_writer(spec: str, routing: RouterSettings, prices: PriceTable, keyless: bool = False) -> OpenWriter:
    """Open a model of a provider; a `keyless` one can be described and not be asked.

    Raises UsageError for a name that is none, a missing key, or a missing package.
    """
    choice = resolve(spec, routing)
    if choice.kind != PROVIDER or choice.protocol is None:
        raise UsageError(f"{spec} ranks skills and writes nothing: name a model of a provider, PROVIDER:MODEL")
    if missing_modules(choice.module.IMPORTS):
        raise UsageError(tell_missing(spec, choice.module.EXTRA, choice.module.IMPORTS[0]))
    try:
        where = base_url(choice.provider, choice.protocol)
        endpoint = None if keyless else open_endpoint(choice.provider, choice.protocol)
    except UsageError as error:
        raise UsageError(f"{spec}: {error}") from None
    price = prices.price_of(choice.protocol.name, spec, choice.model)
    provider = choice.provider or Provider(choice.protocol.name)
    return OpenWriter(spec, choice.model, choice.protocol, provider, where, endpoint, price)


def prepare_drafting(
    plan: DraftingPlan,
    routing: RouterSettings,
    reports: str,
    time: datetime,
    *,
    named: str = "",
    anew: bool = False,
) -> PreparedDrafting:
    """Freeze what is asked and find the folder of the run; nothing is written or asked.

    That is the run that is `named`, else an unfinished one of the same identity (not when `anew`), else a new one.
    Raises UsageError for everything that the user can fix.
    """
    prices = price_table(routing)
    keys = keys_in_use(key_variable(writer.provider, writer.protocol) for writer in plan.writers)
    manifest = _freeze(plan, prices, time)
    place = find_place(reports, record_values(manifest), time, OF_DRAFTING, named, anew, keys)
    begun = convert_record(place.manifest if place.stored is None else place.stored, DraftManifest)
    return PreparedDrafting(plan, place, prices, keys, datetime.fromisoformat(begun.created), begun.run_id)


def _freeze(plan: DraftingPlan, prices: PriceTable, time: datetime) -> DraftManifest:
    return DraftManifest(
        version=1,
        kind="drafting",
        run_id="new",
        created=f"{time:%Y-%m-%dT%H:%M:%SZ}",
        tool_version=__version__,
        python=platform.python_version(),
        of=plan.of,
        seed=plan.seed,
        hashes={"prices": prices.digest},
        models=tuple(
            FrozenWriter(
                spec=writer.spec, protocol=writer.protocol.name, base_url=writer.where,
                price=writer.price.to_json() if writer.price else None,
            )
            for writer in plan.writers
        ),
        price_table=prices.version,
        questions=tuple(
            FrozenQuestion(
                question=each.question, model=each.writer.spec, digest=digest(each.recipe), after=each.after,
                max_output=each.max_output,
            )
            for each in plan.questions
        ),
    )  # fmt: skip


def forecast_lines(prepared: PreparedDrafting, max_runs: int | None, max_usd: float | None) -> Iterator[str]:
    """What a drafting asks and costs, and which caps are below that. Answers that are there cost nothing more."""
    done = {key[0] for key in prepared.place.done}
    left = [planned for planned in prepared.plan.questions if planned.question not in done]
    low_all: float | None = 0.0
    for writer in prepared.plan.writers:
        mine = [planned for planned in left if planned.writer.spec == writer.spec]
        low, high = _costs(writer, mine)
        low_all = None if low is None or low_all is None else low_all + low
        yield f"{writer.spec}: {len(mine)} calls, {dollars(low, high)}"
    if done:
        yield f"{len(done)} answers are there already, from {prepared.run_id} (--no-resume asks anew)"
    yield from beyond_caps(len(left), low_all, max_runs, max_usd)


def _costs(writer: OpenWriter, planned: Sequence[PlannedQuestion]) -> tuple[float | None, float | None]:
    """The dollars of answers of usual length, and the most that they may cost, asked once more each."""
    if writer.price is None:
        return None, None
    usual = [cost(writer.price, Usage(each.size // BYTES_PER_TOKEN, each.typical)) or 0.0 for each in planned]
    most = [2 * writer.most_usd(each.size, each.max_output) for each in planned]
    return math.fsum(usual), math.fsum(most)
