"""The last line of each model in the router's history, for the daily report: read, never computed.

The router is another package, which may not even be installed: its file is taken as any other file, and whatever is
wrong with it costs a note and not the run. `core/schemas/router-history.schema.json` says what a line holds.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from skill_health.core.errors import SkillHealthError
from skill_health.core.files import read_bytes
from skill_health.core.history import read_backwards
from skill_health.documents._record import Amount, CommitText, Count, Figure, Name, Record, RunIdText, Share, TimeText
from skill_health.text.patterns import lazy

HISTORY = "router-history.jsonl"
SCHEMA = "skill-health/router-history/1"
# Further back nobody looks for a model that is still of interest.
_MOST_LINES = 20_000
_MOST_MANIFEST = 16 << 20
_MOST_RUNS = 200
_MOST = 10**12
_TIME = lazy(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_RUN = lazy(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


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
    """failures."""

    rate: Figure
    """The share of answers that failed."""
    kinds: Mapping[str, Annotated[int, Meta(ge=1)]]
    """How many answers failed in each way."""


class RouterHistoryLatency(Record, frozen=True, kw_only=True):
    """Of the answered calls; null where it means nothing."""

    median: Amount | None
    p95: Amount | None


@dataclass(frozen=True, slots=True)
class ModelRouting:
    """One model's last run. `top1` is its share of right answers with `low` and `high`, None where there is none.

    `top1_n` calls had a right answer to count, which `top1` is about; `n` of `planned` calls were scored. `selection`
    is "all", "filter" or "sweep": which prompts were asked. `trusted` is False where the instrument check failed, None
    where it was not made. `changed` names the skills whose description is another one now, and is None where that is
    not known.
    """

    model: str
    time: str
    run_id: str
    top1: float | None
    low: float | None
    high: float | None
    top1_n: int
    n: int
    planned: int
    selection: str
    simulated: bool
    trusted: bool | None
    changed: tuple[str, ...] | None = None

    @property
    def coverage(self) -> float | None:
        """The share of the planned calls that were scored; None where nothing was planned."""
        return self.n / self.planned if self.planned else None


@dataclass(frozen=True, slots=True)
class RoutingHistory:
    """The models by name, and what could not be read."""

    models: tuple[ModelRouting, ...] = ()
    problems: tuple[str, ...] = ()


def read_routing(folder: str, descriptions: Mapping[str, str], about: Collection[str] = ()) -> RoutingHistory | None:
    """What the history in a folder of reports says of each model; None where there is no history.

    `descriptions` are the skills' as they are now, by name. A run over a sweep's selection stands in only where a
    model has no other, and a run that is known to list none of the skills that `about` names stands in for nothing.
    Never raises for what the file holds or for a file that cannot be read.
    """
    path = os.path.join(folder, HISTORY)
    if not os.path.lexists(path):
        return None
    whole: dict[str, ModelRouting] = {}
    swept: dict[str, ModelRouting] = {}
    texts: dict[str, dict[str, tuple[str, ...]] | None] = {}
    wrong = 0
    try:
        for at, (_, raw) in enumerate(read_backwards(path)):
            if at == _MOST_LINES or len(texts) == _MOST_RUNS:
                break
            try:
                found = _line(raw)
            except (ValueError, RecursionError):
                wrong += 1
                continue
            kept = swept if found and found.selection == "sweep" else whole
            if not found or found.model in kept:
                continue
            if found.run_id not in texts:
                texts[found.run_id] = _listed(folder, found.run_id)
            listed = texts[found.run_id]
            if not about or listed is None or any(name in listed for name in about):
                kept[found.model] = found
    except SkillHealthError as error:
        return RoutingHistory(problems=(str(error).replace(path, HISTORY),))
    models = tuple(_marked(each, texts[each.run_id], descriptions) for _, each in sorted((swept | whole).items()))
    return RoutingHistory(models, _left_out(wrong))


def _left_out(wrong: int) -> tuple[str, ...]:
    if not wrong:
        return ()
    return (f"{wrong} line{'s' * (wrong != 1)} of {HISTORY} {'is' if wrong == 1 else 'are'} damaged and left out",)


def _line(raw: bytes) -> ModelRouting | None:
    """One line as far as it is shown; None for an object of another kind. Raises ValueError for a damaged one."""
    record = json.loads(raw.decode("utf-8"))
    if not isinstance(record, dict):
        raise ValueError("not an object")
    if record.get("schema") != SCHEMA:
        return None
    top1, trusted = _object(record.get("metrics")).get("top1"), record.get("trusted")
    estimate = _object(top1)
    n, planned = _whole(record.get("n")), _whole(record.get("planned"))
    if n > planned:
        raise ValueError("more was scored than planned")
    return ModelRouting(
        model=_matching(record.get("model"), None),
        time=_matching(record.get("time"), _TIME),
        run_id=_matching(record.get("run_id"), _RUN),
        top1=_share(estimate.get("value")),
        low=_share(estimate.get("low")),
        high=_share(estimate.get("high")),
        top1_n=_whole(estimate.get("n", n)),
        n=n,
        planned=planned,
        selection=_matching(record.get("selection"), None),
        simulated=record.get("simulated") is True,
        trusted=trusted if isinstance(trusted, bool) else None,
    )


def _marked(routed: ModelRouting, then: Mapping[str, tuple[str, ...]] | None, now: Mapping[str, str]) -> ModelRouting:
    """The same, with the skills whose description has changed. A name that stands for several skills is passed over."""
    if then is None:
        return routed
    changed = [name for name, texts in then.items() if len(texts) == 1 and name in now and texts[0] != _flat(now[name])]
    return replace(routed, changed=tuple(sorted(changed)))


def _listed(folder: str, run: str) -> dict[str, tuple[str, ...]] | None:
    """The descriptions that a run listed, by name; None where its manifest does not tell."""
    path = os.path.join(folder, "router", run, "manifest.json")
    try:
        if os.path.getsize(path) > _MOST_MANIFEST:
            return None
        manifest = json.loads(read_bytes(path)[0])
        found: dict[str, tuple[str, ...]] = {}
        for skill in [*manifest["catalogue"], *(manifest.get("omitted") or ())]:
            found[skill["name"]] = (*found.get(skill["name"], ()), _flat(skill["description"]))
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return None
    return found


def _flat(text: str) -> str:
    return " ".join(text.split())


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def _matching(value: Any, pattern: re.Pattern[str] | None) -> str:
    if not isinstance(value, str) or not value.strip() or (pattern and not pattern.fullmatch(value)):
        raise ValueError("not such a text")
    return value


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST:
        raise ValueError("not a count")
    return value


def _share(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError("not a share")
    return float(value)
