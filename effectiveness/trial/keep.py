"""The workspace as it is kept, and unpacked again: the same files give the same bytes, and nothing leaves its folder.

Regular files, folders and links are kept, with nothing of their owner, time and rights but whether they can be run.
"""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from skill_health.effectiveness.trial.redact import holds_secret, redact
from skill_health.effectiveness.workspace.tree import FolderTree, TreeEntry, contents

MAX_FILE = 64 << 20
MAX_TOTAL = 256 << 20
MAX_MEMBERS = 50_000
NAME, OUTPUTS = "workspace.tar.gz", "outputs.tar.gz"
_DAMAGED = (
    tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error, FileExistsError, FileNotFoundError, NotADirectoryError
)  # fmt: skip


class CannotKeep(Exception):
    """A workspace that is too large or cannot be read; the message says which."""


class BadArchive(Exception):
    """An archive that is none of ours; the message says why."""


@dataclass(frozen=True, slots=True)
class PackedWorkspace:
    """What was packed. `redacted` counts files in which a secret was replaced, or whose name held one.

    The latter are left out, as are special files.
    """

    data: bytes
    redacted: int = 0
    special: int = 0


def pack(tree: FolderTree, secrets: tuple[str, ...] = ()) -> PackedWorkspace:
    """The archive of a tree. Raises CannotKeep: half a workspace would be verified wrongly."""
    if tree.problems:
        raise CannotKeep(tree.problems[0])
    if len(tree.entries) > MAX_MEMBERS:
        raise CannotKeep(f"it has more than {MAX_MEMBERS:,} files")
    if sum(entry.size for entry in tree.entries) > MAX_TOTAL:
        raise CannotKeep(f"its files have more than {MAX_TOTAL >> 20} MiB")
    redacted = special = 0
    raw = io.BytesIO()
    # The fastest level: most workspaces are small, and the others are many.
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=3) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.GNU_FORMAT, errors="surrogateescape") as archive,
    ):
        for entry in tree.entries:
            if entry.kind == "special":
                special += 1
            elif holds_secret(os.fsencode(f"{entry.path}\0{entry.target}"), secrets):
                redacted += 1
            else:
                redacted += _add(archive, tree.folder, entry, secrets)
    return PackedWorkspace(raw.getvalue(), redacted, special)


def _add(archive: tarfile.TarFile, folder: str, entry: TreeEntry, secrets: tuple[str, ...]) -> bool:
    """Add one entry; whether a secret was replaced in it."""
    info = tarfile.TarInfo(entry.path)
    info.mode = 0o755 if entry.kind == "folder" or entry.executable else 0o644
    if entry.kind == "folder":
        info.type = tarfile.DIRTYPE
    elif entry.kind == "link":
        info.type, info.linkname, info.mode = tarfile.SYMTYPE, entry.target, 0o777
    else:
        data = contents(folder, entry, MAX_FILE)
        if data is None:
            raise CannotKeep(f"a file cannot be read or has more than {MAX_FILE >> 20} MiB")
        clean = redact(data, secrets)
        info.size = len(clean)
        archive.addfile(info, io.BytesIO(clean))
        return clean != data
    archive.addfile(info)
    return False


def unpack(path: str, folder: str) -> None:
    """Write an archive into an empty folder; links come last, so that nothing is written through one.

    Raises BadArchive for what `pack` would not have written, OSError where it cannot be read or written.
    """
    links: list[tuple[str, str]] = []
    try:
        with tarfile.open(path, "r:gz", errors="surrogateescape") as archive:
            for member in _members(archive):
                place = os.path.join(folder, member.name)
                if member.issym():
                    links.append((member.linkname, place))
                elif member.isdir():
                    os.mkdir(place, 0o755)
                else:
                    stream = archive.extractfile(member)
                    with open(place, "xb") as target:
                        target.write(stream.read() if stream else b"")
                    os.chmod(place, 0o755 if member.mode & 0o100 else 0o644)
    except _DAMAGED as error:
        raise BadArchive(f"it is damaged ({str(error)[:200] or type(error).__name__})") from None
    for target_path, place in links:
        os.symlink(target_path, place)


def _members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """The members, each checked. Raises BadArchive."""
    total = 0
    for count, member in enumerate(archive):
        parts = member.name.split("/")
        total += member.size
        if count >= MAX_MEMBERS or total > MAX_TOTAL or member.size > MAX_FILE:
            raise BadArchive("it is larger than a kept workspace can be")
        if not (member.isreg() or member.isdir() or member.issym()) or {"", ".", ".."}.intersection(parts):
            raise BadArchive("it holds something that is no part of a workspace")
        yield member
