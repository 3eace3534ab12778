"""The paths a user names -> the skills to check and the collection around them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from skill_health.config.settings import Config
from skill_health.core.boundary import Boundary
from skill_health.core.errors import AbortedError, UsageError
from skill_health.core.files import is_there, read_limited
from skill_health.discovery.ignores import Patterns, compile_patterns, ignored, ignored_within
from skill_health.discovery.listing import (
    Listing,
    drop_ignored,
    examine,
    has_skill,
    is_foreign,
    is_skill_name,
    list_folder,
    may_hold_skills,
    skill_name,
)
from skill_health.discovery.material import is_included, is_live, material_folder
from skill_health.discovery.repository_files import repository_files
from skill_health.discovery.roots import (
    find_root,
    ignores_above,
    is_certain,
    read_stack,
    relative,
    resolve,
    skill_above,
)
from skill_health.discovery.tracked import tracked_skills

MAX_ENTRIES = 5_000_000
MAX_SHARED = 10_000
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
    outside: list[str]

    @property
    def path(self) -> str:
        """The SKILL.md's path relative to the root."""
        return f"{self.folder}/{self.file_name}" if self.folder else self.file_name


class UnreadFolder(NamedTuple):
    """A folder that could not be searched, relative to the root, and why."""

    path: str
    reason: str


class Walk:
    """What has been seen so far below `root`. `links` are symbolic links to folders, not entered.

    `tracked` are the SKILL.md files that git tracks, and `ways` these and all folders above them: no ignore file hides
    them. `around` are the files around the skills that rules may ask for, `strays` links out of the repository where a
    skill might stand.
    """

    def __init__(self, root: str, exclude: Patterns | None = None) -> None:
        self.root, self.exclude = root, exclude
        self.boundary = Boundary(root)
        self.tracked: tuple[str, ...] = ()
        self.ways: frozenset[str] = frozenset()
        self.starts: tuple[str, ...] = ()
        self.found: list[SkillFolder] = []
        self.around: list[str] = []
        self.links: list[str] = []
        self.strays: list[str] = []
        self.unread: list[UnreadFolder] = []
        self.warnings: list[str] = []
        self.seen: set[str] = set()
        self.entries = 0
        self._shared: dict[str, str] = {}

    def share(self, name: str) -> str:
        """The one string for this name: skills have files of the same names."""
        return self._shared.setdefault(name, name) if len(self._shared) < MAX_SHARED else name

    def list(self, folder: str) -> Listing:
        """What a folder holds. Raises OSError where it cannot be read, and AbortedError at the limit of the walk."""
        directory = f"{self.root}/{folder}" if folder else self.root
        listing = list_folder(directory, MAX_ENTRIES - self.entries, self.boundary)
        self.entries += listing.size
        if self.entries > MAX_ENTRIES:
            raise AbortedError(
                f"stopped at {folder or directory} after {MAX_ENTRIES:,} files and folders, and nothing was judged: "
                "name the folders that hold skills, or exclude others in the configuration"
            )
        return listing


def scan(walk: Walk, start: str, stack: tuple[Patterns, ...], real: str | None = None, siblings: bool = False) -> None:
    """Walk everything below `start` (relative to the root), which itself is entered whatever its name.

    `stack` are the ignore files above it, the nearest first; `real` is where `start` leads if it is a symbolic link.
    With `siblings` only skills that stand right in `start` are entered, quietly.
    """
    origin = start if real is None else real
    pending: list[tuple[str, tuple[Patterns, ...] | None, SkillFolder | None]] = [(start, stack, None)]
    while pending:
        folder, ignores, owner = pending.pop()
        place = folder if real is None else origin + folder[len(start) :]
        if place in walk.seen:
            continue
        directory = f"{walk.root}/{folder}" if folder else walk.root
        try:
            listing = walk.list(folder)
        except OSError as error:
            if not siblings:
                walk.unread.append(UnreadFolder(folder, error.strerror or str(error)))
            continue
        below = folder != start
        prefix = f"{folder}/" if folder else ""
        if below and is_foreign(directory, listing.files):
            if place not in walk.ways:
                continue
            ignores = None
        inside = f"{place}/" if place else ""
        if ignores is None and any(is_skill_name(file) and inside + file in walk.ways for file in listing.files):
            ignores = ()
        if ignores is not None and ".gitignore" in listing.files and ".gitignore" not in listing.linked:
            ignores = read_stack(f"{directory}/.gitignore", len(prefix)) + ignores
        hidden = _drop_ignored(walk, listing, ignores, prefix, inside)
        name = skill_name(listing)
        if name:
            problem, size = ("outside", 0) if name in listing.outside else examine(f"{directory}/{name}")
            owner = SkillFolder(folder, place, name, name in listing.linked, problem, size, [], [])
            walk.found.append(owner)
        if owner:
            inner = prefix[len(owner.folder) + 1 :] if owner.folder else prefix
            owner.files.extend([walk.share(inner + file) for file in listing.files if file != name])
            owner.outside.extend([inner + link for link in listing.outside if link != name])
        elif siblings and below:
            continue
        else:
            walk.strays.extend([prefix + link for link in listing.outside if _may_be_skill(prefix + link)])
        if not siblings:
            kept = repository_files(folder, listing.files, owner is not None)
            walk.around.extend([prefix + file for file in kept if file not in listing.linked])
        walk.seen.add(place)
        links = [link for link in listing.links if link != name and may_hold_skills(link)]
        if siblings and not below:
            links = [link for link in links if has_skill(f"{directory}/{link}")]
        walk.links.extend([prefix + link for link in links])
        children = [child for child in listing.folders if child != name and may_hold_skills(child)]
        children.sort(reverse=True)
        pending.extend([(prefix + child, None if child in hidden else ignores, owner) for child in children])


def _drop_ignored(
    walk: Walk, listing: Listing, ignores: tuple[Patterns, ...] | None, prefix: str, inside: str
) -> set[str]:
    """Remove what is ignored or excluded; where `ignores` is None, all but what leads to a SKILL.md that git tracks.

    `prefix` leads to the folder as it was walked, `inside` to its real place. Returns the ignored folders that are left
    because of what git tracks in them.
    """
    own = (walk.exclude,) if walk.exclude else ()
    rules = (*own, *(ignores or ()))
    if ignores is not None and not rules:
        return set()
    if ignores is not None and not walk.ways:
        drop_ignored(listing, rules, prefix)
        return set()
    hidden = set()

    def is_wanted(name: str, folder: bool) -> bool:
        if ignores is not None and not ignored(rules, prefix + name, name, folder):
            return True
        if inside + name not in walk.ways or ignored(own, prefix + name, name, folder):
            return False
        hidden.add(name)
        return True

    listing.keep(is_wanted)
    return hidden


def _may_be_skill(path: str) -> bool:
    """Whether a skill, or a folder of skills, is to be expected at a path, by its name alone."""
    above, _, name = path.rpartition("/")
    return name in ("skill", "skills") or above.rpartition("/")[2] == "skills"


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
    walk.tracked = tracked_skills(root)
    walk.ways = frozenset(way for path in walk.tracked for way in _ways_to(path))

    def search(start: str, siblings: bool = False) -> None:
        walk.starts += () if siblings else (start,)
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
        if walk.unread and walk.unread[-1].path == skill:  # it was there a moment ago
            raise UsageError(f"cannot read {skill or '.'}: {walk.unread[-1].reason}")
    walk.exclude = exclude
    return walk


def _ways_to(path: str) -> Iterator[str]:
    """A path and every folder above it."""
    while path:
        yield path
        path = path.rpartition("/")[0]


def _note_left_out(walk: Walk) -> None:
    """Warn of tracked skills in what was searched that are not checked, as no skill is looked for in such a folder."""
    left: dict[str, int] = {}
    for path in walk.tracked:
        start = max((start for start in walk.starts if is_below(path, start)), key=len, default=None)
        if start is None or (walk.exclude and ignored_within((walk.exclude,), path, False)):
            continue
        below = path[len(start) :].lstrip("/").split("/")[:-1]
        name = next((name for name in below if not may_hold_skills(name)), ".")
        if name[0] != "." and is_there(f"{walk.root}/{path}", links=False):
            left[name] = left.get(name, 0) + 1
    if left:
        names = ", ".join(f"{name} ({count:,})" for name, count in sorted(left.items()))
        walk.warnings.append(
            f"not checked, though git tracks them: {sum(left.values()):,} SKILL.md below folders of other people's "
            f"packages: {names}; to check them, name such a folder"
        )


def _leave_material(walk: Walk, request: SurveyRequest, include: Patterns | None) -> None:
    """Drop the skills below folders of test data and the like, with a warning that counts them.

    They stay where they or such a folder were named, and where the configuration includes them.
    """
    named = {material_folder(skill) for skill in request.skills | request.owners} - {""}
    starts = sorted(request.folders | {""}, key=len, reverse=True)
    live, left = [], dict[str, int]()
    for found in walk.found:
        start = next(start for start in starts if is_below(found.folder, start))
        inner = found.folder[len(start) :].lstrip("/")
        material = "" if material_folder(f"{start}/any") else material_folder(inner)
        place = f"{start}/{material}".strip("/")
        single = found.folder in request.skills or found.folder in request.owners
        if material and not single and place not in named and not is_included(found.folder, include):
            left[place] = left.get(place, 0) + 1
        else:
            live.append(found)
    walk.found = live
    if left:
        places = [f"{place} ({count:,})" for place, count in sorted(left.items())]
        more = f" and {len(places) - SHOWN} more" if len(places) > SHOWN else ""
        walk.warnings.append(
            f"not checked, as no host loads test data, templates, overlays and backups: {sum(left.values()):,} SKILL.md below "
            f"{', '.join(places[:SHOWN])}{more}; to check them, name such a folder or list it in include"
        )


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
    outside = sorted(walk.strays)
    while walk.links:
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
    # By a hash first: few of 100,000 keys are needed twice, and each takes room.
    maybe: dict[int, SkillFolder | list[SkillFolder]] = {}
    for one in found:
        others = maybe.setdefault(hash(_alike_key(one)[:3]), one)
        if isinstance(others, list):
            others.append(one)
        elif others is not one:
            maybe[hash(_alike_key(one)[:3])] = [others, one]
    for some in maybe.values():
        if isinstance(some, list):
            yield from _identical(some, root)
        else:
            yield [some]


def _alike_key(one: SkillFolder) -> tuple[object, ...]:
    """What identical skills have in common, as far as the walk knows it."""
    name = os.path.basename(one.folder) if one.folder else ""
    return (one.path,) if one.problem or one.outside else (name, one.file_name, one.size, *one.files)


def _identical(found: Iterable[SkillFolder], root: str) -> Iterator[list[SkillFolder]]:
    alike: dict[tuple[object, ...], list[SkillFolder]] = {}
    for one in found:
        alike.setdefault(_alike_key(one), []).append(one)
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
            data = read_limited(os.path.join(folder, name), MAX_BYTES)
            if data is None:
                return (one.path,)
            total.update(hashlib.blake2b(data).digest())
    except OSError:
        return (one.path,)
    return (total.digest(),)


MAX_FILES = 10_000

__all__ = ["Discovery", "Entry", "discover", "find_root"]


class Entry(NamedTuple):
    """One skill as it was found. Paths are relative to the root, with `/`.

    `path` is SKILL.md's, `root_name` the real name of the root. `files` are the other files of the folder, relative to
    it and sorted, at most `MAX_FILES`, without those that belong to a nested skill, are ignored or lie in folders that
    are never walked. `copies` are the paths of the same skill elsewhere (symbolic links and byte-identical folders of
    the same name), which have no entry of their own. `problem` is "" or why SKILL.md cannot be read: directory,
    dangling, loop, outside or unreadable. `target` tells the skills that were asked for from those that are merely
    known. `outside` are the links in the folder that lead out of the repository: they are no `files`, and nobody looks
    where they lead.
    """

    path: str
    root_name: str = ""
    files: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    problem: str = ""
    target: bool = True
    outside: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        """The folder of SKILL.md; "" for the root."""
        return self.path.rpartition("/")[0]

    @property
    def folder_name(self) -> str:
        """The real name of that folder."""
        return self.folder.rpartition("/")[2] or self.root_name

    @property
    def file_name(self) -> str:
        """The real spelling of SKILL.md."""
        return self.path.rpartition("/")[2]


class Discovery(NamedTuple):
    """The skills of a collection in the order of their paths, and the folders that could not be searched (`unread`).

    `root` is absolute and real; `loose` are the named files that no skill owns, such as registries, relative to it.
    `around` are the files of the repository around the skills that rules may ask for.
    """

    root: str
    entries: tuple[Entry, ...] = ()
    warnings: tuple[str, ...] = ()
    loose: tuple[str, ...] = ()
    unread: tuple[UnreadFolder, ...] = ()
    around: tuple[str, ...] = ()


def discover(
    paths: Sequence[str], config: Config, root: str | None = None, *, force_exclude: bool = False
) -> Discovery:
    """Find the skills that `paths` name and the collection around them.

    A folder means the skills below it: they are the whole collection and all targets, whatever lies above. A skill's
    own folder, its SKILL.md or any other file in it means that skill as the target within its collection: everything
    below the root where settings or git mark one, else its siblings. What is named is checked even if it is ignored or
    excluded, unless `force_exclude` makes the configured `exclude` apply to it too, as hooks do. Test data, templates,
    overlays and backups are left out unless they are named or the configured `include` lists them. Without paths the
    root is searched, where one is given, else the current directory.

    Raises UsageError where a path does not exist or is outside the root, and where an ignore file or git's index cannot
    be read, without which nobody knows what is to be found.
    """
    paths = paths or (root or os.curdir,)
    base = find_root(paths) if root is None else os.path.realpath(root)
    exclude = compile_patterns(config.exclude)
    request = sort_paths(paths, base, exclude if force_exclude else None)
    walk = survey(base, request, exclude)
    if owners := owners_of_barren(base, request, walk):
        request.owners |= owners
        walk = survey(base, request, exclude)
    _note_left_out(walk)
    aliases = follow_links(walk)
    include = compile_patterns(config.include)
    _leave_material(walk, request, include)
    around = tuple(sorted({path for path in walk.around if is_live(path, request.folders, include)}))
    walk.seen, walk.ways, walk.tracked = set(), frozenset(), ()
    root_name = os.path.basename(base)
    entries = [_entry(group, aliases, request, root_name) for group in identical(walk.found, base)]
    entries.sort(key=lambda entry: entry.path)
    warnings, loose, unread = dict.fromkeys(walk.warnings), sorted(request.loose), sorted(set(walk.unread))
    return Discovery(base, tuple(entries), tuple(warnings), tuple(loose), tuple(unread), around)


def _entry(group: list[SkillFolder], aliases: dict[str, list[str]], request: SurveyRequest, root_name: str) -> Entry:
    """The entry of a skill and its copies; the first of the group represents them all."""
    found = group[0]
    copies = {one.path for one in group[1:]}.union(*(aliases.get(one.path, ()) for one in group))
    places = {one.folder for one in group}.union((one.real for one in group), map(os.path.dirname, copies))
    return Entry(
        path=found.path,
        root_name=root_name,
        files=tuple(sorted(found.files)[:MAX_FILES]),
        copies=tuple(sorted(copies)),
        problem=found.problem,
        target=any(request.wants(place) for place in places),
        outside=tuple(sorted(found.outside)),
    )
