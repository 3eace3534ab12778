"""The files that a hook or a user names: which of them a finding can be about.

A hook passes every changed file that its pattern matches, most of which may have nothing to do with skills. They are
filtered out before anything is searched, so that an unrelated commit costs no more than starting Python.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache

from skill_health.config.settings import Config, SourceGlobs
from skill_health.discovery.ignores import Patterns, compile_patterns, ignored_within
from skill_health.discovery.material import is_included, material_folder
from skill_health.discovery.repository_files import is_repository_file
from skill_health.discovery.roots import relative, resolve, skill_above
from skill_health.registries.sources import KINDS, expand


def checkable(paths: Sequence[str], root: str, config: Config, force_exclude: bool = False) -> tuple[str, ...]:
    """The named folders, and the named files that are part of a skill, a registry, a task or what skills ship in.

    With `force_exclude` the configured `exclude` applies to named paths too, and test data and the like is left out.
    What lies outside `root` is kept: the search will say what is wrong with it. Raises UsageError where a path does
    not exist.
    """
    exclude = compile_patterns(config.exclude) if force_exclude else None
    include = compile_patterns(config.include) if force_exclude else None
    owner_of = cache(lambda folder: skill_above(folder, root))
    in_registries: Callable[[str], bool] | None = None
    kept = []
    for path in paths:
        place, is_folder = resolve(path)
        inner = relative(place, root)
        if inner is not None and exclude and ignored_within((exclude,), inner, is_folder):
            continue
        owner = owner_of(os.path.dirname(place)) if inner is not None and not is_folder else None
        if owner is not None and force_exclude and _is_material(relative(owner, root) or "", include):
            continue
        if inner is not None and not is_folder and owner is None:
            in_registries = in_registries or registry_paths(root, config.sources)
            if not in_registries(inner) and not _is_manifest(inner):
                continue
        kept.append(path)
    return tuple(kept)


def _is_manifest(path: str) -> bool:
    """Whether a file is one of what skills ship in, and no script or README, of which any repository may have many."""
    return is_repository_file(path) and not path.endswith((".py", ".sh", "README.md"))


def _is_material(folder: str, include: Patterns | None) -> bool:
    """Whether a skill's folder, relative to the root, is test data or the like and not included."""
    return bool(material_folder(folder)) and not is_included(folder, include)


def registry_paths(root: str, sources: SourceGlobs) -> Callable[[str], bool]:
    """Whether a path relative to the root is one of the registries that `sources` names, or in the folder of a task."""
    files: set[str] = set()
    folders: set[str] = set()
    for kind in KINDS:
        for pattern in getattr(sources, kind):
            files.update(expand(root, pattern))
    for pattern in sources.tasks:
        folders.update(os.path.dirname(path) + "/" for path in expand(root, pattern))
    starts = tuple(sorted(folders - {"/"}))
    return lambda path: path in files or path.startswith(starts)
