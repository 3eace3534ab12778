"""Questions to one model as a run: frozen, within the caps, journaled, asked once more where the form is wrong.

    prepared = prepare_questions("tasks", questions, writer, prices, reports, time)
    ended = ask_questions(prepared, terms, sys.stderr)
    ended.answers["name of a question"].text

The folder of a run is found by what is asked: the same questions to the same model go on where they stopped, and what
was answered in a run that is over is not paid for again.
"""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, TextIO, cast

from msgspec import structs

from skill_health import __version__
from skill_health.bench.budget import AttemptMeter, Budget
from skill_health.bench.http.client import Client, borrow_client, give_client_back
from skill_health.bench.http.messages import Conversation, Turn, Usage, add_usage
from skill_health.bench.journal import Journal, Key, read_clock
from skill_health.bench.manifest import identity
from skill_health.bench.prices import PriceTable, price_from
from skill_health.bench.progress import Progress, write_progress
from skill_health.bench.run_folder import (
    Kind,
    RunLocation,
    earlier_runs,
    find_place,
    load_result_records,
    run_ids,
)
from skill_health.bench.schedule import GRACE, INTERRUPTED, RunnerWork, StopRun, interruptible
from skill_health.core.errors import UsageError
from skill_health.core.files import blake2b
from skill_health.documents._record import TokenUsage, convert_record, record_values
from skill_health.documents.drafting_attempt import DraftingAttempt
from skill_health.documents.drafting_manifest import DraftingManifest, FrozenQuestion
from skill_health.documents.drafting_result import DraftingResult
from skill_health.documents.router_attempt import AttemptReply
from skill_health.drafts.asking.writer import OpenWriter
from skill_health.effectiveness.judge.run import to_reply
from skill_health.router.plan.forecast import CallForecast, Load, forecast

DRAFTING = "drafting"
"""The kind of these runs in their manifests, and the folder below the reports where they lie."""
MOST_ATTEMPTS = 2
OUTAGE = 3
"""So many questions in a row without an answer, and the model is left alone."""


@dataclass(frozen=True, slots=True)
class DraftQuestion:
    """A question, `system` before `text`. `form` says what is wrong with the form of an answer, () for nothing."""

    id: str
    system: str
    text: str
    max_output: int
    form: Callable[[str], tuple[str, ...]]

    @property
    def size(self) -> int:
        """Its bytes."""
        return len(self.system.encode("utf-8", "replace")) + len(self.text.encode("utf-8", "replace"))

    def freeze(self) -> FrozenQuestion:
        """The question as a manifest holds it."""
        raw = f"{self.system}\0{self.text}".encode("utf-8", "surrogatepass")
        mark = blake2b(raw, digest_size=16).hexdigest()
        return FrozenQuestion(id=self.id, digest=mark, size=self.size, max_output=self.max_output)


def _keys(values: Mapping[str, Any]) -> Iterator[Key]:
    for question in convert_record(values, DraftingManifest).questions:
        yield (question.id,)


OF_DRAFTING = Kind(
    DRAFTING,
    ("question",),
    _keys,
    lambda values: values.get("questions"),
    lambda values: convert_record(values, DraftingResult).settled,
)
"""Draftings, for what is the same for all journals."""


@dataclass(frozen=True, slots=True)
class DraftAnswer:
    """What came of a question, and in which run."""

    result: DraftingResult
    run: str

    @property
    def text(self) -> str | None:
        """The answer; None where there is none that could be read."""
        return self.result.text if self.result.status in ("finished", "format_failure", "truncated") else None


@dataclass(frozen=True, slots=True)
class PreparedQuestions:
    """Questions that can be asked. `keys` are kept out of files; `answered` are those of earlier runs.

    There is no `place` where nothing is left to ask.
    """

    stage: str
    questions: tuple[DraftQuestion, ...]
    answered: Mapping[str, DraftAnswer]
    writer: OpenWriter
    place: RunLocation | None
    prices: PriceTable
    forecast: CallForecast
    keys: tuple[str, ...]


def prepare_questions(
    stage: str,
    questions: Sequence[DraftQuestion],
    writer: OpenWriter,
    prices: PriceTable,
    reports: str,
    time: datetime,
    keys: tuple[str, ...] = (),
    anew: bool = False,
) -> PreparedQuestions:
    """Freeze the questions, and find the folder of their run; nothing is written or asked.

    That is the unfinished one of the same questions to the same model, unless `anew`; else a new one. What such a model
    was asked in a run that is over is left out. Raises UsageError where a manifest is damaged.
    """
    answered = {} if anew else _earlier_answers(reports, writer, questions)
    asked = tuple(question for question in questions if question.id not in answered)
    place = _place(stage, asked, writer, prices, reports, time, keys, anew) if asked else None
    if place is not None and place.stored is not None:
        writer = _at_stored_price(writer, place.stored)
    left = [question for question in asked if place is None or (question.id,) not in place.done]
    load = Load(
        model=writer.spec,
        calls=len(left),
        input_bytes=sum(question.size for question in left),
        typical_output=max((question.max_output // 2 for question in left), default=0),
        max_output=max((question.max_output for question in left), default=0),
        price=writer.price,
        repeated=len(left),
    )
    notes = [f"{len(answered)} answers of earlier runs are taken"] if answered else []
    told = forecast([load], prices.version or "no table", notes)
    return PreparedQuestions(stage, asked, answered, writer, place, prices, told, keys)


def _earlier_answers(reports: str, writer: OpenWriter, questions: Sequence[DraftQuestion]) -> dict[str, DraftAnswer]:
    """What this model answered to the same questions in runs that are over, the latest ones first."""
    wanted = {question.freeze().digest: question.id for question in questions}
    found: dict[str, DraftAnswer] = {}
    for folder, values in earlier_runs(reports, DRAFTING):
        manifest = convert_record(values, DraftingManifest)
        same = all((each.spec, each.base_url) == (writer.spec, writer.where) for each in manifest.models)
        meant = {each.id: wanted[each.digest] for each in manifest.questions if each.digest in wanted}
        if not same or not meant:
            continue
        results = {result.question: result for result in load_result_records(folder, DraftingResult)}
        if len(results) < len(manifest.questions):
            continue
        for there, here_ in meant.items():
            if results[there].settled:
                found.setdefault(here_, DraftAnswer(results[there], os.path.basename(folder)))
    return found


def _place(
    stage: str,
    questions: Sequence[DraftQuestion],
    writer: OpenWriter,
    prices: PriceTable,
    reports: str,
    time: datetime,
    keys: tuple[str, ...],
    anew: bool,
) -> RunLocation:
    """The folder of these questions: an unfinished run of them, else a new one."""
    frozen = tuple(question.freeze() for question in questions)
    manifest = record_values(
        DraftingManifest(
            version=1,
            kind="drafting",
            run_id="new",
            created=f"{time:%Y-%m-%dT%H:%M:%SZ}",
            tool_version=__version__,
            python=platform.python_version(),
            stage=stage,
            hashes={"prices": prices.digest},
            models=(writer.freeze(),),
            price_table=prices.version,
            questions=frozen,
        )
    )
    mark = identity(manifest)[:8]
    for name in () if anew else run_ids(reports, DRAFTING):
        if name.endswith(f"-{mark}"):
            return find_place(reports, manifest, time, OF_DRAFTING, named=name, secrets=keys)
    return find_place(reports, manifest, time, OF_DRAFTING, anew=anew, secrets=keys)


def _at_stored_price(writer: OpenWriter, stored: Mapping[str, Any]) -> OpenWriter:
    """The model at the price that a run began with. Raises UsageError where its manifest holds none."""
    try:
        (price,) = (each.price for each in convert_record(stored, DraftingManifest).models)
        return replace(writer, price=None if price is None else price_from(price))
    except (ValueError, KeyError) as error:
        raise UsageError(
            f"the manifest of the drafting to resume is damaged: no price of its model ({error})"
        ) from None


@dataclass(frozen=True, slots=True)
class QuestionTerms:
    """How questions are asked, which is no part of them. Caps count all runs of a command, with those `before` it."""

    max_runs: int | None = None
    max_usd: float | None = None
    before: tuple[int, float] = (0, 0.0)
    concurrency: int = 4
    quiet: bool = False
    grace: float = GRACE


@dataclass(frozen=True, slots=True)
class AskedQuestions:
    """How it ended: the answers by their questions, and why some have none; `capped` if a larger cap helps.

    `spent` are the attempts and dollars of this run and of those before it. Without a `folder` nothing had to be asked.
    """

    folder: str
    answers: Mapping[str, DraftAnswer] = field(repr=False)
    spent: tuple[int, float] = (0, 0.0)
    left: int = 0
    reason: str = ""
    capped: bool = False


def ask_questions(prepared: PreparedQuestions, terms: QuestionTerms, stream: TextIO | None) -> AskedQuestions:
    """Ask what has no result yet.

    Raises UsageError where another process has the journal, and AbortedError where the disk does not take what is to be
    written. What is done is kept whatever happens.
    """
    if prepared.place is None:
        return AskedQuestions("", prepared.answered, terms.before)
    with prepared.place.open(prepared.keys) as journal:
        for problem in journal.past.problems:
            write_progress(stream, f"{problem}\n")
        budget = _budget(terms, journal)
        runner = QuestionRunner(prepared, journal, budget)
        try:
            reason = asyncio.run(_run(runner, terms, stream))
        except KeyboardInterrupt:
            reason = INTERRUPTED
        left = runner.left()
        if not left:
            journal.finish((question.id,) for question in prepared.questions)
        name = os.path.basename(journal.folder)
        found = {
            str(key[0]): DraftAnswer(convert_record(values, DraftingResult), name)
            for key, values in journal.results.items()
        }
        spent = budget.attempts, budget.spent
        return AskedQuestions(journal.folder, {**prepared.answered, **found}, spent, left, reason, bool(runner.capped))


def _budget(terms: QuestionTerms, journal: Journal) -> Budget:
    """The caps, with what earlier processes and runs spent: by attempts, and not less than the results took."""
    records = journal.results.values()
    attempts = sum(count for record in records if isinstance(count := record.get("attempts"), int))
    usd = sum(float(cost) for record in records if isinstance(cost := record.get("cost_usd"), int | float))
    past, (earlier, paid) = journal.past, terms.before
    return Budget(
        terms.max_runs,
        terms.max_usd,
        attempts=earlier + max(past.attempts, attempts),
        spent=paid + max(past.usd, usd),
    )


async def _run(runner: QuestionRunner, terms: QuestionTerms, stream: TextIO | None) -> str:
    """Ask; why it stopped before its end, "" where it did not."""
    planned, left = len(runner.prepared.questions), runner.left()
    if not left:
        return ""

    def interrupted() -> None:
        if runner.interrupt():
            write_progress(stream, f"\nstopping: calls under way have {terms.grace:.0f} s to end\n")

    what = f"{runner.prepared.stage}: "
    with (
        Progress(planned, stream, done=planned - left, quiet=terms.quiet, what=what) as progress,
        interruptible(interrupted),
    ):
        runner.on_result = lambda result: progress.update(result.status, runner.budget.spent)
        await progress.beside(runner.run(terms.concurrency, terms.grace))
    return runner.stopped or runner.capped or "; ".join(runner.down.values())


class QuestionRunner(RunnerWork[DraftQuestion]):
    """The questions of one run, or what is left of them. `on_result` is told of each result once it is durable."""

    def __init__(self, prepared: PreparedQuestions, journal: Journal, budget: Budget) -> None:
        super().__init__(journal, budget)
        self.prepared = prepared
        self.on_result: Callable[[DraftingResult], None] = lambda result: None
        self._client: Client | None = None

    def left(self) -> int:
        """How many questions have no result."""
        return sum((question.id,) not in self.journal.results for question in self.prepared.questions)

    async def run(self, concurrency: int, grace: float = GRACE) -> None:
        """Ask every question that has no result yet."""
        writer = self.prepared.writer
        if writer.endpoint is None:
            raise RuntimeError(f"{writer.spec} was opened without a key, to be described only")
        self._client = borrow_client(writer.endpoint)
        asked = [each for each in self.prepared.questions if (each.id,) not in self.journal.results]
        try:
            limits = {writer.spec: writer.provider.concurrency}
            await self.do(self._call, ((writer.spec, each) for each in asked), concurrency, limits, grace)
        finally:
            give_client_back(writer.endpoint)

    async def _call(self, question: DraftQuestion) -> None:
        if self.prepared.writer.spec in self.down:
            return
        replies = await self._ask(question)
        if replies:
            result = _to_result(question, replies)
            await self.journal.add(record_values(result))
            self.on_result(result)

    async def _ask(self, question: DraftQuestion) -> list[AttemptReply]:
        """The attempts at a question, recorded ones first; [] where a cap forbids one that is needed."""
        recorded = self._recorded(question)
        replies: list[AttemptReply] = []
        for number in range(1, MOST_ATTEMPTS + 1):
            reply = recorded.get(number)
            if reply is None:
                usd = self.prepared.writer.reserve(question.size, question.max_output)
                if not await self.admitted(usd):
                    return []
                reply, refused = await self._attempt(question, number, usd)
                if refused:
                    return []
            replies.append(reply)
            if reply.outcome != "format_failure":
                break
        return replies

    def _recorded(self, question: DraftQuestion) -> dict[int, AttemptReply]:
        """The attempts that an earlier process has seen end, and whose result it did not live to write."""
        found: dict[int, AttemptReply] = {}
        for event in self.journal.past.ends.get((question.id,), ()):
            try:
                told = convert_record(event, DraftingAttempt)
            except ValueError:
                continue
            if told.status is None or told.raw_text is None:
                continue
            reply = _read(
                AttemptReply(**{name: getattr(told, name) for name in AttemptReply.__struct_fields__}), question
            )
            if reply.outcome in ("finished", "format_failure", "refusal", "truncated"):
                found.setdefault(told.attempt, reply)
        return found

    async def _attempt(self, question: DraftQuestion, number: int, usd: float) -> tuple[AttemptReply, bool]:
        """The attempt, and whether a cap kept it from being sent again; `usd` is reserved for it."""

        def line(event: Literal["start", "end"], **more: Any) -> dict[str, Any]:
            record = DraftingAttempt(event=event, key=(question.id,), attempt=number, at=read_clock(), **more)
            return record_values(record)

        async def again(usd: float) -> bool:
            if admitted := await self.admitted(usd):
                await self.journal.append(line("start", reserved_usd=usd))
            return admitted

        meter = AttemptMeter(usd, again, self.charge)
        actual: float | None = None
        try:
            await self.journal.append(line("start", reserved_usd=usd))
            with meter.running():
                reply = _read(await self._send(question, number, meter), question)
            actual = reply.cost_usd
        except asyncio.CancelledError:
            self.journal.note(line("end", status="cancelled") | {"cost_usd": None})
            raise
        finally:
            meter.end(actual)
        record = line("end") | record_values(reply)
        if reply.stop or reply.status == "model_unavailable":
            await self.journal.append(record)
            raise StopRun(f"{reply.stop or self.prepared.writer.spec}: {reply.error}")
        self._note_error(reply)
        # The result, or the start of the next attempt, takes this line to the disk with it.
        self.journal.note(record)
        return reply, meter.refused

    async def _send(self, question: DraftQuestion, number: int, meter: AttemptMeter) -> AttemptReply:
        writer = self.prepared.writer
        assert self._client is not None
        conversation = Conversation(
            writer.model,
            (Turn("user", question.text),),
            system=question.system,
            max_output_tokens=question.max_output,
        )
        outcome = await self._client.complete(writer.protocol, conversation, f"{question.id}|{number}")
        return to_reply(outcome, writer.price, meter.charged)

    def _note_error(self, reply: AttemptReply) -> None:
        spec = self.prepared.writer.spec
        if reply.status != "provider_error":
            self.errors.pop(spec, None)
            return
        errors = self.errors.setdefault(spec, [])
        errors.append(reply.error)
        if len(errors) >= OUTAGE:
            self.down[spec] = f"{spec} did not answer {len(errors)} calls in a row: {errors[-1]}"


def _read(reply: AttemptReply, question: DraftQuestion) -> AttemptReply:
    """The reply with what its form comes to."""
    if reply.status not in ("finished", "truncated"):
        return structs.replace(reply, outcome=reply.status)
    kinds = question.form(reply.raw_text or "")
    # An answer that is whole although it came to its limit counts.
    bad = "truncated" if reply.status == "truncated" else "format_failure"
    return structs.replace(reply, outcome=cast(Any, bad if kinds else "finished"), kinds=kinds)


def _to_result(question: DraftQuestion, replies: Sequence[AttemptReply]) -> DraftingResult:
    """What the attempts at a question come to: the last one's answer, the cost and tokens of all of them."""
    last = replies[-1]
    costs = [each.cost_usd for each in replies]
    return DraftingResult(
        question=question.id,
        status=last.outcome or "provider_error",
        kinds=last.kinds,
        text=last.raw_text or "",
        attempts=len(replies),
        resolved_model=last.model,
        usage=TokenUsage(**add_usage([Usage(**structs.asdict(each.usage)) for each in replies]).to_json()),
        duration_ms=last.duration_ms,
        cost_usd=None if None in costs else sum(each for each in costs if each is not None),
        error=last.error,
    )
