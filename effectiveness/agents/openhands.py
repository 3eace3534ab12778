"""OpenHands, driven without a person: `openhands --headless --json`, its home a fresh folder, the prompt an argument.

What it is given, the same in every arm: the model by variables, since its settings would hold them in a file; no
questions asked; none of the public skills of its makers, which it looks for at each start. It looks for skills in
`.agents/skills` of the workspace. A limit of output cannot be told to it.

It is for Python 3.12 alone. It prints a line of JSON for every event, plain lines before and after them, and leaves
with exit code 0 however it ended. What it used stands nowhere in all that: the gateway saw it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from skill_health.bench.http.json_values import mapping, text
from skill_health.effectiveness.agents._api import (
    Command,
    Failure,
    Job,
    ProgramOutput,
    StreamReading,
    ToolUse,
    TrajectoryStep,
)
from skill_health.effectiveness.agents._failures import failed, without_end
from skill_health.effectiveness.agents._invocation import opened
from skill_health.effectiveness.agents._stream import JsonStream, Transcript, read_stream, words_of

TITLE = "OpenHands, with a model of OpenAI or Anthropic"
PROGRAM = "openhands"
SKILLS = ".agents/skills"
PROTOCOLS: tuple[str, ...] = ("openai", "anthropic")
ORDERED = False
VERIFIED = "1.16.0"
EXTRA = ""
IMPORTS: tuple[str, ...] = ()
SIMULATED = False

_EDITOR, _VIEW, _FINISH = "file_editor", "view", "finish"
_ENDED = "Agent finished"
_LIMIT = "MaxIterationsReached"


def command(job: Job) -> Command:
    """One task without questions: every action is approved, since the sandbox is what holds."""
    options = ("--headless", "--json", "--override-with-envs", "--exit-without-confirmation")
    base_url = f"{job.base_url}/v1" if job.protocol == "openai" else job.base_url
    environment = {
        "LLM_MODEL": f"{job.protocol}/{job.model}",
        "LLM_BASE_URL": base_url,
        "LLM_API_KEY": job.key,
        "OPENHANDS_PERSISTENCE_DIR": f"{job.home}/.openhands",
        "OPENHANDS_WORK_DIR": job.workspace,
        "OPENHANDS_SUPPRESS_BANNER": "1",
        # A branch that there is not: else its makers' public skills come from it where there is a network.
        "EXTENSIONS_REF": "none",
        # Prices of models would be fetched from elsewhere at its start.
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "NO_COLOR": "1",
        # Else what it has printed is lost where its time runs out.
        "PYTHONUNBUFFERED": "1",
    }
    # In one word, so that no prompt is an option.
    return Command((job.program, *options, f"--task={job.prompt}"), environment)


def probe(job: Job) -> Command | None:
    """None: it lists its skills to its model and to nobody else."""
    return None


def listed(output: ProgramOutput) -> tuple[str, ...] | None:
    """There is no probe."""
    return None


def read(output: ProgramOutput, job: Job) -> StreamReading:
    """What the stream of a trial says. It has no usage and no cost."""
    stream = read_stream(output.stdout)
    steps = _transcript(stream.events).steps()
    tools = [tool for step in steps for tool in step.tools]
    names, evidence = opened(map(_as_reader, tools), job.skills, SKILLS)
    finishes = [text(tool.arguments.get("message")) for tool in tools if tool.name == _FINISH]
    said = [step.message for step in steps if step.message]
    failure, error = _failure(output, stream)
    return StreamReading(
        steps=(TrajectoryStep("user", job.prompt), *steps),
        final_message=next(iter([*finishes[::-1], *said[::-1]]), ""),
        turns=len(steps) or None,
        invocations=names,
        evidence=evidence,
        failure=failure,
        error=error,
    )


def _transcript(events: Sequence[Mapping[str, Any]]) -> Transcript:
    """Each answer of the model is a step: its calls of tools bear the id of the answer."""
    made, answer = Transcript(), ""
    for event in events:
        kind, at, call = event.get("kind"), text(event.get("timestamp")) or None, text(event.get("tool_call_id"))
        if kind == "ActionEvent":
            if text(event.get("llm_response_id")) != answer:
                made.close()
                answer = text(event.get("llm_response_id"))
            made.think(text(event.get("reasoning_content")), at)
            made.say(words_of(event.get("thought")), at)
            arguments = {key: value for key, value in mapping(event.get("action")).items() if key != "kind"}
            made.call(call, text(event.get("tool_name")), arguments, at)
        elif kind == "ObservationEvent":
            told = mapping(event.get("observation"))
            made.give(call, words_of(told.get("content")), _is_failed(told))
        elif kind == "AgentErrorEvent":
            made.give(call, text(event.get("error")), True)
        elif kind == "MessageEvent" and event.get("source") == "agent":
            made.close()
            made.say(words_of(mapping(event.get("llm_message")).get("content")), at)
            made.close()
    return made


def _is_failed(told: Mapping[str, Any]) -> bool | None:
    """Whether a tool failed; for a command its exit code tells, which is -1 while it still runs."""
    broken, code = told.get("is_error"), told.get("exit_code")
    if isinstance(code, int) and code > 0:
        return True
    return broken if isinstance(broken, bool) else None


def _as_reader(tool: ToolUse) -> ToolUse:
    """A call of the editor that only reads, by the name of a tool that does."""
    reads = tool.name == _EDITOR and tool.arguments.get("command") == _VIEW
    return replace(tool, name=_VIEW, arguments={"path": tool.arguments.get("path")}) if reads else tool


def _failure(output: ProgramOutput, stream: JsonStream) -> tuple[Failure, str]:
    """What an error of the whole conversation means, or its breaking off; nothing where it came to an end by itself."""
    errors = [event for event in stream.events if event.get("kind") == "ConversationErrorEvent"]
    if errors and errors[-1].get("code") == _LIMIT:
        return "", "stopped by its own limit of turns"
    if errors:
        return failed(None, f"{text(errors[-1].get('code'))}: {text(errors[-1].get('detail'))}")
    # No event tells of the end; the program prints this line after the last of them, and only where there was no error.
    return ("", "") if _ENDED in stream.plain else without_end(output, stream)
