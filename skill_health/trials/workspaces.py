"""The files that a trial ended with, read from the archive of its workspace without unpacking it anywhere."""

from __future__ import annotations

import io
import tarfile
import zlib
from collections.abc import Mapping

from skill_health.trials.kept_files import ReportFolders
from skill_health.trials.reading import KeptTrial

WORKSPACE = "workspace.tar.gz"
_MOST_ARCHIVE, _MOST_FILES = 64 << 20, 20_000
_GZIP = 31


def final_files(shelf: ReportFolders, kept: KeptTrial) -> Mapping[str, bytes] | str:
    """The files of a workspace as its agent left them, without staged skills, by path; else why they cannot be had.

    A link is its target as text.
    """
    way = (*kept.trial.way, WORKSPACE)
    found = shelf.read(way, _MOST_ARCHIVE) if kept.trial.way else None
    if not found:
        return "no workspace was kept"
    if found[1] > _MOST_ARCHIVE:
        return "the kept workspace is too large to be compared"
    reader = zlib.decompressobj(_GZIP)
    try:
        # A small archive may say that it holds anything: no more is ever unpacked than the limit.
        raw = reader.decompress(found[0], _MOST_ARCHIVE)
        if reader.unconsumed_tail:
            return "the kept workspace is too large to be compared"
        return _members(raw, kept.about.skills_folder.strip("/"))
    except (tarfile.TarError, zlib.error, OSError, ValueError, EOFError, OverflowError):
        return "the kept workspace is damaged"


def _members(raw: bytes, skills: str) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(raw), mode="r:", errors="surrogateescape") as archive:
        for member in archive:
            if len(files) >= _MOST_FILES:
                raise ValueError("too many files")
            if skills and (member.name == skills or member.name.startswith(f"{skills}/")):
                continue
            if member.issym():
                files[member.name] = f"link to {member.linkname}".encode("utf-8", "surrogateescape")
            elif member.isreg() and (stream := archive.extractfile(member)):
                files[member.name] = stream.read()
    return files
