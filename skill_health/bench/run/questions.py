"""Questions to models within the caps, journaled, and asked once more where the form of an answer is wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

from msgspec import structs

from skill_health.bench.budget import AttemptMeter, Budget
from skill_health.bench.http.client import Client, borrow_client, give_client_back
from skill_health.bench.http.endpoint import Endpoint
from skill_health.bench.http.messages import Conversation
from skill_health.bench.http.replies import to_reply
from skill_health.bench.journal import Journal, Key, read_clock
from skill_health.bench.prices import TieredPrice
from skill_health.bench.providers._api import ProviderProtocol
from skill_health.bench.run.conduct import RunnerWork
from skill_health.bench.run.schedule import StopRun
from skill_health.documents._record import convert_record, record_values
from skill_health.documents.router_attempt import AttemptReply, ModelAttempt

T = TypeVar("T")
MOST_ATTEMPTS = 2
_ANSWERED = ("finished", "format_failure", "refusal", "truncated")


class AskedModel(Protocol):
    """A model that is ready to be asked; without `endpoint` it can only be described."""

    @property
    def spec(self) -> str:
        """Its name, as the user gave it."""

    @property
    def protocol(self) -> ProviderProtocol:
        """How its server is spoken to."""

    @property
    def endpoint(self) -> Endpoint | None:
        """Its server."""

    @property
    def price(self) -> TieredPrice | None:
        """Its price, None where nobody knows."""


@dataclass(frozen=True, slots=True)
class ModelQuestion:
    """One question: to whom, the most dollars of one attempt, and the result's key.

    `send` makes the attempt of a number, counted from 1. `problems` says what is wrong with the form of an answer, in
    words that go into the record, () where nothing is.
    """

    key: Key
    model: AskedModel
    most_usd: float
    send: Callable[[int, AttemptMeter], Awaitable[AttemptReply]]
    problems: Callable[[str], tuple[str, ...]]

    def read(self, reply: AttemptReply) -> AttemptReply:
        """The reply with what it comes to: an answer that is whole although it came to its limit counts."""
        if reply.status not in ("finished", "truncated"):
            return structs.replace(reply, outcome=reply.status)
        kinds = self.problems(reply.raw_text or "")
        bad: Literal["truncated", "format_failure"] = "truncated" if reply.status == "truncated" else "format_failure"
        return structs.replace(reply, outcome=bad if kinds else "finished", kinds=kinds)


class ModelRunner(RunnerWork[T], Generic[T]):
    """One run that asks models, or what is left of it; after `OUTAGE` calls without an answer one is left alone."""

    ATTEMPT: ClassVar[type[ModelAttempt]]
    OUTAGE: ClassVar[int]

    def __init__(self, journal: Journal, budget: Budget) -> None:
        super().__init__(journal, budget)
        self._clients: dict[str, tuple[Client, Endpoint]] = {}

    async def close(self) -> None:
        """Give the connections back."""
        while self._clients:
            _, (_, endpoint) = self._clients.popitem()
            give_client_back(endpoint)

    async def ask(self, question: ModelQuestion) -> list[AttemptReply]:
        """The attempts at one question, recorded ones first; [] where a cap forbids one that is needed.

        Raises StopRun where a reply stops the run, or where the run has been stopped meanwhile.
        """
        recorded = self._recorded(question)
        replies: list[AttemptReply] = []
        for number in range(1, MOST_ATTEMPTS + 1):
            reply = recorded.get(number)
            if reply is None:
                if not await self.admitted(question.most_usd):
                    return []
                reply, refused = await self._attempt(question, number)
                if refused:
                    return []
            replies.append(reply)
            if reply.outcome != "format_failure":
                break
        return replies

    async def complete(
        self, model: AskedModel, conversation: Conversation, label: Sequence[object], meter: AttemptMeter
    ) -> AttemptReply:
        """Send one conversation to a model; what `label` says decides how long is waited before it is sent again."""
        if model.endpoint is None:
            raise RuntimeError(f"{model.spec} was opened without a key, to be described only")
        if model.spec not in self._clients:
            self._clients[model.spec] = borrow_client(model.endpoint), model.endpoint
        client, _ = self._clients[model.spec]
        outcome = await client.complete(model.protocol, conversation, "|".join(map(str, label)))
        return to_reply(outcome, model.price, meter.charged)

    def _recorded(self, question: ModelQuestion) -> dict[int, AttemptReply]:
        """The attempts that an earlier process has seen end, and whose result it did not live to write."""
        found: dict[int, AttemptReply] = {}
        for event in self.journal.past.ends.get(question.key, ()):
            try:
                told = convert_record(event, self.ATTEMPT)
            except ValueError:
                continue
            if told.status is None or told.raw_text is None:
                continue
            kept = AttemptReply(**{name: getattr(told, name) for name in AttemptReply.__struct_fields__})
            reply = question.read(kept)
            if reply.outcome in _ANSWERED:
                found.setdefault(told.attempt, reply)
        return found

    async def _attempt(self, question: ModelQuestion, number: int) -> tuple[AttemptReply, bool]:
        """The attempt, whose most dollars are reserved, and whether a cap kept it from being sent again."""

        def line(event: Literal["start", "end"], **more: Any) -> dict[str, Any]:
            made = self.ATTEMPT(event=event, key=question.key, attempt=number, at=read_clock(), **more)
            return record_values(made)

        async def again(usd: float) -> bool:
            if admitted := await self.admitted(usd):
                await self.journal.append(line("start", reserved_usd=usd))
            return admitted

        meter = AttemptMeter(question.most_usd, again, self.charge)
        actual: float | None = None
        try:
            await self.journal.append(line("start", reserved_usd=question.most_usd))
            with meter.running():
                reply = question.read(await question.send(number, meter))
            actual = reply.cost_usd
        except asyncio.CancelledError:
            self.journal.note(line("end", status="cancelled") | {"cost_usd": None})
            raise
        finally:
            meter.end(actual)
        record = line("end") | record_values(reply)
        if reply.stop or reply.status == "model_unavailable":
            await self.journal.append(record)
            raise StopRun(f"{reply.stop or question.model.spec}: {reply.error}")
        self._note_error(question.model.spec, reply)
        # The result, or the start of the next attempt, takes this line to the disk with it.
        self.journal.note(record)
        return reply, meter.refused

    def _note_error(self, spec: str, reply: AttemptReply) -> None:
        """A server that is down costs minutes of patience for each call: after many of them it is left alone."""
        if reply.status != "provider_error":
            self.errors.pop(spec, None)
            return
        errors = self.errors.setdefault(spec, [])
        errors.append(reply.error)
        if len(errors) >= self.OUTAGE:
            self.down[spec] = f"{spec} did not answer {len(errors)} calls in a row: {errors[-1]}"
