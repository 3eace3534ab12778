"""Any agent that speaks the Agent Client Protocol, version 1, over its stdin and stdout: `acp:PROVIDER:MODEL`.

Its command line is in the configuration, under [effectiveness]:

    acp-command = ["qwen", "--acp", "--auth-type", "openai"]
    acp-env = { SOME_VARIABLE = "{base_url}/v1" }

In words and values {model}, {base_url}, {key}, {workspace} and {home} stand for what they say. The usual variables of
the provider's protocol (such as OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL) are set without being named. A client
of ours runs beside the agent in its sandbox, and allows whatever it asks leave for.

Skills are staged in .agents/skills: choose an agent that looks there. The protocol has no word for skills and none for
a list of them: what was offered is seen in the requests to the model, and what was opened by the tools that agents are
known to have for it. Tokens are never read here: an agent tells those of its last answer as if they were of the whole.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from skill_health import __version__
from skill_health.core.errors import UsageError
from skill_health.effectiveness.agents._acp_stream import SKILLS, read
from skill_health.effectiveness.agents._api import Command, Job, ProgramOutput
from skill_health.effectiveness.tasks._folder import File

__all__ = ["SKILLS", "command", "listed", "probe", "read"]

TITLE = "Any agent that speaks the Agent Client Protocol"
PROGRAM = ""
PROTOCOLS = ("openai", "anthropic", "openai-responses", "gemini")
ORDERED = False
VERIFIED = "0.12.1 of agent-client-protocol, with Gemini CLI 0.61.0, OpenCode 1.18.33 and Qwen Code 0.15.10"
EXTRA = "acp"
IMPORTS = ("acp",)
SIMULATED = False

COMMAND, ENVIRONMENT = "acp-command", "acp-env"
"""The settings of the configuration."""

_NEEDED = ("acp", "pydantic", "pydantic_core")
_CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_acp_client.py")
_PLAN = ".acp/plan.json"
_VARIABLES: Mapping[str, Mapping[str, str]] = {
    "openai": {
        "OPENAI_BASE_URL": "{base_url}/v1", "OPENAI_API_KEY": "{key}", "OPENAI_MODEL": "{model}"
    },
    "anthropic": {
        "ANTHROPIC_BASE_URL": "{base_url}", "ANTHROPIC_API_KEY": "{key}", "ANTHROPIC_MODEL": "{model}"
    },
    "gemini": {
        "GOOGLE_GEMINI_BASE_URL": "{base_url}", "GEMINI_API_KEY": "{key}", "GEMINI_MODEL": "{model}"
    },
}  # fmt: skip


def _folders() -> tuple[str, ...]:
    """The folders in which the packages of the client lie."""
    specs = (find_spec(name) for name in _NEEDED)
    return tuple(dict.fromkeys(os.path.dirname(os.path.dirname(spec.origin)) for spec in specs if spec and spec.origin))


READABLE = _folders()
"""Folders that the sandbox must show beside those of the system and of the interpreter."""


def command(job: Job) -> Command:
    """The client with its plan. Raises UsageError where the configuration names no agent."""
    words = _words(job.settings.get(COMMAND))
    if not words:
        raise UsageError(
            f"acp needs the agent's command line: set {COMMAND} under [effectiveness] in the configuration"
        )
    given = job.settings.get(ENVIRONMENT)
    protocol = "openai" if job.protocol == "openai-responses" else job.protocol
    variables = {**_VARIABLES.get(protocol, {}), **(given if isinstance(given, Mapping) else {})}
    program = job.program or shutil.which(words[0]) or words[0]
    plan = {
        "argv": [program, *(_filled(word, job) for word in words[1:])],
        "cwd": job.workspace,
        "prompt": job.prompt,
        "paths": READABLE,
        "version": __version__,
    }
    return Command(
        (sys.executable, "-I", "-S", _CLIENT, f"{job.home}/{_PLAN}"),
        {str(name): _filled(str(value), job) for name, value in variables.items()},
        (File(_PLAN, json.dumps(plan).encode("ascii")),),
        programs=(program,) if os.path.isabs(program) else (),
    )


def probe(job: Job) -> Command | None:
    """None: the protocol has no list of skills."""
    return None


def listed(output: ProgramOutput) -> tuple[str, ...] | None:
    """None: nothing is listed."""
    return None


def _words(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(shlex.split(value))
    return tuple(map(str, value)) if isinstance(value, (list, tuple)) else ()


def _filled(text: str, job: Job) -> str:
    """The text with what its names in braces stand for; other braces stay, as JSON has many."""
    for name in ("model", "base_url", "key", "workspace", "home"):
        text = text.replace("{" + name + "}", getattr(job, name))
    return text
