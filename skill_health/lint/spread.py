"""A lint run whose skills are checked by the workers of an executor: each checks a shard, and this run merges them.

A worker on another machine gets the repository once, as an archive named by its content. What it found is used where
everything that it looked at is as it is here, as with every shard.
"""

from __future__ import annotations

import asyncio
import gzip
import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from skill_health.config.settings import Config
from skill_health.core.boundary import git_top
from skill_health.core.errors import UsageError
from skill_health.core.files import blake2b, is_there, read_whole, write_bytes
from skill_health.executors._api import LOOPBACK, Executor, WorkerLostError, call_again
from skill_health.executors._load import LOCAL, open_executor
from skill_health.executors.shards import Shard
from skill_health.lint.pipeline import run_shard

_OF_GIT = ("HEAD", "index", "info/exclude")
"""What of .git says which files are tracked; nothing of it holds a credential."""
_MOST_BYTES = 4 << 30


class SharedTree(NamedTuple):
    """A repository as workers see it: the folder `top`, or the content of an archive where it has a `mark`.

    `in_git` where it is a work tree of git.
    """

    top: str
    in_git: bool = False
    mark: str = ""
    data: bytes = b""


@contextmanager
def checked_parts(spec: str, paths: Sequence[str], root: str, config: Config) -> Iterator[tuple[str, ...]]:
    """The files of the shards that the workers of an executor have checked, for a run that merges them; () for local.

    Where workers are lost again and again, all is left to that run. Raises UsageError, as `open_executor` and
    `lint` do.
    """
    if spec == LOCAL:
        yield ()
        return
    with open_executor(spec) as executor, tempfile.TemporaryDirectory(prefix="skill-health-") as folder:
        if not executor.host:
            yield ()
            return
        if config.custom.code:
            raise UsageError("rules in Python run on this machine alone: leave out --executor")
        yield asyncio.run(_check_parts(executor, paths, root, config, folder))


async def _check_parts(
    executor: Executor, paths: Sequence[str], root: str, config: Config, folder: str
) -> tuple[str, ...]:
    top = git_top(root) or root
    tree = executor.share(SharedTree(top) if executor.host == LOOPBACK else pack_tree(top))
    inner = os.path.relpath(root, top)
    named = tuple(os.path.relpath(os.path.realpath(path), os.path.realpath(top)) for path in paths)
    shards = [Shard(number, executor.workers) for number in range(1, executor.workers + 1)]

    try:
        found = await asyncio.gather(
            *(call_again(executor, check_part, tree, named, inner, config, shard) for shard in shards)
        )
    except WorkerLostError:
        return ()
    files = {os.path.join(folder, f"part{shard.suffix}"): data for shard, data in zip(shards, found, strict=True)}
    for file, data in files.items():
        write_bytes(file, data)
    return tuple(files)


async def check_part(tree: SharedTree, paths: Sequence[str], inner: str, config: Config, shard: Shard) -> bytes:
    """What a worker does: one shard of a repository, as its file holds it."""
    top = unpack_tree(tree) if tree.mark else tree.top
    with tempfile.TemporaryDirectory(prefix="skill-health-") as folder:
        file = os.path.join(folder, "part")
        named = [os.path.normpath(os.path.join(top, path)) for path in paths]
        run_shard(named, os.path.normpath(os.path.join(top, inner)), config, shard, file, jobs=1, use_cache=False)
        return read_whole(file, _MOST_BYTES)


def pack_tree(top: str) -> SharedTree:
    """The files of a repository, with what git knows of them and without its contents, in an order of their own."""
    stream = io.BytesIO()
    # By itself tarfile would put the time of day into the head, and so into the name.
    with (
        gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=1, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for place, folders, names in os.walk(top):
            folders[:] = sorted(folder for folder in folders if folder != ".git")
            for name in sorted((*names, *(f for f in folders if os.path.islink(os.path.join(place, f))))):
                _add(archive, top, os.path.join(place, name))
        for name in _OF_GIT:
            _add(archive, top, os.path.join(top, ".git", name))
    data = stream.getvalue()
    return SharedTree(
        top, is_there(os.path.join(top, ".git"), links=False), blake2b(data, digest_size=16).hexdigest(), data
    )


def _add(archive: tarfile.TarFile, top: str, path: str) -> None:
    """Put a file or a link into the archive, without owner and times; nothing for what is neither, or is gone."""
    with suppress(OSError):
        entry = archive.gettarinfo(path, os.path.relpath(path, top))
        if entry is None or not (entry.isreg() or entry.issym() or entry.islnk()):
            return
        entry.mtime = entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        if entry.isreg() or entry.islnk():
            entry.type, entry.linkname = tarfile.REGTYPE, ""
            data = read_whole(path, _MOST_BYTES)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        else:
            archive.addfile(entry)


def unpack_tree(tree: SharedTree) -> str:
    """The folder of this machine that holds the archive of a tree, which is unpacked once."""
    above = os.path.join(tempfile.gettempdir(), f"skill-health-trees-{os.getuid() if hasattr(os, 'getuid') else ''}")
    os.makedirs(above, mode=0o700, exist_ok=True)
    place = os.path.join(above, tree.mark)
    if os.path.isdir(place):
        return place
    half = tempfile.mkdtemp(dir=above)
    try:
        with tarfile.open(fileobj=io.BytesIO(tree.data)) as archive:
            archive.extractall(half, filter=_inside)
        # What makes it a repository to git; its objects stay where they are.
        for name in ("objects", "refs") if tree.in_git else ():
            os.makedirs(os.path.join(half, ".git", name), exist_ok=True)
        with suppress(OSError):
            os.rename(half, place)
        return place
    finally:
        shutil.rmtree(half, ignore_errors=True)


def _inside(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo | None:
    """A file or a link that stays within the folder; None leaves it out."""
    try:
        return tarfile.data_filter(member, path)
    except tarfile.FilterError:
        return None
