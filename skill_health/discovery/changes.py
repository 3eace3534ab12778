"""What a work tree has otherwise than a commit, files that git does not track included.

Which of those are ignored is judged here: git would wait for ever for an ignore file that is a pipe.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from skill_health.core.boundary import git_link
from skill_health.core.errors import UsageError
from skill_health.core.git import GitRepository, open_repository
from skill_health.discovery.ignores import Patterns, ignored, read_patterns
from skill_health.discovery.roots import read_exclude, read_ignores


def list_changes(
    repository: GitRepository, commit: str, wanted: Callable[[str], bool] = lambda path: True
) -> Iterator[str]:
    """The paths, relative to the top, whose files differ from a commit ("": from none), each once.

    They are those of `list_tracked_changes` and of `list_untracked`. Raises UsageError where git fails.
    """
    yield from repository.list_tracked_changes(commit, wanted)
    yield from filter(wanted, list_untracked(repository))


def list_untracked(repository: GitRepository) -> list[str]:
    """The paths, relative to the top, of files that git neither tracks nor ignores, in order.

    A repository within this one is one path that ends in `/`, as git lists it. An ignore file that is a link counts as
    empty. Raises UsageError where git fails or an ignore file cannot be read.
    """
    found = repository.ask("ls-files", "-z", "--others", "--directory")
    names = [os.fsdecode(name) for name in found.split(b"\0") if name]
    ignores = _Ignores(repository) if names else None
    return sorted(path for name in names if ignores for path in _walk(repository.top, name, ignores))


class _Ignores:
    """The ignore files that apply in each folder of a work tree, the nearest ahead."""

    def __init__(self, repository: GitRepository) -> None:
        self._top = repository.top
        base = (*read_exclude(self._top), *_own_ignores(repository))
        self._known: dict[str, tuple[Patterns, ...] | None] = {"": (*read_ignores(self._top, ""), *base)}

    def above(self, path: str) -> tuple[Patterns, ...] | None:
        """Those that apply to what is in the folder of a path; None where that is left out itself."""
        folder, _, _ = path.rpartition("/")
        missing = []
        while folder not in self._known:
            missing.append(folder)
            folder, _, _ = folder.rpartition("/")
        stack = self._known[folder]
        for folder in reversed(missing):
            if stack is not None:
                left_out = ignored(stack, folder, folder.rpartition("/")[2], True)
                stack = None if left_out else (*read_ignores(self._top, folder), *stack)
            self._known[folder] = stack
        return stack


def _own_ignores(repository: GitRepository) -> tuple[Patterns, ...]:
    """The user's ignore file for all repositories."""
    named = os.fsdecode(repository.ask("config", "--type=path", "--get", "core.excludesFile", missing=1)).rstrip("\n")
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    try:
        found = read_patterns(os.path.join(repository.top, named or os.path.join(home, "git", "ignore")))
    except OSError:
        return ()
    return (found,) if found else ()


def _walk(top: str, name: str, ignores: _Ignores) -> Iterator[str]:
    """What is not ignored of an untracked file, or of an untracked folder, whose path ends in `/`.

    Raises UsageError for a folder that cannot be read: it may hold the very skill that a gate is to see.
    """
    pending = [name]
    while pending:
        path = pending.pop()
        place = path.rstrip("/")
        stack = ignores.above(place)
        if stack is None or ignored(stack, place, place.rpartition("/")[2], path != place):
            continue
        if path == place or _is_repository(os.path.join(top, place)):
            yield path
            continue
        try:
            with os.scandir(os.path.join(top, place)) as entries:
                pending.extend(path + kept for entry in entries if (kept := _git_name(entry)))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise UsageError(f"cannot read {place}: {error.strerror or error}") from None


def _git_name(entry: os.DirEntry[str]) -> str:
    """The name, with `/` after a folder's, of what git would track; "" for pipes and the like."""
    if entry.is_dir(follow_symlinks=False):
        return "" if entry.name == ".git" else f"{entry.name}/"
    return entry.name if entry.is_symlink() or entry.is_file(follow_symlinks=False) else ""


def _is_repository(folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, ".git", "HEAD")) or bool(git_link(folder))


class Revision(NamedTuple):
    """The git state of a collection. `commit` is None outside git, before the first commit and without git.

    `dirty` says whether the root differs from the commit; None if unknown. `note` says why git could not tell, if users
    should know.
    """

    commit: str | None = None
    dirty: bool | None = None
    note: str = ""


def read_revision(root: str, top: str | None, own: Sequence[str] = ()) -> Revision:
    """Ask git about `root`, which is in the work tree `top`. Changes to what is `own`, relative to it, do not count."""
    if top is None:
        return Revision()
    inner = os.path.relpath(root, top).replace(os.sep, "/")
    lead = "" if inner == "." else f"{inner}/"
    left_out = [f"{lead}{path}" for path in own]

    def counts(path: str) -> bool:
        return path.startswith(lead) and not any(path == one or path.startswith(f"{one}/") for one in left_out)

    commit = ""
    try:
        repository = open_repository(top)
        commit = repository.find_head()
        return Revision(commit or None, any(True for _ in list_changes(repository, commit, counts)))
    except UsageError as error:
        name = os.path.basename(root) or root
        return Revision(commit or None, None, f"git cannot tell the state of {name}: {error}")
