"""One request to one agent, from a proved workspace to what the agent opened first."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

from msgspec import UNSET, structs

from skill_health.activation.call.workshop import ProvedWorkspace, Workshop
from skill_health.core.files import blake2b
from skill_health.documents._record import TokenUsage
from skill_health.documents.activation_result import ActivationOutcome, LoadResult, LoadVerdict
from skill_health.effectiveness.agents._api import Agent, Command, Job, ProgramOutput, StreamReading
from skill_health.effectiveness.agents._invocation import opened
from skill_health.effectiveness.gateway._api import GatewayTrace
from skill_health.effectiveness.gateway.ledger import offered_order, texts_of
from skill_health.effectiveness.sandbox._run import SandboxError
from skill_health.effectiveness.trial.agent_run import AgentRun, all_secrets, open_line, read_agent, run_agent
from skill_health.effectiveness.trial.outcome import AgentExit, disagreeing, ending, numbers
from skill_health.effectiveness.trial.redact import redact
from skill_health.effectiveness.trial.spec import TrialSpec
from skill_health.effectiveness.trial.visibility import wanted_offers
from skill_health.effectiveness.workspace.workspace import is_staged
from skill_health.text.near import list_some
from skill_health.text.terminal import clean

_MOST_STREAM = 512 << 10
_LONGEST_NOTE = 500
_TELLING_PROMPT = 24
"""A prompt of fewer characters may stand in any request."""
_IMPOSED: dict[str, ActivationOutcome] = {"timeout": "timeout", "fail": "limit", "refusal": "refusal"}
_MOST_READ = 4 << 20
"""So many bytes are read while it runs; what prints more than that is ended by its turns."""
_LINGER = 2.0
"""Seconds that an agent has to end by itself once it has answered: some say only then that the answer was refused."""
StopReason = Literal["", "opened", "answered", "turns"]
_WORDS = {
    "opened": "the first skill was opened",
    "answered": "the agent has answered",
    "turns": "its turns are used up",
}


class AgentListener:
    """Reads the stream of one agent as it comes, and sets `stop` where there is nothing more to wait for.

    `reason` is why it was set, "" as long as it was not.
    """

    def __init__(self, agent: Agent, turns: int) -> None:
        self.reason: StopReason = ""
        self.stop = asyncio.Event()
        self._agent, self._turns = agent, turns
        self._job: Job | None = None
        self._heard = bytearray()
        self._waiting = self._answered = self._lingered = False

    def command(self, job: Job) -> Command:
        """The agent's command, as the agent's module has it."""
        self._job = job
        return self._agent.command(job)

    def hear(self, data: bytes) -> None:
        """Take in a piece of stdout."""
        self._heard += data
        if b"\n" in data and not self._waiting and not self.reason and len(self._heard) <= _MOST_READ:
            # Lines that come together are read together.
            self._waiting = True
            asyncio.get_running_loop().call_soon(self._look)

    def end_after(self, turns: int, given: bool) -> str:
        """Why no further call of a model may be made after so many turns; "" where one may.

        That a skill was `given`, the gateway may know earlier than the stream says it.
        """
        if not self.reason and self._heard:
            self._look()
        if not self.reason and given:
            self._end("opened")
        if not self.reason and turns >= self._turns:
            self._end("turns")
        return _WORDS.get(self.reason, "")

    def _look(self) -> None:
        self._waiting = False
        if self.reason or self._job is None or len(self._heard) > _MOST_READ:
            return
        try:
            reading = self._agent.read(ProgramOutput(None, bytes(self._heard)), self._job)
        except Exception:
            # The whole stream is read again when the agent has ended, and what is wrong is said then.
            return
        if first_settled(reading, self._job, self._agent.SKILLS):
            self._end("opened")
        elif not is_complete(reading):
            self._answered = False
        elif self._lingered:
            self._end("answered")
        elif not self._answered:
            self._answered = True
            asyncio.get_running_loop().call_later(_LINGER, self._look_again)

    def _look_again(self) -> None:
        """End an agent that has answered and not gone, where nothing has come since that says otherwise."""
        self._lingered = self._answered
        self._look()

    def _end(self, reason: StopReason) -> None:
        self.reason = reason
        self.stop.set()


def first_settled(reading: StreamReading, job: Job, folder: str) -> bool:
    """Whether a skill was opened by a call that has come back: one under way may still fail."""
    back = [tool for step in reading.steps for tool in step.tools if tool.result is not None or tool.failed is not None]
    return bool(opened(back, job.skills, folder)[0])


def is_complete(reading: StreamReading) -> bool:
    """Whether a stream that was read without an exit code has the end of the agent in it."""
    return not reading.failure


@dataclass(frozen=True, slots=True)
class LoadRecord:
    """What a call came to: its result, and what is kept of it, without secrets."""

    result: LoadResult
    stream: bytes = field(default=b"", repr=False)
    request: bytes = field(default=b"", repr=False)


async def run_load(cell: TrialSpec, workshop: Workshop, turns: int, others: tuple[str, ...]) -> LoadRecord:
    """Give an agent a request, and see which skill it opens first. `others` are the texts of all other prompts.

    Cancellation ends the process tree and raises CancelledError. Raises AbortedError where nothing can be run.
    """
    async with workshop.workspace(cell) as ready:
        return await _run(cell, ready, turns, others)


async def _run(cell: TrialSpec, ready: ProvedWorkspace, turns: int, others: tuple[str, ...]) -> LoadRecord:
    at, hidden = ready.at, all_secrets(cell)
    known = LoadResult(
        cell.task.id, cell.choice.spec, len(cell.skills), cell.replication, "infrastructure",
        tree=ready.tree, served=ready.served, renewed=ready.renewed, attempts=cell.attempt,
    )  # fmt: skip
    if not is_staged(cell, at):
        return LoadRecord(_disagreed(known, "what was staged is not on the disk as it was planned"))
    listener = AgentListener(cell.choice.agent, turns)
    try:
        async with open_line(cell, at, end_after=listener.end_after) as line:
            hidden = all_secrets(cell, line.key)
            ran = await run_agent(
                cell, at, line, listener.command, cell.limits.timeout_sec, listener.stop, listener.hear
            )
    except SandboxError as error:
        return LoadRecord(structs.replace(known, error=_plain(str(error), hidden)))
    if ran is None:
        return LoadRecord(structs.replace(known, error="the agent's module gives no command"))
    ran, seen = replace(ran, reading=await read_agent(cell, ran)), line.look()
    # That we ended it is no fault of its own.
    output = replace(ran.output, stopped="") if listener.reason else ran.output
    end = ending(cell, output, ran.reading, seen)
    if not end.disagreement and seen and (wrong := await asyncio.to_thread(wrong_request, cell, seen, others)):
        end = disagreeing(wrong, end.notes)
    result = result_of(known, cell, ran, seen, end, listener.reason, hidden)
    request = redact(seen.first_request, hidden) if seen else b""
    if request:
        result = structs.replace(result, request=blake2b(request, digest_size=16).hexdigest())
    return LoadRecord(result, _shortened(ran.output.stdout), request)


def result_of(
    known: LoadResult,
    cell: TrialSpec,
    ran: AgentRun,
    seen: GatewayTrace | None,
    end: AgentExit,
    stopped: StopReason,
    hidden: tuple[str, ...],
) -> LoadResult:
    """The result of an agent that has ended; `stopped` is why we ended it, "" where we did not."""
    counted = numbers(cell, ran.reading, seen)
    told = verdict(cell, ran, seen)
    notes = [*end.notes, *counted.notes]
    result = structs.replace(
        known,
        outcome=outcome_of(end, told.loaded, stopped),
        loaded=told.loaded,
        first=told.opened[0] if told.loaded == "yes" else None,
        opened=told.opened,
        evidence=tuple(_plain(each, hidden) for each in told.evidence),
        why=told.why,
        offered=_offered(cell, ran, seen),
        turns=seen.turns if seen else ran.reading.turns,
        usage=TokenUsage(**asdict(counted.usage) | {"raw": None}),
        usage_source=counted.usage_source,
        cost_usd=counted.cost_usd,
        cost_source=counted.cost_source,
        duration_ms=ran.output.duration_ms,
        resolved_model=seen.models[-1] if seen and seen.models else ran.reading.model,
        notes=tuple(_plain(note, hidden) for note in notes),
        error=_plain(end.error, hidden),
        disagreement=_plain(end.disagreement, hidden) if end.disagreement else UNSET,
    )
    if not result.scored:
        return structs.replace(result, loaded="cannot_tell", first=None)
    result = structs.replace(result, error="")
    if result.loaded == "no" and result.outcome in ("timeout", "limit"):
        why = "its time was up" if result.outcome == "timeout" else "it took more than it may"
        return structs.replace(result, loaded="cannot_tell", why=f"{why} before it had opened a skill or answered")
    return result


@dataclass(frozen=True, slots=True)
class ToldLoad:
    """What is known of the skills that an agent opened, and by what; `why` it cannot be told."""

    loaded: LoadVerdict
    opened: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    why: str = ""


def verdict(cell: TrialSpec, ran: AgentRun, seen: GatewayTrace | None) -> ToldLoad:
    """Which skills were opened: by the agent's own stream, else by their texts in what it sent to its model.

    A stream of which something was left out, or that does not show all that the agent does, tells what was opened and
    never that nothing was.
    """
    staged = {skill.name for skill in cell.skills}
    found = [
        (name, how) for name, how in zip(ran.reading.invocations, ran.reading.evidence, strict=False) if name in staged
    ]
    if found:
        return ToldLoad("yes", tuple(name for name, _ in found), tuple(how for _, how in found))
    groups = [[name for name in group if name in staged] for group in (seen.given if seen else ())]
    given = [group for group in groups if group]
    if given and len(given[0]) == 1:
        names = tuple(dict.fromkeys(name for group in given for name in group))
        return ToldLoad("yes", names, tuple(f"its text stood in a request: {name}" for name in names))
    if given:
        return ToldLoad(
            "cannot_tell", tuple(given[0]), why="the texts of several skills came with one request, by a way unknown"
        )
    if ran.output.cut_stdout:
        return ToldLoad("cannot_tell", why="the agent printed more than is kept")
    if not ran.reading.observable:
        return ToldLoad("cannot_tell", why="the agent's stream does not show all that it did")
    return ToldLoad("no")


def outcome_of(end: AgentExit, loaded: LoadVerdict, stopped: StopReason) -> ActivationOutcome:
    """How a call ended. What was opened before something broke was opened all the same."""
    if end.disagreement or end.imposed in ("quota", "auth"):
        return "infrastructure" if end.disagreement else "quota" if end.imposed == "quota" else "auth"
    if loaded == "yes":
        return "loaded"
    if end.imposed in _IMPOSED:
        return _IMPOSED[end.imposed]
    if stopped == "turns":
        return "turn_limit"
    return "infrastructure" if end.imposed == "infrastructure" else "answered"


def wrong_request(cell: TrialSpec, seen: GatewayTrace, others: tuple[str, ...]) -> str:
    """What is wrong with the first request of an agent: a skill is missing, or another prompt stands in it; "" else.

    A prompt that stands in what is staged, or within this one, says nothing.
    """
    missing = sorted(wanted_offers(cell) - set(seen.offered or ())) if seen.turns else []
    if missing:
        return f"{list_some(missing)} staged and not offered in a request that was answered"
    told = " ".join(texts_of(seen.first_request).split())
    own = " ".join([cell.prompt, *(skill.description for skill in cell.skills)]).split()
    mine = " ".join(own)
    for other in others:
        flat = " ".join(other.split())
        if len(flat) >= _TELLING_PROMPT and flat in told and flat not in mine:
            return f"its first request holds the text of another prompt ({flat[:60]!r})"
    return ""


def _offered(cell: TrialSpec, ran: AgentRun, seen: GatewayTrace | None) -> tuple[str, ...] | None:
    """The staged skills in the order of the first request, else of the agent's own list."""
    about = {skill.name: skill.description for skill in cell.skills}
    if seen is not None and seen.first_request and not cell.arm.served:
        return offered_order(seen.first_request, about)
    if ran.reading.listed is None or seen is not None:
        return None
    return tuple(name for name in ran.reading.listed if name in about)


def _disagreed(known: LoadResult, what: str) -> LoadResult:
    end = disagreeing(what)
    return structs.replace(known, error=end.error, disagreement=what)


def _shortened(data: bytes) -> bytes:
    return data if len(data) <= _MOST_STREAM else data[: _MOST_STREAM // 2] + b"\n...\n" + data[-_MOST_STREAM // 2 :]


def _plain(text: str, hidden: tuple[str, ...]) -> str:
    """One line without secrets."""
    shown = redact(text.encode("utf-8", "replace"), hidden).decode("utf-8", "replace")
    return clean(" ".join(shown.split()))[:_LONGEST_NOTE]
