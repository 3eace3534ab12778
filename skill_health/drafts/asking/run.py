"""A prepared drafting, carried out: calls within the caps, journaled, read, asked once more where the form is wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TextIO

from msgspec import structs

from skill_health.bench.budget import AttemptMeter, Budget
from skill_health.bench.http.client import CallOutcome, Client, borrow_client, give_client_back
from skill_health.bench.http.messages import Conversation, Turn, Usage, add_usage
from skill_health.bench.http.replies import to_reply
from skill_health.bench.journal import Journal, read_clock
from skill_health.bench.prices import refuse_spending
from skill_health.bench.progress import Progress, write_progress
from skill_health.bench.schedule import GRACE, INTERRUPTED, RunnerWork, StopRun, interruptible
from skill_health.documents._record import TokenUsage, convert_record, record_values
from skill_health.documents.draft_answer import DraftAnswer
from skill_health.documents.draft_attempt import DraftAttempt
from skill_health.documents.router_attempt import AttemptReply
from skill_health.drafts.asking.plan import DraftingPlan, DraftQuestion, OpenWriter, PlannedQuestion, PreparedDrafting

MOST_ATTEMPTS = 2
OUTAGE = 5
"""So many calls in a row without an answer, and a model is left alone."""


@dataclass(frozen=True, slots=True)
class DraftingTerms:
    """How a drafting is made, which is no part of what it asks.

    Caps count the attempts and dollars `before` it, too, where a command makes several.
    """

    max_runs: int | None = None
    max_usd: float | None = None
    concurrency: int = 16
    uncapped: bool = False
    quiet: bool = False
    grace: float = GRACE
    before: tuple[int, float] = (0, 0.0)


@dataclass(frozen=True, slots=True)
class DraftingOutcome:
    """The answers that are there, in the order of the plan. `left` questions have none, for the given `reason`.

    `spent` are the attempts and dollars so far, with those before it.
    """

    folder: str
    run_id: str
    answers: tuple[DraftAnswer, ...]
    left: int
    reason: str
    capped: bool
    spent: tuple[int, float] = (0, 0.0)

    @property
    def texts(self) -> dict[str, str]:
        """The texts of the answers that could be read, by question."""
        return {each.question: each.text for each in self.answers if each.status == "finished"}

    def resolved(self, question: str) -> str:
        """The model that the provider named for an answer; "" where it named none."""
        return next((each.resolved_model or "" for each in self.answers if each.question == question), "")


def refuse_uncapped_drafting(prepared: PreparedDrafting, terms: DraftingTerms) -> None:
    """Raise UsageError where a server not known to be free would be asked without a cap, or at no known price."""
    if not terms.uncapped:
        asked = [(writer.spec, writer.price) for writer in prepared.plan.writers]
        refuse_spending(asked, terms.max_runs is not None or terms.max_usd is not None, prepared.prices)


def conduct_drafting(prepared: PreparedDrafting, terms: DraftingTerms, stream: TextIO | None) -> DraftingOutcome:
    """Ask what has no answer yet. What is answered is kept whatever happens.

    Raises UsageError where another process has the journal, and AbortedError where the disk does not take it.
    """
    with prepared.place.open(prepared.keys) as journal:
        for problem in journal.past.problems:
            write_progress(stream, f"{problem}\n")
        past, (attempts, usd) = journal.past, terms.before
        budget = Budget(terms.max_runs, terms.max_usd, attempts=attempts + past.attempts, spent=usd + past.usd)
        runner = DraftRunner(prepared.plan, journal, budget)
        try:
            reason = asyncio.run(_run(runner, terms, stream, len(prepared.plan.questions)))
        except KeyboardInterrupt:
            reason = INTERRUPTED
        if not runner.left():
            journal.finish((planned.question,) for planned in prepared.plan.questions)
        found = {key[0]: convert_record(record, DraftAnswer) for key, record in journal.results.items()}
        answers = tuple(found[each.question] for each in prepared.plan.questions if each.question in found)
        spent = budget.attempts, budget.spent
        return DraftingOutcome(
            journal.folder, prepared.run_id, answers, runner.left(), reason, bool(runner.capped), spent
        )


async def _run(runner: DraftRunner, terms: DraftingTerms, stream: TextIO | None, planned: int) -> str:
    """Ask; why it stopped before its end, "" where it did not."""
    if not (left := runner.left()):
        return ""

    def interrupted() -> None:
        if runner.interrupt():
            grace = f"{terms.grace:.0f} s"
            write_progress(
                stream, f"\nstopping: calls under way have {grace} to end; interrupt again to abandon them\n"
            )

    with Progress(planned, stream, done=planned - left, quiet=terms.quiet) as progress, interruptible(interrupted):
        runner.on_answer = lambda answer: progress.update(answer.status, runner.budget.spent)
        await progress.beside(runner.run(terms.concurrency, terms.grace))
    return runner.stopped or runner.capped or "; ".join(runner.down.values())


class DraftRunner(RunnerWork[PlannedQuestion]):
    """One drafting, or what is left of it. `on_answer` is told of each answer once it is durable."""

    def __init__(self, plan: DraftingPlan, journal: Journal, budget: Budget) -> None:
        super().__init__(journal, budget)
        self.plan = plan
        self.on_answer: Callable[[DraftAnswer], None] = lambda answer: None
        self._clients: dict[str, Client] = {}

    def left(self) -> int:
        """How many questions have no answer."""
        return sum((planned.question,) not in self.journal.results for planned in self.plan.questions)

    async def run(self, concurrency: int, grace: float = GRACE) -> None:
        """Ask what has no answer: first what needs no other answers, then the rest."""
        limits = {writer.spec: writer.provider.concurrency for writer in self.plan.writers}
        try:
            for waits in (False, True):
                wanted = [
                    (planned.writer.spec, planned)
                    for planned in self.plan.questions
                    if bool(planned.after) == waits and (planned.question,) not in self.journal.results
                ]
                if not (self.stopped or self.capped):
                    await self.do(self._settle, wanted, concurrency, limits, grace)
        finally:
            for writer in self.plan.writers:
                if self._clients.pop(writer.spec, None) and writer.endpoint:
                    give_client_back(writer.endpoint)

    async def _settle(self, planned: PlannedQuestion) -> None:
        """Ask one question and write its answer; nothing where a cap forbids it, or where it needs a missing answer."""
        if planned.writer.spec in self.down or any((each,) not in self.journal.results for each in planned.after):
            return
        question = planned.make(self._texts(planned.after))
        if question is None:
            answer = DraftAnswer(question=planned.question, model=planned.writer.spec, status="finished", attempts=0)
        else:
            replies = await self._ask(planned, question)
            if not replies:
                return
            answer = _to_answer(planned, replies)
        await self.journal.add(record_values(answer))
        self.on_answer(answer)

    def _texts(self, questions: Sequence[str]) -> dict[str, str]:
        found = {each: convert_record(self.journal.results[(each,)], DraftAnswer) for each in questions}
        return {name: answer.text for name, answer in found.items() if answer.status == "finished" and answer.text}

    async def _ask(self, planned: PlannedQuestion, question: DraftQuestion) -> list[AttemptReply]:
        """The attempts at one question, recorded ones first; [] where a cap forbids one that is needed."""
        recorded = self._recorded(planned)
        replies: list[AttemptReply] = []
        for number in range(1, MOST_ATTEMPTS + 1):
            reply = recorded.get(number)
            if reply is None:
                usd = planned.writer.most_usd(question.size, planned.max_output)
                if not await self.admitted(usd):
                    return []
                reply, refused = await self._attempt(planned, question, number, usd)
                if refused:
                    return []
            replies.append(reply)
            if reply.outcome != "format_failure":
                break
        return replies

    def _recorded(self, planned: PlannedQuestion) -> dict[int, AttemptReply]:
        """The attempts that an earlier process has seen end, and whose result it did not live to write."""
        found: dict[int, AttemptReply] = {}
        for event in self.journal.past.ends.get((planned.question,), ()):
            try:
                told = convert_record(event, DraftAttempt)
            except ValueError:
                continue
            reply = AttemptReply(**{name: getattr(told, name) for name in AttemptReply.__struct_fields__})
            if told.status in ("finished", "truncated", "refusal") and told.raw_text is not None:
                found.setdefault(told.attempt, _read(planned, reply))
        return found

    async def _attempt(
        self, planned: PlannedQuestion, question: DraftQuestion, number: int, usd: float
    ) -> tuple[AttemptReply, bool]:
        """The attempt, and whether a cap kept it from being sent again; `usd` is reserved for it."""

        def line(event: Literal["start", "end"], **more: Any) -> dict[str, Any]:
            made = DraftAttempt(event=event, key=(planned.question,), attempt=number, at=read_clock(), **more)
            return record_values(made)

        async def again(usd: float) -> bool:
            if admitted := await self.admitted(usd):
                await self.journal.append(line("start", reserved_usd=usd))
            return admitted

        meter = AttemptMeter(usd, again, self.charge)
        actual: float | None = None
        try:
            await self.journal.append(line("start", reserved_usd=usd))
            with meter.running():
                outcome = await self._send(planned, question, number)
            reply = _read(planned, to_reply(outcome, planned.writer.price, meter.charged))
            actual = reply.cost_usd
        except asyncio.CancelledError:
            self.journal.note(line("end", status="cancelled") | {"cost_usd": None})
            raise
        finally:
            meter.end(actual)
        record = line("end") | record_values(reply)
        if reply.stop or reply.status == "model_unavailable":
            await self.journal.append(record)
            raise StopRun(f"{reply.stop or planned.writer.spec}: {reply.error}")
        self._note_error(planned.writer, reply)
        # The result, or the start of the next attempt, takes this line to the disk with it.
        self.journal.note(record)
        return reply, meter.refused

    async def _send(self, planned: PlannedQuestion, question: DraftQuestion, number: int) -> CallOutcome:
        writer = planned.writer
        if writer.endpoint is None:
            raise RuntimeError(f"{writer.spec} was opened without a key, to be described only")
        client = self._clients.get(writer.spec)
        if client is None:
            client = self._clients[writer.spec] = borrow_client(writer.endpoint)
        conversation = Conversation(
            writer.model,
            (Turn("user", question.text),),
            system=question.system,
            schema=question.schema,
            max_output_tokens=planned.max_output,
        )
        return await client.complete(writer.protocol, conversation, f"{self.plan.seed}|{planned.question}|{number}")

    def _note_error(self, writer: OpenWriter, reply: AttemptReply) -> None:
        """A server that is down costs minutes of patience for each call: after several of them it is left alone."""
        if reply.status != "provider_error":
            self.errors.pop(writer.spec, None)
            return
        errors = self.errors.setdefault(writer.spec, [])
        errors.append(reply.error)
        if len(errors) >= OUTAGE:
            self.down[writer.spec] = f"{writer.spec} did not answer {len(errors)} calls in a row: {errors[-1]}"


def _read(planned: PlannedQuestion, reply: AttemptReply) -> AttemptReply:
    """A reply with what it comes to: an answer that is whole although it came to its limit counts."""
    if reply.status not in ("finished", "truncated"):
        return structs.replace(reply, outcome=reply.status)
    wrong = planned.read(reply.raw_text or "")
    bad = "truncated" if reply.status == "truncated" else "format_failure"
    return structs.replace(reply, outcome=bad if wrong else "finished", kinds=(wrong,) if wrong else ())


def _to_answer(planned: PlannedQuestion, replies: Sequence[AttemptReply]) -> DraftAnswer:
    last = replies[-1]
    costs = [each.cost_usd for each in replies]
    usages = [Usage(**structs.asdict(each.usage)) for each in replies]
    return DraftAnswer(
        question=planned.question,
        model=planned.writer.spec,
        status=last.outcome or "provider_error",
        text=last.raw_text or "",
        kinds=last.kinds,
        attempts=len(replies),
        resolved_model=last.model,
        usage=TokenUsage(**add_usage(usages).to_json()),
        duration_ms=last.duration_ms,
        cost_usd=None if None in costs else sum(each for each in costs if each is not None),
        error=last.error,
    )
