"""The paths a user names -> the skills to check and the collection around them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from skill_health.config.settings import Config
from skill_health.core.errors import UsageError
from skill_health.discovery.ignores import Patterns, compile_patterns, ignored_within, read_patterns
from skill_health.discovery.listing import (
    Listing,
    drop_ignored,
    examine,
    has_skill,
    is_foreign,
    list_folder,
    may_hold_skills,
    skill_name,
)
from skill_health.discovery.roots import find_root, ignores_above, is_certain, relative, resolve, skill_above

MAX_ENTRIES = 200_000
MAX_DEPTH = 24
LEFT_OUT = frozenset((".git", ".venv", "node_modules"))
"""Folders of a skill that are not staged with it, and so are no part of its digest."""


class SkillFolder(NamedTuple):
    """A folder that holds a SKILL.md. `real` is its folder without symbolic links; both are relative to the root."""

    folder: str
    real: str
    file_name: str
    link: bool
    problem: str
    size: int
    files: list[str]

    @property
    def path(self) -> str:
        """The SKILL.md's path relative to the root."""
        return f"{self.folder}/{self.file_name}" if self.folder else self.file_name


class Walk:
    """What has been seen so far below `root`. `links` are symbolic links to folders, not entered."""

    def __init__(self, root: str, exclude: Patterns | None = None) -> None:
        self.root, self.exclude = root, exclude
        self.found: list[SkillFolder] = []
        self.links: list[str] = []
        self.warnings: list[str] = []
        self.seen: set[str] = set()
        self.entries = 0
        self.deep = False

    def full(self) -> bool:
        """Whether the walk has reached its limit."""
        return self.entries > MAX_ENTRIES


def scan(walk: Walk, start: str, stack: tuple[Patterns, ...], real: str | None = None, siblings: bool = False) -> None:
    """Walk everything below `start` (relative to the root), which itself is entered whatever its name.

    `stack` are the ignore files above it, the nearest first; `real` is where `start` leads if it is a symbolic link.
    With `siblings` only skills that stand right in `start` are entered, quietly.
    """
    origin = start if real is None else real
    pending: list[tuple[str, int, tuple[Patterns, ...], SkillFolder | None]] = [(start, 0, stack, None)]
    while pending and not walk.full():
        folder, depth, stack, owner = pending.pop()
        place = origin + folder[len(start) :]
        if place in walk.seen:
            continue
        directory = f"{walk.root}/{folder}" if folder else walk.root
        listing = _listing(walk, directory, folder, quiet=siblings)
        if listing is None or (depth and is_foreign(directory, listing.files)):
            continue
        prefix = f"{folder}/" if folder else ""
        if ".gitignore" in listing.files and ".gitignore" not in listing.linked:
            stack = _with_gitignore(walk, directory, prefix, stack)
        rules = (walk.exclude, *stack) if walk.exclude else stack
        if rules:
            drop_ignored(listing, rules, prefix)
        name = skill_name(listing)
        if name:
            problem, size = examine(f"{directory}/{name}")
            owner = SkillFolder(folder, place, name, name in listing.linked, problem, size, [])
            walk.found.append(owner)
        if owner:
            inner = prefix[len(owner.folder) + 1 :] if owner.folder else prefix
            owner.files.extend([inner + file for file in listing.files if file != name])
        elif siblings and depth:
            continue
        walk.seen.add(place)
        links = [link for link in listing.links if link != name and may_hold_skills(link)]
        if siblings and not depth:
            links = [link for link in links if has_skill(f"{directory}/{link}")]
        walk.links.extend([prefix + link for link in links])
        below = [child for child in listing.folders if child != name and may_hold_skills(child)]
        below.sort(reverse=True)
        if depth < MAX_DEPTH:
            pending.extend([(prefix + child, depth + 1, stack, owner) for child in below])
        elif below and not walk.deep:
            walk.deep = True
            walk.warnings.append(f"folders over {MAX_DEPTH} levels deep are not searched, such as {prefix}{below[-1]}")


def _listing(walk: Walk, directory: str, folder: str, quiet: bool) -> Listing | None:
    """What a folder holds; None, with a warning, where it cannot be read or the walk has reached its limit."""
    try:
        listing = list_folder(directory, MAX_ENTRIES - walk.entries)
    except OSError as error:
        if not quiet:
            walk.warnings.append(f"cannot read {folder or directory}: {error.strerror or error}; it is not searched")
        return None
    walk.entries += listing.size
    if not walk.full():
        return listing
    walk.warnings.append(
        f"stopped at {folder or directory} after {MAX_ENTRIES:,} files and folders: name the folders that hold skills, "
        "or exclude others in the configuration"
    )
    return None


def _with_gitignore(walk: Walk, directory: str, prefix: str, stack: tuple[Patterns, ...]) -> tuple[Patterns, ...]:
    """The ignore files that apply in a folder with a `.gitignore` of its own, that one first."""
    try:
        patterns = read_patterns(f"{directory}/.gitignore", cut=len(prefix))
    except OSError as error:
        walk.warnings.append(f"cannot read {prefix}.gitignore: {error.strerror or error}; nothing is ignored by it")
        return stack
    return (patterns, *stack) if patterns else stack


class SurveyRequest:
    """What was asked for, relative to the root: folders with all below them, single skills, and other files."""

    def __init__(self) -> None:
        self.folders: set[str] = set()
        self.skills: set[str] = set()
        self.owners: set[str] = set()
        self.loose: set[str] = set()

    def wants(self, place: str) -> bool:
        """Whether the skill in this folder is among what was asked for."""
        if place in self.owners or "" in self.folders:
            return True
        while place and place not in self.folders and place not in self.skills:
            place = os.path.dirname(place)
        return bool(place)


def sort_paths(paths: Sequence[str], root: str, exclude: Patterns | None) -> SurveyRequest:
    """Sort the named paths by what they mean."""
    request = SurveyRequest()
    for path in paths:
        place, is_folder = resolve(path)
        inner = relative(place, root)
        if inner is None:
            raise UsageError(f"{path} is outside the root {root}: name a root above it, or check it on its own")
        if exclude and ignored_within((exclude,), inner, is_folder):
            continue
        if is_folder:
            (request.skills if inner and has_skill(place) else request.folders).add(inner)
        elif owner := skill_above(os.path.dirname(place), root):
            request.owners.add(relative(owner, root) or "")
        else:
            request.loose.add(inner)
    return request


def survey(root: str, request: SurveyRequest, exclude: Patterns | None) -> Walk:
    """Walk what the request is about, each folder once; higher ones come first, so that their skills own the files."""
    walk = Walk(root)
    single = request.owners | request.skills

    def search(start: str, siblings: bool = False) -> None:
        named_anyway = exclude is not None and ignored_within((exclude,), start, True)
        walk.exclude = None if named_anyway else exclude
        scan(walk, start, ignores_above(root, start), siblings=siblings)

    if (single or request.loose) and is_certain(root):
        search("")
    else:
        for above in sorted({os.path.dirname(skill) for skill in single if skill}):
            search(above, siblings=True)
    for start in sorted(request.folders):
        search(start)
    known = {found.real for found in walk.found}
    for skill in sorted(single - known):
        walk.seen.discard(skill)
        search(skill)
    walk.exclude = exclude
    return walk


def owners_of_barren(root: str, request: SurveyRequest, walk: Walk) -> set[str]:
    """The skills that own the named folders in which there are no skills, such as `references/`."""
    owners = set()
    for folder in request.folders:
        if not any(is_below(found.folder, folder) for found in walk.found):
            owner = skill_above(os.path.join(root, folder), root)
            owners |= {relative(owner, root) or ""} if owner else set()
    return owners


def is_below(path: str, folder: str) -> bool:
    """Whether a relative path is this folder or inside it; everything is inside the root, ""."""
    return not folder or path == folder or path.startswith(folder + "/")


MAX_BYTES = 64 * 1024 * 1024
MAX_ALIASES = 100_000
SHOWN = 5


def follow_links(walk: Walk) -> dict[str, list[str]]:
    """Symbolic links to folders -> the further paths of each skill that they lead to, by its own path.

    A link into a part of the root that was not walked is walked in its place, once; links to a folder above themselves
    and links out of the root never are. Adds to `walk`.
    """
    inside: list[tuple[str, str]] = []
    outside: list[str] = []
    while walk.links and not walk.full():
        links, walk.links = sorted(walk.links), []
        for link in links:
            place = os.path.realpath(f"{walk.root}/{link}")
            target = relative(place, walk.root)
            if target is None:
                if has_skill(place) or os.path.basename(link) in ("skill", "skills"):
                    outside.append(link)
            elif not _leads_up(walk.root, link, target):
                inside.append((link, target))
                if target not in walk.seen and not (walk.exclude and ignored_within((walk.exclude,), target, True)):
                    scan(walk, link, ignores_above(walk.root, link), real=target)
    if outside:
        more = f" and {len(outside) - SHOWN} more" if len(outside) > SHOWN else ""
        walk.warnings.append(
            f"not followed, because they lead out of {walk.root}: {', '.join(outside[:SHOWN])}{more}; "
            "to check them, name the folders they lead to"
        )
    return _aliases(walk, inside)


def _aliases(walk: Walk, links: list[tuple[str, str]]) -> dict[str, list[str]]:
    """The further paths that links (link, target) give to the skills below their targets, by the path of the skill."""
    below: dict[str, list[SkillFolder]] = {}
    for found in walk.found if links else ():
        parts = found.real.split("/")
        for n in range(1, len(parts) + 1):
            below.setdefault("/".join(parts[:n]), []).append(found)
    aliases: dict[str, list[str]] = {}
    count = 0
    for link, target in links:
        for found in below.get(target, ()):
            if found.folder != link and not found.folder.startswith(link + "/"):
                aliases.setdefault(found.path, []).append(f"{link}{found.real[len(target) :]}/{found.file_name}")
                count += 1
        if count > MAX_ALIASES:
            walk.warnings.append(f"skills are linked from more than {MAX_ALIASES:,} places: the rest are not listed")
            break
    return aliases


def _leads_up(root: str, link: str, target: str) -> bool:
    """Whether a link leads to a folder that contains it."""
    above = relative(os.path.realpath(os.path.join(root, os.path.dirname(link))), root) or ""
    return not target or above == target or above.startswith(target + "/")


def identical(found: Iterable[SkillFolder], root: str) -> Iterator[list[SkillFolder]]:
    """Group skills that are byte for byte the same folder under the same name, the one that represents them first.

    Sizes and lists of files are compared first, so that few files are read. A folder of more than `MAX_BYTES` is not
    compared and represents itself.
    """
    alike: dict[tuple[object, ...], list[SkillFolder]] = {}
    for one in found:
        name = os.path.basename(one.folder) if one.folder else ""
        key = (one.path,) if one.problem else (name, one.file_name, one.size, tuple(one.files))
        alike.setdefault(key, []).append(one)
    for group in alike.values():
        if len(group) == 1:
            yield group
            continue
        same: dict[tuple[object, ...], list[SkillFolder]] = {}
        for one in group:
            same.setdefault(_digest(one, root), []).append(one)
        for members in same.values():
            yield sorted(members, key=lambda one: (one.link, one.path))


def _digest(one: SkillFolder, root: str) -> tuple[object, ...]:
    """What two folders with the same list of files have in common only if they are byte-identical."""
    import hashlib

    folder = os.path.join(root, one.folder)
    total = hashlib.blake2b(digest_size=32)
    try:
        sizes = [os.path.getsize(os.path.join(folder, name)) for name in one.files]
        if one.size + sum(sizes) > MAX_BYTES:
            return (one.path,)
        for name in (one.file_name, *one.files):
            with open(os.path.join(folder, name), "rb") as handle:
                total.update(hashlib.file_digest(handle, "blake2b").digest())
    except OSError:
        return (one.path,)
    return (total.digest(),)


MAX_FILES = 2_000

__all__ = ["Discovery", "Entry", "discover", "find_root"]


class Entry(NamedTuple):
    """One skill as it was found. Paths are relative to the root, with `/`.

    `path` is SKILL.md's, `folder` its directory's ("" for the root itself), `folder_name` and `file_name` their real
    spelling. `files` are the other files of the folder, relative to it and sorted, at most `MAX_FILES`, without those
    that belong to a nested skill, are ignored or lie in folders that are never walked. `copies` are the paths of the
    same skill elsewhere (symbolic links and byte-identical folders of the same name), which have no entry of their own.
    `problem` is "" or why SKILL.md cannot be read: directory, dangling, loop or unreadable. `target` tells the skills
    that were asked for from those that are merely known.
    """

    path: str
    folder: str
    folder_name: str
    file_name: str
    files: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    problem: str = ""
    target: bool = True


class Discovery(NamedTuple):
    """The skills of a collection in the order of their paths, and what could not be searched.

    `root` is absolute and real; `loose` are the named files that no skill owns, such as registries, relative to it.
    """

    root: str
    entries: tuple[Entry, ...] = ()
    warnings: tuple[str, ...] = ()
    loose: tuple[str, ...] = ()


def discover(
    paths: Sequence[str], config: Config, root: str | None = None, *, force_exclude: bool = False
) -> Discovery:
    """Find the skills that `paths` name and the collection around them.

    A folder means the skills below it: they are the whole collection and all targets, whatever lies above. A skill's
    own folder, its SKILL.md or any other file in it means that skill as the target within its collection: everything
    below the root where settings or git mark one, else its siblings. What is named is checked even if it is ignored or
    excluded, unless `force_exclude` makes the configured `exclude` apply to it too, as hooks do. Without paths the
    root is searched, where one is given, else the current directory.

    Raises UsageError where a path does not exist or is outside the root.
    """
    paths = paths or (root or os.curdir,)
    base = find_root(paths) if root is None else os.path.realpath(root)
    exclude = compile_patterns(config.exclude)
    request = sort_paths(paths, base, exclude if force_exclude else None)
    walk = survey(base, request, exclude)
    if owners := owners_of_barren(base, request, walk):
        request.owners |= owners
        walk = survey(base, request, exclude)
    aliases = follow_links(walk)
    entries = [_entry(group, aliases, request, walk) for group in identical(walk.found, base)]
    entries.sort(key=lambda entry: entry.path)
    return Discovery(base, tuple(entries), tuple(dict.fromkeys(walk.warnings)), tuple(sorted(request.loose)))


def _entry(group: list[SkillFolder], aliases: dict[str, list[str]], request: SurveyRequest, walk: Walk) -> Entry:
    """The entry of a skill and its copies; the first of the group represents them all."""
    found = group[0]
    copies = {one.path for one in group[1:]}.union(*(aliases.get(one.path, ()) for one in group))
    places = {one.folder for one in group}.union((one.real for one in group), map(os.path.dirname, copies))
    files = sorted(found.files)
    if len(files) > MAX_FILES:
        shown = found.folder or walk.root
        walk.warnings.append(f"{shown} holds {len(files):,} files: only the first {MAX_FILES:,} are considered")
    return Entry(
        path=found.path,
        folder=found.folder,
        folder_name=os.path.basename(found.folder or walk.root),
        file_name=found.file_name,
        files=tuple(files[:MAX_FILES]),
        copies=tuple(sorted(copies)),
        problem=found.problem,
        target=any(request.wants(place) for place in places),
    )
