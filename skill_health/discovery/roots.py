"""Where a collection begins and what lies inside it: the root above the paths a user names, ignore files, reports."""

from __future__ import annotations

import os
from collections.abc import Sequence

from skill_health.config.load import holds_settings
from skill_health.config.settings import Config
from skill_health.core.boundary import git_link, git_top, shared_state, upward
from skill_health.core.errors import UsageError
from skill_health.core.files import cannot_read, here, is_there, kind_of
from skill_health.discovery.ignores import Patterns, ignored, read_patterns
from skill_health.discovery.listing import has_skill, is_skill_name


def resolve(path: str) -> tuple[str, bool]:
    """A path as named by the user -> (absolute real path, whether it is a folder to search).

    Of a file only the folder is made real, so that a linked SKILL.md belongs to the skill it stands in. A SKILL.md that
    is a folder or a broken link counts as a file. Raises UsageError where there is no such path.
    """
    place = os.path.abspath(path)
    named_skill = is_skill_name(os.path.basename(place))
    kind = kind_of(place)
    if kind == "folder" and not named_skill:
        return os.path.realpath(place), True
    if kind == "unknown" and not named_skill:
        raise UsageError(f"cannot find out what {path} is")
    if not is_there(place, links=False):
        raise UsageError(f"no such file or folder: {path}")
    if kind == "nothing" and not named_skill:
        raise UsageError(f"no such file or folder: {path} (a symbolic link that leads nowhere)")
    return os.path.join(os.path.realpath(os.path.dirname(place)), os.path.basename(place)), False


def find_root(paths: Sequence[str]) -> str:
    """The folder that paths in findings are relative to, absolute and real.

    The nearest folder above all named paths with skill-health.toml or a pyproject.toml that has a table
    [tool.skill-health], up to the top of the git repository; else that top; else the current directory if the paths are
    inside it; else the named folder, or the folder above a single skill. Without paths, that of the current directory.
    Raises UsageError where a path does not exist.
    """
    named = [resolve(path) for path in paths or (".",)]
    try:
        common = os.path.commonpath([place if folder else os.path.dirname(place) for place, folder in named])
    except ValueError:
        raise UsageError("the paths are on different drives: check them one drive at a time") from None
    top = git_top(common)
    for folder in upward(common):
        if holds_settings(folder):
            return folder
        if folder == top:
            return top
    current = os.path.realpath(os.curdir)
    if common == current or common.startswith(current.rstrip(os.sep) + os.sep):
        return current
    skill = skill_above(common, "")
    return os.path.dirname(skill) if skill else common


def is_certain(root: str) -> bool:
    """Whether a root is marked as one, by settings or by git, and not merely guessed from the paths."""
    return is_there(os.path.join(root, ".git"), links=False) or holds_settings(root)


def skill_above(folder: str, stop: str) -> str | None:
    """The innermost folder with a SKILL.md at or above `folder`, not above `stop`."""
    for above in upward(folder):
        if has_skill(above):
            return above
        if above == stop:
            break
    return None


def relative(place: str, root: str) -> str | None:
    """An absolute real path relative to the root, with `/`; "" for the root itself; None where it is outside."""
    if place == root:
        return ""
    base = root.rstrip(os.sep) + os.sep
    return place[len(base) :].replace(os.sep, "/") if place.startswith(base) else None


def stay_inside(path: str, folder: str) -> str:
    """The path. Raises UsageError if it does not lie below the folder, by its name or because of a link on it."""
    if relative(os.path.realpath(path), os.path.realpath(folder)) is None:
        if relative(os.path.abspath(path), os.path.abspath(folder)) is None:
            what = "the repository" if is_there(os.path.join(folder, ".git"), links=False) else here(folder)
            raise UsageError(f"{here(path)} is outside of {what}")
        raise UsageError(f"{here(path)} leads out of {here(folder)} by a symbolic link: remove the link")
    return path


def reports_folder(named: str | None, root: str, config: Config) -> str:
    """The absolute path of the reports folder: the one that the user names, else that of the configuration.

    Raises UsageError where the latter leads out of the repository by a link, and for what is no folder.
    """
    place = (
        os.path.abspath(named)
        if named
        else stay_inside(os.path.join(root, config.daily.reports), git_top(root) or root)
    )
    if kind_of(place) in ("file", "other"):
        raise UsageError(f"cannot keep reports in {here(place)}: it is no folder")
    return place


def ignores_above(root: str, start: str) -> tuple[Patterns, ...]:
    """The ignore files that apply in `start` (relative to the root) from the folders above it, the nearest first.

    They are those of the git work tree, its `info/exclude` included; outside git those from the root on. Where they
    leave out `start` itself none applies: somebody named it, so what is in it is wanted. The user's global ignore file
    is left alone, because two machines should agree. Raises UsageError for one that cannot be read.
    """
    top = git_top(root) or root
    lead = f"{relative(root, top)}/" if top != root else ""
    stack = read_exclude(top)
    path = ""
    whole = f"{lead}{start}".rstrip("/")
    for name in whole.split("/") if whole else ():
        stack = read_ignores(top, path.rstrip("/")) + stack
        path += name
        if ignored(stack, path, name, True):
            return ()
        path += "/"
    return tuple(found.moved(lead[found.cut :], max(0, found.cut - len(lead))) for found in stack)


def read_ignores(top: str, folder: str) -> tuple[Patterns, ...]:
    """What the ignore file of a folder says, as a stack of at most one; a link, or what is no file, says nothing.

    `folder` is relative to `top`, as the paths are that the patterns will be asked about; "" is `top` itself. Raises
    UsageError where it cannot be read.
    """
    return read_stack(os.path.join(top, folder, ".gitignore"), len(folder) + 1 if folder else 0)


def read_exclude(top: str) -> tuple[Patterns, ...]:
    """The same for the ignore file that git keeps beside a work tree, `info/exclude`."""
    return read_stack(exclude_file(top), 0)


def exclude_file(top: str) -> str:
    """The path of that file, whether it exists or not."""
    return os.path.join(_git_folder(top), "info", "exclude")


def read_stack(path: str, cut: int) -> tuple[Patterns, ...]:
    """The patterns of one file as a stack of at most one; a link, or what is no file, has none.

    Raises UsageError where it cannot be read: what it leaves out would be taken for a part of the collection.
    """
    if kind_of(path, links=False) not in ("file", "unknown"):
        return ()
    try:
        patterns = read_patterns(path, cut=cut)
    except OSError as error:
        raise cannot_read(path, error) from error
    return (patterns,) if patterns else ()


def _git_folder(top: str) -> str:
    """Where git keeps what all checkouts share."""
    link = git_link(top)
    return os.path.join(top, shared_state(link) or link or ".git")
