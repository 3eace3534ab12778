"""The paths a user names -> the skills to check and the collection that they stand in."""

import os
from collections.abc import Sequence
from typing import NamedTuple

from skill_health.core.config import Config
from skill_health.core.copies import follow_links, identical
from skill_health.core.ignores import compile_patterns
from skill_health.core.roots import find_root
from skill_health.core.survey import SurveyRequest, owners_of_barren, sort_paths, survey
from skill_health.core.walk import SkillFolder, Walk

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
    excluded, unless `force_exclude` makes the configured `exclude` hold for it too, as hooks want. No paths stand for
    the root where one is given, else for the current directory.

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
    """The entry of a skill and its copies; the first of the group stands for all."""
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
