"""What an agent is, and what its module must offer.

A module of this package whose name has no underscore in front is one agent; `claude-code` is `claude_code.py`. It has

    TITLE                  one line for `effectiveness agents`
    PROGRAM                the executable that is looked for on PATH, "" for an agent of our own
    SKILLS                 the folder below the workspace where it looks for skills, such as ".claude/skills"
    PROTOCOLS              those of bench/providers that it speaks, its own vendor's first; () where it asks no model
    ORDERED                whether it lists skills in the order of `Job.skills`; else no `order:` arm can be had
    VERIFIED               the version with which all this was seen to hold, "" for one known from documents only
    EXTRA, IMPORTS         the extra of the distribution that it needs and the modules it must bring; "" and ()
    SIMULATED              True for an agent whose results say nothing about any model
    command(job)           Command: the program that does the task; pure
    probe(job)             Command that makes the agent list its skills without asking a model, None where it has none
    listed(output)         the names that such a probe printed, None where they cannot be told
    MCP                    how it calls a tool of an MCP server before its model, such as "mcp__{server}__{tool}"; not
                           there where it takes none: it can then have no arm in which a server gives the skills
    MCP_BRINGS             tools of its own that it offers only where there is such a server; not there where none
    read(output, job)      Reading: what its stream says; never raises for what the stream holds

An agent that asks servers of its own, with a key of its own, can have no gateway. Its module says so by

    OWN_KEY                the variable of that key, which then is in its sandbox
    DOMAINS                of those servers: its sandbox has a way to them, and to nothing else
    UNPROVED               what nobody sees of it; it runs only where the user accepts that by name

A module imports nothing at its top that the base installation does not have. All agents are programs: they run inside
the sandbox. The others reach their model through the gateway alone, with a stand-in for the key. Only a simulated one
may bring a function that does the same (`Command.simulation`), which is called where there is no sandbox.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from skill_health.bench.http.messages import Usage
from skill_health.effectiveness.delivery.served import ServerCommand, tool_names
from skill_health.effectiveness.records import SkillCopy
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._folder import File

Failure = Literal["", "infrastructure", "quota", "auth", "refusal"]


@dataclass(frozen=True, slots=True)
class Job:
    """One trial as an agent is told of it. Paths are those that the agent sees inside its sandbox.

    `spec` is the whole name as the user gave it, `model` what is asked for at the provider ("" for none). `base_url` is
    the gateway's, without a slash at its end and without a version ("http://127.0.0.1:8181"); `key` is a stand-in that
    opens nothing else. `served` is the server that gives the skills, where one does. `protocol` is one of the
    module's. `program` is the absolute path of the executable. `arm`, `task` and `creating` are for the scripted agent,
    which must know what it pretends; no other may look at them.
    """

    spec: str
    model: str
    prompt: str
    workspace: str
    home: str
    temporary: str
    skills: tuple[SkillCopy, ...]
    program: str = ""
    protocol: str = ""
    base_url: str = ""
    key: str = ""
    seed: int = 1
    replication: int = 0
    timeout_sec: float = 600.0
    max_output_tokens: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    arm: str = ""
    task: Task | None = None
    served: ServerCommand | None = None
    creating: bool = False


Simulation = Callable[[str, Callable[[bytes], None], Callable[[float], None]], int]
"""What a program of ours does, as a function of the workspace, of what prints bytes and of what waits for seconds; it
returns the exit code."""


@dataclass(frozen=True, slots=True)
class Command:
    """A program to run in the workspace. `env` comes on top of a clean environment; `files` are written below home.

    `programs` are absolute paths of further programs that it starts: they are shown to it like its own. `simulation`
    does the same as the program, and is called in its place where nothing would be kept apart anyway. Only a simulated
    agent has one, and only for code of its own that starts nothing.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    files: tuple[File, ...] = ()
    stdin: bytes = b""
    programs: tuple[str, ...] = ()
    simulation: Simulation | None = None


@dataclass(frozen=True, slots=True)
class ProgramOutput:
    """What a program left. `exit_code` is None where it was stopped, negative after a signal.

    `stopped` says why: "" (it was not), "timeout", "output", "disk", "processes", "cancelled". Of `stdout` and
    `stderr` no more than the limit of output is kept, the beginning and the end: `cut_stdout` and `cut_stderr` say
    where something was left out, 0 for nowhere.
    """

    exit_code: int | None
    stdout: bytes = b""
    stderr: bytes = b""
    stopped: str = ""
    duration_ms: float | None = None
    cut_stdout: int = 0
    cut_stderr: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One call of a tool, with what came back (None: nothing is known of it)."""

    call_id: str
    name: str
    arguments: Mapping[str, Any]
    result: str | None = None
    failed: bool | None = None


@dataclass(frozen=True, slots=True)
class TrajectoryStep:
    """One step of a trajectory. `at` is an ISO time that the stream itself holds."""

    source: Literal["system", "user", "agent"]
    message: str = ""
    tools: tuple[ToolUse, ...] = ()
    reasoning: str = ""
    model: str | None = None
    usage: Usage | None = None
    at: str | None = None


@dataclass(frozen=True, slots=True)
class StreamReading:
    """What an agent's stream says. What it does not say is None, never 0.

    `usage` is of the whole trial; `input_tokens` counts cached ones, too. `failure` is "" where the agent came to an
    end by itself, well or badly. `invocations` are names of skills that it opened, with the `evidence` for each;
    `observable` is False where the stream cannot tell. `listed` are the skills that it says it was given.
    """

    steps: tuple[TrajectoryStep, ...] = ()
    final_message: str = ""
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    turns: int | None = None
    stop_reason: str | None = None
    model: str | None = None
    version: str | None = None
    session_id: str | None = None
    invocations: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    observable: bool = True
    listed: tuple[str, ...] | None = None
    failure: Failure = ""
    error: str = ""

    @property
    def tool_calls(self) -> int:
        """How many tools it called, as far as the steps tell."""
        return sum(len(step.tools) for step in self.steps)


def unproved_of(agent: Agent) -> str:
    """What nobody sees of an agent that asks servers of its own; "" for all others."""
    return str(getattr(agent, "UNPROVED", ""))


def served_tools(agent: Agent) -> dict[str, str]:
    """The tools of a server of skills as an agent calls them, each with its description; none where it takes none."""
    return tool_names(str(getattr(agent, "MCP", "")))


class Agent(Protocol):
    """An agent's module."""

    TITLE: str
    PROGRAM: str
    SKILLS: str
    PROTOCOLS: tuple[str, ...]
    ORDERED: bool
    VERIFIED: str
    EXTRA: str
    IMPORTS: tuple[str, ...]
    SIMULATED: bool

    def command(self, job: Job) -> Command:
        """The program that does the task."""

    def probe(self, job: Job) -> Command | None:
        """The program that lists what the agent sees, at no cost; None where there is none."""

    def listed(self, output: ProgramOutput) -> tuple[str, ...] | None:
        """The names of skills that the probe printed."""

    def read(self, output: ProgramOutput, job: Job) -> StreamReading:
        """What the stream of a trial says."""
