"""Sandboxes of others, near or far, through Harbor: Daytona, E2B, Modal, Ray and what else it has.

`harbor:NAME` is an environment of Harbor's, `harbor:package.module:Class` a class of somebody's own. Each program gets
an environment of its own, which is deleted with it. Nothing of the host can be mounted there, so all is carried there
and back; the gateway is reached through single commands (`_mailbox.py`), so that no key of a model ever enters it. The
program beside this file that does so runs on the Python that has Harbor, which need not be ours: Harbor asks for 3.12.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from typing import Any

from skill_health.core.files import open_binary
from skill_health.documents.effect_manifest import Isolation
from skill_health.effectiveness.agents._api import Command
from skill_health.effectiveness.sandbox._api import (
    InsidePaths,
    OwnImage,
    PrivateProgram,
    SandboxLimits,
    SandboxSession,
    WrappedCommand,
)
from skill_health.effectiveness.sandbox._container import carried, last_of, ran, shown_paths
from skill_health.effectiveness.sandbox._host import HOME, SUPERVISOR, SUPERVISORS, TEMPORARY, WORKSPACE, is_below
from skill_health.effectiveness.sandbox._private import private_python
from skill_health.effectiveness.workspace.process import run_process

TITLE = "Harbor: an environment of one of its providers, as harbor:daytona, or of a class of yours"
NEEDS_IMAGE = True
ISOLATES: tuple[Isolation, ...] = ()

_BRIDGE = os.path.join(os.path.dirname(SUPERVISOR), "_harbor.py")
_MAILBOX = "_mailbox.py"
_RUN = "/run/supervisor"
_NAME = "skill-health"
_QUESTION, _PATIENCE = 120.0, 5400.0
_BUILD = 600.0
_CONTEXT, _COPY = "context", "copy"
_MISSING = "Harbor is not installed: `pip install 'skill-health[harbor]'` on Python 3.12 or later, or its own program, `harbor`, on PATH"


def found() -> str:
    """Nothing: it is always one of its providers that is used."""
    return ""


def missing() -> str:
    """What is to be done first."""
    return "name one of its environments, as --sandbox harbor:daytona" if _python() else _MISSING


def layout(box: SandboxSession) -> InsidePaths:
    """As in a container."""
    return HarborClient("").layout(box)


def wrap(box: SandboxSession, command: Command) -> WrappedCommand:
    """Nothing can be run without a provider. Raises ValueError."""
    raise ValueError(missing())


@cache
def of_provider(provider: str) -> HarborSandbox:
    """The back end of one of Harbor's environments."""
    return HarborSandbox(HarborClient(provider))


@cache
def _python() -> str:
    """The Python that has Harbor: our own, else that of the program `harbor`; "" for none."""
    if sys.version_info >= (3, 12) and find_spec("harbor") is not None:
        return sys.executable
    program = shutil.which("harbor")
    if program is None:
        return ""
    try:
        with open_binary(os.path.realpath(program)) as stream:
            line = stream.readline(4096)
    except OSError:
        return ""
    words = line.removeprefix(b"#!").decode("utf-8", "replace").split() if line.startswith(b"#!") else [""]
    return words[0] if os.path.basename(words[0]).startswith("python") and os.path.isfile(words[0]) else ""


@dataclass(frozen=True)
class HarborClient:
    """What is asked of one provider."""

    provider: str
    direct = False
    patience = _PATIENCE

    @property
    def program(self) -> str:
        """Under this name its images are known here."""
        return f"harbor:{self.provider}"

    @cached_property
    def described_provider(self) -> tuple[dict[str, Any], str]:
        """What the provider can hold, and else why it cannot be used."""
        python = _python()
        if not python:
            return {}, _MISSING
        asked = run_process(self._bridge("describe", image="debian"), os.sep, os.environ, _QUESTION)
        if asked.exit_code is None:
            return {}, f"Harbor does not say within {_QUESTION:g} seconds what {self.provider} can do"
        if asked.exit_code != 0:
            return {}, f"Harbor cannot use {last_of(asked.stderr)}"
        said: dict[str, Any] = json.loads(asked.stdout)
        return said, ""

    def _bridge(self, deed: str, **more: object) -> tuple[str, ...]:
        """The words of the program that speaks with Harbor."""
        plan = {
            "deed": deed, "provider": self.provider, "name": _NAME, "environment": "", "image": "", "workdir": "",
            "cpus": 0.0, "memory_bytes": 0, "network": True, "build_timeout_sec": _BUILD, **more,
        }  # fmt: skip
        return (_python() or sys.executable, _BRIDGE, json.dumps(plan))

    def layout(self, box: SandboxSession) -> InsidePaths:
        """As in a container."""
        return InsidePaths(box.own.workdir if box.own else WORKSPACE, HOME, TEMPORARY, python="python3")

    def wrap(self, box: SandboxSession, command: Command) -> WrappedCommand:
        """The program that makes an environment, runs the command there, and deletes it. Raises ValueError."""
        if not box.own and not box.image:
            raise ValueError("an environment needs the name of an image")
        python = private_python()
        words = [os.path.join(_RUN, os.path.basename(word)) if word == SUPERVISOR else word for word in command.argv]
        if words[0] == "python3":
            words[:1] = python.words
        read_only, writable = shown_paths(box)
        ours = {inside for _, inside in python.mounts}
        sockets = [path for path in (box.socket, box.proxy[0]) if path]
        # What is seen at several paths is one and the same: a link where it is not the task's own path.
        insides: dict[str, list[str]] = {}
        for outside, inside in (*box.mounts, *writable, *read_only):
            if inside not in ours and outside not in sockets and inside not in insides.setdefault(outside, []):
                insides[outside].append(inside)
        written = {outside for outside, _ in writable}
        # A file of a folder that is carried as a whole comes with it, be it behind a link that leads to another.
        whole = {outside for outside, (inside, *_) in insides.items() if outside == inside and outside not in written}
        for outside in sorted(whole):
            if is_below(os.path.dirname(outside), tuple(whole - {outside})):
                del insides[outside]
        places = [
            {
                "outside": outside, "inside": inside, "folder": os.path.isdir(outside), "back": outside in written,
                # What the image brings there would be added to what a trial starts from.
                "whole": outside in (box.workspace, box.home),
            }
            for outside, (inside, *_) in insides.items()
        ]  # fmt: skip
        links = [(inside, link) for inside, *others in insides.values() for link in others]
        plan: dict[str, object] = {
            "argv": words, "cwd": self.layout(box).workspace, "python": python.words, "boot": _boot(),
            "places": places, "links": links, "sockets": sockets,
            "cpus": box.cpus, "memory_bytes": box.memory_bytes, "disk_bytes": box.disk_bytes, "files": box.files,
            "network": not self.described_provider[0].get("no_network"),
        }  # fmt: skip
        own = (
            {"environment": box.own.context, "name": _named(box.own.name), "workdir": box.own.workdir}
            if box.own
            else {}
        )
        return WrappedCommand(self._bridge("run", **plan, **(own or {"image": box.image})), os.environ)

    def build(self, dockerfile: str, context: str, name: str, kept: str, workdir: str) -> Command:
        """The program that has an environment built once, from a context that is `kept`, and looks at what it holds."""
        environment = os.path.join(kept, _CONTEXT)
        shutil.copytree(context, environment, symlinks=True)
        shutil.copyfile(dockerfile, os.path.join(environment, "Dockerfile"))
        copy = os.path.join(kept, _COPY)
        os.mkdir(copy)
        python = private_python()
        words = self._bridge(
            "open", environment=environment, name=_named(name), workdir=workdir, copy=copy, boot=_boot(),
            python=python.words,
        )  # fmt: skip
        # By its name it would be taken for our own interpreter, which knows nothing of what is installed beside it.
        program, *rest = words
        return Command(
            ("/bin/sh", "-c", 'exec "$WITH_HARBOR" "$@"', "sh", *rest), {**os.environ, "WITH_HARBOR": program}
        )

    def built(self, name: str, kept: str, said: bytes) -> OwnImage | None:
        """What was built says of itself; `said` is what the program that built it has printed."""
        try:
            described = json.loads(said.strip().splitlines()[-1])
            env = tuple((key, value) for key, value in described["env"].items() if key not in _OF_SHELL)
            return OwnImage(name, described["workdir"], env, context=os.path.join(kept, _CONTEXT))
        except (ValueError, LookupError, AttributeError):
            return None

    def kinds(self, own: OwnImage, paths: Sequence[str]) -> dict[str, str]:
        """Nothing: only the working directory is fetched when an environment is built, and travels."""
        return {}

    def copy_out(self, own: OwnImage, path: str, folder: str) -> str:
        """Copy what lies in its working directory, which was fetched when it was built."""
        try:
            shutil.copytree(
                os.path.join(os.path.dirname(own.context), _COPY), folder, symlinks=True, dirs_exist_ok=True
            )
        except (OSError, shutil.Error) as error:
            return str(error)[:300]
        return ""

    def described(self, name: str) -> OwnImage | None:
        """Nothing is known of what an earlier process has built: providers keep that themselves."""
        return None

    def sweep(self) -> int:
        """Nothing is left: who made an environment deletes it, even where we are killed."""
        return 0

    def carried(self, own: OwnImage, argv: tuple[str, ...], readable: tuple[str, ...]) -> PrivateProgram:
        """As in a container."""
        return carried(self, own, argv, readable)


# What a shell, or who starts it, sets anew each time.
_OF_SHELL = frozenset(("HOME", "HOSTNAME", "LOGNAME", "OLDPWD", "PWD", "SHLVL", "TERM", "USER", "_"))


@dataclass(frozen=True)
class HarborSandbox:
    """The back end of one provider."""

    CLIENT: HarborClient
    TITLE = TITLE
    NEEDS_IMAGE = True
    # So long may take what comes before a program and after it: building, carrying, deleting.
    AROUND = _PATIENCE

    @property
    def ISOLATES(self) -> tuple[Isolation, ...]:
        """What is kept apart: the network only where the provider can do without."""
        held = self.CLIENT.described_provider[0]
        return ("files", "network", "processes") if held.get("no_network") else ("files", "processes")

    def found(self) -> str:
        """The version of Harbor, where the provider can be used."""
        return str(self.CLIENT.described_provider[0].get("version", ""))

    def missing(self) -> str:
        """Why it cannot be used, in one line."""
        return self.CLIENT.described_provider[1]

    def proved(self, image: str) -> str:
        """Why no environment of an image runs as one of a trial would; "" where one has run."""
        return self.missing() or (ran(self.CLIENT, image) if image else "")

    def layout(self, box: SandboxSession) -> InsidePaths:
        """As in a container."""
        return self.CLIENT.layout(box)

    def wrap(self, box: SandboxSession, command: Command) -> WrappedCommand:
        """The program that runs the command in an environment."""
        return self.CLIENT.wrap(box, command)

    def enforced(self, limits: SandboxLimits) -> dict[str, str]:
        """How each limit is held, in words for the record of a trial; what is not begins with a "not"."""
        held = self.CLIENT.described_provider[0]
        by, not_by = f"by {self.CLIENT.provider}, as Harbor says", "not enforced by the provider: asked of it"
        return {
            "memory": by if held.get("memory") else f"{not_by}, and by rlimit for each process alone",
            "cpu": by if held.get("cpus") else not_by,
            "processes": "counted inside, five times a second",
            "file_size": "by rlimit",
            "disk": "not enforced by a quota: looked at inside, every two seconds, and again at the end",
            "network": (
                f"no network but the gateway, {by}"
                if held.get("no_network")
                else "not enforced: the provider cannot do without, as Harbor says"
            ),
            "stdout": "not kept from what else runs in the environment, which has the same rights",
            "clock": "not enforced here: the provider's own",
        }


def _named(image: str) -> str:
    """A name for an environment, by which its provider may keep what it has built."""
    return image.replace(":", "-")[:40]


@cache
def _boot() -> list[tuple[str, str]]:
    """Our interpreter and our helpers, each with its path inside."""
    folder = os.path.dirname(SUPERVISOR)
    return [
        *private_python().mounts, *((os.path.join(folder, name), f"{_RUN}/{name}") for name in (*SUPERVISORS, _MAILBOX))
    ]  # fmt: skip
