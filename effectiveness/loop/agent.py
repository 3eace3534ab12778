"""The conversation with the model, from the task to the final message; every step is printed when it is taken."""

from __future__ import annotations

import asyncio
import html
import json
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from skill_health.effectiveness.loop.job import LoopJob, decoded
from skill_health.effectiveness.loop.tools import RefusedToolCall, read_bytes

if TYPE_CHECKING:
    from skill_health.bench.http.client import CallOutcome, Client
    from skill_health.bench.http.messages import Completion, Conversation, ToolCall, ToolResult, Turn
    from skill_health.bench.providers._api import ProviderProtocol
    from skill_health.effectiveness.loop.served import ServedTools
    from skill_health.effectiveness.loop.tools import Toolbox

FILE = "SKILL.md"
_MOST = 1000
_LONGEST = 4096

SYSTEM = """\
You are an agent that works in a folder, the workspace. Do the task that the user gives you, with your tools. Paths are
relative to the workspace. Nobody is there to answer questions, so decide for yourself. When the task is done, say so in
a short final message, and call no tool in it."""

_SKILLS = """\
There are skills: folders with instructions for tasks of a certain kind, and sometimes with scripts and further files.
Only their descriptions are given here. When a description fits the task, read the skill's file at its location with the
tool `read` before you begin, and do as it says. Paths in it are relative to the folder that it lies in."""


@dataclass(frozen=True, slots=True)
class LoopSkill:
    """One skill: what its frontmatter says of it, and where its file is, relative to the workspace."""

    name: str
    description: str
    path: str


def find(workspace: str, folder: str, order: Sequence[str] = ()) -> tuple[LoopSkill, ...]:
    """The skills in the folder, those of `order` first; a folder whose SKILL.md cannot be read is none."""
    try:
        names = sorted(os.listdir(os.path.join(workspace, folder)))[:_MOST]
    except OSError:
        return ()
    ranks = {name: rank for rank, name in enumerate(order)}
    found = []
    for name in sorted(names, key=lambda name: ranks.get(name, len(ranks))):
        path = f"{folder}/{name}/{FILE}"
        try:
            data = read_bytes(workspace, path)
        except RefusedToolCall:
            continue
        found.append(_listed(name, path, data))
    return tuple(found)


def _listed(folder: str, path: str, data: bytes) -> LoopSkill:
    from skill_health.skill import frontmatter
    from skill_health.skill.decode import decode

    matter = frontmatter.read(decode(data)[0]).matter
    fields = {key: matter.get(key) if matter else None for key in ("name", "description")}
    said = {key: " ".join(str(field.value).split()) if field else "" for key, field in fields.items()}
    return LoopSkill(said["name"][:_LONGEST] or folder, said["description"][:_LONGEST], path)


def system_prompt(skills: Iterable[LoopSkill]) -> str:
    """What the model is told before the task; of skills nothing at all where there are none."""
    entries = [
        f"<skill>\n<name>{html.escape(skill.name, quote=False)}</name>\n"
        f"<description>{html.escape(skill.description, quote=False)}</description>\n"
        f"<location>{html.escape(skill.path, quote=False)}</location>\n</skill>"
        for skill in skills
    ]
    if not entries:
        return SYSTEM
    return "\n".join([SYSTEM, "", _SKILLS, "", "<available_skills>", *entries, "</available_skills>"])


MOST_CALLS = 16
"""Calls of tools in one answer that are carried out; a model that asks for more asks again."""
MOST_TALK = 4 << 20
"""A conversation of more characters is given up: it is sent whole each time, and no model reads so much."""
_LATER = 30.0
_REQUEST = 600.0
_SHOWN = 100_000
_CLASSES = {"quota": "quota", "auth": "auth", "refusal": "refusal"}


def main(raw: bytes) -> int:
    """Do the job that `raw` holds; 1 where the agent could not do its part, whatever the model did."""
    job = decoded(raw)
    workspace = os.getcwd()
    skills = find(workspace, job.skills, job.order)
    names = [skill.name for skill in skills]
    _say(event="start", agent="loop", model=job.model, skills=names, system=system_prompt(skills))
    if job.listing:
        return 0
    ended = asyncio.run(_within(job, workspace, skills))
    _say(event="end", **ended)
    return int(ended.get("failure") == "infrastructure")


async def _within(job: LoopJob, workspace: str, skills: tuple[LoopSkill, ...]) -> dict[str, Any]:
    """The end of the conversation, which comes in time."""
    try:
        async with asyncio.timeout(job.timeout_sec + _LATER):
            return await _with_server(job, workspace, skills)
    except TimeoutError:
        return {"stop_reason": "timeout", "failure": "infrastructure", "error": "nobody ended the trial in time"}


async def _with_server(job: LoopJob, workspace: str, skills: tuple[LoopSkill, ...]) -> dict[str, Any]:
    """The end of the conversation with the server beside it; one that does not do its part is our failure."""
    from skill_health.effectiveness.loop.served import open_server

    try:
        async with open_server(job.server, job.served) as served:
            return await _converse(job, workspace, skills, served)
    except Exception as error:
        if isinstance(error, TimeoutError) or not job.served:
            raise
        words = f"the server of skills: {type(error).__name__}: {error}"
        return {"stop_reason": "server", "failure": "infrastructure", "error": words}


async def _converse(job: LoopJob, workspace: str, skills: tuple[LoopSkill, ...], served: ServedTools) -> dict[str, Any]:
    from skill_health.bench.http.client import Client
    from skill_health.bench.http.endpoint import Endpoint
    from skill_health.bench.http.messages import Conversation, Turn
    from skill_health.bench.providers._load import load_provider
    from skill_health.effectiveness.loop.tools import TOOLS, Toolbox

    protocol = load_provider(job.protocol)
    end = time.monotonic() + job.timeout_sec
    toolbox = Toolbox(workspace, lambda: end - time.monotonic())
    limit = max(1.0, min(_REQUEST, job.timeout_sec))
    header = protocol.build_key_header(job.key) if job.key else None
    client = Client(Endpoint(job.base_url, job.key, header, concurrency=1, timeout=limit, idle_timeout=limit))
    talk = Conversation(
        job.model,
        (Turn("user", job.prompt),),
        system_prompt(skills),
        None,
        (*TOOLS, *served.tools),
        job.max_output_tokens,
    )
    size = len(talk.system) + len(job.prompt)
    for number in range(1, job.max_turns + 1):
        outcome, protocol = await _ask(client, protocol, talk, f"{job.label}|{number}")
        if outcome.completion is None:
            return _failed(outcome, number - 1)
        answer = outcome.completion
        _step(answer)
        if answer.end != "tools" or not answer.calls:
            return _ended(answer, number)
        results = tuple([await _result(toolbox, served, index, call) for index, call in enumerate(answer.calls)])
        added = (answer.turn(), Turn("user", results=results))
        talk = replace(talk, turns=(*talk.turns, *added))
        size += sum(map(_size, added))
        if size > MOST_TALK:
            return {"stop_reason": "conversation_limit", "final": answer.text, "turns": number}
    return {"stop_reason": "turn_limit", "final": answer.text, "turns": job.max_turns}


async def _ask(
    client: Client, protocol: ProviderProtocol, talk: Conversation, label: str
) -> tuple[CallOutcome, ProviderProtocol]:
    """One answer, and the protocol in the form in which it was given."""
    outcome = await client.complete(protocol, talk, label)
    adapted = protocol.adapt(outcome.failure) if outcome.failure else None
    if adapted is None:
        return outcome, protocol
    return await client.complete(adapted, talk, label), adapted


async def _result(toolbox: Toolbox, served: ServedTools, index: int, call: ToolCall) -> ToolResult:
    """What a tool gives for a call, printed and returned."""
    from skill_health.bench.http.messages import ToolResult

    if index < MOST_CALLS:
        result = await served.call(call) if served.has(call.name) else toolbox.call(call)
    else:
        words = f"not done: at most {MOST_CALLS} calls are carried out at once; ask again"
        result = ToolResult(call.call_id, call.name, words, failed=True)
    _say(event="result", index=index, text=result.text, failed=result.failed)
    return result


def _ended(answer: Completion, turns: int) -> dict[str, Any]:
    refused = answer.end == "refusal"
    return {
        "stop_reason": answer.stop_reason or answer.end,
        "final": "" if refused else answer.text,
        "turns": turns,
        "failure": "refusal" if refused else "",
        "error": "the model refused to go on" if refused else "",
    }


def _failed(outcome: CallOutcome, turns: int) -> dict[str, Any]:
    failure = outcome.failure
    kind = failure.kind if failure else "fatal"
    words = failure.message if failure else "the model did not answer"
    return {"stop_reason": kind, "turns": turns, "failure": _CLASSES.get(kind, "infrastructure"), "error": words}


def _step(answer: Completion) -> None:
    calls = [
        {"id": call.call_id, "name": call.name[:200], "arguments": _shown(call.arguments, call.raw)}
        for call in answer.calls
    ]
    usage = {name: value for name, value in asdict(answer.usage).items() if name != "raw"}
    _say(event="step", text=answer.text, calls=calls, model=answer.model, usage=usage)


def _shown(arguments: Mapping[str, Any] | None, raw: str) -> Mapping[str, Any]:
    """Arguments as they are printed: long ones cut, and of what is no object the beginning."""
    if arguments is None:
        return {"(not a JSON object)": raw[:2000]}
    if len(json.dumps(arguments)) <= _SHOWN:
        return arguments
    return {str(key)[:200]: str(value)[:2000] for key, value in list(arguments.items())[:20]}


def _size(turn: Turn) -> int:
    """About the characters that a turn adds to every further request."""
    said = len(json.dumps(turn.native)) if turn.native else len(turn.text) + sum(len(call.raw) for call in turn.calls)
    return said + sum(len(result.text) for result in turn.results)


def _say(**event: object) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()
