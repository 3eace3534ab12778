"""Results of the plan's published runner -> a run of ours: a manifest with what is not known left open, and results.

Raw answers are read again, as ours are: what the runner took out of prose, or counted as an answer though it named no
skill, is a failure of the format here. Whether an answer is right is judged by the labels that are given, never
copied.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from skill_health import __version__
from skill_health.bench.journal import MANIFEST, RESULTS
from skill_health.bench.manifest import digest
from skill_health.core.errors import UsageError
from skill_health.core.files import MAX_BYTES, read_small, write_text
from skill_health.core.strict_json import JsonProblem, kind_of, parse_object, quote
from skill_health.router.plan.manifest import listed_record, prompt_record, prompts_digest
from skill_health.router.plan.orders import plan_seed, shuffled
from skill_health.router.records import Catalogue, Prompt, RankedReply, Reply, RoutingResult, Status, to_line
from skill_health.router.run.outcome import Attempt, read_attempt, to_result
from skill_health.text.near import list_some
from skill_health.text.patterns import lazy
from skill_health.text.terminal import clean

STATUSES = ("finished", "format_failure", "model_unavailable", "error", "cancelled", "dry_run")
MOST_REPLICATIONS = 1_000
LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call as the runner kept it; replications count from 0.

    `text` is the raw answer, None where it was not kept. `top3` is what the runner read from it, first name first.
    """

    path: str
    prompt_id: str
    model: str
    replication: int
    status: str
    text: str | None = None
    top3: tuple[str, ...] = ()
    shuffle_seed: int | None = None
    attempts: int = 1
    duration_ms: float | None = None
    notes: str = ""

    @property
    def key(self) -> tuple[str, str, int]:
        """What there is one record for."""
        return self.prompt_id, self.model, self.replication


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
    status = data.get("status")
    if status not in STATUSES:
        raise ValueError(f"status is {quote(status)}, and none of {', '.join(STATUSES)}")
    top3 = data.get("predicted_top3")
    if top3 is None:
        top3 = [] if data.get("predicted_primary") is None else [data["predicted_primary"]]
    if not isinstance(top3, list) or not all(isinstance(each, str) for each in top3):
        raise ValueError("predicted_top3 is not a list of names")
    return CallRecord(
        path=name,
        prompt_id=_name(data, "prompt_id"),
        model=_name(data, "model_id"),
        replication=_whole(data, "rep", MOST_REPLICATIONS - 1, None),
        status=status,
        text=_text(data, "raw_text"),
        top3=tuple(top3),
        shuffle_seed=None if data.get("shuffle_seed") is None else _whole(data, "shuffle_seed", 2**32 - 1, None),
        attempts=_attempts(data),
        duration_ms=_duration(data),
        notes=_text(data, "notes") or "",
    )


def _name(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_NAME:
        raise ValueError(f"{key} must be a name of at most {LONGEST_NAME} characters, not {quote(value)}")
    return value


def _text(data: Mapping[str, Any], key: str) -> str | None:
    value = data.get(key)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{key} must be text, not {kind_of(value)}")
    return value


def _whole(data: Mapping[str, Any], key: str, most: int, default: int | None) -> int:
    value = data.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise ValueError(f"{key} must be a whole number from 0 to {most}, not {quote(value)}")
    return value


def _attempts(data: Mapping[str, Any]) -> int:
    """How many there were: a number, or a list of them."""
    value = data.get("attempts")
    return max(1, len(value) if isinstance(value, list) else _whole(data, "attempts", 100, 1))


def _duration(data: Mapping[str, Any]) -> float | None:
    value = data.get("duration_ms")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(f"duration_ms must be a number of at least 0, not {quote(value)}")
    return float(value)


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
        raise UsageError(f"cannot read {folder}: {error.strerror}") from error
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
    if os.path.exists(path := os.path.join(folder, SUMMARY)):
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


TEMPLATE = {"name": "plan", "version": None, "digest": None, "none_allowed": False}
NO_RAW_TEXT = "no_raw_text"
_MISSING: dict[str, Status] = {
    "model_unavailable": "model_unavailable", "error": "provider_error", "cancelled": "cancelled", "dry_run": "dry_run",
}  # fmt: skip
_NO_TIME = "00000000T000000Z"


@dataclass(frozen=True, slots=True)
class Imported:
    """A run as it is written, and what somebody should know of it, one line each."""

    manifest: dict[str, Any]
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
    lines = [to_line(result) for result in ordered]
    stamp = (plan.about.created or "").replace("-", "").replace(":", "") or _NO_TIME
    manifest["run_id"] = f"{stamp}-imported-{digest([manifest, lines])[:8]}"
    return Imported(manifest, tuple(ordered), (*map(clean, notes), *read.notes()))


def write_run(folder: str, run: Imported) -> None:
    """Write the results and then the manifest, without which a folder is no run. Raises UsageError."""
    lines = (json.dumps(to_line(result), sort_keys=True, ensure_ascii=True, allow_nan=False) for result in run.results)
    write_text(os.path.join(folder, RESULTS), "".join(f"{line}\n" for line in lines))
    text = json.dumps(run.manifest, sort_keys=True, ensure_ascii=True, allow_nan=False)
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
        if record.status == "finished" and last.status == "format_failure":
            self._stricter.update(last.answer.kinds)
        elif record.top3 and last.answer.ranking[:1] not in ((), record.top3[:1]):
            self._unlike.append(record.path)
        again = record.attempts > 1 and last.answered
        first = [Attempt(Reply(), "format_failure", RankedReply(), None)] if again else []
        order = self._order(record)
        result = to_result(prompt, record.model, record.replication, order, [*first, last])
        return replace(result, attempts=record.attempts)

    def notes(self) -> Iterator[str]:
        """What differs from how the runner read the answers."""
        if self._stricter:
            kinds = ", ".join(f"{kind} {n}" for kind, n in sorted(self._stricter.items()))
            yield f"answers that the plan's runner counted as finished, and that are format failures: {kinds}"
        if self._unlike:
            names = clean(list_some(self._unlike))
            yield f"another skill comes first in the raw text than in the record, and the raw text counts: {names}"

    def _attempt(self, record: CallRecord) -> Attempt:
        notes = clean(" ".join(record.notes.split()))[:500]
        if record.status in _MISSING:
            reply = Reply(_MISSING[record.status], error=notes, duration_ms=record.duration_ms)
            return Attempt(reply, reply.status, RankedReply(), None)
        if record.text is None and record.status == "format_failure":
            return Attempt(
                Reply(duration_ms=record.duration_ms), "format_failure", RankedReply(notes=(NO_RAW_TEXT,)), None
            )
        if record.text is not None and (record.text.strip() or not record.top3):
            return read_attempt(Reply(text=record.text, duration_ms=record.duration_ms), self._names, False, None)
        reply = Reply(text=_answer(record.top3), duration_ms=record.duration_ms)
        read = read_attempt(reply, self._names, False, None)
        answer = replace(read.answer, confidence=None, notes=(*read.answer.notes, NO_RAW_TEXT))
        return replace(read, answer=answer)

    def _order(self, record: CallRecord) -> tuple[str, ...]:
        """The presentation, as far as it is known; it supposes that the collection is the one that was presented."""
        seed = record.shuffle_seed
        if seed is None and self._seed is not None:
            seed = plan_seed(record.prompt_id, record.model, record.replication, self._seed)
        return () if seed is None else shuffled(self._names, seed)


def _answer(ranking: Sequence[str]) -> str:
    """An answer as it would have been given, for a record that kept only what was read from it."""
    return json.dumps({"ranking": list(ranking), "confidence": 0, "rationale": ""})


def _manifest(
    plan: PlanRun, prompts: Sequence[Prompt], catalogue: Catalogue, models: Sequence[str], replications: int
) -> dict[str, Any]:
    about = plan.about
    settings: dict[str, Any] = {"settings": {}, "price": None}
    return {
        "version": 1,
        "kind": "router",
        "imported": True,
        "created": about.created,
        "tool_version": __version__,
        "python": None,
        "commit": about.commit,
        "dirty": None,
        "seed": about.seed,
        "replications": replications,
        "mode": "text",
        "listing": catalogue.listing,
        "orders": "plan",
        "index": "description",
        "template": dict(TEMPLATE),
        "hashes": {
            "catalogue": None, "prompts": prompts_digest(prompts), "template": None, "config": None, "prices": None,
        },
        "models": [{"spec": spec, "kind": "provider", "replications": replications, **settings} for spec in models],
        "price_table": None,
        "catalogue": [listed_record(skill) for skill in catalogue.shown],
        "omitted": [listed_record(skill) for skill in catalogue.omitted],
        "prompts": [prompt_record(prompt) for prompt in prompts],
        "selection": {"kind": "all"},
    }  # fmt: skip
