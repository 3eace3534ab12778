"""Claude Code (`claude`), by its print mode with a stream of JSON.

What it is given, the same in every arm: the settings of the workspace only (no user's), no MCP server but none, every
tool but those that reach into the web (searches cost money that no count of tokens shows), no questions asked, no
session kept, and none of the skills that it brings: a skill under test may have the name of one of them, and so a
control is free of skills. Its helpers ask the same model, so that one price holds. The prompt goes in by stdin.

Its stream begins with the skills that it sees, before any model is asked. Of the tokens of a message the stream says
only what was read; its last line has the totals.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from skill_health.bench.http.json_values import added, count, mapping, objects, optional, part_of, text
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
from skill_health.text.terminal import one_line

SYNTHETIC = "<synthetic>"
"""The model of a message that the program itself wrote, such as one about an error."""


@dataclass(slots=True)
class _Draft:
    """One message of the model, which comes in several events, one for each block."""

    model: str | None
    usage: Usage | None
    at: str | None
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    tools: list[ToolUse] = field(default_factory=list)


def steps_of(events: Iterable[Mapping[str, Any]]) -> tuple[TrajectoryStep, ...]:
    """The steps, with the results of tools beside their calls; those of agents that it started itself among them.

    The usage of a step has no output tokens: what a message says of them is not final.
    """
    drafts: list[_Draft | TrajectoryStep] = []
    known: dict[str, _Draft] = {}
    results: dict[str, tuple[str, bool | None]] = {}
    for event in events:
        message = mapping(event.get("message"))
        at = optional(event.get("timestamp"))
        if event.get("type") == "assistant":
            if message.get("model") == SYNTHETIC:
                drafts.append(TrajectoryStep("system", words_of(message.get("content")), at=at))
            else:
                message_id = text(message.get("id")) or f"event {len(drafts)}"
                if message_id not in known:
                    known[message_id] = _Draft(optional(message.get("model")), _input(message.get("usage")), at)
                    drafts.append(known[message_id])
                _add(known[message_id], message)
        elif event.get("type") == "user":
            plain = []
            for block in _blocks(message.get("content")):
                if block.get("type") == "tool_result":
                    results[text(block.get("tool_use_id"))] = (words_of(block.get("content")), _failed(block))
                else:
                    plain.append(words_of(block))
            if any(plain):
                drafts.append(TrajectoryStep("system" if event.get("isSynthetic") else "user", "\n".join(plain), at=at))
    return tuple(draft if isinstance(draft, TrajectoryStep) else _step(draft, results) for draft in drafts)


def _add(draft: _Draft, message: Mapping[str, Any]) -> None:
    for block in _blocks(message.get("content")):
        kind = block.get("type")
        if kind == "tool_use":
            arguments = mapping(block.get("input"))
            draft.tools.append(ToolUse(text(block.get("id")), text(block.get("name")), arguments))
        elif kind == "thinking":
            draft.thoughts.append(text(block.get("thinking")))
        elif kind == "text":
            draft.texts.append(text(block.get("text")))


def _step(draft: _Draft, results: Mapping[str, tuple[str, bool | None]]) -> TrajectoryStep:
    tools = tuple(
        ToolUse(tool.call_id, tool.name, tool.arguments, *results.get(tool.call_id, (None, None)))
        for tool in draft.tools
    )
    return TrajectoryStep(
        "agent", "\n".join(filter(None, draft.texts)), tools, "\n".join(filter(None, draft.thoughts)),
        draft.model, draft.usage, draft.at,
    )  # fmt: skip


def _blocks(content: Any) -> list[Mapping[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)


def _failed(block: Mapping[str, Any]) -> bool | None:
    failed = block.get("is_error", False)
    return failed if isinstance(failed, bool) else None


def _input(raw: Any) -> Usage | None:
    given = mapping(raw)
    cached, written = given.get("cache_read_input_tokens"), given.get("cache_creation_input_tokens")
    inputs = added(given.get("input_tokens"), cached, written)
    if inputs is None:
        return None
    return Usage(inputs, None, part_of(cached, inputs), part_of(written, inputs))


TITLE = "Claude Code"
PROGRAM = "claude"
SKILLS = ".claude/skills"
PROTOCOLS = ("anthropic",)
ORDERED = False
VERIFIED = "2.1.197"
EXTRA = ""
IMPORTS: tuple[str, ...] = ()
SIMULATED = False
MCP = "mcp__{server}__{tool}"

_FLAGS = (
    "-p", "--output-format", "stream-json", "--verbose", "--setting-sources", "project", "--strict-mcp-config",
    "--no-session-persistence", "--permission-mode", "bypassPermissions", "--disallowedTools", "WebFetch,WebSearch",
)  # fmt: skip
_RETRIES = 6
_SERVERS = ".claude/servers.json"
_MOST_DOLLARS = 1e6
_Event = Mapping[str, Any]


def command(job: Job) -> Command:
    """The program on the task."""
    # A slash in front would make it a command of the program's own; one that stands after a line break does not.
    prompt = f"\n{job.prompt}" if job.prompt.startswith("/") else job.prompt
    return _command(job, prompt)


def probe(job: Job) -> Command:
    """A command of its own, which asks no model; the stream begins with the skills as always."""
    return _command(job, "/cost")


def listed(output: ProgramOutput) -> tuple[str, ...] | None:
    """The skills that the stream begins with."""
    return _listed(_first(read_stream(output.stdout).events, "system", "init"))


def read(output: ProgramOutput, job: Job) -> StreamReading:
    """What the stream of a trial says. `turns` are messages of the model; the program's own count has more in it."""
    stream = read_stream(output.stdout)
    init, result = _first(stream.events, "system", "init"), _last(stream.events, "result")
    steps = steps_of(stream.events)
    failure, error = _failure(stream, result, output)
    invocations, evidence = opened((tool for step in steps for tool in step.tools), job.skills, SKILLS)
    said = [step for step in steps if step.source == "agent"]
    answer = optional(result.get("result")) if result.get("is_error") is False else None
    return StreamReading(
        steps=(TrajectoryStep("user", job.prompt), *steps),
        final_message=answer or next((step.message for step in reversed(said) if step.message), ""),
        usage=_usage(result),
        cost_usd=_dollars(result.get("total_cost_usd")),
        turns=len(said) if said or result else None,
        stop_reason=optional(result.get("stop_reason")) or optional(result.get("subtype")),
        model=next((step.model for step in said if step.model), None) or optional(init.get("model")),
        version=optional(init.get("claude_code_version")),
        session_id=optional(init.get("session_id")),
        invocations=invocations,
        evidence=evidence,
        listed=_listed(init),
        failure=failure,
        error=error,
    )


def _command(job: Job, prompt: str) -> Command:
    env = {
        "ANTHROPIC_BASE_URL": job.base_url,
        "ANTHROPIC_API_KEY": job.key,
        "ANTHROPIC_SMALL_FAST_MODEL": job.model,
        "CLAUDE_CODE_SUBAGENT_MODEL": job.model,
        "CLAUDE_CONFIG_DIR": f"{job.home}/.claude",
        "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": str(_RETRIES),
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        # As root it does without questions only where it is told that this is a sandbox.
        "IS_SANDBOX": "1",
    }
    if job.max_output_tokens > 0:
        env["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] = str(job.max_output_tokens)
    words, files = [job.program, *_FLAGS, "--model", job.model], []
    if job.served:
        # Else it begins before the server has said what tools it has, or after five seconds, and offers tools only when
        # they are searched for.
        wait = str(1000 * STARTS)
        env |= {
            "MCP_CONNECTION_NONBLOCKING": "0",
            "ENABLE_TOOL_SEARCH": "false",
            "MCP_TIMEOUT": wait,
            "MCP_CONNECT_TIMEOUT_MS": wait,
        }
        program, *arguments = job.served.command
        servers = {"mcpServers": {SERVER: {"type": "stdio", "command": program, "args": arguments}}}
        files.append(File(_SERVERS, json.dumps(servers).encode("ascii")))
        words += ["--mcp-config", f"{job.home}/{_SERVERS}"]
    return Command(tuple(words), env, tuple(files), prompt.encode("utf-8", "replace"))


def _failure(stream: JsonStream, result: _Event, output: ProgramOutput) -> tuple[Failure, str]:
    """What kept the agent from coming to an end by itself, and one line about it."""
    last = stream.events[-1] if stream.events else {}
    if not result and last.get("subtype") == "api_retry":
        # Stopped while it waited to ask again: the time was not its own.
        status, word = count(last.get("error_status")), one_line(text(last.get("error")))
        return failure_of(
            word, status
        ), f"the model did not answer (status {status or 'unknown'}, {word or 'no reason'})"
    if not result:
        return without_end(output, stream)
    if result.get("stop_reason") == "refusal":
        return "refusal", one_line(text(result.get("result")))
    if result.get("is_error") is not True:
        return "", ""
    if result.get("subtype") in ("error_max_turns", "error_max_budget_usd"):
        return "", f"stopped by its own limit ({result['subtype']})"
    words = [text(result.get("result")), *(text(line) for line in _texts(result.get("errors")))]
    message = one_line("; ".join(filter(None, words)) or text(result.get("subtype")) or "the agent reports an error")
    if "billing_error" in (event.get("error") for event in stream.events if event.get("type") == "assistant"):
        return "quota", message
    return failure_of(message, count(result.get("api_error_status"))), message


def _usage(result: _Event) -> Usage:
    """The tokens of all models; those of the main one where they are not told apart."""
    parts = [
        (of.get("inputTokens"), of.get("outputTokens"), of.get("cacheReadInputTokens"), of.get("cacheCreationInputTokens"))
        for of in objects(list(mapping(result.get("modelUsage")).values()))
    ]  # fmt: skip
    raw = mapping(result.get("modelUsage"))
    if not parts:
        raw = mapping(result.get("usage"))
        names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        parts = [(raw.get(names[0]), raw.get(names[1]), raw.get(names[2]), raw.get(names[3]))] if raw else []
    if not parts:
        return Usage()
    # What was read from a cache or written to one is not in the input tokens.
    inputs = _sum([added(first, cached, written) for first, _, cached, written in parts])
    outputs = _sum([count(output) for _, output, _, _ in parts])
    cached = part_of(_sum([count(cached) for _, _, cached, _ in parts]), inputs)
    written = part_of(_sum([count(written) for _, _, _, written in parts]), inputs)
    return Usage(inputs, outputs, cached, written, raw=raw)


def _sum(numbers: Sequence[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def _listed(init: _Event) -> tuple[str, ...] | None:
    skills = init.get("skills")
    return tuple(_texts(skills)) if isinstance(skills, list) else None


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _dollars(value: Any) -> float | None:
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if known and 0 <= value <= _MOST_DOLLARS else None


def _first(events: Sequence[_Event], kind: str, subtype: str) -> _Event:
    return next((event for event in events if event.get("type") == kind and event.get("subtype") == subtype), {})


def _last(events: Sequence[_Event], kind: str) -> _Event:
    return next((event for event in reversed(events) if event.get("type") == kind), {})
