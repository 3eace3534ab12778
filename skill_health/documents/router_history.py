"""A line of the router's history.

The last line of each model stands in other reports: it is read, never computed.

The router is another package, which may not even be installed: its file is taken as any other file, and whatever it
holds costs a note and not the run. One that is there and cannot be read is not taken for absent.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from skill_health.core.files import has_entry, read_if_there
from skill_health.documents._history import MOST, HistoryTail
from skill_health.documents._record import (
    Amount,
    CommitText,
    Count,
    Figure,
    Name,
    OpenRecord,
    Record,
    RunIdText,
    Share,
    TimeText,
    decode_record,
)

HISTORY = "router-history.jsonl"
SCHEMA = "skill-health/router-history/1"
MANIFEST = "manifest.json"
_MOST_MANIFEST = 16 << 20
_MOST_RUNS = 200


class RouterHistoryLine(Record, frozen=True, kw_only=True):
    """One line of router-history.jsonl: one model in one run."""

    ID: ClassVar = "skill-health/router-history/1"

    schema: Literal["skill-health/router-history/1"]
    """The version of this form."""
    time: TimeText | None
    """When the run began, in UTC; null where an imported run does not say."""
    run_id: RunIdText
    """The run, and its folder below router/ beside the history."""
    manifest: str
    """A hash of the manifest."""
    commit: CommitText | None
    """The commit of the collection; null outside git."""
    dirty: bool | None
    """Whether files of the collection differed from the commit; null where that is not known."""
    version: str
    """The version of skill-health."""
    model: Name
    """The model as it was named."""
    kind: Literal["local", "provider", "simulated"]
    """Where its answers come from."""
    resolved: tuple[str, ...]
    """The ids of the models that the provider named."""
    prompts: str | None
    """A hash of the prompts and their labels (the fixture)."""
    catalogue: str | None
    """A hash of the names and texts that were listed; null where that is not known."""
    template: RouterHistoryTemplate
    settings: RouterHistorySettings
    replications: Annotated[int, Meta(ge=1)]
    """How often each prompt was asked."""
    selection: Literal["all", "sweep", "filter"]
    """Which prompts were asked: all, filter (some), or sweep (those that an edit called for)."""
    imported: bool
    """Whether the run is another program's."""
    planned: Count
    """Planned calls."""
    n: Count
    """Calls that were answered, well or badly, and are scored."""
    coverage: Share | None
    """n of planned."""
    missing: Mapping[str, Annotated[int, Meta(ge=1)]]
    """Calls without a score by status; not_run are those without a result."""
    metrics: RouterHistoryMetrics
    failures: RouterHistoryFailures
    cost_usd: Amount | None
    """Dollars in all; null where none is known."""
    cost_known: Count
    """For how many calls the cost is known."""
    latency_ms: RouterHistoryLatency
    simulated: bool
    """Whether no model was asked at all."""
    trusted: bool | None
    """Whether the instrument check passed; null where it was not made or could not tell."""


class RouterHistoryTemplate(Record, frozen=True, kw_only=True):
    """The prompt template."""

    name: str
    version: str | None
    digest: str | None


class RouterHistorySettings(Record, frozen=True, kw_only=True):
    """How it was asked. Lines with other settings, prompts or template are not comparable."""

    mode: str
    listing: str
    orders: str
    index: str | None
    seed: int | None
    retrieve: Count = 0
    """How many skills a first stage left for each prompt; 0 where there was none."""
    retriever: str = ""
    """The first stage."""


class RouterHistoryMetrics(Record, frozen=True, kw_only=True):
    """What came out, each with its interval."""

    top1: Figure
    """The right answer comes first."""
    top3: Figure
    """It is among the first three."""
    acceptable: Figure
    """What comes first is right or acceptable."""
    mrr: Figure
    """The mean of 1 / place of the right answer."""
    ndcg3: Figure
    """nDCG at 3: right counts 2, acceptable 1."""
    abstention_precision: Figure
    """Of the abstentions, those where no skill applies."""
    abstention_recall: Figure
    """Where no skill applies, it abstains."""
    abstention_f1: Figure
    """Their harmonic mean."""
    false_fire: Figure
    """Where no skill applies, it picks one that is not acceptable."""
    rejected_at_1: Figure
    """A skill that must not fire comes first."""
    rejected_at_3: Figure
    """One is among the first three."""


class RouterHistoryFailures(Record, frozen=True, kw_only=True):
    """Answers that could not be used."""

    first_attempt: RouterHistoryFailureShare
    """At the first attempt."""
    after_retry: RouterHistoryFailureShare
    """After the second one that a failure of the format gets."""


class RouterHistoryFailureShare(Record, frozen=True, kw_only=True):
    """How many answers could not be used, and why."""

    rate: Figure
    """The share of answers that failed."""
    kinds: Mapping[str, Annotated[int, Meta(ge=1)]]
    """How many answers failed in each way."""


class RouterHistoryLatency(Record, frozen=True, kw_only=True):
    """Of the answered calls; null where it means nothing."""

    median: Amount | None
    p95: Amount | None


class ModelRouting(Record, frozen=True, kw_only=True):
    """The last run of one model."""

    model: str
    time: TimeText
    """When the run began, in UTC."""
    run_id: str
    top1: Share | None
    """The share of right answers; null where nothing was scored."""
    low: Share | None
    """The lower end of its 95 % interval."""
    high: Share | None
    """The upper end."""
    top1_n: Count
    """Calls with a right answer to count, which top1 is about."""
    n: Count
    """How many calls were scored."""
    planned: Count
    """How many calls were planned."""
    selection: str
    """Which prompts were asked: all, filter (some), or sweep (what an edit of descriptions called for)."""
    simulated: bool
    """Whether the answers were simulated."""
    trusted: bool | None
    """Whether the instrument check passed; null where it was not made."""
    changed: tuple[str, ...] | None
    """Skills with another description now than in that run; null where that is not known."""
    coverage: Share | None
    """n of planned; null where nothing was planned."""
    retrieved: Count = 0
    """How many skills a first stage left for each prompt; 0 where there was none."""


@dataclass(frozen=True, slots=True)
class RoutingHistory:
    """The models by name, and what is damaged; `lost` is the damage that models are left out for."""

    models: tuple[ModelRouting, ...] = ()
    problems: tuple[str, ...] = ()
    lost: str = ""


def read_routing(folder: str, descriptions: Mapping[str, str], about: Collection[str] = ()) -> RoutingHistory | None:
    """What the history in a folder of reports says of each model; None where there is no history.

    `descriptions` are the skills' as they are now, by name. A run over a sweep's selection stands in only where a
    model has no other, and a run that is known to list none of the skills that `about` names stands in for nothing.
    A model whose last run has a damaged manifest is left out: whether its figures still hold is not known. Raises
    UsageError for a file that cannot be read, and for nothing that one holds.
    """
    if not has_entry(os.path.join(folder, HISTORY)):
        return None
    whole: dict[str, RouterHistoryLine] = {}
    swept: dict[str, RouterHistoryLine] = {}
    texts: dict[str, dict[str, tuple[str, ...]] | None] = {}
    damaged: dict[str, str] = {}
    lines = HistoryTail(folder, HISTORY, RouterHistoryLine, {"schema": SCHEMA}, _is_sound)
    for line in lines:
        kept = swept if line.selection == "sweep" else whole
        if line.model in kept:
            continue
        if line.run_id not in texts:
            try:
                texts[line.run_id] = _listed(folder, line.run_id)
            except ValueError:
                texts[line.run_id] = None
                damaged[line.run_id] = (
                    f"router/{line.run_id}/{MANIFEST} is damaged: whether what the run measured still holds is not known"
                )
        listed = texts[line.run_id]
        if not about or listed is None or any(name in listed for name in about):
            kept[line.model] = line
        if len(texts) == _MOST_RUNS:
            break
    last = [line for _, line in sorted((swept | whole).items())]
    models = tuple(_routing(line, texts[line.run_id], descriptions) for line in last if line.run_id not in damaged)
    wrong = tuple(dict.fromkeys(damaged[line.run_id] for line in last if line.run_id in damaged))
    return RoutingHistory(models, (*lines.problems, *wrong), lines.lost or next(iter(wrong), ""))


def _is_sound(line: RouterHistoryLine) -> bool:
    top1 = line.metrics.top1
    shares = all(each is None or 0 <= each <= 1 for each in (top1.value, top1.low, top1.high))
    counts = line.n <= line.planned and max(line.planned, top1.n) <= MOST
    return shares and counts and line.time is not None


def _routing(
    line: RouterHistoryLine, then: Mapping[str, tuple[str, ...]] | None, now: Mapping[str, str]
) -> ModelRouting:
    """What a line says, with the skills whose description has changed. Names that several skills share are left out."""
    top1, changed = line.metrics.top1, None
    if then is not None:
        names = (
            name for name, texts in then.items() if len(texts) == 1 and name in now and texts[0] != _flat(now[name])
        )
        changed = tuple(sorted(names))
    return ModelRouting(
        model=line.model, time=line.time or "", run_id=line.run_id, top1=top1.value, low=top1.low, high=top1.high,
        top1_n=top1.n, n=line.n, planned=line.planned, selection=line.selection, simulated=line.simulated,
        trusted=line.trusted, changed=changed, coverage=line.n / line.planned if line.planned else None,
        retrieved=line.settings.retrieve,
    )  # fmt: skip


class _ListedSkill(OpenRecord, frozen=True, kw_only=True):
    name: str
    description: str


class _Listing(OpenRecord, frozen=True, kw_only=True):
    """As much of a run's manifest as says what it listed."""

    catalogue: tuple[_ListedSkill, ...]
    omitted: tuple[_ListedSkill, ...] | None = None


def _listed(folder: str, run: str) -> dict[str, tuple[str, ...]] | None:
    """The descriptions that a run listed, by name; None without a manifest. Raises ValueError for a damaged one."""
    raw = read_if_there(os.path.join(folder, "router", run, MANIFEST), _MOST_MANIFEST)
    if raw is None:
        return None
    manifest = decode_record(raw, _Listing)
    found: dict[str, tuple[str, ...]] = {}
    for skill in (*manifest.catalogue, *(manifest.omitted or ())):
        found[skill.name] = (*found.get(skill.name, ()), _flat(skill.description))
    return found


def _flat(text: str) -> str:
    return " ".join(text.split())
