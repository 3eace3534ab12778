"""What is open in an editor -> what is found in it, by the engine and the cache of `lint`.

Texts that are not saved are laid over the files on disk. What is known of a collection, but not of its texts, is kept
until something on disk may have changed (`forget`).
"""

from __future__ import annotations

import gc
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import date
from typing import NamedTuple

from skill_health.config.settings import Config
from skill_health.core.boundary import Boundary
from skill_health.core.errors import SkillHealthError
from skill_health.core.files import is_there, read_small
from skill_health.discovery.corpus import Discovery, Entry, discover
from skill_health.discovery.roots import is_certain, relative
from skill_health.lint.baseline import drop_known, read_known
from skill_health.lint.check import load_skill
from skill_health.lint.fixing.add_ignore import can_ignore, ignore_edits
from skill_health.lint.fixing.fixes import SkillFixer
from skill_health.lint.named import checkable
from skill_health.lint.overlay import Overlay, discover_around, entry_at, owner_of, place_texts, root_around
from skill_health.lint.pipeline import configure, run
from skill_health.lint.readable import read_entry
from skill_health.rules._api import Edit, Finding
from skill_health.skill.decode import decode
from skill_health.skill.model import Skill


class EditorCollection(NamedTuple):
    """The skills around open files as they are on disk, and their settings."""

    root: str
    config: Config
    discovery: Discovery


class OpenFile(NamedTuple):
    """An open file (its real absolute path) of a skill, as of the last check.

    The findings of its entry are about `folder`, relative to the root, and for a copy of it about `own_folder`.
    """

    path: str
    collection: EditorCollection
    entry: Entry
    texts: Mapping[str, bytes]
    findings: tuple[Finding, ...]
    own_folder: str

    def boundary(self) -> Boundary:
        """What is in the files, with the open texts."""
        return Overlay(self.collection.root, self.texts)

    def skill(self) -> tuple[Skill, bytes]:
        """The skill and the bytes of its SKILL.md."""
        data, problem = read_entry(self.boundary(), self.entry)
        return load_skill(self.entry, data, problem), data

    def place(self, inner: str) -> str:
        """The absolute path of what a finding of the entry is about, in this copy of it."""
        return os.path.realpath(os.path.join(self.collection.root, self._own(inner)))

    def _own(self, inner: str) -> str:
        folder = self.entry.folder
        if self.own_folder != folder and (inner == self.entry.path or inner.startswith(folder + "/")):
            return f"{self.own_folder}/{inner[len(folder) :].lstrip('/')}".lstrip("/")
        return inner


class EditorSession:
    """The open files of an editor that belong to skills or registries, and what was found in them last."""

    def __init__(self) -> None:
        self.files: dict[str, OpenFile] = {}
        self.problems: tuple[str, ...] = ()
        self._roots: dict[str, str] = {}
        self._collections: dict[tuple[str, ...], EditorCollection] = {}

    def forget(self) -> None:
        """Look at the disk anew: settings, skills and files may have changed."""
        self._roots.clear()
        self._collections.clear()

    def check(self, texts: Mapping[str, str]) -> dict[str, tuple[Finding, ...]]:
        """The findings of each of these files (their real absolute paths), with their texts as they are now.

        What keeps a collection from being checked is a line in `problems`, and its files have no findings.
        """
        groups: defaultdict[str, list[str]] = defaultdict(list)
        problems: list[str] = []
        self.files = {}
        for path in sorted(texts):
            try:
                groups[self._root(path)].append(path)
            except (SkillHealthError, OSError, ValueError) as error:
                problems.append(str(error))
        for root, paths in groups.items():
            try:
                for file in self._check(root, paths, texts):
                    self.files[file.path] = file
            except (SkillHealthError, OSError) as error:
                problems.append(str(error))
        # A check leaves the collector off, as it is made for runs that end.
        gc.enable()
        self.problems = tuple(dict.fromkeys(problems))
        return {path: self.files[path].findings if path in self.files else () for path in texts}

    def _root(self, path: str) -> str:
        if path not in self._roots:
            self._roots[path] = root_around(path)
        return self._roots[path]

    def _collection(self, root: str, paths: list[str]) -> EditorCollection:
        certain = is_certain(root)
        key = (root,) if certain else (root, *paths)
        if key not in self._collections:
            root, config = configure((root,), None, {})
            there = [path for path in paths if is_there(path, links=False)]
            if certain:
                discovery = discover((root,), config, root)
            else:
                discovery = discover(there, config, root) if there else discover_around(paths[0], config, root)
            self._collections[key] = EditorCollection(root, config, discovery)
        return self._collections[key]

    def _check(self, root: str, paths: list[str], texts: Mapping[str, str]) -> Iterator[OpenFile]:
        collection = self._collection(root, paths)
        root, config = collection.root, collection.config
        unsaved = {path: as_bytes(texts[path]) for path in paths if not is_saved_text(path, texts[path])}
        discovery = place_texts(collection.discovery, unsaved)
        owners, loose = {}, []
        for path in paths:
            if is_there(path, links=False) and not checkable((path,), root, config, force_exclude=True):
                continue
            if (found := _owner(discovery, path, root)) is not None:
                owners[path] = found
            elif inner := relative(path, root):
                loose.append(inner)
        wanted = {entry.path for entry, _ in owners.values()}
        entries = tuple(entry._replace(target=entry.path in wanted) for entry in discovery.entries)
        boundary = Overlay(root, unsaved) if unsaved else None
        placed = collection._replace(discovery=discovery._replace(entries=entries))
        if not wanted and not loose:
            return
        result = run(placed.discovery, config, date.today(), 1, paths=loose, boundary=boundary)
        left = drop_known(result.findings, read_known(root, config))
        for path in paths:
            inner = relative(path, root) or ""
            entry, folder = owners.get(path, (Entry(inner), os.path.dirname(inner)))
            file = OpenFile(path, placed, entry, unsaved, (), folder)
            yield file._replace(findings=tuple(f for f in left if f.path and _is_about(f, file)))


def _is_about(finding: Finding, file: OpenFile) -> bool:
    if os.path.basename(finding.path) != os.path.basename(file.path):
        return False
    return file.place(finding.path) == os.path.realpath(file.path)


def _owner(discovery: Discovery, path: str, root: str) -> tuple[Entry, str] | None:
    """The skill that stands for the one a file is in, and the folder of that, relative to the root."""
    inner = relative(path, root)
    if inner is None:
        return None
    if (entry := entry_at(discovery, path)) is not None:
        return entry, entry.folder
    for entry in discovery.entries:
        for copy in entry.copies:
            folder = os.path.dirname(copy)
            if inner == copy or (folder and inner.startswith(folder + "/")):
                return entry, folder
    entry = owner_of(discovery, inner)
    return (entry, entry.folder) if entry else None


def as_bytes(text: str) -> bytes:
    """A text as it would be saved; what no file can hold is not valid UTF-8 then either."""
    return text.encode("utf-8", "surrogatepass")


def is_saved_text(path: str, text: str) -> bool:
    """Whether this is the text of a file on disk, whatever of its encoding and its line ends an editor hides."""
    data = read_small(path)
    if data is None:
        return False
    return data == as_bytes(text) or decode(data)[0] == decode(as_bytes(text))[0]


def list_fixes(file: OpenFile) -> list[Finding]:
    """The findings of a file that have a fix, with it; safe ones and others."""
    found = SkillFixer(file.boundary(), file.collection.config, unsafe=True).find(file.entry)
    return [finding for finding in found if _is_about(finding, file)]


def fix_all(file: OpenFile) -> bytes | None:
    """The file with all safe fixes, as `lint --fix` makes them; None where nothing changes."""
    plan = SkillFixer(file.boundary(), file.collection.config).plan([file.entry])
    return next(
        (new for path, (_, new) in plan.changes.items() if file.place(path) == os.path.realpath(file.path)), None
    )


def ignore_here(file: OpenFile, finding: Finding) -> list[Edit]:
    """The comment that silences a finding of an open SKILL.md; [] where none can."""
    if not can_ignore(finding, file.entry.path):
        return []
    skill, data = file.skill()
    return ignore_edits(skill, data, [finding])
