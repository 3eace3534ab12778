"""Which files hold prompts, and their bytes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch

from skill_health.core.errors import UsageError
from skill_health.core.files import read_bytes
from skill_health.discovery.roots import relative
from skill_health.router.prompts._api import MAX_BYTES, Known, PromptFile

# Names of files that skills keep beside them; what is in a file decides how it is read.
TRIGGERS = (
    "*trigger*.json", "*trigger*.jsonl", "*trigger*.csv", "eval_queries*.json", "eval-queries*.json",
    "eval_set*.json", "eval-set*.json",
)  # fmt: skip
EVALS = ("evals.json",)
_REGISTRIES = ("prompts.jsonl", "activation-cases.jsonl")
_SKIPPED = frozenset(("node_modules", "__pycache__"))
_MAX_FOLDERS = 20_000


def find_files(paths: Sequence[str], known: Known, root: str) -> tuple[PromptFile, ...]:
    """The named files, and below a named folder those that have the name of prompts, each once.

    Raises UsageError where a path does not exist, and where a folder holds no such file.
    """
    found: dict[str, PromptFile] = {}
    for path in paths:
        if not os.path.exists(path):
            raise UsageError(f"no such file or folder of prompts: {path}")
        is_folder = os.path.isdir(path)
        files = sorted(_below(path)) if is_folder else [path]
        if not files:
            names = ", ".join((*_REGISTRIES, *TRIGGERS[:1], *EVALS))
            raise UsageError(f"no file of prompts below {path}: looked for {names} and the like; name the file")
        for file in files:
            found.setdefault(os.path.realpath(file), read_file(file, known, root, not is_folder))
    return tuple(found.values())


def read_file(path: str, known: Known, root: str, named: bool = True) -> PromptFile:
    """A file with its bytes. It is named by its path relative to the root, or by its own name where it lies outside."""
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    inner = relative(real, root) if root else None
    shown = os.path.basename(path) if inner is None else inner
    try:
        if os.path.getsize(path) > MAX_BYTES:
            return PromptFile(shown, problem=f"the file is larger than {MAX_BYTES // 2**20} MiB")
    except OSError as error:
        return PromptFile(shown, problem=f"the file cannot be read ({error.strerror or 'unknown error'})")
    raw, problem = read_bytes(path)
    fault = f"the file cannot be read ({problem})" if problem else ""
    return PromptFile(shown, raw, known.owner(inner, real.replace(os.sep, "/")), fault, named)


def matching(names: Iterable[str], patterns: Sequence[str]) -> Iterator[str]:
    """The paths whose last part matches one of the patterns, without regard to case."""
    for name in names:
        last = name.rpartition("/")[2].lower()
        if any(fnmatch(last, pattern) for pattern in patterns):
            yield name


def _below(folder: str) -> Iterator[str]:
    """The files below a folder that have the name of prompts. Links are not followed, hidden folders not entered."""
    for nth, (place, folders, files) in enumerate(os.walk(folder)):
        if nth >= _MAX_FOLDERS:
            return
        folders[:] = sorted(name for name in folders if name[0] != "." and name not in _SKIPPED)
        yield from (os.path.join(place, name) for name in matching(sorted(files), (*TRIGGERS, *EVALS, *_REGISTRIES)))
