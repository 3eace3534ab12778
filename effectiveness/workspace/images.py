"""The images of tasks: built before the first trial, each once, and what every trial of a task starts from.

The name of an image is made from the digest of its recipe, so that what was built before is not built again; the
engine's own cache has the layers.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from skill_health.config.settings import Effectiveness
from skill_health.core.errors import UsageError
from skill_health.core.files import kind_of, open_binary
from skill_health.effectiveness.sandbox._api import BackEnd, ImageClient, OwnImage, SandboxLimits, SandboxSession
from skill_health.effectiveness.sandbox._load import NONE, back_end, needs_image
from skill_health.effectiveness.sandbox._run import SandboxError, run
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.tasks._image import ImageRecipe, NetworkGrant, context_files
from skill_health.effectiveness.tasks._outputs import NOT_KEPT, is_within, may_travel
from skill_health.effectiveness.trial.keep import MAX_MEMBERS, MAX_TOTAL
from skill_health.effectiveness.workspace.folders import fresh_places, let_go, remove_tree
from skill_health.effectiveness.workspace.tree import FolderTree, read_tree

NAME = "skill-health-task"
_KEPT = 256 << 10
_NO_IMAGE = "it describes no image, and none is named for all tasks: image in [effectiveness] of skill-health.toml"
# What these name is run, or read by what is run: an agent that can write there would judge itself.
_SEARCHED = frozenset(
    ("BASH_ENV", "CARGO_HOME", "CLASSPATH", "CONDA_PREFIX", "ENV", "GEM_HOME", "GEM_PATH", "GOPATH", "GOROOT", "JAVA_HOME",
     "LD_LIBRARY_PATH", "LD_PRELOAD", "NODE_PATH", "PATH", "PERL5LIB", "PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "RUBYLIB",
     "VIRTUAL_ENV")
)  # fmt: skip
_INSTALLED = frozenset(("bin", "sbin", "site-packages", "dist-packages", "node_modules", "pyvenv.cfg"))
# Where agents look for skills: what an image brings there would be in every arm.
_SKILL_PLACES = ("skills", "skill")

Tell = Callable[[str], None]


class ImageError(Exception):
    """An image that cannot be had; one line that says why."""


@dataclass(frozen=True, slots=True)
class PlacedTasks:
    """Tasks as the sandbox of a run has them. `failed` says of some why there is no image, by their ids."""

    tasks: tuple[Task, ...]
    failed: Mapping[str, str] = field(default_factory=dict)


_built: dict[tuple[str, str, tuple[str, ...]], OwnImage] = {}
_folders: list[str] = []


def drop_copies() -> None:
    """Remove the copies of what images hold in their working directories; the images stay."""
    _built.clear()
    while _folders:
        folder = _folders.pop()
        remove_tree(folder)
        let_go(folder)


# A command ends its process without this, so it has to call it itself.
atexit.register(drop_copies)


GATEWAY = "gateway"


@dataclass(frozen=True, slots=True)
class NetworkChoice:
    """What a user permits beside the gateway: to whom ("gateway" to nobody, "scripts", "all"), and further hosts.

    What a task declares is granted then, and these hosts, to every task.
    """

    whom: str = GATEWAY
    hosts: tuple[str, ...] = ()

    def grant(self, task: Task) -> NetworkGrant | None:
        """What a task is granted."""
        if self.whom == GATEWAY:
            return None
        asked = task.resources
        if asked is not None and asked.network == "public" and not self.hosts:
            return NetworkGrant(None, self.whom == "all")
        declared = asked.hosts if asked is not None and asked.network == "allowlist" else ()
        hosts = tuple(sorted({host.lower().removeprefix("*.").rstrip(".") for host in (*declared, *self.hosts)}))
        return NetworkGrant(hosts, self.whom == "all") if hosts else None

    def __str__(self) -> str:
        return self.whom if not self.hosts else f"{self.whom}: {', '.join(sorted(self.hosts))}"


GATEWAY_ONLY = NetworkChoice()


def read_network(text: str) -> NetworkChoice:
    """The choice that a manifest has as text."""
    whom, _, hosts = text.partition(": ")
    return NetworkChoice(whom, tuple(hosts.split(", ")) if hosts else ())


def network_choice(whom: str | None, hosts: Sequence[str], configured: Effectiveness) -> NetworkChoice:
    """What the command line says, else the configuration. Raises UsageError for hosts that nobody may reach."""
    granted = whom or configured.network
    # Who is granted nothing on the command line is granted no host of the configuration either.
    named = tuple(hosts) or (configured.allow_host if whom != GATEWAY else ())
    if named and granted == GATEWAY:
        said = "--allow-host names" if hosts else "effectiveness.allow-host of the configuration names"
        raise UsageError(f"{said} hosts for somebody: give --network scripts, or all")
    return NetworkChoice(granted, named)


def place_tasks(
    tasks: Sequence[Task],
    sandbox: str,
    image: str,
    network: NetworkChoice,
    tell: Tell | None = None,
    *,
    build: bool = True,
) -> PlacedTasks:
    """The tasks as they are in this sandbox: in containers of their own images, which are built now, where it has any.

    `image` is the one of the tasks that describe none, `tell` is told before each image is built. A task whose image
    cannot be had is blocked, with the reason. Each has the part of the `network` that it is granted. To be called
    where no event loop runs.
    """
    if not needs_image(sandbox):
        return PlacedTasks(tuple(replace(task, network=network.grant(task)) for task in tasks))
    client = client_of(back_end(sandbox))
    if build:
        client.sweep()
    placed, failed = [], {}
    for task in tasks:
        own = task.in_container()
        recipe = own.recipe
        if recipe is None and not image:
            own = replace(own, blockers=(*own.blockers, _NO_IMAGE))
        elif recipe is not None and own.runnable and build:
            try:
                _open(client, own, recipe, tell or (lambda line: None))
            except ImageError as error:
                failed[task.id] = str(error)
                own = replace(own, blockers=(*own.blockers, str(error)))
            else:
                lost = _not_kept(recipe, _built[_key(client, recipe)])
                own = replace(own, unsupported=(*own.unsupported, *lost))
        placed.append(replace(own, network=network.grant(own)))
    return PlacedTasks(tuple(placed), failed)


def client_of(sandbox: BackEnd) -> ImageClient:
    """The client of a sandbox of containers."""
    found: ImageClient = sandbox.CLIENT  # type: ignore[attr-defined]
    return found


def own_image(sandbox: BackEnd, task: Task) -> OwnImage | None:
    """The image that was built for a task, None for a task without any. Raises SandboxError where it was not built."""
    if task.recipe is None:
        return None
    found = _built.get(_key(client_of(sandbox), task.recipe))
    if found is None:
        raise SandboxError("the image of the task was not built")
    return found


def _open(client: ImageClient, task: Task, recipe: ImageRecipe, tell: Tell) -> None:
    """Have the image of a task, and a copy of what trials start from. Raises ImageError."""
    key = _key(client, recipe)
    if key in _built:
        return
    name = f"{NAME}:{recipe.digest}"
    places = fresh_places(task.folder)
    _folders.append(places.base)
    found = client.described(name)
    if found is None:
        tell(f"building the image of {task.path} with {client.program}")
        found = client.built(name, places.home, asyncio.run(_build(client, recipe, name, places.home)))
    if found is None:
        raise ImageError("its image was built and is not there")
    workdir = recipe.workdir or found.workdir
    if not workdir.startswith("/") or workdir == "/":
        raise ImageError(f"the working directory of its image is {workdir!r}: not a folder below /")
    if problem := client.copy_out(found, workdir, places.workspace):
        raise ImageError(f"what its image holds in {workdir} cannot be copied: {problem}")
    found = replace(found, workdir=workdir, files=places.workspace)
    if skill := next(_skills_in(read_tree(places.workspace)), ""):
        raise ImageError(f"its image holds a skill where agents look for some: {workdir}/{skill}")
    _built[key] = _with_outputs(client, found, recipe.outputs)


def _key(client: ImageClient, recipe: ImageRecipe) -> tuple[str, str, tuple[str, ...]]:
    return client.program, recipe.digest, recipe.outputs


def _with_outputs(client: ImageClient, own: OwnImage, wanted: Sequence[str]) -> OwnImage:
    """An image with those of the folders that may travel, and a copy of what it has in them. Raises ImageError."""
    there = client.kinds(own, [path for path in wanted if may_travel(path, own.workdir) and not _runs(own, path)])
    if not there:
        return own
    outside = fresh_places("")
    _folders.append(outside.base)
    kept: list[str] = []
    for path, kind in sorted(there.items()):
        if kind == "other" or any(is_within(path, outer) for outer in kept):
            continue
        copy = f"{outside.workspace}{path}"
        os.makedirs(copy)
        if kind == "folder" and (problem := client.copy_out(own, path, copy)):
            raise ImageError(f"what its image holds in {path} cannot be copied: {problem}")
        if _is_work(read_tree(copy)):
            kept.append(path)
        else:
            remove_tree(copy)
    return replace(own, outputs=tuple(kept), outside=outside.workspace)


def _runs(own: OwnImage, path: str) -> bool:
    """Whether programs or their libraries are looked for in a folder, below it or above it."""
    places = [place for name, value in own.env if name in _SEARCHED for place in value.split(os.pathsep)]
    return any(is_within(place, path) or is_within(path, place) for place in places if place.startswith("/"))


def _is_work(tree: FolderTree) -> bool:
    """Whether a folder of an image holds what can be work: nothing that is installed, and no more than can be kept."""
    names = {part for entry in tree.entries for part in entry.path.split("/")}
    small = sum(entry.size for entry in tree.entries) <= MAX_TOTAL and len(tree.entries) <= MAX_MEMBERS
    return small and not tree.problems and names.isdisjoint(_INSTALLED)


def _not_kept(recipe: ImageRecipe, own: OwnImage) -> Iterator[str]:
    for path in recipe.outputs:
        if not any(is_within(path, kept) or is_within(kept, path) for kept in own.outputs):
            yield f"{path}: {NOT_KEPT}"


def _skills_in(tree: FolderTree) -> Iterator[str]:
    for entry in tree.entries:
        *above, name = entry.path.split("/")
        if name.upper() == "SKILL.MD" and len(above) > 2 and above[-2] in _SKILL_PLACES and above[-3].startswith("."):
            yield entry.path


async def _build(client: ImageClient, recipe: ImageRecipe, name: str, kept: str) -> bytes:
    """Build an image; what is printed. Nothing of the build outlives us but the image. Raises ImageError."""
    places = fresh_places("")
    try:
        context = places.workspace
        for path in context_files(recipe.context, recipe.left_out) if recipe.context else ():
            target = os.path.join(context, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy2(os.path.join(recipe.context, path), target, follow_symlinks=False)
        # Its own instructions may speak of what is left out, so that it has to be there, with nothing in it.
        for path in recipe.left_out[1:]:
            os.makedirs(os.path.join(context, path), exist_ok=True)
        file = os.path.join(places.home, "Dockerfile")
        with open(file, "x", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(recipe.dockerfile)
        command = client.build(file, context, name, kept, recipe.workdir)
        limits = SandboxLimits(recipe.build_timeout_sec, _KEPT, 0, 0, 0, 0, 0)
        box = SandboxSession(places.workspace, places.home, places.temporary)
        ran = await run(back_end(NONE), box, command, limits)
    except (OSError, SandboxError, shutil.Error) as error:
        raise ImageError(f"its image cannot be built: {error}") from None
    finally:
        remove_tree(places.base)
        let_go(places.base)
    if ran.stopped:
        said = f"it took longer than {recipe.build_timeout_sec:g} seconds" if ran.stopped == "timeout" else ran.stopped
        raise ImageError(f"its image cannot be built: {said}")
    if ran.exit_code != 0:
        text = (ran.stderr + b"\n" + ran.stdout).decode("utf-8", "replace")
        raise ImageError(f"its image cannot be built: {_reason(text, recipe.dockerfile)}")
    return ran.stdout


# As curl, wget, git and Python's programs say it.
_UNKNOWN_HOST = re.compile(
    r"(?i)(?:could not resolve host|unable to resolve host address|failed to resolve|getaddrinfo E\w+):? "
    r"[\"'\u2018]?([a-z0-9-]+(?:\.[a-z0-9-]+)+)"
)
# Docker's, around what a step of a build says.
_COLORS = re.compile(r"\x1b\[[0-9;]*m")
_NOT_PULLED = (
    "short-name", "initializing source", "pull access denied", "resolve source metadata", "pinging container registry",
    "manifest unknown", "no such image", "image not known",
)  # fmt: skip


def _reason(text: str, dockerfile: str) -> str:
    """Which base image cannot be had, or which instruction failed, as the engine says it."""
    lines = [" ".join(line.split()) for line in _COLORS.sub("", text).splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("Error:", "ERROR:", "error:", "E: "))]
    # An engine's own last word names the instruction; why it failed was said before, by what ran.
    said = ": ".join(errors[-2:])[:400] or (lines or ["the engine says nothing"])[-1][:400]
    if hosts := sorted({found for line in lines for found in _UNKNOWN_HOST.findall(line)}):
        said = f"no address was found of {', '.join(hosts)}: {said}"
    if not any(mark in said for mark in _NOT_PULLED):
        return said
    bases = [line.split()[1:] for line in dockerfile.splitlines() if line.strip().upper().startswith("FROM ")]
    names = ", ".join(next((word for word in words if not word.startswith("--")), "") for words in bases)
    return f"a base image cannot be pulled ({names}): {said}"


class ImageFile(File):
    """A file that an image has in its working directory, read when it is asked for."""

    __slots__ = ("_place",)

    def __init__(self, path: str, place: str, executable: bool) -> None:
        object.__setattr__(self, "path", path)
        object.__setattr__(self, "executable", executable)
        object.__setattr__(self, "_place", place)

    @property
    def data(self) -> bytes:
        """Its bytes; none where it cannot be read any more."""
        place: str = object.__getattribute__(self, "_place")
        try:
            with open_binary(place) as stream:
                return stream.read()
        except OSError:
            return b""


def files_of(folder: str) -> dict[str, File]:
    """What an image has in a folder of which `folder` is a copy, by the paths there; nothing for ""."""
    return {
        entry.path: ImageFile(entry.path, os.path.join(folder, entry.path), entry.executable)
        for entry in (read_tree(folder).entries if folder else ())
        if entry.kind == "file"
    }


def links_of(folder: str) -> dict[str, str]:
    """The links that an image has in a folder of which `folder` is a copy, each with where it leads."""
    entries = read_tree(folder).entries if folder else ()
    return {entry.path: entry.target for entry in entries if entry.kind == "link"}


def copy_start(folder: str, to: str) -> None:
    """Give a trial what an image has in a folder. Raises OSError."""
    try:
        shutil.copytree(folder, to, symlinks=True, dirs_exist_ok=True, ignore=_specials)
    except shutil.Error as error:
        raise OSError(str(error.args[0][0][-1] if error.args and error.args[0] else error)) from None


def _specials(folder: str, names: list[str]) -> list[str]:
    """What is neither a file nor a folder nor a link, and would be waited for."""
    return [name for name in names if kind_of(os.path.join(folder, name), links=False) == "other"]
