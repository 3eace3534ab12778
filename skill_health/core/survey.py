"""What a user asked for, and the walk that finds it: where to start, and how far around it to look."""

from __future__ import annotations

import os
from collections.abc import Sequence

from skill_health.core.errors import UsageError
from skill_health.core.ignores import Patterns, ignored_within
from skill_health.core.listing import has_skill
from skill_health.core.roots import ignores_above, is_certain, relative, resolve, skill_above
from skill_health.core.walk import Walk, scan


class SurveyRequest:
    """What was asked for, relative to the root: folders with all below them, single skills, files of no skill."""

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
    """Walk what the request is about, each folder once; what stands above comes first, so that it owns its files."""
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
