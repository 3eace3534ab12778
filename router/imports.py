"""Results of the plan's published runner -> a run of ours: a manifest with what is not known left open, and results.

Raw answers are read again, as ours are: what the runner took out of prose, or counted as an answer though it named no
skill, is a failure of the format here. Whether an answer is right is judged by the labels that are given, never
copied.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from skill_health import __version__
from skill_health.bench.journal import MANIFEST, RESULTS
from skill_health.bench.manifest import digest
from skill_health.core.files import write_text
from skill_health.router.comparable import named
from skill_health.router.manifest import listed_record, prompt_record, prompts_digest
from skill_health.router.orders import plan_seed, shuffled
from skill_health.router.outcome import Attempt, read_attempt, to_result
from skill_health.router.plan_files import PlanRun
from skill_health.router.plan_record import CallRecord
from skill_health.router.records import Catalogue, Prompt, RankedReply, Reply, RoutingResult, Status
from skill_health.router.results import to_line
from skill_health.text.terminal import clean

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
            names = clean(named(self._unlike))
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
