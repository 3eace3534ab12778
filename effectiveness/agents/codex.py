"""OpenAI's Codex (`codex exec`), by its stream of JSON.

What it is given, the same in every arm: a configuration of ours in a fresh CODEX_HOME, none of the skills that it
brings, no search of the web (which costs money that no count of tokens shows), no session kept. Its own sandbox is off
in each of ours, `none` included: one inside another cannot be had, and no arm must hang on what a host's kernel allows.
The prompt goes in by stdin.

It has no tool for skills: it reads a SKILL.md by a command. Its stream names neither a cost nor a model, counts no
turns, and does not show that a model refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from skill_health.bench.http.json_values import count, mapping, objects, optional, part_of, text
from skill_health.bench.http.messages import Usage
from skill_health.effectiveness.agents._api import (
    Command,
    Failure,
    Job,
    ProgramOutput,
    StreamReading,
    ToolUse,
    TrajectoryStep,
)
from skill_health.effectiveness.agents._failures import failure_of, without_end
from skill_health.effectiveness.agents._invocation import opened
from skill_health.effectiveness.agents._stream import JsonStream, read_stream, words_of
from skill_health.effectiveness.delivery.served import SERVER, STARTS
from skill_health.effectiveness.tasks._folder import File
from skill_health.text.patterns import lazy
from skill_health.text.terminal import one_line

TITLE = "OpenAI Codex"
PROGRAM = "codex"
SKILLS = ".agents/skills"
PROTOCOLS = ("openai-responses",)
ORDERED = False
VERIFIED = "0.169.0"
EXTRA = ""
IMPORTS: tuple[str, ...] = ()
SIMULATED = False
MCP = "{tool}"
MCP_BRINGS = ("list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource")

_FLAGS = (
    "exec", "--json", "--skip-git-repo-check", "--ephemeral", "--ignore-rules", "--color", "never",
    "--dangerously-bypass-approvals-and-sandbox", "-",
)  # fmt: skip
_CONFIG = """\
model = {model}
model_provider = "gateway"
web_search = "disabled"
check_for_update_on_startup = false

[analytics]
enabled = false

[feedback]
enabled = false

[skills.bundled]
enabled = false

[model_providers.gateway]
name = "gateway"
base_url = {base_url}
wire_api = "responses"
env_key = "OPENAI_API_KEY"
"""
_SERVER = """\

[mcp_servers.{name}]
command = {program}
args = {arguments}
startup_timeout_sec = {starts}
required = true
"""
_BLOCK = lazy(r"<skills_instructions>(.*?)</skills_instructions>", re.DOTALL)
_HEAD = "### Available skills"
_LISTED = lazy(r"^- (\S+?):? [^\n]*\(file: [^\n]*\)[ \t]*$", re.MULTILINE)
_AGAIN = "Reconnecting..."
_PLAIN = ("id", "type", "status")
_Event = Mapping[str, Any]


def command(job: Job) -> Command:
    """The program on the task."""
    return _command(job, _FLAGS, job.prompt.encode("utf-8", "replace"))


def probe(job: Job) -> Command:
    """Print what a model would be told, without asking one."""
    return _command(job, ("debug", "prompt-input", "-"), b"")


def listed(output: ProgramOutput) -> tuple[str, ...] | None:
    """The skills in what a model would be told; none where it holds no list of them."""
    try:
        messages = json.loads(output.stdout)
    except (ValueError, RecursionError):
        return None
    if not isinstance(messages, list) or not objects(messages):
        return None
    blocks = [
        found.group(1).partition(_HEAD)[2]
        for message in objects(messages)
        if message.get("role") == "developer"
        for found in _BLOCK.finditer(words_of(message.get("content")))
    ]
    return tuple(name for block in blocks for name in _LISTED.findall(block))


def read(output: ProgramOutput, job: Job) -> StreamReading:
    """What the stream of a trial says."""
    stream = read_stream(output.stdout)
    items: dict[str, _Event] = {}
    for nth, event in enumerate(stream.events):
        item = mapping(event.get("item"))
        if item and text(event.get("type")).startswith("item."):
            items[text(item.get("id")) or f"event_{nth}"] = item
    steps = [_step(call_id, item) for call_id, item in items.items()]
    ended = _last(stream, "turn.completed")
    failure, error = _failure(stream, output)
    invocations, evidence = opened((tool for step in steps for tool in step.tools), job.skills, SKILLS)
    said = [step.message for step in steps if step.source == "agent" and step.message]
    return StreamReading(
        steps=(TrajectoryStep("user", job.prompt), *steps),
        final_message=said[-1] if said else "",
        usage=_usage(mapping(ended.get("usage"))),
        stop_reason="completed" if ended else None,
        session_id=optional(_last(stream, "thread.started").get("thread_id")),
        invocations=invocations,
        evidence=evidence,
        failure=failure,
        error=error,
    )


def _command(job: Job, words: tuple[str, ...], stdin: bytes) -> Command:
    config = _CONFIG.format(model=json.dumps(job.model), base_url=json.dumps(f"{job.base_url}/v1"))
    if job.served:
        program, *arguments = job.served.command
        config += _SERVER.format(
            name=SERVER, program=json.dumps(program), arguments=json.dumps(arguments), starts=STARTS
        )
    return Command(
        (job.program, *words),
        {"CODEX_HOME": f"{job.home}/.codex", "OPENAI_API_KEY": job.key},
        (File(".codex/config.toml", config.encode()),),
        stdin,
    )


def _step(call_id: str, item: _Event) -> TrajectoryStep:
    """One item: a message, a thought, or what it did. One that was begun and not ended has no result."""
    kind = text(item.get("type"))
    if kind == "agent_message":
        return TrajectoryStep("agent", text(item.get("text")))
    if kind == "reasoning":
        return TrajectoryStep("agent", reasoning=text(item.get("text")))
    if kind == "error":
        return TrajectoryStep("system", text(item.get("message")))
    status, code = item.get("status"), item.get("exit_code")
    failed = None if status == "in_progress" else status in ("failed", "declined") or code not in (0, None)
    if kind == "command_execution":
        arguments: Mapping[str, Any] = {"command": text(item.get("command"))}
        result = None if failed is None else text(item.get("aggregated_output"))
    else:
        arguments = mapping(item.get("arguments")) or {key: item[key] for key in item if key not in _PLAIN}
        result = words_of(mapping(item.get("result")).get("content")) or None
    name = text(item.get("tool")) if kind == "mcp_tool_call" else kind
    return TrajectoryStep("agent", tools=(ToolUse(call_id, name, arguments, result, failed),))


def _failure(stream: JsonStream, output: ProgramOutput) -> tuple[Failure, str]:
    """What kept the agent from coming to an end by itself, and one line about it."""
    if _last(stream, "turn.completed"):
        return "", ""
    broken = text(mapping(_last(stream, "turn.failed").get("error")).get("message"))
    last = stream.events[-1] if stream.events else {}
    if not broken and last.get("type") == "error":
        # Stopped while it waited to ask again: the time was not its own.
        broken = text(last.get("message")).removeprefix(_AGAIN)
    if broken:
        return failure_of(broken), one_line(broken)
    return without_end(output, stream)


def _usage(raw: Mapping[str, Any]) -> Usage:
    inputs, outputs = count(raw.get("input_tokens")), count(raw.get("output_tokens"))
    return Usage(
        inputs,
        outputs,
        part_of(raw.get("cached_input_tokens"), inputs),
        part_of(raw.get("cache_write_input_tokens"), inputs),
        part_of(raw.get("reasoning_output_tokens"), outputs),
        raw or None,
    )


def _last(stream: JsonStream, kind: str) -> _Event:
    return next((event for event in reversed(stream.events) if event.get("type") == kind), {})
