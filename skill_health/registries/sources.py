"""The files that hold registries: which ones a configuration means, their bytes, and one digest over them."""

import errno
import os
from collections.abc import Iterator
from typing import NamedTuple

from skill_health.config.settings import SourceGlobs
from skill_health.core.boundary import INSIDE, Boundary
from skill_health.core.errors import AbortedError
from skill_health.core.files import blake2b, is_there
from skill_health.discovery.globs import glob_matcher

KINDS = ("claims", "mechanisms", "activation", "prompts", "tasks")
MARKS = {
    "claims": b'"claim_id"',
    "mechanisms": b'"mechanism_id"',
    "activation": b'"case_id"',
    "prompts": b'"prompt_id"',
    "tasks": b'"target_skill"',
}
MAX_BYTES = 64 * 2**20
MAX_FOLDERS = 1_000_000


class SourceFile(NamedTuple):
    """One registry file. `path` is relative to the root; `problem` says why `raw` could not be read."""

    kind: str
    path: str
    raw: bytes = b""
    problem: str = ""
    task_path: str = ""


def read_sources(root: str, sources: SourceGlobs, marked: bool = True) -> tuple[SourceFile, ...]:
    """Every registry file below `root` that `sources` names, in the order of kinds and paths, with its bytes.

    A literal path costs one lookup; only a pattern walks folders. A file found twice (by two patterns or
    through a link) is read once. A file that merely has one of the default names, and in which no record
    of that kind occurs, is not ours and is left out; with `marked` False the caller has to tell.
    """
    found: list[SourceFile] = []
    boundary = Boundary(root)
    for kind in KINDS:
        patterns: tuple[str, ...] = getattr(sources, kind)
        assumed = patterns == getattr(SourceGlobs(), kind)
        seen: set[str] = set()
        for path in sorted({path for pattern in patterns for path in expand(root, pattern, boundary)}):
            # Nobody meant a folder elsewhere by a name that is only assumed.
            if assumed and boundary.leads_out(os.path.dirname(path)):
                continue
            real = os.path.realpath(os.path.join(root, path))
            if real in seen:
                continue
            seen.add(real)
            entry = _read(kind, boundary, path)
            if marked and assumed and entry.raw.strip() and MARKS[kind] not in entry.raw:
                continue
            found.append(entry)
    return tuple(found)


def digest(files: tuple[SourceFile, ...]) -> str:
    """BLAKE2b over kinds, paths and bytes; "" where there is no file at all."""
    if not files:
        return ""
    sha = blake2b(digest_size=32)
    for entry in files:
        head = "\0".join((entry.kind, entry.path, entry.problem, entry.task_path, str(len(entry.raw))))
        sha.update(head.encode("utf-8", "surrogateescape") + b"\0")
        sha.update(entry.raw)
    return sha.hexdigest()


def expand(root: str, pattern: str, boundary: Boundary | None = None) -> Iterator[str]:
    """Paths below `root` that match a glob (`*`, `?`, `[..]` within a segment, `**` for any number of folders).

    A pattern without wildcards is looked up, not walked. Hidden names match only a pattern that
    begins with a dot; links to folders are not followed by `**`. What leads out of the repository is given as it is
    written, whether or not anything is there.
    """
    boundary = boundary or Boundary(root)
    if not any(mark in pattern for mark in "*?["):
        if boundary.leads_out(pattern) or is_there(os.path.join(root, pattern), links=False):
            yield pattern
        return
    yield from _match(boundary, "", tuple(part for part in pattern.split("/") if part not in ("", ".")))


def _match(boundary: Boundary, base: str, parts: tuple[str, ...]) -> Iterator[str]:
    root, head, rest = boundary.root, parts[0], parts[1:]
    if base and boundary.leads_out(base):
        yield "/".join((base, *parts))
        return
    if head == "**":
        folders = list(_folders(root, base))
        for folder in folders:
            yield from _match(boundary, folder, rest or ("*",))
        return
    if not any(mark in head for mark in "*?["):
        path = f"{base}/{head}" if base else head
        if is_there(os.path.join(root, path), links=False):
            yield from _match(boundary, path, rest) if rest else (path,)
        return
    matches = glob_matcher(head, by_path=False)
    for name in _names(os.path.join(root, base)) if matches else ():
        if matches and (name[0] != "." or head[0] == ".") and matches(name):
            path = f"{base}/{name}" if base else name
            if not rest:
                yield path
            elif os.path.isdir(os.path.join(root, path)):
                yield from _match(boundary, path, rest)


def _folders(root: str, base: str) -> Iterator[str]:
    waiting, count = [base], 0
    while waiting:
        folder = waiting.pop()
        count += 1
        if count > MAX_FOLDERS:
            raise AbortedError(
                f"more than {MAX_FOLDERS:,} folders match ** in [sources]: name the folders more closely"
            )
        yield folder
        for name in reversed(_names(os.path.join(root, folder))):
            path = f"{folder}/{name}" if folder else name
            full = os.path.join(root, path)
            if name[0] != "." and os.path.isdir(full) and not os.path.islink(full):
                waiting.append(path)


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder or "."))
    except OSError:
        return []


_PROBLEMS = {
    errno.EISDIR: "is a folder, not a file",
    errno.EINVAL: "is not a regular file",
    errno.EXDEV: "leads out of the repository, and is not read",
}


def _read(kind: str, boundary: Boundary, path: str) -> SourceFile:
    try:
        raw = boundary.read(path, MAX_BYTES)
    except OSError as error:
        wrong = _PROBLEMS.get(error.errno or 0, f"cannot be read ({error.strerror or 'unknown error'})")
        return SourceFile(kind, path, problem=f"the registry {wrong}")
    if raw is None:
        return SourceFile(kind, path, problem=f"the registry is larger than {MAX_BYTES // 2**20} MiB")
    task = ""
    if kind == "tasks":
        beside = f"{path.rpartition('/')[0]}/task.md".lstrip("/")
        task = beside if boundary.find(beside) == INSIDE and os.path.isfile(os.path.join(boundary.root, beside)) else ""
    return SourceFile(kind, path, raw, task_path=task)
