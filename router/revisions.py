"""A collection as it was at a git revision: the same skills, found and read in the same way."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from tempfile import TemporaryDirectory
from typing import NamedTuple

from skill_health.bench.collection import Collection, read_collection
from skill_health.config.settings import Config
from skill_health.core.errors import UsageError
from skill_health.core.files import read_small
from skill_health.discovery import plugins
from skill_health.discovery.corpus import discover
from skill_health.discovery.listing import is_skill_name
from skill_health.discovery.roots import git_top, is_certain

MAX_ENTRIES = 200_000
MAX_BYTES = 16 * 2**20
_READ = frozenset((".gitignore", "skill-health.toml", "pyproject.toml", *plugins.FILES))
_LINK = b"120000"


class _Blob(NamedTuple):
    """A file of a tree: its mode, object id, size in bytes and path relative to the top of the repository."""

    mode: bytes
    oid: bytes
    size: int
    path: str


def collection_at(root: str, config: Config, revision: str, paths: Sequence[str] = ()) -> Collection:
    """The skills below `root` at a revision, as `read_collection` would have found them; none where none were there.

    `paths` are what was asked for, relative to the root (all of it where there are none). The tree is laid out in a
    temporary folder with the skills' texts and stand-ins for all other files; nothing of the repository is run, and
    its index and working tree are left alone.

    Raises UsageError outside a git repository, without git and for a revision that git does not know.
    """
    top = git_top(root)
    if top is None:
        raise UsageError(f"{root} is in no git repository, so there is no revision {revision!r} of it")
    if revision.startswith("-"):
        raise UsageError(f"{revision!r} is not a git revision")
    commit = _commit(top, revision)
    inner = os.path.relpath(root, top).replace(os.sep, "/")
    with TemporaryDirectory(prefix="skill-health-") as folder:
        base = os.path.realpath(folder)
        place = os.path.normpath(os.path.join(base, inner))
        _lay_out(top, commit, "" if inner == "." else inner, base)
        _mark(top, root, base, place)
        wanted = [os.path.normpath(os.path.join(place, path)) for path in paths or (".",)]
        there = [path for path in wanted if os.path.lexists(path)]
        return read_collection(discover(there, config, place), config.router.namesakes)[1] if there else Collection()


def _mark(top: str, root: str, base: str, place: str) -> None:
    """Mark the copies of the repository's top and of the root as such, so that they are searched as those are."""
    os.makedirs(os.path.join(base, ".git", "info"))
    done = _git(top, "rev-parse", "--git-path", "info/exclude")
    exclude = read_small(os.path.join(top, os.fsdecode(done.stdout.rstrip(b"\n"))))
    with open(os.path.join(base, ".git", "info", "exclude"), "wb") as file:
        file.write(exclude or b"")
    if is_certain(root) and os.path.isdir(place) and not is_certain(place):
        with open(os.path.join(place, "skill-health.toml"), "wb"):
            pass


def _commit(top: str, revision: str) -> bytes:
    name = f"{revision}^{{commit}}"
    done = _git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", name)
    if done.returncode:
        raise UsageError(f"git does not know the revision {revision!r}")
    return done.stdout.strip()


def _lay_out(top: str, commit: bytes, inner: str, base: str) -> None:
    """Write what is below `inner` in a commit, and ignore files and manifests beside it, into the folder `base`.

    A file that nobody reads holds its object id, so that equal files are equal and others are not.
    """
    blobs = [blob for blob in _tree(top, commit) if _is_wanted(blob.path, inner)]
    read = [blob for blob in blobs if blob.mode == _LINK or _is_read(blob)]
    texts = dict(zip((blob.oid for blob in read), _contents(top, read), strict=True))
    # Links come last, so that nothing is written through one.
    for blob in sorted(blobs, key=lambda blob: (blob.mode == _LINK, blob.path)):
        target = os.path.join(base, blob.path)
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if blob.mode == _LINK:
                os.symlink(os.fsdecode(texts[blob.oid]), target)
            else:
                with open(target, "xb") as file:
                    file.write(texts[blob.oid] if _is_read(blob) else blob.oid)
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot lay out {blob.path} of that revision: {error}") from None
    _drop_escaping(base, [os.path.join(base, blob.path) for blob in blobs if blob.mode == _LINK])


def _is_wanted(path: str, inner: str) -> bool:
    parts = path.split("/")
    if any(part in ("", ".", "..") or part.lower() == ".git" for part in parts):
        return False
    return not inner or path.startswith(inner + "/") or parts[-1] in (".gitignore", *plugins.FILES)


def _is_read(blob: _Blob) -> bool:
    name = blob.path.rpartition("/")[2]
    return blob.size <= MAX_BYTES and (is_skill_name(name) or name in _READ)


def _drop_escaping(base: str, links: Sequence[str]) -> None:
    """Remove the symbolic links that lead out of the folder: what they name is not of that revision."""
    for link in links:
        if not os.path.realpath(link).startswith(base + os.sep):
            os.unlink(link)


def _tree(top: str, commit: bytes) -> Iterator[_Blob]:
    """Every file and link of a commit, submodules left out."""
    done = _git(top, "ls-tree", "-r", "-l", "-z", "--full-tree", commit.decode("ascii"))
    if done.returncode:
        raise UsageError(f"git cannot list the files of {commit.decode('ascii')[:12]}: {_reason(done)}")
    entries = [entry for entry in done.stdout.split(b"\0") if entry]
    if len(entries) > MAX_ENTRIES:
        raise UsageError(f"{len(entries):,} files at that revision; {MAX_ENTRIES:,} can be looked at")
    for entry in entries:
        head, _, path = entry.partition(b"\t")
        mode, kind, oid, size = head.split()
        if kind == b"blob":
            yield _Blob(mode, oid, int(size), os.fsdecode(path))


def _contents(top: str, blobs: Sequence[_Blob]) -> Iterator[bytes]:
    """The bytes of blobs, in their order."""
    done = _git(top, "cat-file", "--batch", given=b"".join(blob.oid + b"\n" for blob in blobs))
    at = 0
    for blob in blobs:
        head, _, _ = done.stdout[at : at + 200].partition(b"\n")
        if done.returncode or head.split()[1:2] != [b"blob"]:
            raise UsageError(f"git lacks the contents of {blob.path}: {_reason(done)}")
        start = at + len(head) + 1
        yield done.stdout[start : start + blob.size]
        at = start + blob.size + 1


def _git(top: str, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", top, *arguments]
    environment = os.environ | {"GIT_NO_LAZY_FETCH": "1"}
    try:
        return subprocess.run(command, input=given, capture_output=True, check=False, env=environment)
    except OSError:
        raise UsageError("git is needed to read an earlier revision, and is not installed") from None


def _reason(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "no reason given"
