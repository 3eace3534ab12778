"""A persistent cache of what was found in each skill: one file per collection, rule set and configuration.

A file is replaced as a whole, so concurrent runs never see half of one; an entry counts only if its key,
which covers every input, still holds. The oldest files go when there are too many.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skill_health.core.files import blake2b, read_small
from skill_health.rules._api import Finding, Severity
from skill_health.rules.ignores._comments import Ignore

if TYPE_CHECKING:
    from skill_health.lint.check import CheckedSkill


def answer(root: str, question: str) -> str:
    """Answer `exists:PATH` or `read:PATH` (relative to the root) by a string that changes when the file does."""
    kind, _, path = question.partition(":")
    full = os.path.join(root, path)
    if kind == "exists":
        return "yes" if os.path.exists(full) else ""
    return digest(read_small(full))


def hold(root: str, inputs: Mapping[str, str]) -> bool:
    """Whether every question still has the same answer."""
    return all(answer(root, question) == known for question, known in inputs.items())


def digest(data: bytes | None) -> str:
    """A short digest of a file's bytes; "" for no file."""
    return "" if data is None else blake2b(data, digest_size=12).hexdigest()


def digest_of(*parts: str) -> str:
    """A digest over texts, in order."""
    joined = "\0".join(parts).encode("utf-8", "surrogateescape")
    return blake2b(joined, digest_size=16).hexdigest()


_MAX_FILES = 64
_MAX_BYTES = 256 << 20
FORMAT = 2


def directory() -> str:
    """Where the cache lives: SKILL_HEALTH_CACHE_DIR, else the user's cache folder."""
    own = os.environ.get("SKILL_HEALTH_CACHE_DIR")
    if own:
        return own
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "skill-health")


def load(name: str) -> dict[str, Any]:
    """The content of one cache file; {} where it is missing, damaged or of another format."""
    try:
        with open(os.path.join(directory(), name + ".json"), "rb") as file:
            blob = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
        return {}
    return blob if isinstance(blob, dict) and blob.get("format") == FORMAT else {}


def save(name: str, blob: dict[str, Any]) -> None:
    """Replace one cache file. A cache that cannot be written is no reason to fail."""
    import tempfile

    folder = directory()
    try:
        os.makedirs(folder, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(json.dumps({"format": FORMAT, **blob}, ensure_ascii=True).encode())
            os.replace(temporary, os.path.join(folder, name + ".json"))
        except BaseException:
            os.unlink(temporary)
            raise
        _prune(folder)
    except OSError:
        return


def _prune(folder: str) -> None:
    with os.scandir(folder) as entries:
        files = sorted(((e.stat().st_mtime_ns, e.stat().st_size, e.path) for e in entries if e.is_file()), reverse=True)
    total = 0
    for n, (_, size, path) in enumerate(files):
        total += size
        if n >= _MAX_FILES or total > _MAX_BYTES:
            os.unlink(path)


_SEVERITIES = {severity.value: severity for severity in Severity}


def to_record(key: str, checked: CheckedSkill) -> dict[str, Any]:
    """One skill as the cache stores it. The facts stay encoded, since most runs do not need them."""
    return {
        "key": key,
        "findings": [pack(finding) for finding in checked.findings],
        "facts": json.dumps(checked.facts, ensure_ascii=True, separators=(",", ":")),
        "measures": json.dumps(checked.measures, ensure_ascii=True, separators=(",", ":")),
        "ignores": [[list(i.codes), i.first, i.last, i.reason, i.path, i.line, i.col] for i in checked.ignores],
        "inputs": checked.inputs,
    }


def ignores_of(record: dict[str, Any]) -> list[Ignore]:
    """The inline comments of a stored skill."""
    return [Ignore(tuple(codes), *rest) for codes, *rest in record["ignores"]]


def pack(f: Finding) -> list[Any]:
    """A finding as a JSON list; its fix is not kept, only that there is one."""
    return [
        f.code, f.rule, f.family, f.severity.value, f.path, f.line, f.col, f.end_line, f.end_col, f.message, f.help,
        f.source, f.skill, f.key, f.fixable, list(f.also),
    ]  # fmt: skip


def unpack(values: Sequence[Any]) -> Finding:
    """The reverse of `pack`."""
    *rest, fixable, also = values
    rest[3] = _SEVERITIES[rest[3]]
    return Finding._make([*rest, None, fixable, tuple(also)])
