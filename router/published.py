"""Results of the plan's published runner -> a run of ours: a manifest with what is not known left open, and results.

Raw answers are read again, as ours are: what the runner took out of prose, or counted as an answer though it named no
skill, is a failure of the format here. Whether an answer is right is judged by the labels that are given, never
copied.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from skill_health import __version__
from skill_health.bench.journal import MANIFEST, RESULTS
from skill_health.bench.manifest import digest
from skill_health.bench.run.questions import ReadAttempt
from skill_health.core.errors import UsageError
from skill_health.core.files import MAX_BYTES, is_there, read_small, write_text
from skill_health.core.strict_json import JsonProblem, parse_object
from skill_health.documents._record import OpenRecord, convert_record, record_values
from skill_health.documents.router_attempt import AttemptReply
from skill_health.documents.router_manifest import FrozenRouter, FrozenSelection, FrozenTemplate, RouterManifest
from skill_health.router.plan.manifest import freeze_listing, prompts_digest
from skill_health.router.plan.orders import plan_seed, shuffled
from skill_health.router.plan.plan import UNNAMED
from skill_health.router.records import Catalogue, Prompt, RankedReply, Reply, RoutingResult, Status
from skill_health.router.run.outcome import RoutedAttempt, read_attempt, to_kept, to_result
from skill_health.text.near import list_some
from skill_health.text.patterns import lazy
from skill_health.text.terminal import clean

MOST_REPLICATIONS = 1_000
LONGEST_NAME = 200
RunnerName = Annotated[str, Meta(pattern=r"\S", max_length=LONGEST_NAME)]
RunnerSeed = Annotated[int, Meta(ge=0, lt=2**32)]


class CallRecord(OpenRecord, frozen=True, kw_only=True):
    """One call as the runner kept it; replications count from 0.

    `text` is the raw answer, None where it was not kept. `path` is the file that it was read from.
    """

    prompt_id: RunnerName
    model: RunnerName = msgspec.field(name="model_id")
    replication: Annotated[int, Meta(ge=0, lt=MOST_REPLICATIONS)] = msgspec.field(name="rep")
    status: Literal["finished", "format_failure", "model_unavailable", "error", "cancelled", "dry_run"]
    text: str | None = msgspec.field(name="raw_text", default=None)
    predicted_top3: tuple[str, ...] | None = None
    predicted_primary: str | None = None
    shuffle_seed: RunnerSeed | None = None
    attempts: Annotated[int, Meta(ge=0, le=100)] | list[Any] = 1
    duration_ms: Annotated[float, Meta(ge=0, le=1e300)] | None = None
    notes: str | None = None
    path: str = ""

    @property
    def key(self) -> tuple[str, str, int]:
        """What there is one record for."""
        return self.prompt_id, self.model, self.replication

    @property
    def top3(self) -> tuple[str, ...]:
        """What the runner read from the answer, first name first."""
        if self.predicted_top3 is not None:
            return self.predicted_top3
        return () if self.predicted_primary is None else (self.predicted_primary,)

    @property
    def tried(self) -> int:
        """How many attempts there were: the runner kept a number, or a list of them."""
        return max(1, len(self.attempts) if isinstance(self.attempts, list) else self.attempts)


def read_object(path: str) -> dict[str, Any]:
    """The JSON object of a small file. Raises ValueError with what is wrong."""
    data = read_small(path)
    if data is None:
        raise ValueError(f"it cannot be read, or is larger than {MAX_BYTES >> 20} MiB")
    try:
        return parse_object(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    except JsonProblem as problem:
        raise ValueError(str(problem)) from None


def to_record(name: str, data: Mapping[str, Any]) -> CallRecord:
    """The record that an object is, from the file of this name. Raises ValueError with what is wrong."""
    return msgspec.structs.replace(convert_record(data, CallRecord), path=name)


SUMMARY = "summary.json"
MOST_FILES = 200_000
_FOLDER = lazy(r"(\d{4}-\d\d-\d\d)-(\d{1,10})")
_TIME = lazy(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?Z")
_COMMIT = lazy(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class RunDescription:
    """What is known of the run as a whole; None where it is not. `created` is UTC to the second."""

    seed: int | None = None
    created: str | None = None
    commit: str | None = None
    fixture: str | None = None
    replications: int | None = None
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanRun:
    """A folder of results: its records by key, in the order of their keys, and one line for each file that is none."""

    about: RunDescription
    records: Mapping[tuple[str, str, int], CallRecord]
    problems: tuple[str, ...]


def read_folder(folder: str) -> PlanRun:
    """Read a folder of results. Raises UsageError where it cannot be read or holds nothing of the kind."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    except OSError as error:
        raise UsageError(f"cannot read {folder}: {error.strerror or error}") from error
    if len(names) > MOST_FILES:
        raise UsageError(f"{folder} holds {len(names)} files: more than {MOST_FILES} are not read")
    found: dict[tuple[str, str, int], CallRecord] = {}
    problems = []
    for name in names:
        if name == SUMMARY:
            continue
        try:
            record = to_record(name, read_object(os.path.join(folder, name)))
        except ValueError as error:
            problems.append(f"{name}: {error}; it is left out")
            continue
        first = found.setdefault(record.key, record)
        if first is not record:
            problems.append(f"{name}: the same call as {first.path}; it is left out")
    if not found:
        why = f" ({problems[0]})" if problems else ""
        raise UsageError(f"{folder} holds no results of the plan's runner: no <prompt>-<model>-<replication>.json{why}")
    about, note = _about(folder)
    return PlanRun(about, {key: found[key] for key in sorted(found)}, (*note, *problems))


def _about(folder: str) -> tuple[RunDescription, tuple[str, ...]]:
    """What the summary says, and what the folder's name says where the summary does not."""
    data: Mapping[str, Any] = {}
    note: tuple[str, ...] = ()
    if is_there(path := os.path.join(folder, SUMMARY)):
        try:
            data = read_object(path)
        except ValueError as error:
            note = (f"{SUMMARY}: {error}; it is left out",)
    named = _FOLDER.fullmatch(os.path.basename(os.path.abspath(folder)))
    day, seed = (named[1], int(named[2])) if named else (None, None)
    time = _TIME.fullmatch(str(data.get("timestamp")))
    begun = _real(f"{time[1]}Z" if time else f"{day}T00:00:00Z" if day else "")
    models = data.get("models")
    return RunDescription(
        seed=_known(data.get("seed"), 2**32 - 1, seed),
        created=begun,
        commit=found if _COMMIT.fullmatch(found := str(data.get("repo_sha"))) else None,
        fixture=str(data["fixture_sha"]) if isinstance(data.get("fixture_sha"), str) else None,
        replications=_known(data.get("reps"), MOST_REPLICATIONS, None) or None,
        models=tuple(_names(models)),
    ), note


def _real(time: str) -> str | None:
    """The time, where the calendar has it."""
    try:
        datetime.fromisoformat(time)
    except ValueError:
        return None
    return time


def _known(value: Any, most: int, default: int | None) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most else default


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        yield from (each for each in value if isinstance(each, str) and each.strip() and len(each) <= LONGEST_NAME)


TEMPLATE = FrozenTemplate(name="plan", version=None, digest=None, none_allowed=False)
NO_RAW_TEXT = "no_raw_text"
_MISSING: dict[str, Status] = {
    "model_unavailable": "model_unavailable", "error": "provider_error", "cancelled": "cancelled", "dry_run": "dry_run",
}  # fmt: skip
_NO_TIME = "00000000T000000Z"


@dataclass(frozen=True, slots=True)
class Imported:
    """A run as it is written, and what somebody should know of it, one line each."""

    manifest: RouterManifest
    results: tuple[RoutingResult, ...]
    notes: tuple[str, ...]


def import_run(plan: PlanRun, prompts: Sequence[Prompt], catalogue: Catalogue, whole: bool) -> Imported:
    """Put the plan's records beside labels and skills.

    `whole` says that `prompts` are exactly those of the run, so that one without any record is missing data; otherwise
    only prompts with a record count. Records of other prompts are left out, which the notes say.
    """
    asked = {record.prompt_id for record in plan.records.values()}
    kept = [prompt for prompt in prompts if whole or prompt.prompt_id in asked]
    known = {prompt.prompt_id: prompt for prompt in kept}
    models = list(dict.fromkeys([*plan.about.models, *sorted({record.model for record in plan.records.values()})]))
    most = max(record.replication for record in plan.records.values()) + 1
    replications = max(most, plan.about.replications or 1)
    notes = list(plan.problems)
    found: dict[tuple[str, str, int], RoutingResult] = {}
    read = _Reading(catalogue, plan.about.seed)
    for key, record in plan.records.items():
        if record.prompt_id in known:
            found[key] = read.result(record, known[record.prompt_id])
        else:
            notes.append(f"{record.path}: there is no prompt {record.prompt_id!r} in the given prompts; it is left out")
    ordered = [
        found[key]
        for prompt in kept
        for model in models
        for replication in range(replications)
        if (key := (prompt.prompt_id, model, replication)) in found
    ]
    manifest = _manifest(plan, kept, catalogue, models, replications)
    known_of = record_values(manifest)
    # A run's name is no part of what names it.
    del known_of["run_id"]
    mark = digest([known_of, [record_values(result) for result in ordered]])
    stamp = (plan.about.created or "").replace("-", "").replace(":", "") or _NO_TIME
    manifest = msgspec.structs.replace(manifest, run_id=f"{stamp}-imported-{mark[:8]}")
    return Imported(manifest, tuple(ordered), (*map(clean, notes), *read.notes()))


def write_run(folder: str, run: Imported) -> None:
    """Write the results and then the manifest, without which a folder is no run. Raises UsageError."""
    lines = (
        json.dumps(record_values(result), sort_keys=True, ensure_ascii=True, allow_nan=False) for result in run.results
    )
    write_text(os.path.join(folder, RESULTS), "".join(f"{line}\n" for line in lines))
    text = json.dumps(record_values(run.manifest), sort_keys=True, ensure_ascii=True, allow_nan=False)
    write_text(os.path.join(folder, MANIFEST), f"{text}\n")


class _Reading:
    """Records -> results, and what was noticed on the way."""

    def __init__(self, catalogue: Catalogue, seed: int | None) -> None:
        self._names, self._seed = catalogue.names, seed
        self._stricter: Counter[str] = Counter()
        self._unlike: list[str] = []

    def result(self, record: CallRecord, prompt: Prompt) -> RoutingResult:
        """The result of one record."""
        last = self._attempt(record)
        if record.status == "finished" and last.outcome == "format_failure":
            self._stricter.update(last.answer.kinds)
        elif record.top3 and last.answer.ranking[:1] not in ((), record.top3[:1]):
            self._unlike.append(record.path)
        again = record.tried > 1 and last.answered
        first = [_attempt("format_failure")] if again else []
        order = self._order(record)
        result = to_result(prompt, record.model, record.replication, order, [*first, last])
        return msgspec.structs.replace(result, attempts=record.tried)

    def notes(self) -> Iterator[str]:
        """What differs from how the runner read the answers."""
        if self._stricter:
            kinds = ", ".join(f"{kind} {n}" for kind, n in sorted(self._stricter.items()))
            yield f"answers that the plan's runner counted as finished, and that are format failures: {kinds}"
        if self._unlike:
            names = clean(list_some(self._unlike))
            yield f"another skill comes first in the raw text than in the record, and the raw text counts: {names}"

    def _attempt(self, record: CallRecord) -> RoutedAttempt:
        notes = clean(" ".join((record.notes or "").split()))[:500]
        if record.status in _MISSING:
            return _attempt(_MISSING[record.status], record.duration_ms, notes)
        if record.text is None and record.status == "format_failure":
            return _attempt("format_failure", record.duration_ms, answer=RankedReply(notes=(NO_RAW_TEXT,)))
        if record.text is not None and (record.text.strip() or not record.top3):
            return self._read(record.text, record)
        read = self._read(_answer(record.top3), record)
        answer = replace(read.answer, confidence=None, notes=(*read.answer.notes, NO_RAW_TEXT))
        return replace(read, answer=answer)

    def _read(self, text: str, record: CallRecord) -> RoutedAttempt:
        kept = to_kept(Reply(text=text, duration_ms=record.duration_ms), None)
        return read_attempt(kept, self._names, none_allowed=False)

    def _order(self, record: CallRecord) -> tuple[str, ...]:
        """The presentation, as far as it is known; it supposes that the collection is the one that was presented."""
        seed = record.shuffle_seed
        if seed is None and self._seed is not None:
            seed = plan_seed(record.prompt_id, record.model, record.replication, self._seed)
        return () if seed is None else shuffled(self._names, seed)


def _attempt(
    outcome: Status,
    duration_ms: float | None = None,
    error: str = "",
    answer: RankedReply = RankedReply(),  # noqa: B008
) -> RoutedAttempt:
    """An attempt of which no text is kept."""
    return ReadAttempt(AttemptReply(outcome=outcome, duration_ms=duration_ms, error=error), answer)


def _answer(ranking: Sequence[str]) -> str:
    """An answer as it would have been given, for a record that kept only what was read from it."""
    return json.dumps({"ranking": list(ranking), "confidence": 0, "rationale": ""})


def _manifest(
    plan: PlanRun, prompts: Sequence[Prompt], catalogue: Catalogue, models: Sequence[str], replications: int
) -> RouterManifest:
    about = plan.about
    return RouterManifest(
        version=1,
        kind="router",
        imported=True,
        run_id=UNNAMED,
        created=about.created,
        tool_version=__version__,
        python=None,
        commit=about.commit,
        dirty=None,
        seed=about.seed,
        replications=replications,
        mode="text",
        listing=catalogue.listing,
        orders="plan",
        index="description",
        template=TEMPLATE,
        hashes={
            "catalogue": None, "prompts": prompts_digest(prompts), "template": None, "config": None, "prices": None,
        },
        models=tuple(
            FrozenRouter(spec=spec, kind="provider", replications=replications, settings={}, price=None)
            for spec in models
        ),
        price_table=None,
        catalogue=freeze_listing(catalogue.shown),
        omitted=freeze_listing(catalogue.omitted),
        prompts=tuple(prompts),
        selection=FrozenSelection(kind="all"),
    )  # fmt: skip
