"""The drafts beside the skills: one JSON file each, which a person can read and edit, replaced whole or not at all.

    drafts/prompts/<id>.json     a PromptDraft
    drafts/tasks/<id>.json       a TaskDraft; a kind may keep more files of a draft in a folder of that name

What is written is on the disk when a call returns. Of two programs that write at once the second is told to wait, and
none overwrites what another has changed meanwhile. A kind of draft is a record type with an `ID`, the `FOLDER` and a
field `content`, which is what a registry gets in the end.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from skill_health.bench.durable import locked
from skill_health.bench.durable import replace as replace_durably
from skill_health.bench.manifest import digest
from skill_health.core.boundary import git_top
from skill_health.core.errors import AbortedError, UsageError
from skill_health.core.files import blake2b, here, is_there, kind_of, read_limited
from skill_health.discovery.roots import stay_inside
from skill_health.documents._draft import Draft, DraftJudge, DraftState, DraftVerdict
from skill_health.documents._record import decode_record, record_values
from skill_health.text.terminal import clean

DRAFTS = "drafts"
SEALED_SHARE = 0.4
"""The share of drafts that is sealed."""
_MOST_BYTES = 4 << 20
_MOST_FILES = 100_000

SomeDraft = TypeVar("SomeDraft", bound=Draft)


@dataclass(frozen=True, slots=True)
class StoredDrafts(Generic[SomeDraft]):
    """The drafts of a kind, by their ids; `problems` has a line for each file that is none."""

    drafts: tuple[SomeDraft, ...]
    problems: tuple[str, ...] = ()


def drafts_folder(root: str) -> str:
    """The folder of the drafts of the collection at `root`. Raises UsageError where it leads out by a link."""
    return stay_inside(os.path.join(root, DRAFTS), git_top(root) or root)


def _check_folder(place: str) -> None:
    if is_there(place, links=False) and kind_of(place) not in ("folder", "unknown"):
        raise UsageError(f"{clean(here(place))} is not a folder")


def draft_path(root: str, draft: Draft) -> str:
    """Where a draft is kept."""
    return os.path.join(drafts_folder(root), _folder_of(type(draft)), f"{draft.id}.json")


def read_drafts(root: str, kind: type[SomeDraft]) -> StoredDrafts[SomeDraft]:
    """All drafts of a kind. Never raises for what a file holds.

    Raises UsageError if the folder leads out by a link, is none, or cannot be read.
    """
    folder = stay_inside(os.path.join(drafts_folder(root), _folder_of(kind)), root)
    for place in (drafts_folder(root), folder):
        _check_folder(place)
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json") and name[0] != ".")
    except FileNotFoundError:
        names = []
    except OSError as error:
        raise UsageError(f"cannot read {clean(here(folder))}: {error.strerror or error}") from None
    found, problems = [], []
    for name in names[:_MOST_FILES]:
        try:
            found.append(_read(os.path.join(folder, name), kind))
        except UsageError as error:
            problems.append(str(error))
    return StoredDrafts(tuple(found), tuple(problems))


def count_waiting(root: str) -> int:
    """How many drafts of any kind are proposed; what cannot be read is not counted. Never raises."""
    found = 0
    for folder, folders, files in os.walk(os.path.join(root, DRAFTS)):
        folders.sort()
        for name in sorted(files):
            with suppress(OSError, ValueError):
                raw = (
                    read_limited(os.path.join(folder, name), _MOST_BYTES, links=False)
                    if name.endswith(".json")
                    else None
                )
                found += raw is not None and msgspec.json.decode(raw, type=_Waiting).state == "proposed"
    return found


class _Waiting(msgspec.Struct):
    """What is looked at of any draft."""

    version: Literal[1]
    generated: str
    state: str


def add_drafts(root: str, drafts: Iterable[SomeDraft]) -> tuple[SomeDraft, ...]:
    """Write the drafts whose ids are new; what has been proposed before stays as it is. Returns those written.

    Raises UsageError where another program is at it, and AbortedError where the disk does not take them.
    """
    written = []
    with writing(root):
        for draft in drafts:
            if not is_there(path := draft_path(root, draft), links=False):
                _write(path, draft)
                written.append(draft)
    return tuple(written)


def change_draft(root: str, before: SomeDraft, after: SomeDraft, first: Callable[[], object] = lambda: None) -> None:
    """Replace a draft; `first` is done before, while nobody else writes.

    Raises UsageError, without doing either, where its file is no longer as it was `before`; AbortedError if it fails.
    """
    path = draft_path(root, before)
    with writing(root):
        if _read(path, type(before)) != before:
            raise UsageError(f"{here(path)} was changed meanwhile, and is left as it is: look at it again")
        first()
        _write(path, after)


def settle_draft(
    draft: SomeDraft, state: DraftState, by: DraftJudge, time: datetime, reason: str = "", code: str = ""
) -> SomeDraft:
    """The draft with a decision on it; nothing is written."""
    return replace(draft, state=state, verdict=DraftVerdict(by=by, at=format_time(time), code=code, reason=reason))


def format_time(time: datetime) -> str:
    """A time in UTC as drafts have it."""
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"


def digest_content(content: Any) -> str:
    """A hash of the content (a record) of a draft."""
    return digest(record_values(content))


def digest_draft(draft: Draft) -> str:
    """A hash of all that a draft holds."""
    return digest(record_values(draft))


def is_edited(draft: Draft) -> bool:
    """Whether somebody has changed what was generated, by whatever program."""
    return digest_content(getattr(draft, "content")) != draft.generated  # noqa: B009 - each kind has its own


def name_draft(skill: str, content: Any) -> str:
    """The id of a draft: the name of the skill that it is about, as far as it fits, and a hash of its content."""
    slug = re.sub(r"[^a-z0-9]+", "-", skill.lower()).strip("-")[:60].strip("-") or "draft"
    return f"{slug}-{digest_content(content)[:12]}"


def hash_skill(raw: bytes) -> str:
    """The hash of a SKILL.md that drafts remember."""
    return blake2b(raw, digest_size=16).hexdigest()


def split_family(family: str, seed: int, share: float = SEALED_SHARE) -> Literal["train", "test"]:
    """The split of a family of drafts by a hash of seed and name: `test`, which is sealed, in this share of them."""
    mark = blake2b(f"draft|{seed}|{family}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return "test" if int.from_bytes(mark, "big") / 2**64 < share else "train"


def write_json(record: Any) -> str:
    """A record as JSON in the order of its fields, for people: only what cannot be seen is escaped."""
    text = json.dumps(record_values(record), indent=2, ensure_ascii=False, allow_nan=False)
    return "".join(char if char == "\n" or char.isprintable() else _escaped(char) for char in text) + "\n"


def _escaped(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _folder_of(kind: type[Draft]) -> str:
    return str(getattr(kind, "FOLDER"))  # noqa: B009 - each kind has its own


def _read(path: str, kind: type[SomeDraft]) -> SomeDraft:
    try:
        raw = read_limited(path, _MOST_BYTES, links=False)
        if raw is None:
            raise UsageError(f"{clean(here(path))} is larger than {_MOST_BYTES >> 20} MiB, and no draft")
        draft = decode_record(raw, kind)
    except OSError as error:
        raise UsageError(f"{clean(here(path))} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise UsageError(f"{clean(here(path))} is no draft: {error}; correct it, or remove the file") from None
    if f"{draft.id}.json" != os.path.basename(path):
        raise UsageError(f"{clean(here(path))} holds the draft {draft.id}: name the file {draft.id}.json")
    return draft


def _write(path: str, draft: Draft) -> None:
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        replace_durably(path, write_json(draft).encode())
    except OSError as error:
        raise AbortedError(f"cannot write {here(path)}: {error.strerror or error}") from error


@contextmanager
def writing(root: str) -> Iterator[None]:
    """Hold the lock on the drafts of a collection. Raises UsageError if another process has it, or it is no folder."""
    folder = drafts_folder(root)
    _check_folder(folder)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise AbortedError(f"cannot write to {here(folder)}: {error.strerror or error}") from error
    with locked(folder):
        yield
