"""What an agent prints, read while it runs: it is ended as soon as it has opened its first skill, or has answered."""

from __future__ import annotations

import asyncio
from typing import Literal

from skill_health.effectiveness.agents._api import Agent, Command, Job, ProgramOutput, StreamReading
from skill_health.effectiveness.agents._invocation import opened

_MOST = 4 << 20
"""So many bytes are read while it runs; what prints more than that is ended by its turns."""
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
        self._waiting = False

    def command(self, job: Job) -> Command:
        """The agent's command, as the agent's module has it."""
        self._job = job
        return self._agent.command(job)

    def hear(self, data: bytes) -> None:
        """Take in a piece of stdout."""
        self._heard += data
        if b"\n" in data and not self._waiting and not self.reason and len(self._heard) <= _MOST:
            # Lines that come together are read together.
            self._waiting = True
            asyncio.get_running_loop().call_soon(self._look)

    def end_after(self, turns: int) -> str:
        """Why no further call of a model may be made after so many turns; "" where one may."""
        if not self.reason and self._heard:
            self._look()
        if not self.reason and turns >= self._turns:
            self._end("turns")
        return _WORDS.get(self.reason, "")

    def _look(self) -> None:
        self._waiting = False
        if self.reason or self._job is None or len(self._heard) > _MOST:
            return
        try:
            reading = self._agent.read(ProgramOutput(None, bytes(self._heard)), self._job)
        except Exception:
            # The whole stream is read again when the agent has ended, and what is wrong is said then.
            return
        if first_settled(reading, self._job, self._agent.SKILLS):
            self._end("opened")
        elif is_complete(reading):
            self._end("answered")

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
