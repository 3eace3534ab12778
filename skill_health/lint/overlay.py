"""Texts that are not saved, laid over the files on disk: those of an editor, of standard input, of planned fixes.

What is asked about a file is answered as if its text were saved; nothing is written.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from skill_health.config.settings import Config
from skill_health.core.boundary import INSIDE, MISSING, Boundary, upward
from skill_health.core.files import MAX_BYTES, is_there, read_limited
from skill_health.discovery.corpus import MAX_FILES, Discovery, Entry, discover
from skill_health.discovery.listing import has_skill, is_skill_name, list_folder, may_hold_skills, skill_name
from skill_health.discovery.roots import find_root, is_certain, relative, skill_above

_DEEP = 100


class Overlay(Boundary):
    """The border of a repository in which some files have another text than on disk, or are not there yet.

    `texts` has them by their real absolute paths. A path that leads out of the repository stays outside.
    """

    def __init__(self, root: str, texts: Mapping[str, bytes]) -> None:
        super().__init__(root)
        self.texts = texts
        self._above = {above for path in texts for above in upward(os.path.dirname(path))}
        self._found: dict[str, str] = {}

    def find(self, path: str) -> str:
        """As on disk; a file whose text is given is there, and so are the folders above it."""
        found = super().find(path)
        if found != MISSING:
            return found
        return INSIDE if self.unsaved(path) is not None or self._place(path) in self._above else MISSING

    def read(self, path: str, most: int = MAX_BYTES) -> bytes | None:
        """As on disk, or the text that is given."""
        text = self.unsaved(path)
        if text is None or self.leads_out(path):
            return super().read(path, most)
        return text if len(text) <= most else None

    def read_skill(self, path: str) -> tuple[bytes, str]:
        """As on disk, or the text that is given."""
        text = self.unsaved(path)
        return super().read_skill(path) if text is None else (text[: MAX_BYTES + 1], "")

    def unsaved(self, path: str) -> bytes | None:
        """The text that is given for a file, by its own path or through a link; None where none is."""
        place = self._place(path)
        return self.texts.get(place if place in self.texts else self._real(place))

    def _real(self, place: str) -> str:
        """A path without links. Most files are beside others, so what is learnt of folders is remembered."""
        if place not in self._found:
            above, name = os.path.split(place)
            if not name or place.count(os.sep) > _DEEP or os.path.islink(place):
                self._found[place] = os.path.realpath(place)
            else:
                self._found[place] = os.path.join(self._real(above), name)
        return self._found[place]


def place_texts(discovery: Discovery, texts: Iterable[str]) -> Discovery:
    """The skills as they are with these files (real absolute paths) as well; their skills are among those asked for.

    A copy of another skill that is changed is a skill of its own.
    """
    for path in sorted(texts):
        inner = relative(path, discovery.root)
        if inner is not None:
            discovery = discovery._replace(entries=_with_file(discovery, path, inner))
    return discovery


def _with_file(discovery: Discovery, path: str, inner: str) -> tuple[Entry, ...]:
    entries = {entry.path: entry for entry in discovery.entries}
    if (same := entry_at(discovery, path)) is not None:
        entries[same.path] = same._replace(target=True, problem="")
    elif origin := next((entry for entry in discovery.entries if inner in entry.copies), None):
        left = tuple(copy for copy in origin.copies if copy != inner)
        entries[origin.path] = origin._replace(copies=left, target=False)
        entries[inner] = origin._replace(path=inner, copies=(), target=True)
    elif is_skill_name(os.path.basename(inner)):
        entries[inner] = _new_entry(discovery, inner)
    elif owner := owner_of(discovery, inner):
        name = inner[len(owner.folder) + 1 :] if owner.folder else inner
        files = owner.files if name in owner.files else tuple(sorted((*owner.files, name)))
        entries[owner.path] = owner._replace(files=files, target=True)
    return tuple(entries[path] for path in sorted(entries))


def entry_at(discovery: Discovery, path: str) -> Entry | None:
    """The skill whose SKILL.md is the file at this real absolute path, by its own path or through a link."""
    inner = relative(path, discovery.root)
    name = os.path.basename(path)
    for entry in discovery.entries:
        if entry.path == inner:
            return entry
    for entry in discovery.entries:
        if entry.file_name == name and os.path.realpath(os.path.join(discovery.root, entry.path)) == path:
            return entry
    return None


def owner_of(discovery: Discovery, inner: str) -> Entry | None:
    """The innermost skill whose folder has a path in it, relative to the root."""
    above = (entry for entry in discovery.entries if not entry.folder or inner.startswith(entry.folder + "/"))
    return max(above, key=lambda entry: len(entry.folder), default=None)


def _new_entry(discovery: Discovery, inner: str) -> Entry:
    """A skill whose SKILL.md is not there yet, with the other files of its folder."""
    boundary = Boundary(discovery.root)
    own = os.path.dirname(inner)
    files: list[str] = []
    outside: list[str] = []
    waiting = [""]
    while waiting and len(files) <= MAX_FILES:
        prefix = waiting.pop()
        try:
            listing = list_folder(os.path.join(discovery.root, own, prefix), MAX_FILES, boundary)
        except OSError:
            continue
        if prefix and skill_name(listing):
            continue
        files += [prefix + name for name in listing.files]
        outside += [prefix + name for name in listing.outside]
        waiting += [f"{prefix}{name}/" for name in listing.folders if may_hold_skills(name)]
    name = os.path.basename(discovery.root)
    return Entry(inner, name, tuple(sorted(files)[:MAX_FILES]), outside=tuple(sorted(outside)))


def root_around(path: str) -> str:
    """The root of the collection that a file belongs to, which may not be there yet."""
    if is_there(path, links=False):
        return find_root((path,))
    folder = os.path.dirname(path)
    root = find_root((next(above for above in upward(folder) if os.path.isdir(above)),))
    if root == folder and is_skill_name(os.path.basename(path)) and not is_certain(root):
        # It would be a guess, and with the skill another one.
        return root if root == os.path.realpath(os.curdir) else os.path.dirname(root)
    return root


def discover_around(path: str, config: Config, root: str) -> Discovery:
    """The collection around a file, its skill alone asked for; the file may not be there yet."""
    if is_there(path, links=False):
        return discover((path,), config, root)
    if not is_skill_name(os.path.basename(path)):
        owner = skill_above(os.path.dirname(path), root)
        return discover((owner,), config, root) if owner else Discovery(root)
    if is_certain(root):
        found = discover((root,), config, root)
    elif os.path.dirname(path) == root:
        # What stands beside a skill that is the root is no part of its collection.
        found = Discovery(root)
    else:
        above = os.path.dirname(os.path.dirname(path))
        try:
            beside = sorted(each.path for each in os.scandir(above) if each.is_dir() and has_skill(each.path))
        except OSError:
            beside = []
        found = discover(beside, config, root) if beside else Discovery(root)
    return found._replace(entries=tuple(entry._replace(target=False) for entry in found.entries))


def is_saved(path: str, text: bytes) -> bool:
    """Whether this is what the file has on disk."""
    try:
        return read_limited(path, len(text)) == text
    except OSError:
        return False
