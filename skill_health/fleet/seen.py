"""Whether a repository is what it was: one call of git tells, and what the file system says of the files at a path."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from skill_health import __version__
from skill_health.config.load import users_file
from skill_health.core.boundary import git_top
from skill_health.core.errors import AbortedError, SkillHealthError, UsageError
from skill_health.core.files import blake2b, is_folder, open_regular, read_whole
from skill_health.core.git import read_head_commit
from skill_health.discovery.roots import exclude_file
from skill_health.discovery.tracked import tracked_skills
from skill_health.documents.fleet_file import FleetFile, ListedRepository
from skill_health.documents.fleet_state import FleetState, SeenRepository
from skill_health.fleet.load import place_of
from skill_health.fleet.remotes import read_remote_commit
from skill_health.lint.cache.lint_cache import SETTLED_NS, rules_digest, state_of

_AT_ONCE = 8
_MOST_FILES = 5_000_000
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class FoundRepository:
    """A repository as it is found: `place` is its folder ("" for an address), `error` why nothing is known of it.

    `reports` is the folder of the reports, which we change.
    """

    listed: ListedRepository
    reports: str
    place: str = ""
    commit: str = ""
    seen: SeenRepository | None = None
    error: str = ""


def find_repositories(fleet: FleetFile, file: str, reports: str, profile: str, now: int) -> list[FoundRepository]:
    """Look at every repository, several at once, in the order of their names.

    `reports` is the folder of the reports (absolute and real), `now` the time in nanoseconds. What cannot be reached
    has an error. Raises UsageError if the user's own settings cannot be read.
    """
    shared = _digest(__version__.encode(), rules_digest().encode(), profile.encode(), _read_users_settings())

    def look(listed: ListedRepository) -> FoundRepository:
        found = FoundRepository(listed, reports)
        try:
            return _look(found, fleet, file, shared, now)
        except SkillHealthError as error:
            return replace(found, error=str(error))
        except OSError as error:
            return replace(found, error=f"cannot read {error.filename or listed.path}: {error.strerror or error}")

    every = sorted(fleet.repository, key=lambda each: each.name)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(look, every))


def _read_users_settings() -> bytes:
    path = users_file()
    try:
        return read_whole(path)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as error:  # taken for absent, they would be others than before, and nothing would be compared
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None


def _look(found: FoundRepository, fleet: FleetFile, file: str, shared: str, now: int) -> FoundRepository:
    listed = found.listed
    config = config_of(fleet, listed, file)
    rules = _digest(shared.encode(), *([read_whole(config)] if config else ()))
    given = (listed.path, listed.address, listed.folder, listed.branch, listed.owner)
    basis = _digest(rules.encode(), *map(os.fsencode, given))
    if listed.address:
        commit = read_remote_commit(listed.address, listed.branch)
        source = address_source(listed.address, commit)
        return replace(found, commit=commit, seen=SeenRepository(rules=rules, basis=basis, source=source))
    place = os.path.realpath(place_of(file, listed.path))
    if not is_folder(place):
        raise UsageError(f"there is no folder {listed.path}")
    top = git_top(place)
    commit = read_head_commit(top) if top else ""
    source, young = _look_at_files(top or place, found.reports, commit, now)
    seen = SeenRepository(rules=rules, basis=basis, source=source, young=_content(young) if young else None, taken=now)
    return replace(found, place=place, commit=commit, seen=seen)


def address_source(address: str, commit: str) -> str:
    """By what a commit at an address is known again."""
    return _digest(address.encode(), commit.encode())


def config_of(fleet: FleetFile, listed: ListedRepository, file: str) -> str:
    """The path of the configuration that stands in for that of a repository, "" for its own."""
    named = listed.config or fleet.config
    return place_of(file, named) if named else ""


def is_same(found: FoundRepository, state: FleetState, day: str) -> bool:
    """Whether a repository is what it was when a state of it was made, so that linting it would find the same."""
    now, then = found.seen, state.seen
    if now is None or (now.basis, now.source) != (then.basis, then.source) or then.day not in ("", day):
        return False
    if found.listed.address or not then.young:
        return True
    # Their times are what they were, or the source would be another one; only they could have changed nevertheless.
    files = _files(git_top(found.place) or found.place, found.reports)
    return then.young == _content([path for path, info in files if info and _is_young(info, then.taken)])


def _is_young(info: os.stat_result, taken: int) -> bool:
    return max(info.st_mtime_ns, info.st_ctime_ns) + SETTLED_NS >= taken


def _look_at_files(top: str, reports: str, commit: str, now: int) -> tuple[str, list[str]]:
    """A digest of what the file system says of every file below a folder, and the paths of those too young to tell.

    What git tracks though it is ignored, and what it leaves out by a file of its own, counts too.
    """
    total, young = blake2b(commit.encode(), digest_size=16), []
    for path, info in _files(top, reports):
        state = os.fsencode(path)
        if info is not None:
            times = info.st_mtime_ns, info.st_ctime_ns
            state += b"\0%d %d %d %d %d" % (info.st_mode, info.st_size, *times, info.st_ino)
            if _is_young(info, now):
                young.append(path)
        total.update(b"%d:" % len(state) + state)
    for path in (*tracked_skills(top), state_of(exclude_file(top))[0]):
        total.update(os.fsencode(path) + b"\0")
    return total.hexdigest(), young


def _files(top: str, reports: str) -> Iterator[tuple[str, os.stat_result | None]]:
    """Every file below a folder with what the file system says of it, and every folder; no link is followed.

    Left out are what git keeps for itself, and the reports of the fleet. Raises OSError where the folder itself cannot
    be read.
    """
    pending, count = [top], 0
    while pending:
        folder = pending.pop()
        yield folder, None
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            if folder == top:
                raise
            # The linter passes it over too, and says so.
            continue
        count += len(found)
        if count > _MOST_FILES:
            raise AbortedError(f"{top} has more than {_MOST_FILES:,} files and folders")
        for entry in found:
            if entry.name == ".git" or entry.path == reports:
                continue
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
                continue
            try:
                info = entry.stat(follow_symlinks=False)
            except OSError:  # it is gone meanwhile
                continue
            yield entry.path, info


def _content(paths: Sequence[str]) -> str:
    """A digest of what is in files, and of where links lead."""
    total = blake2b(digest_size=16)
    for path in paths:
        try:
            if os.path.islink(path):
                total.update(b"link" + os.fsencode(os.readlink(path)) + b"\0")
                continue
            handle = open_regular(path, links=False)
        except OSError as error:
            total.update(b"none %d\0" % (error.errno or 0))
            continue
        with os.fdopen(handle, "rb") as file:
            total.update(b"file %d\0" % os.fstat(handle).st_size)
            while part := file.read(_CHUNK):
                total.update(part)
    return total.hexdigest()


def _digest(*parts: bytes) -> str:
    total = blake2b(digest_size=16)
    for part in parts:
        total.update(b"%d:" % len(part) + part)
    return total.hexdigest()
