"""Gemini CLI, driven without a person: `gemini -o stream-json`, its home a fresh folder, the prompt on stdin.

What it is given, the same in every arm: settings of ours and nobody else's, every tool but those that reach into the
web (searches cost money that no count of tokens shows), no questions asked, and none of the skills that it brings,
unless one of that name is staged, which takes its place: a control is free of skills.

Every model that it asks for a purpose of its own is the one of the trial. It looks for skills in the workspace, not in
the folders above. A subagent's tools are not in its stream.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from skill_health.bench.http.json_values import count, mapping, optional, part_of, text
from skill_health.bench.http.messages import Usage
from skill_health.effectiveness.agents._api import Command, Job, ProgramOutput, StreamReading, TrajectoryStep
from skill_health.effectiveness.agents._failures import api_error, failed, telling, without_end
from skill_health.effectiveness.agents._invocation import opened
from skill_health.effectiveness.agents._stream import Transcript, read_stream
from skill_health.effectiveness.tasks._folder import File
from skill_health.text.patterns import lazy
from skill_health.text.terminal import one_line

TITLE = "Gemini CLI of Google"
PROGRAM = "gemini"
SKILLS = ".gemini/skills"
PROTOCOLS: tuple[str, ...] = ("gemini",)
ORDERED = False
VERIFIED = "0.61.0"
EXTRA = ""
IMPORTS: tuple[str, ...] = ()
SIMULATED = False

_LISTED = lazy(r"(?m)^(\S+) \[Enabled\](?: \[Built-in\])?\r?\n {2}Description:")
_HEADS = ("Discovered Agent Skills:", "No skills discovered")
_NOISE = ("Warning: ", "YOLO mode", "[STARTUP]", "Loaded cached", "Ripgrep is not available")
_BUILT_IN = ("antigravity-support", "skill-creator")
# What it calls the models that it asks beside the user's: for loops after 30 turns, for compressing what was said.
_OF_ITS_OWN = ("gemini-3-flash-base", "loop-detection-double-check", "chat-compression-default")
_WEB = ("google_web_search", "web_fetch")
_SUBAGENTS = frozenset(("invoke_agent", "codebase_investigator", "generalist", "cli_help", "browser_agent"))
_TRUNCATED = "Model response was truncated"
_BLOCKED = "The model response was blocked"


def command(job: Job) -> Command:
    """One turn without questions: every tool is allowed, since the sandbox is what holds."""
    words = (job.program, "--skip-trust", "--yolo", "-m", job.model, "-o", "stream-json")
    # A slash in front would make it a command of the program's own; one that stands after a line break does not.
    prompt = f"\n{job.prompt}" if job.prompt.startswith("/") else job.prompt
    return Command(words, _environment(job), _files(job), prompt.encode("utf-8", "replace"))


def probe(job: Job) -> Command:
    """Its own list of skills, for which it asks nobody."""
    return Command((job.program, "skills", "list", "--all"), _environment(job), _files(job))


def listed(output: ProgramOutput) -> tuple[str, ...] | None:
    """The names of the skills that are switched on."""
    said = output.stdout.decode("utf-8", "replace")
    if output.exit_code != 0 or not any(head in said for head in _HEADS):
        return None
    return tuple(found[1] for found in _LISTED.finditer(said))


def _environment(job: Job) -> dict[str, str]:
    nowhere = f"{job.home}/.gemini/none.json"
    return {
        "GEMINI_CLI_HOME": job.home,
        "GEMINI_API_KEY": job.key,
        "GOOGLE_GEMINI_BASE_URL": job.base_url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_CLI_NO_RELAUNCH": "true",
        # Settings of the whole machine are as good as a user's: they must not reach a trial.
        "GEMINI_CLI_SYSTEM_SETTINGS_PATH": nowhere,
        "GEMINI_CLI_SYSTEM_DEFAULTS_PATH": nowhere,
        "NO_COLOR": "1",
    }


def _files(job: Job) -> tuple[File, ...]:
    settings: dict[str, Any] = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "tools": {"exclude": list(_WEB)},
        "skills": {"disabled": [name for name in _BUILT_IN if name not in {skill.name for skill in job.skills}]},
    }
    asks = {"extends": "base", "modelConfig": {"model": job.model}}
    settings["modelConfigs"] = {"customAliases": dict.fromkeys(_OF_ITS_OWN, asks)}
    if job.max_output_tokens:
        limit = {"generateContentConfig": {"maxOutputTokens": job.max_output_tokens}}
        settings["modelConfigs"]["overrides"] = [{"match": {"model": job.model}, "modelConfig": limit}]
    return (File(".gemini/settings.json", json.dumps(settings, indent=1).encode("ascii")),)


def read(output: ProgramOutput, job: Job) -> StreamReading:
    """What the stream of a trial says. It has no cost, and no tokens of single answers."""
    stream = read_stream(output.stdout)
    events = stream.events
    start = next((event for event in events if event.get("type") == "init"), {})
    steps = _transcript(events).steps()
    tools = [tool for step in steps for tool in step.tools]
    names, evidence = opened(tools, job.skills, SKILLS)
    known = StreamReading(
        steps=(TrajectoryStep("user", job.prompt), *steps),
        final_message=steps[-1].message if steps else "",
        turns=len(steps) or None,
        model=optional(start.get("model")),
        session_id=optional(start.get("session_id")),
        invocations=names,
        evidence=evidence,
        observable=bool(names) or not any(tool.name in _SUBAGENTS for tool in tools),
    )
    # One stream may hold two results, where a shutdown goes wrong: the first one is the agent's.
    end = next((event for event in events if event.get("type") == "result"), None)
    if end is None:
        failure, error = without_end(telling(output, _NOISE), stream)
        return replace(known, failure=failure, error=error)
    return _finished(known, end, [text(event.get("message")) for event in events if event.get("type") == "error"])


def _finished(known: StreamReading, end: Mapping[str, Any], errors: list[str]) -> StreamReading:
    stats = mapping(end.get("stats"))
    models = mapping(stats.get("models"))
    by_use = sorted(models, key=lambda name: count(mapping(models[name]).get("total_tokens")) or 0)
    known = replace(
        known, usage=_usage(stats, known), model=by_use[-1] if by_use else known.model, stop_reason=_reason(end, errors)
    )
    if end.get("status") != "error":
        return known
    message = text(mapping(end.get("error")).get("message")) or next((error for error in reversed(errors) if error), "")
    if any(error.startswith(_TRUNCATED) for error in (message, *errors[-1:])):
        # It came to an end by itself, badly.
        return replace(known, error=one_line(message))
    if message.startswith(_BLOCKED):
        return replace(known, failure="refusal", error=one_line(message))
    failure, line = api_error(message) or failed(None, message)
    return replace(known, failure=failure, error=line)


def _reason(end: Mapping[str, Any], errors: list[str]) -> str | None:
    if errors and errors[-1].startswith(_TRUNCATED):
        return "max_tokens"
    kind = optional(mapping(end.get("error")).get("type"))
    return kind if kind and kind != "unknown" else optional(end.get("status"))


def _usage(stats: Mapping[str, Any], known: StreamReading) -> Usage:
    """Tokens of the whole trial; what it calls output are the words without the thoughts before them."""
    whole, taken = count(stats.get("total_tokens")), count(stats.get("input_tokens"))
    if not whole and known.turns is None:
        # No answer came: zeros here are for what was never counted.
        return Usage()
    given = count(stats.get("output_tokens"))
    cached = part_of(stats.get("cached"), taken)
    if whole is None or taken is None or given is None or whole < taken + given:
        return Usage(taken, given, cached)
    return Usage(taken, whole - taken, cached, reasoning_tokens=whole - taken - given)


def _transcript(events: Iterable[Mapping[str, Any]]) -> Transcript:
    made = Transcript()
    for event in events:
        kind, at = event.get("type"), optional(event.get("timestamp"))
        if kind == "message" and event.get("role") == "assistant":
            made.say(text(event.get("content")), at)
        elif kind == "tool_use":
            made.call(text(event.get("tool_id")), text(event.get("tool_name")), mapping(event.get("parameters")), at)
        elif kind == "tool_result":
            result = text(event.get("output")) or text(mapping(event.get("error")).get("message"))
            made.give(text(event.get("tool_id")), result, event.get("status") == "error")
            made.close()
    return made
