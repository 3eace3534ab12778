"""The image that a task describes: its Dockerfile with its context, or the name of one that is given.

Skills are taken out of it: which of them are there is what the conditions decide, so they come in when a trial begins.
"""

from __future__ import annotations

import os
import posixpath
import re
import shlex
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

from skill_health.core.files import blake2b, kind_of, may_be_file
from skill_health.effectiveness.tasks._folder import Folder, RefusedFile, is_inside

CONTEXT, DOCKERFILE = "environment", "Dockerfile"
BUILD_TIMEOUT = 600.0
MAX_CONTEXT, MAX_FILES = 8 << 30, 100_000
_CHUNK = 1 << 20
_SKILLS = "skills"
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)I?B?\s*\Z", re.IGNORECASE)
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_IMAGE = re.compile(r"[a-z0-9][\w./:@-]{0,400}\Z")

_HOST = re.compile(r"(?:[a-z0-9_][a-z0-9_-]{0,62}\.)*[a-z0-9_][a-z0-9_-]{0,62}\Z")

NetworkMode = Literal["none", "public", "allowlist"]


@dataclass(frozen=True, slots=True)
class TaskResources:
    """What a task asks for itself; 0 where it says nothing. Bytes and processors.

    `hosts` are those that an allow-list names, whoever may reach them.
    """

    cpus: float = 0.0
    memory_bytes: int = 0
    storage_bytes: int = 0
    network: NetworkMode = "public"
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NetworkGrant:
    """What of a network is granted beside the gateway: to `hosts` and those below them, to any public one for None.

    `agent` says whether agents have it as well, and not the scripts of the task alone.
    """

    hosts: tuple[str, ...] | None
    agent: bool = False

    def permits(self, host: str) -> bool:
        """Whether a host may be reached, by its name."""
        name = host.lower().rstrip(".")
        if self.hosts is None:
            return _HOST.match(name) is not None
        return any(name == each or name.endswith(f".{each}") for each in self.hosts)


@dataclass(frozen=True, slots=True)
class ImageRecipe:
    """How the image of a task is made: a Dockerfile, and the folder of its context ("" for an empty one).

    `left_out` are paths of the context, relative to it, that never go into the image. `workdir` is the one that the
    task asks for, "" for the image's own. `skill_places` are folders of skills in the context, each with the path that
    the Dockerfile would have given it: oracles may stand on them. `outputs` are folders outside the working directory
    in which the task's work may lie, as far as its texts tell. The digest covers all that the image is made from but
    its base.
    """

    dockerfile: str
    context: str
    left_out: tuple[str, ...]
    digest: str
    workdir: str = ""
    build_timeout_sec: float = BUILD_TIMEOUT
    skill_places: tuple[tuple[str, str], ...] = ()
    outputs: tuple[str, ...] = ()


def read_recipe(folder: Folder, settings: Mapping[str, Any]) -> ImageRecipe | None:
    """The recipe of a task's image, None where it describes none; `settings` are those of its environment.

    A Dockerfile goes before the name of an image. Raises RefusedFile for what cannot be read safely.
    """
    workdir = posixpath.normpath(settings["workdir"]) if settings.get("workdir") else ""
    seconds = float(settings.get("build_timeout_sec") or BUILD_TIMEOUT)
    path = f"{CONTEXT}/{DOCKERFILE}"
    if folder.has(path):
        skills = skills_of_context(settings)
        text = without_skills(folder.text(path), skills, skill_names(folder, skills))
        left_out = (DOCKERFILE, skills)
        digest = _digest(text, workdir, _context(folder, left_out))
        place = os.path.join(folder.place, CONTEXT)
        return ImageRecipe(text, place, left_out, digest, workdir, seconds)
    given = settings.get("docker_image")
    if not given:
        return None
    if not isinstance(given, str) or not _IMAGE.match(given):
        raise RefusedFile("", f"docker_image {str(given)[:80]!r} is not the name of an image")
    text = f"FROM {given}\n"
    return ImageRecipe(text, "", (), _digest(text, workdir, ()), workdir, seconds)


def skills_of_context(settings: Mapping[str, Any]) -> str:
    """The folder of the task's skills, relative to the context."""
    return posixpath.relpath(settings.get("skills_dir") or f"{CONTEXT}/{_SKILLS}", CONTEXT)


def skill_names(folder: Folder, skills: str) -> tuple[str, ...]:
    """What the folders of skills are called that lie in the context's folder `skills`, in order."""
    place = os.path.join(folder.place, CONTEXT, skills)
    names = os.listdir(place) if is_inside(skills) and kind_of(place, links=False) in ("folder", "unknown") else []
    return tuple(sorted(name for name in names if may_be_file(os.path.join(place, name, "SKILL.md"))))


def without_skills(text: str, skills: str, names: Sequence[str] = ()) -> str:
    """A Dockerfile without what it copies from the folder of skills, a path of the context; other lines stay.

    So does a step that works in the copy of a skill, one of these `names`, as it would find none.
    """
    works_in = re.compile(rf"[\w.-]*skills?/(?:{'|'.join(map(re.escape, names))})(?![\w-])") if names else None
    kept: list[str] = []
    for whole in _instructions(text):
        is_step = whole[0].lstrip()[:4].upper() == "RUN "
        if is_step and works_in is not None and works_in.search("".join(whole)):
            kept += [f"# {line}" for line in whole]
        else:
            kept += _without(whole, skills)
    return "\n".join(kept)


def _instructions(text: str) -> Iterator[list[str]]:
    """The lines of each instruction, comment and empty line of a Dockerfile."""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        start = at
        while lines[at].rstrip().endswith("\\") and at + 1 < len(lines) and not lines[start].lstrip().startswith("#"):
            at += 1
        at += 1
        yield lines[start:at]


def _without(lines: list[str], skills: str) -> list[str]:
    """The lines of one instruction, without the sources that are skills."""
    name, options, paths = _copied(lines)
    sources = [path for path in paths[:-1] if not is_of_skills(path, skills)]
    if len(sources) == len(paths[:-1]):
        return lines
    if not sources:
        return [f"# {line}" for line in lines]
    quoted = ", ".join(f'"{path}"' for path in (*sources, paths[-1]))
    return [" ".join([name, *options, f"[{quoted}]"])]


def _copied(lines: list[str]) -> tuple[str, list[str], list[str]]:
    """The name of an instruction, its options and its paths; no paths where it copies nothing of the context."""
    joined = " ".join(line.strip().removesuffix("\\") for line in lines)
    name, _, rest = joined.strip().partition(" ")
    if name.upper() not in ("COPY", "ADD"):
        return name, [], []
    rest = rest.strip()
    if rest.startswith("["):
        words = [word.strip().strip("\"'") for word in rest.strip("[]").split(",")]
    else:
        try:
            words = shlex.split(rest)
        except ValueError:
            return name, [], []
    options = [word for word in words if word.startswith("--")]
    paths = [word for word in words if not word.startswith("--")]
    if any(option.startswith("--from") for option in options) or len(paths) < 2:
        return name, [], []
    return name, options, paths


def copied_files(recipe: ImageRecipe) -> list[str]:
    """The files of a context that its Dockerfile copies into the image, relative to it, in the order of their paths."""
    paths = [path for lines in _instructions(recipe.dockerfile) for path in _copied(lines)[2][:-1]]
    sources = [posixpath.normpath(path).lstrip("/") or "." for path in paths]

    def is_copied(path: str) -> bool:
        return any(
            source in (".", path) or path.startswith(f"{source}/") or fnmatchcase(path, source) for source in sources
        )

    return (
        [path for path in context_files(recipe.context, recipe.left_out) if is_copied(path)] if recipe.context else []
    )


def is_of_skills(source: str, skills: str) -> bool:
    """Whether a source is the folder of skills or lies in it, be it by a pattern."""
    path = posixpath.normpath(source).lstrip("/")
    return (
        path == skills
        or path.startswith(f"{skills}/")
        or (any(sign in path for sign in "*?[") and path != "*" and fnmatchcase(skills, path))
    )


def _context(folder: Folder, left_out: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """Each file of the context with the digest of its content, in the order of the paths. Raises RefusedFile."""
    place = os.path.join(folder.place, CONTEXT)
    total = 0
    for count, path in enumerate(context_files(place, left_out), 1):
        full = os.path.join(place, path)
        hashed = blake2b(digest_size=16)
        try:
            handle = os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(handle, "rb") as stream:
                state = os.fstat(handle)
                total += state.st_size
                if not stat.S_ISREG(state.st_mode):
                    raise RefusedFile(
                        f"{CONTEXT}/{path}", "neither a file nor a folder; the context of an image holds these only"
                    )
                if total > MAX_CONTEXT or count > MAX_FILES:
                    raise RefusedFile(
                        CONTEXT,
                        f"the context is too large; {MAX_FILES:,} files and {MAX_CONTEXT >> 30} GiB are the limits",
                    )
                hashed.update(b"x" if state.st_mode & stat.S_IXUSR else b"-")
                while data := stream.read(_CHUNK):
                    hashed.update(data)
        except OSError as error:
            said = (
                "a symbolic link; the context of an image holds real files only"
                if os.path.islink(full)
                else error.strerror
            )
            raise RefusedFile(f"{CONTEXT}/{path}", str(said)) from None
        yield path, hashed.digest()


def context_files(place: str, left_out: tuple[str, ...]) -> list[str]:
    """The files of a context, relative to it, in the order of their paths."""
    found: list[str] = []
    for above, folders, names in os.walk(place):
        inner = os.path.relpath(above, place)
        prefix = "" if inner == os.curdir else f"{inner}/"
        # What os.walk takes for a folder may be a link to one.
        links = [name for name in folders if os.path.islink(os.path.join(above, name))]
        folders[:] = [name for name in folders if f"{prefix}{name}" not in left_out and name not in links]
        found += [f"{prefix}{name}" for name in (*names, *links) if f"{prefix}{name}" not in left_out]
    return sorted(found)


def _digest(text: str, workdir: str, files: Iterator[tuple[str, bytes]] | tuple[()]) -> str:
    total = blake2b(digest_size=16)
    for part in (text, workdir):
        raw = part.encode("utf-8", "surrogateescape")
        total.update(b"t%d:" % len(raw) + raw)
    for path, content in files:
        raw = os.fsencode(path)
        total.update(b"f%d:" % len(raw) + raw + content)
    return total.hexdigest()


def read_resources(settings: Mapping[str, Any]) -> TaskResources:
    """What a task's environment asks for; sizes as `memory_mb = 4096` or `memory = "4G"`."""
    mode = settings.get("network_mode")
    hosts = tuple(str(host) for host in settings.get("allowed_hosts") or ())
    network: NetworkMode = "public"
    if mode == "no-network" or (mode is None and settings.get("allow_internet") is False):
        network = "none"
    elif mode == "allowlist":
        network = "allowlist"
    return TaskResources(
        cpus=float(settings.get("cpus") or 0),
        memory_bytes=_size(settings, "memory"),
        storage_bytes=_size(settings, "storage"),
        network=network,
        hosts=hosts,
    )


def _size(settings: Mapping[str, Any], name: str) -> int:
    """Bytes; 0 where nothing, or nothing readable, is said."""
    if megabytes := settings.get(f"{name}_mb"):
        return int(float(megabytes) * (1 << 20))
    match = _SIZE.match(str(settings.get(name) or ""))
    return int(float(match[1]) * (1 << _UNITS[match[2].upper()])) if match else 0
