"""A finished run as a folder to publish: its raw files without secrets and names of persons, hashes, and a data card.

The folder is one of reports with this run alone, so that every command reads it back.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from skill_health.bench.durable import to_json
from skill_health.bench.reproduce.verify import VerifiedFile, history_beside
from skill_health.bench.run_folder import growing_folder
from skill_health.core.errors import UsageError
from skill_health.core.files import is_there, read_limited, read_whole, write_bytes
from skill_health.core.history import read_backwards
from skill_health.text.blocks import Block, Items, Sentence, TitleBlock, as_markdown
from skill_health.text.numbers import count
from skill_health.text.secrets import hide_named
from skill_health.text.terminal import clean

CARD, SUMS = "README.md", "SHA256SUMS"
_MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class DescribedRun:
    """What the card says of a run: facts by name, in order. `kind` is the folder of such runs, and the command."""

    kind: str
    run_id: str
    facts: Sequence[tuple[str, str]]


@dataclass(slots=True)
class Release:
    """What became of the files: how many went in, lines that were masked by file, and what was left out by reason."""

    files: int = 0
    masked: dict[str, int] = field(default_factory=dict)
    left: dict[str, list[str]] = field(default_factory=dict)

    def leave(self, reason: str, path: str) -> None:
        """Note a file that is left out."""
        self.left.setdefault(reason, []).append(path)


def write_release(
    folder: str, history: str, target: str, about: DescribedRun, verify: Callable[[str], Iterable[VerifiedFile]]
) -> Release:
    """Write the run in `folder`, with its lines of the file `history` beside it, to the new folder `target`.

    `verify` compares the folder of a run with what follows from its raw files. The target comes into being when it is
    complete. Raises UsageError where it exists, where the run does not follow from its raw files, or where it no
    longer would with what had to be masked.
    """
    if found := _first_difference(verify(folder)):
        raise UsageError(f"{clean(folder)} does not follow from its raw files ({found}): nothing is published of it")
    if is_there(target, links=False):
        raise UsageError(f"{clean(target)} is there already: name a folder that is not")
    done = Release()
    with _growing(target) as half:
        place = os.path.join(half, about.kind, about.run_id)
        for path in _files(folder, done):
            data = _published(os.path.join(folder, path), path, done)
            if data is not None:
                write_bytes(os.path.join(place, path), data)
                done.files += 1
        lines = [
            hide_in_line(raw.decode("utf-8", "replace"))
            for raw in _lines_of(history_beside(folder, history), about.run_id)
        ]
        if lines:
            write_bytes(os.path.join(half, history), "".join(lines).encode())
        if found := _first_difference(verify(place)):
            raise UsageError(
                f"with what was masked ({_counted(done.masked)}) the run would not follow from its raw files any more "
                f"({found}): take that out of the skills or prompts, and run again"
            )
        write_bytes(os.path.join(half, CARD), as_markdown(_card(about, done)).encode("utf-8", "replace"))
        write_bytes(os.path.join(half, SUMS), _sums(half).encode())
    return done


def _first_difference(files: Iterable[VerifiedFile]) -> str:
    """Where a run first does not follow from its raw files; "" for nowhere."""
    return next((clean(f"{file.name}: {each}") for file in files for each in file.differs), "")


@contextmanager
def _growing(target: str) -> Iterator[str]:
    """A folder that becomes the target in the end. Raises UsageError where it cannot be written."""
    try:
        with growing_folder(target) as half:
            yield half
    except OSError as error:
        raise UsageError(f"cannot write {clean(target)}: {error.strerror or error}") from error


def _files(folder: str, done: Release) -> Iterator[str]:
    """The paths of the regular files of a run, sorted, with slashes; links and what begins with a dot are left out."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not os.path.islink(os.path.join(place, name)))
        inner = os.path.relpath(place, folder)
        for name in sorted(names):
            path = name if inner == os.curdir else f"{inner.replace(os.sep, '/')}/{name}"
            if os.path.islink(os.path.join(place, name)) or not os.path.isfile(os.path.join(place, name)):
                done.leave("no regular file", path)
            elif name.startswith(".") or name.endswith((".lock", ".tmp")):
                done.leave("of the program", path)
            else:
                yield path


def _published(file: str, path: str, done: Release) -> bytes | None:
    """The content of a file without what is nobody's business; None where that cannot be looked for."""
    try:
        data = read_limited(file, _MOST_BYTES, links=False)
    except OSError as error:
        raise UsageError(f"cannot read {clean(file)}: {error.strerror or error}") from error
    if data is None:
        done.leave(f"of more than {_MOST_BYTES >> 20} MiB", path)
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        done.leave("no text, so that nothing could be looked for in it", path)
        return None
    lines = text.splitlines(keepends=True)
    hidden = [hide_in_line(line) for line in lines]
    if hidden == lines:
        return data
    done.masked[path] = sum(one != other for one, other in zip(lines, hidden, strict=True))
    return "".join(hidden).encode()


def hide_in_line(line: str) -> str:
    """A line without what names somebody; of JSON its strings, in which a path may stand behind an escape."""
    stripped = line.strip()
    if stripped.startswith(("{", "[")):
        try:
            value = json.loads(stripped)
            hidden = _strings(value)
            return line if hidden == value else f"{to_json(hidden)}\n"
        except (ValueError, RecursionError):
            pass
    return hide_named(line)


def _strings(value: Any) -> Any:
    if isinstance(value, str):
        return hide_named(value)
    if isinstance(value, list):
        return [_strings(each) for each in value]
    if isinstance(value, dict):
        return {hide_named(key): _strings(each) for key, each in value.items()}
    return value


def _lines_of(history: str, run: str) -> Iterator[bytes]:
    """The lines of a run in a history, the oldest first."""
    found = []
    for _, raw in read_backwards(history):
        try:
            if json.loads(raw).get("run_id") == run:
                found.append(raw.rstrip(b"\n") + b"\n")
        except (ValueError, RecursionError, AttributeError):
            continue
    return reversed(found)


def _sums(folder: str) -> str:
    """The hashes of all files, as `sha256sum --check` reads them."""
    lines = []
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(place, name)
            digest = hashlib.sha256(read_whole(path, 2 * _MOST_BYTES)).hexdigest()
            lines.append(f"{digest}  {os.path.relpath(path, folder).replace(os.sep, '/')}\n")
    return "".join(sorted(lines, key=lambda line: line[66:]))


def _counted(masked: dict[str, int]) -> str:
    if not masked:
        return "nothing"
    return f"{count(sum(masked.values()), 'line')} in {count(len(masked), 'file')}, such as {clean(min(masked))}"


def _card(about: DescribedRun, done: Release) -> Iterator[Block]:
    command, run = f"skill-health {about.kind}", about.run_id
    yield TitleBlock(f"{about.kind.capitalize()} run {run}", 1)
    yield Items([f"{name}: {value}" for name, value in about.facts])
    yield TitleBlock("Reading it back")
    yield Sentence(
        f"This folder is one of reports, with the run {run} alone. Two commands, given in it, compute every figure anew from "
        f"the raw files and show the report; sha256sum --check {SUMS} says whether the folder is whole."
    )
    yield Items((f"{command} verify {run} --out .", f"{command} report {run} --out ."))
    yield TitleBlock("What was taken out")
    yield Sentence(f"{count(done.files, 'file')} of the run are here. Masked: {_counted(done.masked)}.")
    yield Sentence(
        "Credentials were looked for by the formats of their issuers, persons by home folders and e-mail addresses. A name in a "
        "sentence is not found: look before you publish."
    )
    yield Items(
        [f"{reason}: {count(len(paths), 'file')}, such as {paths[0]}" for reason, paths in sorted(done.left.items())]
    )
    yield TitleBlock("Whose it is")
    yield Sentence(
        "Descriptions of skills, prompts, tasks and what models wrote are in here. Each has its author's licence or a "
        "provider's terms, and this card gives no right to any of it."
    )


def release_lines(target: str, done: Release) -> Iterable[str]:
    """What is said of a release."""
    yield f"written: {clean(target)}, {count(done.files, 'file')} of the run; masked: {_counted(done.masked)}"
    for reason, paths in sorted(done.left.items()):
        yield f"left out, {reason}: {count(len(paths), 'file')}, such as {clean(paths[0])}"
