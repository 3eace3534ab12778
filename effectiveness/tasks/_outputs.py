"""Where a task's work may lie in a container beside its working directory: the folders that its own texts speak of.

A folder counts that the verifier names, itself or by a file in it, and the prompt or the oracle as well. What programs
obey unasked never does: the system's folders, homes, and what has a dot in front.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator

from skill_health.text.patterns import lazy

# A path, and what stands behind it: a name that goes on in a variable or a pattern is that of a file.
_PATH = lazy(r"(?<![\w./:~)}*$@-])(?P<path>/[\w@+-][\w.@+-]*(?:/[\w.@+-]+)*)(?P<more>[{$*%<?\[])?")
_FILE = lazy(r"\.[A-Za-z]\w{0,9}\Z")
_SYSTEM = frozenset(
    ("bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin", "sys", "tmp", "usr", "var")
)
# These are the scripts' own, and no agent's.
_STAGED = frozenset(("logs", "oracle", "solution", "tests", "verifier"))
_TOPS = frozenset(("/", "/home", "/media", "/mnt", "/opt", "/root", "/srv"))
_MOST = 32
NOT_KEPT = "the task asks for work in this folder, and what is left there does not reach the verifier"


def output_folders(verifier: Iterable[str], others: Iterable[str], workdir: str) -> tuple[str, ...]:
    """The folders outside `workdir` that the texts of the verifier and the other ones name, in order."""
    asked = set(named_folders(verifier))
    shared = sorted(asked.intersection(named_folders(others)))
    return tuple(path for path in shared if may_travel(path, workdir))[:_MOST]


def lost_folders(verifier: Iterable[str], prompt: str, workdir: str) -> Iterator[str]:
    """Folders that the prompt and the verifier name and that cannot travel, though work may be asked for in them."""
    for path in sorted(set(named_folders(verifier)).intersection(named_folders([prompt]))):
        outside = path != workdir and not path.startswith(f"{workdir}/")
        hidden = any(part.startswith(".") for part in path.split("/"))
        if outside and not hidden and path.split("/")[1] not in _STAGED and not may_travel(path, workdir):
            yield path


def named_folders(texts: Iterable[str]) -> Iterator[str]:
    """Each folder that a text names by an absolute path: itself, or by a file in it."""
    for text in texts:
        for match in _PATH.finditer(text):
            path = match["path"].rstrip(".")
            is_file = match["more"] is not None or _FILE.search(path) is not None
            yield posixpath.normpath(posixpath.dirname(path) if is_file else path)


def may_travel(path: str, workdir: str) -> bool:
    """Whether what an agent leaves in a folder may reach the verifier; the working directory does so anyhow."""
    parts = path.strip("/").split("/")
    home = parts[0] == "home" and len(parts) < 3
    if path in _TOPS or home or parts[0] in _SYSTEM | _STAGED or any(part.startswith(".") for part in parts):
        return False
    return not is_within(path, workdir) and not is_within(workdir, path)


def is_within(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies below it."""
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")
