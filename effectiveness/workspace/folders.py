"""Folders for one piece of work: a workspace, staged scripts, rewards; and whether a workspace is what it was."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from skill_health.core.boundary import git_top
from skill_health.core.errors import AbortedError
from skill_health.core.files import blake2b, is_there, open_binary
from skill_health.discovery.roots import relative
from skill_health.effectiveness.sandbox._quota import DISK, limit_folder, release_folder
from skill_health.effectiveness.tasks._api import Script
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.tasks._scripts import replace_places, text_of
from skill_health.effectiveness.trial.rewards import RUNNER
from skill_health.effectiveness.workspace.process import run_process

# Paths of containers are replaced in scripts, where a space would fall apart.
_WORD = re.compile(r"[\w./+@%=,-]+")
_CHUNK = 1 << 20
_HUGE = 1 << 28
_REMOVAL = 600.0


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of one trial or of one try of a check, all fresh, beside each other below `base`.

    With a `quota` they lie on a file system of their own, which holds no more than they may take.
    """

    base: str
    workspace: str
    home: str
    temporary: str
    final: str
    quota: bool = False

    def beside(self, name: str) -> str:
        """A further folder beside the workspace, made now."""
        place = os.path.join(self.base, name)
        os.makedirs(place, mode=0o700)
        return place


def make_places(tasks_folder: str, prefix: str, size: int = 0, files: int = 0) -> Places:
    """Folders below the system's temporary one, which whoever asks for them removes.

    They take no more than so many bytes and files together, where that can be held; 0 is no limit.

    Raises AbortedError where that lies in the same git repository as the task: an agent there could read the verifier.
    """
    top = git_top(tasks_folder) or tasks_folder
    root = os.path.realpath(tempfile.gettempdir())
    if tasks_folder and relative(root, os.path.realpath(top)) is not None:
        raise AbortedError(f"the temporary folder {root} lies inside {top}: set TMPDIR to a folder outside it")
    if not _WORD.fullmatch(root):
        raise AbortedError(f"the path of the temporary folder {root!r} holds spaces or signs: set TMPDIR to another")
    try:
        base = tempfile.mkdtemp(prefix=prefix, dir=root)
    except OSError as error:
        raise AbortedError(f"no folder can be made in {root} ({error.strerror or error})") from None
    quota = bool(size) and limit_folder(base, size, files)
    names = ("workspace", "home", "tmp", "final.txt")
    workspace, home, temporary, final = (os.path.join(base, name) for name in names)
    for folder in (workspace, home, temporary):
        os.mkdir(folder, 0o700)
    with open(final, "xb"):
        pass
    return Places(base, workspace, home, temporary, final, quota)


# What a user would call such a folder: nothing tells an agent that it is being measured.
PREFIX = "job-"
_YOUNG = 120.0
_held: dict[str, int] = {}


def hold(base: str) -> None:
    """Lock a folder until `let_go` or the end of the process; without such locks here nothing is done."""
    handle = _locked(base)
    if handle is not None:
        _held[base] = handle


def let_go(base: str) -> None:
    """Unlock a folder, if it is locked."""
    handle = _held.pop(base, None)
    if handle is not None:
        os.close(handle)


@cache
def sweep(root: str, prefix: str) -> int:
    """Remove folders of dead processes below `root`, once for each process of ours; returns how many there were."""
    count = 0
    for name in os.listdir(root):
        place = os.path.join(root, name)
        if name.startswith(prefix) and name.endswith(DISK) and _is_forgotten(place):
            os.unlink(place)
        elif name.startswith(prefix) and place not in _held and _is_old(place):
            handle = _locked(place)
            if handle is not None:
                count += 1
                remove_tree(place)
                os.close(handle)
    return count


def _is_old(place: str) -> bool:
    """Whether this is a folder of ours, not a link, that was made some time ago."""
    try:
        state = os.lstat(place)
    except OSError:
        return False
    ours = stat.S_ISDIR(state.st_mode) and state.st_uid == os.getuid() and stat.S_IMODE(state.st_mode) == 0o700
    # What is in it tells that it is one of a trial, and not of somebody who likes the same name.
    known = all(os.path.lexists(os.path.join(place, inner)) for inner in ("workspace", "home", "tmp", "final.txt"))
    known = known or os.path.ismount(place)
    return ours and known and time.time() - state.st_mtime > _YOUNG


def _is_forgotten(place: str) -> bool:
    """Whether this is a file for a file system of ours that was to be mounted some time ago."""
    try:
        state = os.lstat(place)
    except OSError:
        return False
    return stat.S_ISREG(state.st_mode) and state.st_uid == os.getuid() and time.time() - state.st_mtime > _YOUNG


def _locked(place: str) -> int | None:
    """The open folder with its lock; None where somebody has it, or where there are none."""
    try:
        import fcntl
    except ImportError:
        return None
    try:
        handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def fresh_places(tasks_folder: str, size: int = 0, files: int = 0) -> Places:
    """Folders that are ours until `let_go`; what dead processes of ours have left is removed. Raises AbortedError."""
    places = make_places(tasks_folder, PREFIX, size, files)
    hold(places.base)
    sweep(os.path.dirname(places.base), PREFIX)
    return places


def remove_tree(folder: str) -> None:
    """Remove a folder with all that is in it, however deep and however locked; what cannot be removed is left."""
    release_folder(folder)
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        for words in (("rm", "-rf"), ("chmod", "-R", "u+rwX"), ("rm", "-rf")):
            if is_there(folder, links=False):
                run_process([*words, "--", folder], os.sep, os.environ, _REMOVAL)


def write_files(folder: str, files: Iterable[File], places: Iterable[tuple[str, str]] = ()) -> None:
    """Write files below a folder; `places` are paths of a container with what takes their place in texts."""
    replaced, made = tuple(places), set()
    for file in files:
        target = os.path.join(folder, file.path)
        if (above := os.path.dirname(target)) not in made:
            os.makedirs(above, exist_ok=True)
            made.add(above)
        text = text_of(file) if replaced else None
        data = file.data if text is None else replace_places(text, replaced).encode("utf-8")
        with open(target, "xb") as stream:
            stream.write(data)
        os.chmod(target, 0o755 if file.executable else 0o644)


def stage_script(
    script: Script, folder: str, places: Iterable[tuple[str, str]], targets: Mapping[str, str]
) -> list[str]:
    """Write the files of a script into an empty folder and return the command that runs it.

    `places` are a task's, and `targets` says which folder each of their roles is; a role without any is left as it is.
    """
    write_files(folder, script.files, [(path, targets[role]) for path, role in places if role in targets])
    names = {file.path for file in script.files}
    return [os.path.join(folder, word) if word in names else word for word in script.argv]


def snapshot(folder: str) -> dict[str, str]:
    """What is in a workspace: each path with its kind, permissions and content; `.runner` is ours and left out."""
    found: dict[str, str] = {}
    waiting = [""]
    while waiting:
        inner = waiting.pop()
        try:
            entries = list(os.scandir(os.path.join(folder, inner)))
        except OSError:
            found[inner] = "a folder that cannot be read"
            continue
        for entry in entries:
            path = f"{inner}/{entry.name}" if inner else entry.name
            if path == RUNNER:
                continue
            state = entry.stat(follow_symlinks=False)
            content = ""
            if stat.S_ISLNK(state.st_mode):
                content = os.readlink(entry.path)
            elif stat.S_ISDIR(state.st_mode):
                waiting.append(path)
            elif stat.S_ISREG(state.st_mode):
                content = _digest(entry.path, state)
            found[path] = f"{state.st_mode:o} {content}"
    return found


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """The paths that were added, removed or changed, each with the word for it, in order."""
    words = {
        path: "added" if path not in before else "removed" if path not in after else "changed"
        for path in before.keys() | after.keys()
        if before.get(path) != after.get(path)
    }
    return [f"{path} {words[path]}" for path in sorted(words)]


def _digest(path: str, state: os.stat_result) -> str:
    """The content of a file as a digest; of a huge one its size and time, as it may have been made to keep us busy."""
    if state.st_size > _HUGE:
        return f"{state.st_size} bytes, {state.st_mtime_ns}"
    total = blake2b(digest_size=16)
    try:
        with open_binary(path) as stream:
            while chunk := stream.read(_CHUNK):
                total.update(chunk)
    except OSError:
        return "unreadable"
    return total.hexdigest()
