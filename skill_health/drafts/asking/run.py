"""A prepared drafting, carried out: calls within the caps, journaled, read, asked once more where the form is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, TextIO

from skill_health.bench.budget import AttemptMeter, Budget
from skill_health.bench.http.replies import sum_cost, sum_usage
from skill_health.bench.journal import Journal, Key
from skill_health.bench.prices import refuse_spending
from skill_health.bench.run.conduct import RunTerms, budget_of, carry_out
from skill_health.bench.run.questions import ModelQuestion, ModelRunner, read_form
from skill_health.bench.run.schedule import GRACE
from skill_health.documents._record import convert_record, record_values
from skill_health.documents.draft_answer import DraftAnswer
from skill_health.documents.draft_attempt import DraftAttempt
from skill_health.documents.router_attempt import AttemptReply
from skill_health.drafts.asking.plan import DraftingPlan, DraftQuestion, PlannedQuestion, PreparedDrafting

OUTAGE = 5
"""So many calls in a row without an answer, and a model is left alone."""


@dataclass(frozen=True, slots=True)
class DraftingTerms(RunTerms):
    """How a drafting is made, which is no part of what it asks."""

    concurrency: int = 16
    _: KW_ONLY
    uncapped: bool = False

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> DraftingTerms:
        """What a user says of it on the command line."""
        return cls(
            options["max_runs"], options["max_usd"], options["concurrency"], quiet=options["quiet"],
            uncapped=options["uncapped"],
        )  # fmt: skip


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
        budget = budget_of(terms, journal)
        runner = DraftRunner(prepared.plan, journal, budget)
        reason = carry_out(runner, terms, stream)
        found = {key[0]: convert_record(record, DraftAnswer) for key, record in journal.results.items()}
        answers = tuple(found[each.question] for each in prepared.plan.questions if each.question in found)
        spent = budget.attempts, budget.spent
        return DraftingOutcome(
            journal.folder, prepared.run_id, answers, runner.left(), reason, bool(runner.capped), spent
        )


class DraftRunner(ModelRunner[PlannedQuestion]):
    """One drafting, or what is left of it."""

    ATTEMPT = DraftAttempt

    def __init__(self, plan: DraftingPlan, journal: Journal, budget: Budget) -> None:
        super().__init__(journal, budget)
        self.plan = plan

    def keys(self) -> Iterator[Key]:
        """The keys of the answers in the order of the plan."""
        return ((planned.question,) for planned in self.plan.questions)

    async def run(self, concurrency: int, grace: float = GRACE) -> None:
        """Ask what has no answer: first what needs no other answers, then the rest."""
        limits = {writer.spec: writer.provider.concurrency for writer in self.plan.writers}
        for waits in (False, True):
            wanted = [
                (planned.writer.spec, planned)
                for planned in self.plan.questions
                if bool(planned.after) == waits and self.wants((planned.question,))
            ]
            if not (self.stopped or self.capped):
                await self.do(self._settle, wanted, concurrency, limits, grace)

    async def _settle(self, planned: PlannedQuestion) -> None:
        """Ask one question and write its answer; nothing where a cap forbids it, or where it needs a missing answer."""
        if planned.writer.spec in self.down or any((each,) not in self.journal.results for each in planned.after):
            return
        question = planned.make(self._texts(planned.after))
        if question is None:
            answer = DraftAnswer(question=planned.question, model=planned.writer.spec, status="finished", attempts=0)
        else:
            attempts = await self.ask(self._posed(planned, question))
            if not attempts:
                return
            answer = _to_answer(planned, [each.reply for each in attempts])
        await self.settle(record_values(answer), answer.status)

    def _texts(self, questions: Sequence[str]) -> dict[str, str]:
        found = {each: convert_record(self.journal.results[(each,)], DraftAnswer) for each in questions}
        return {name: answer.text for name, answer in found.items() if answer.status == "finished" and answer.text}

    def _posed(self, planned: PlannedQuestion, question: DraftQuestion) -> ModelQuestion[None]:
        writer = planned.writer

        async def send(number: int, meter: AttemptMeter) -> AttemptReply:
            return await self.complete(
                writer, question.text, (self.plan.seed, planned.question, number), meter,
                max_output=planned.max_output, system=question.system, schema=question.schema,
            )  # fmt: skip

        def read(text: str) -> tuple[tuple[str, ...], None]:
            return ((wrong,) if (wrong := planned.read(text)) else ()), None

        most = writer.most_usd(question.size, planned.max_output)
        return ModelQuestion(
            (planned.question,), writer.spec, lambda _: most, send, lambda reply: read_form(reply, read, None), OUTAGE
        )


def _to_answer(planned: PlannedQuestion, replies: Sequence[AttemptReply]) -> DraftAnswer:
    last = replies[-1]
    return DraftAnswer(
        question=planned.question,
        model=planned.writer.spec,
        status=last.outcome or "provider_error",
        text=last.raw_text or "",
        kinds=last.kinds,
        attempts=len(replies),
        resolved_model=last.model,
        usage=sum_usage(replies),
        duration_ms=last.duration_ms,
        cost_usd=sum_cost(replies),
        error=last.error,
    )
