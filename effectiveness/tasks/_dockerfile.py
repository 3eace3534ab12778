"""What a Dockerfile does, as far as it can be done without building an image: a base, a folder, copied files.

Everything else is a reason why the task cannot be run here. It is never guessed what a command would have left behind.
"""

from __future__ import annotations

import json
import posixpath
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

from skill_health.effectiveness.tasks._folder import File, Folder, is_inside
from skill_health.effectiveness.tasks._scripts import RESERVED

CONTEXT = "environment"
# Images that hold no more than this machine must have anyway: a shell, the usual tools, Python.
PLAIN = frozenset(("alpine", "bash", "buildpack-deps", "busybox", "debian", "python", "ubuntu"))
# Where agents look for skills: which of those are there is what the conditions decide.
_SKILL_PLACES = ("skills", "skill")
_SILENT = frozenset(("LABEL", "MAINTAINER", "EXPOSE", "STOPSIGNAL", "CMD", "SHELL"))


@dataclass(slots=True)
class Image:
    """What a Dockerfile leaves for us.

    `workdir` is "" where it sets none, `based` says whether it has named a base. `copied` are files by their absolute
    paths, each with the instruction that copied it; `files` are those in the working directory, relative to it.
    """

    workdir: str = ""
    based: bool = False
    copied: dict[str, tuple[str, File]] = field(default_factory=dict)
    files: tuple[File, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    unsupported: list[str] = field(default_factory=list)
    blockers: list[str] = field(default_factory=list)


def read_image(folder: Folder, file: str, workdir: str) -> Image:
    """Read a Dockerfile and the files that it copies; a `workdir` that is not "" wins over its own.

    Raises Refused for files that cannot be read safely.
    """
    image = Image()
    for line, name, rest in _instructions(folder.text(file)):
        where = f"{file}:{line}: {name[:20]} {rest[:60]}".rstrip()
        told = _apply(image, folder, name, rest, where)
        if told is not None:
            image.blockers.append(f"{where}: {told or 'no image is built here'}")
    image.workdir = workdir or image.workdir
    files = []
    for path, (where, copy) in sorted(image.copied.items()):
        inner = path.removeprefix(f"{image.workdir}/")
        if image.workdir and inner != path:
            files.append(File(inner, copy.data, copy.executable))
        else:
            image.blockers.append(f"{where}: outside the working directory")
    image.files, image.blockers = tuple(files), list(dict.fromkeys(image.blockers))
    return image


def _instructions(text: str) -> Iterator[tuple[int, str, str]]:
    """The instructions as (line, upper-case name, rest), continued lines joined and comments left out."""
    start, parts = 0, list[str]()
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("#") or (not line.strip() and not parts):
            continue
        start = start if parts else number
        parts.append(line.strip().removesuffix("\\"))
        if not line.rstrip().endswith("\\"):
            name, _, rest = " ".join(parts).strip().partition(" ")
            yield start, name.upper(), rest.strip()
            parts = []
    if parts:
        name, _, rest = " ".join(parts).strip().partition(" ")
        yield start, name.upper(), rest.strip()


def _apply(image: Image, folder: Folder, name: str, rest: str, where: str) -> str | None:
    """Take an instruction over; for what cannot be taken over the reason, "" where it is the usual one."""
    match name:
        case "FROM":
            return _base(image, rest)
        case "WORKDIR" if "$" not in rest and rest:
            image.workdir = posixpath.normpath(posixpath.join(image.workdir or "/", rest))
            return None
        case "COPY" | "ADD":
            return _copy(image, folder, name, rest, where)
        case "ENV":
            return _env(image, rest)
        case "USER":
            image.unsupported.append(f"USER {rest[:40]}: everything runs as the user who started the run")
            return None
    return None if name in _SILENT else ""


def _base(image: Image, rest: str) -> str | None:
    words = rest.split()
    bare = words[0].removeprefix("docker.io/").removeprefix("library/") if len(words) == 1 else ""
    if bare.partition("@")[0].partition(":")[0] not in PLAIN or image.based:
        return ""
    image.based = True
    image.unsupported.append(f"FROM {rest[:60]}: the tools of this machine are used instead of the image's")
    return None


def _env(image: Image, rest: str) -> str | None:
    try:
        words = shlex.split(rest)
    except ValueError:
        return ""
    if words and "=" not in words[0]:
        words = [f"{words[0]}={rest.partition(' ')[2].strip()}"]
    if any("$" in word or "=" not in word or word.partition("=")[0] in RESERVED for word in words):
        return ""
    image.env |= dict(word.split("=", 1) for word in words)
    return None


def _copy(image: Image, folder: Folder, name: str, rest: str, where: str) -> str | None:
    words = _words(rest)
    while words and words[0].startswith("--chown="):
        words.pop(0)
    if len(words) < 2 or any(word.startswith("--") or any(mark in word for mark in "*?[$") for word in words):
        return ""
    *sources, target = words
    full = posixpath.normpath(posixpath.join("/", image.workdir, target))
    if posixpath.basename(full) in _SKILL_PLACES and "/." in full:
        return None
    for source in sources:
        plain = posixpath.normpath(source).lstrip("/") or "."
        found = f"{CONTEXT}/{plain}" if plain != "." else CONTEXT
        if (plain != "." and not is_inside(plain)) or not folder.has(found):
            return f"no such file below {CONTEXT}/"
        if name == "ADD" and plain.endswith((".tar", ".gz", ".xz", ".bz2", ".tgz", ".zst")):
            return ""
        if folder.is_folder(found):
            skip = ("Dockerfile", ".dockerignore", "skills") if plain == "." else ()
            copied = folder.tree(found, f"{full}/", skip)
        else:
            into = len(sources) > 1 or target.endswith(("/", "/.")) or target == "." or full == image.workdir
            copied = (folder.file(found, f"{full}/{posixpath.basename(plain)}" if into else full),)
        image.copied |= {posixpath.normpath(file.path): (where, file) for file in copied}
    return None


def _words(rest: str) -> list[str]:
    if rest.startswith("["):
        try:
            found = json.loads(rest)
        except (ValueError, RecursionError):
            return []
        return [str(word) for word in found] if isinstance(found, list) else []
    return rest.split()
