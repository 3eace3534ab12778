"""A workspace made ready for its verifier: nothing is left in it that the verifier's own programs would obey.

What an agent leaves is data to be judged. A link can lead from it to the expected answer, git, pytest and Python run
what they find beside the work without being asked, and a verifier that gathers files of the work gathers a reward among
them. The workspace is packed before, so nothing is lost as evidence.

What the task itself speaks of is work, and stays: a planted file whose name stands in the prompt or in the oracle.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from posixpath import dirname, join, normpath

from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._folder import MAX_TEXT, File
from skill_health.effectiveness.tasks._scripts import text_of
from skill_health.effectiveness.trial.rewards import CTRF, REWARD_JSON, REWARD_TXT, RUNNER
from skill_health.effectiveness.workspace.tree import FolderTree, TreeEntry, contents
from skill_health.text.patterns import lazy

_PYTEST = frozenset(("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"))
_PYTHON = frozenset(("sitecustomize", "usercustomize"))
# By these names alone it is known what a verifier has left, whoever has written it.
_REWARDS = frozenset((REWARD_JSON, REWARD_TXT, CTRF))
_CACHE = "__pycache__"
# Files that are much else, too: of these only what they say to pytest is taken out.
_MIXED = frozenset(("pyproject.toml", "setup.cfg", "tox.ini"))
# Whoever runs what is installed in the work runs it by name, and it comes with such files.
_INSTALLED = frozenset(("site-packages", "dist-packages", "node_modules"))
_SECTION = lazy(
    r"(?m)^[ \t]*\[[ \t]*(?:tool[.:]pytest(?:\.\w+)?|pytest)[ \t]*\][^\n]*\n?(?:(?![ \t]*\[)[^\n]*(?:\n|\Z))*"
)
_SAYS_PYTEST = lazy(r"(?m)^[ \t]*\[[ \t]*(?:tool:pytest|pytest)[ \t]*\]")
_HEADER = lazy(r"[ \t]*\[(?P<section>[A-Za-z0-9-]+)(?:[ \t]+\"(?P<name>(?:[^\"\\\n]|\\.)*)\")?\][ \t]*\Z")
_SETTING = lazy(r"[ \t]*(?P<key>[A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[ \t]*(?P<value>.*))?\Z")
# What a repository may say of itself: none of it names a program, a file outside, or another configuration.
_GIT_SAFE: Mapping[str, frozenset[str]] = {
    "core": frozenset(
        ("repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode", "symlinks",
         "autocrlf", "eol", "quotepath")
    ),
    "extensions": frozenset(("objectformat", "compatobjectformat", "refstorage")),
    "user": frozenset(("name", "email")),
    "init": frozenset(("defaultbranch",)),
    "remote": frozenset(("url", "pushurl", "fetch")),
    "branch": frozenset(("remote", "merge", "rebase")),
    "submodule": frozenset(("url", "active")),
}  # fmt: skip
_GIT_DROPPED = ("config.worktree", "objects/info/alternates", "objects/info/http-alternates")
_MOST_HOPS = 40
NO_LINKS: Mapping[str, str] = {}
_SHOWN = 3


def sanitise(
    workspace: str, tree: FolderTree, task: Task, inside: str, skip: str = "", links: Mapping[str, str] = NO_LINKS
) -> list[str]:
    """Take out of a workspace what would steer its verifier; returns what there is to note, one line a kind.

    `tree` is what lies in it, `inside` the path that it has for the agent and the verifier, and `skip` a folder in it
    that is no part of the work. `links` were there when the agent began, and may lead wherever they led then. Raises
    OSError where the workspace cannot be changed.
    """
    entries = {entry.path: entry for entry in tree.entries if not _is_below(entry.path, (skip, RUNNER))}
    staged = {file.path: file for file in task.files}
    said = _task_words(task)
    given = {path for path, target in links.items() if path in entries and entries[path].target == target}
    notes = list(_drop_links(workspace, entries, inside, given))
    notes += _clean_repositories(workspace, entries, inside)
    changed: Counter[str] = Counter()
    for path, entry in entries.items():
        name = _obeyed_as(path)
        if entry.kind not in ("file", "link") or path in given or not name:
            continue
        if _INSTALLED.intersection(path.split("/")) or _is_named(name, said):
            continue
        if f"/{_CACHE}/" in f"/{path}":
            # Python makes these itself wherever it runs, and needs none of them.
            _put_back(workspace, entry, staged.get(path))
        elif name in _MIXED:
            source = entries.get(leads_to(path, entries, inside)) if entry.kind == "link" else entry
            changed[path] += _without_pytest(workspace, entry, source, staged.get(path))
        else:
            changed[path] += _put_back(workspace, entry, staged.get(path))
    if paths := [path for path, times in changed.items() if times]:
        notes.append(f"what would steer the verifier was taken out of the work: {_shown(paths)}")
    return notes


# --- Links -----------------------------------------------------------------------------------------------------------


def _drop_links(workspace: str, entries: Mapping[str, TreeEntry], inside: str, given: Collection[str]) -> Iterator[str]:
    links = [path for path, entry in entries.items() if entry.kind == "link" and path not in given]
    out = [path for path in links if not leads_to(path, entries, inside)]
    for path in out:
        _delete(os.path.join(workspace, path))
    if out:
        yield f"{len(out)} links that lead out of the workspace, or nowhere, were removed: {_shown(out)}"


def leads_to(path: str, entries: Mapping[str, TreeEntry], inside: str) -> str:
    """The file or folder of the tree that a path comes to, all its links followed; "" where it leaves the tree.

    A link to nothing may come to be one to what the verifier writes, so it is one that leaves the tree.
    """
    waiting = list(reversed(path.split("/")))
    at, hops = "", 0
    while waiting:
        part = waiting.pop()
        if part in ("", "."):
            continue
        if part == "..":
            if not at:
                return ""
            at = dirname(at)
            continue
        at = join(at, part)
        entry = entries.get(at)
        if entry is None:
            return ""
        if entry.kind == "link":
            hops += 1
            if hops > _MOST_HOPS:
                return ""
            target = entry.target
            if target.startswith("/"):
                if not _is_below(normpath(target), (inside,)) or ".." in target.split("/"):
                    return ""
                at, target = "", normpath(target)[len(inside) :]
            else:
                at = dirname(at)
            waiting += reversed(target.split("/"))
        elif entry.kind == "special" or (entry.kind == "file" and waiting):
            return ""
    return at or "."


# --- Repositories ----------------------------------------------------------------------------------------------------


def _clean_repositories(workspace: str, entries: Mapping[str, TreeEntry], inside: str) -> Iterator[str]:
    """The repositories of git with nothing in them that git would run, nor a way out."""
    found: list[str] = []
    for folder in _repositories(entries):
        prefix = f"{folder}/" if folder else ""
        config = entries.get(f"{prefix}config")
        touched = False
        if config is not None and config.kind == "file":
            raw = contents(workspace, config, MAX_TEXT)
            clean = clean_git_config((raw or b"").decode("utf-8", "surrogateescape"))
            kept = clean.encode("utf-8", "surrogateescape")
            if raw is None or _settings(raw) != _settings(kept):
                touched = True
                _write(os.path.join(workspace, config.path), kept)
        hooks = [path for path in entries if path.startswith(f"{prefix}hooks/") and not path.endswith(".sample")]
        for path in (*(f"{prefix}{name}" for name in _GIT_DROPPED), *hooks):
            if path in entries and entries[path].kind in ("file", "link"):
                touched = _delete(os.path.join(workspace, path)) or touched
        for name in ("commondir", "gitdir"):
            entry = entries.get(f"{prefix}{name}")
            if entry is not None and not _points_inside(workspace, entry, folder, entries, inside):
                touched = _delete(os.path.join(workspace, entry.path)) or touched
        if touched:
            found.append(folder or ".")
    for path, entry in entries.items():
        is_pointer = path.rpartition("/")[2] == ".git" and entry.kind == "file"
        if is_pointer and not _points_inside(workspace, entry, dirname(path), entries, inside):
            _delete(os.path.join(workspace, path))
            found.append(path)
    if found:
        yield f"repositories of git lost what git would run or follow: {_shown(found)}"


def _repositories(entries: Mapping[str, TreeEntry]) -> list[str]:
    """The folders that git takes for a repository, by whatever name."""
    found = [path for path, entry in entries.items() if path.rpartition("/")[2] == ".git" and entry.kind == "folder"]
    for path in entries:
        above, _, name = path.rpartition("/")
        prefix = f"{above}/" if above else ""
        if name == "HEAD" and (
            f"{prefix}commondir" in entries or {f"{prefix}objects", f"{prefix}refs"} <= entries.keys()
        ):
            found.append(above)
    return sorted(dict.fromkeys(found))


def clean_git_config(text: str) -> str:
    """A configuration of git with the settings that are known to run nothing; all others are left out."""
    kept: list[str] = []
    section, safe = "", frozenset[str]()
    for line in text.split("\n"):
        line = line.rstrip("\r")
        if header := _HEADER.match(line):
            section = header["section"].lower()
            safe = _GIT_SAFE.get(section, frozenset())
            if safe:
                name = header["name"]
                kept.append(f"[{section}]" if name is None else f'[{section} "{name}"]')
        elif "[" in line.lstrip()[:1]:
            # A header with a setting behind it: nobody but an attacker writes one.
            safe = frozenset()
        elif (setting := _SETTING.match(line)) and setting["key"].lower() in safe:
            value = setting["value"]
            if value is None or not value.endswith("\\"):
                kept.append(f"\t{setting['key']}" + ("" if value is None else f" = {value}"))
            else:
                # The value goes on in the next line, which would then be read as a setting.
                safe = frozenset()
    return "".join(f"{line}\n" for line in kept)


def _settings(raw: bytes) -> list[bytes]:
    """The lines of a configuration as far as their meaning goes."""
    return [line for line in (b"".join(each.split()) for each in raw.split(b"\n")) if line and line[:1] not in b"#;"]


def _points_inside(
    workspace: str, entry: TreeEntry, folder: str, entries: Mapping[str, TreeEntry], inside: str
) -> bool:
    """Whether the path in a small file of git stays in the tree; of a worktree's `gitdir` its folder must be there."""
    raw = contents(workspace, entry, 4096)
    if raw is None:
        return False
    target = raw.decode("utf-8", "surrogateescape").strip().removeprefix("gitdir:").strip()
    if target.startswith("/"):
        if not _is_below(normpath(target), (inside,)):
            return False
        path = normpath(target)[len(inside) :].strip("/")
    else:
        path = normpath(join(folder, target))
    return not path.startswith("..") and bool(leads_to(path, entries, inside))


# --- Files that programs obey ----------------------------------------------------------------------------------------


def _task_words(task: Task) -> str:
    oracle = [text_of(file) or "" for file in task.oracle.files] if task.oracle else []
    paths = [file.path for file in task.oracle.files] if task.oracle else []
    return "\n".join([task.prompt, *paths, *oracle])


def _is_named(name: str, said: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", said) is not None


def _obeyed_as(path: str) -> str:
    """The name by which a program obeys a file of this path, or takes it for a reward; "" for any other file.

    Python takes a module as source, compiled, from its cache, or as a package.
    """
    *above, name = path.split("/")
    stem, _, rest = name.partition(".")
    folder = above[-1] if above else ""
    if name in _PYTEST | _MIXED | _REWARDS:
        return name
    if stem in _PYTHON and (rest.endswith(("py", "pyc", "so")) or not rest):
        return f"{stem}.py"
    if folder == _CACHE and stem == "conftest":
        return f"{stem}.py"
    return f"{folder}.py" if stem == "__init__" and folder in _PYTHON else ""


def _put_back(workspace: str, entry: TreeEntry, staged: File | None) -> bool:
    """Give a file the content that it began with, or remove it; whether it was another one."""
    path = os.path.join(workspace, entry.path)
    if staged is None:
        return _delete(path)
    if contents(workspace, entry, len(staged.data)) == staged.data:
        return False
    _write(path, staged.data)
    return True


def _without_pytest(workspace: str, entry: TreeEntry, source: TreeEntry | None, staged: File | None) -> bool:
    """Take what a file says to pytest out of it, where it did not begin with just that; whether there was any.

    `source` is the file that a link leads to, which itself stays as it is.
    """
    raw = None if source is None else contents(workspace, source, MAX_TEXT)
    text = None if raw is None else raw.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    toml = entry.path.endswith(".toml")
    before = _pytest_says(staged.data.decode("utf-8", "surrogateescape"), toml) if staged else None
    if text is not None and _pytest_says(text, toml) == before:
        return False
    cut = _SECTION.sub("", text) if text is not None and source is entry else None
    if cut is None or _pytest_says(cut, toml) is not None:
        return _put_back(workspace, entry, staged)
    _write(os.path.join(workspace, entry.path), cut.encode("utf-8", "surrogateescape"))
    return True


def _pytest_says(text: str, toml: bool) -> object:
    """The settings of pytest in a file, None where there are none."""
    if not toml:
        return [match.group() for match in _SECTION.finditer(text)] if _SAYS_PYTEST.search(text) else None
    try:
        tool = tomllib.loads(text).get("tool")
    except (tomllib.TOMLDecodeError, RecursionError):
        return None  # nor can pytest read it
    return tool.get("pytest") if isinstance(tool, dict) else None


def _write(path: str, data: bytes) -> None:
    """Replace a file by one with this content, which shares it with no other name."""
    mode = stat.S_IRUSR | stat.S_IWUSR
    with suppress(FileNotFoundError):
        state = os.lstat(path)
        mode |= stat.S_IMODE(state.st_mode) if stat.S_ISREG(state.st_mode) else 0
    _delete(path)
    with open(path, "xb") as stream:
        stream.write(data)
    os.chmod(path, mode)


def _delete(path: str) -> bool:
    """Delete a file, be it in a folder in which nobody may write; whether there was one."""
    with suppress(FileNotFoundError):
        above = os.path.dirname(path)
        mode = stat.S_IMODE(os.lstat(above).st_mode)
        os.chmod(above, mode | stat.S_IRWXU)
        os.unlink(path)
        os.chmod(above, mode)
        return True
    return False


def _is_below(path: str, folders: tuple[str, ...]) -> bool:
    return any(folder and (path == folder or path.startswith(f"{folder}/")) for folder in folders)


def _shown(paths: list[str]) -> str:
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return f"{', '.join(ascii(path[:80])[1:-1] for path in paths[:_SHOWN])}{more}"
