"""Whether what is said of a run follows from its raw files: its manifest, results, reports and lines of history."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from skill_health.bench.journal import MANIFEST, RESULTS, read_lines
from skill_health.bench.manifest import identity
from skill_health.bench.report_formats import load_format
from skill_health.bench.run_folder import Kind, Record
from skill_health.core.files import is_there, read_whole
from skill_health.core.history import read_backwards
from skill_health.documents._record import decode_record, encode_record
from skill_health.text.near import list_some
from skill_health.text.numbers import count
from skill_health.text.patterns import lazy
from skill_health.text.terminal import clean

if TYPE_CHECKING:
    from skill_health.documents.effect_history import EffectHistoryLine
    from skill_health.documents.router_history import RouterHistoryLine

Line = TypeVar("Line", "RouterHistoryLine", "EffectHistoryLine")
MOST_SHOWN = 10
_MARK = lazy(r"-([0-9a-f]{8})\Z")
_MOST_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class VerifiedFile:
    """A file of a run: how many values (or what `noun` says) were compared, and where they differ from the computed."""

    name: str
    values: int
    differs: tuple[str, ...] = ()
    noun: str = "value"


def verify_manifest(stored: Record, hashes: Mapping[str, str]) -> VerifiedFile:
    """Whether a manifest is the one that the run began with: `hashes` are those of what it lists, by name.

    A folder's name ends with the first digits of the hash of its manifest, if it was made here.
    """
    said = stored.get("hashes") or {}
    differs = [
        f"hashes/{name}: {clean(str(said[name]))}, but what is listed has {found}"
        for name, found in sorted(hashes.items())
        if said.get(name) is not None and said[name] != found
    ]
    mark = _MARK.search(str(stored.get("run_id")))
    made_here = mark is not None and not stored.get("imported")
    if made_here and mark and not identity(stored).startswith(mark[1]):
        differs.append(
            f"run_id: its manifest has the hash {identity(stored)[:8]}, so it was changed after the run began"
        )
    return VerifiedFile(MANIFEST, sum(said.get(name) is not None for name in hashes) + made_here, tuple(differs))


def verify_results(folder: str, stored: Record, kind: Kind) -> VerifiedFile:
    """Whether there is one result for each key that the manifest plans, and no other. Raises UsageError for damage."""
    path = os.path.join(folder, RESULTS)
    lines = read_lines(path, lambda line: tuple(line[name] for name in kind.fields)) if is_there(path) else ()
    there = Counter(lines)
    planned = set(kind.keys(stored))
    groups = (
        ("planned, and not there", [key for key in planned if key not in there]),
        ("there, and not planned", [key for key in there if key not in planned]),
        ("there more than once", [key for key, times in there.items() if times > 1]),
    )
    differs = [
        f"{count(len(keys), 'result')} {what}: {list_some(['/'.join(map(str, key)) for key in sorted(keys, key=repr)], 3)}"
        for what, keys in groups
        if keys
    ]
    return VerifiedFile(RESULTS, len(there), tuple(map(clean, differs)), "result")


def verify_reports(package: str, folder: str, report: Any) -> Iterator[VerifiedFile]:
    """Whether the reports of a run are what is built from its results now, which is `report`."""
    for form in ("json", "markdown"):
        module = load_format(package, form)
        name, found = f"report{module.EXTENSION}", module.render(report)
        try:
            data = read_whole(os.path.join(folder, name), _MOST_BYTES)
        except OSError:
            yield VerifiedFile(name, 0, ("it is not there: the run is not finished, or its report was lost",))
            continue
        if form == "json":
            yield VerifiedFile(name, *_compared(data, found))
        else:
            same = data == found.encode("utf-8", "surrogateescape")
            said = () if same else ("it is not what is written of these results",)
            yield VerifiedFile(name, found.count("\n"), said, "line")


def _compared(data: bytes, found: str) -> tuple[int, tuple[str, ...]]:
    new = json.loads(found)
    try:
        old = json.loads(data)
    except (ValueError, RecursionError):
        return 0, ("it is no JSON",)
    return sum(1 for _ in _leaves(new)), tuple(different_values(old, new))


def history_beside(folder: str, name: str) -> str:
    """The history of this name in the folder of reports that the folder of a run lies in."""
    return os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(folder))), name)


def verify_history(
    path: str, lines: Sequence[Line], key: Callable[[Line], tuple[Any, ...]], finished: bool
) -> VerifiedFile | None:
    """Whether the history has these lines of a run; of several about the same, which `key` tells, the last counts.

    None where there is no such file, as beside a run that was copied elsewhere. Raises UsageError where it cannot be
    read.
    """
    if not lines or not is_there(path):
        return None
    there: dict[tuple[Any, ...], Line] = {}
    for _, raw in read_backwards(path):
        with suppress(ValueError):
            line = decode_record(raw, type(lines[0]))
            if line.run_id == lines[0].run_id:
                there.setdefault(key(line), line)
    differs: list[str] = []
    for line in lines:
        old, where = there.get(key(line)), "/".join(part for part in key(line) if isinstance(part, str))
        if old is not None:
            differs += [clean(where) + each for each in different_values(*map(_plain, (old, line)))]
        elif finished:
            differs.append(f"{clean(where)}: there is no line")
    return VerifiedFile(os.path.basename(path), len(lines), tuple(differs), "line")


def _plain(record: Any) -> Any:
    """A record as a JSON value."""
    return json.loads(encode_record(record))


def different_values(old: Any, new: Any, place: str = "") -> Iterator[str]:
    """Where two JSON values differ: a JSON pointer (RFC 6901), what is there, and what was computed."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted({*old, *new}):
            inner = f"{place}/{clean(name).replace('~', '~0').replace('/', '~1')}"
            if name not in old or name not in new:
                yield f"{inner}: {'not there' if name not in old else 'there, and not computed'}"
            else:
                yield from different_values(old[name], new[name], inner)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for at, (left, right) in enumerate(zip(old, new, strict=True)):
            yield from different_values(left, right, f"{place}/{at}")
    elif type(old) is not type(new) or old != new:
        yield f"{place or '/'}: {_short(old)}, computed {_short(new)}"


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list) and value:
        for each in value.values() if isinstance(value, dict) else value:
            yield from _leaves(each)
    else:
        yield value


def _short(value: Any) -> str:
    if isinstance(value, dict | list):
        return f"{len(value)} values"
    text = clean(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= 60 else f"{text[:59]}…"


def verified_lines(run_id: str, version: str, files: Iterable[VerifiedFile]) -> Iterator[str]:
    """What was found, as text: a line for each file, and below it where it differs."""
    wrong = 0
    for file in files:
        said = f"differs in {count(len(file.differs), 'place')}" if file.differs else "as computed"
        yield f"{file.name}: {count(file.values, file.noun)}, {said}"
        yield from (f"  {each}" for each in file.differs[:MOST_SHOWN])
        if len(file.differs) > MOST_SHOWN:
            yield f"  … {len(file.differs) - MOST_SHOWN:,} more"
        wrong += bool(file.differs)
    say = "says" if wrong == 1 else "say"
    verdict = (
        f"{count(wrong, 'file')} of it {say} something else than its raw files"
        if wrong
        else "it follows from its raw files"
    )
    yield f"{clean(run_id)}, made by version {clean(version)}: {verdict}"


def is_sound(files: Collection[VerifiedFile]) -> bool:
    """Whether nothing differs."""
    return not any(file.differs for file in files)
