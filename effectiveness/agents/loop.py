"""A small agent of our own over any model: four tools, and skills that are listed and read on demand.

`loop:openai:some-model` needs no vendor's program. It finds skills in `.agents/skills` of its workspace and nowhere
else, tells the model their names, descriptions and places, and leaves it to the model to read them.
"""

from __future__ import annotations

import os
from importlib.util import find_spec

import skill_health
from skill_health.bench.providers._load import list_providers
from skill_health.effectiveness.agents._api import Command, Job
from skill_health.effectiveness.agents._loop_stream import SKILLS, listed, read
from skill_health.effectiveness.delivery.served import SERVER
from skill_health.effectiveness.loop.job import MAX_OUTPUT_TOKENS, LoopJob
from skill_health.effectiveness.sandbox._host import interpreter

__all__ = ["SKILLS", "command", "listed", "probe", "read"]

TITLE = "Our own agent over any model: tools to list, read, write and run, skills read on demand"
PROGRAM = ""
PROTOCOLS = ("openai", *(name for name in list_providers() if name != "openai"))
ORDERED = True
VERIFIED = ""
EXTRA = "bench"
IMPORTS = ("httpx",)
SIMULATED = False
MCP = "{server}_{tool}"

_PACKAGE = os.path.dirname(os.path.abspath(skill_health.__file__))
_ROOT = os.path.dirname(_PACKAGE)
_PROGRAM = os.path.join(_PACKAGE, "effectiveness", "loop", "__main__.py")
# What our client and the reading of frontmatter stand on.
_NEEDED = ("httpx", "httpcore", "h11", "anyio", "idna", "certifi", "yaml", "frontmatter")


def _library_folders() -> tuple[str, ...]:
    """The folders in which the packages lie that it needs beside ours."""
    specs = (find_spec(name) for name in _NEEDED)
    places = [os.path.dirname(os.path.dirname(spec.origin)) for spec in specs if spec and spec.origin]
    return tuple(dict.fromkeys(places))


# Of the folder that ours lies in only our own: a checkout has tasks with their verifiers there. In a checkout this
# benchmark is a link to a folder beside the package.
_OURS = os.path.join(_PACKAGE, "effectiveness")
READABLE = (_PACKAGE, *([os.path.realpath(_OURS)] if os.path.islink(_OURS) else []), *_library_folders())
"""Folders that the sandbox must show beside those of the system and of the interpreter."""


def command(job: Job) -> Command:
    """The agent with its task."""
    return _started(job, listing=False)


def probe(job: Job) -> Command:
    """The agent, which only tells what skills it finds."""
    return _started(job, listing=True)


def _started(job: Job, listing: bool) -> Command:
    told = LoopJob(
        prompt=job.prompt,
        model=job.model,
        protocol=job.protocol,
        base_url=job.base_url,
        key=job.key,
        skills=SKILLS,
        order=tuple(skill.name for skill in job.skills),
        max_output_tokens=job.max_output_tokens or MAX_OUTPUT_TOKENS,
        timeout_sec=job.timeout_sec,
        label=f"{job.seed}|{job.spec}|{job.replication}",
        listing=listing,
        server=SERVER,
        served=job.served.command if job.served else (),
    )
    libraries = job.served.libraries if job.served else ()
    return Command(
        (job.program or interpreter(), "-I", "-S", _PROGRAM, *dict.fromkeys([_ROOT, *_library_folders(), *libraries])),
        stdin=told.encoded(),
    )
