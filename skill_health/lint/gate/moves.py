"""Which skills and files only have another path than before, so that what was found in them is not new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from skill_health.core.git import blob_id
from skill_health.lint.gate.tree import FileChange, Tree

_ALIKE = 0.5
_MOST_PAIRS = 40_000


class Moves(NamedTuple):
    """Folders of skills and single files: the path that each had, and the one that it has now."""

    folders: Mapping[str, str]
    files: Mapping[str, str]

    def follow(self, path: str) -> str:
        """Where a path of before is now."""
        if path in self.files:
            return self.files[path]
        above = path
        while above := above.rpartition("/")[0]:
            if above in self.folders:
                return self.folders[above] + path[len(above) :]
        return path

    def reword(self, text: str) -> str:
        """A text in which the paths of what has moved are those of today."""
        for old in sorted([*self.folders, *self.files], key=len, reverse=True):
            if old in text:
                text = text.replace(old, self.folders.get(old) or self.files[old])
        return text


def find_moves(old: Tree, new: Tree, changes: Sequence[FileChange]) -> Moves:
    """Pair what is gone with what has come: files of the same content, and skills that have most in common."""
    gone = {change.path: change.old for change in changes if change.new is None and change.old}
    come = {change.path: change.new for change in changes if change.old is None and change.new}
    if not gone or not come:
        return Moves({}, {})
    left = {folder: path for folder, path in old.skills.items() if path in gone}
    arrived = {folder: path for folder, path in new.skills.items() if path in come}
    lines = _lines(old, left.values()), _lines(new, arrived.values())
    scores: list[tuple[float, str, str]] = []
    if len(left) * len(arrived) <= _MOST_PAIRS:
        for before in left:
            for after in arrived:
                score = _likeness(lines[0][left[before]], lines[1][arrived[after]])
                if score >= _ALIKE:
                    scores.append((score + (before.rpartition("/")[2] == after.rpartition("/")[2]), before, after))
    folders: dict[str, str] = {}
    for _, before, after in sorted(scores, key=lambda each: (-each[0], *each[1:])):
        if before not in folders and after not in folders.values():
            folders[before] = after
    like = next(iter(gone.values())).oid
    unknown = dict(new.read_all(path for path, file in come.items() if not file.oid))
    same: dict[bytes, list[str]] = {}
    for path, file in sorted(come.items()):
        same.setdefault(file.oid or blob_id(like, unknown[path] or b""), []).append(path)
    moves = Moves(folders, {})
    files: dict[str, str] = {}
    for path, file in sorted(gone.items()):
        if moves.follow(path) not in come and (found := same.get(file.oid)):
            name = path.rpartition("/")[2]
            files[path] = min(found, key=lambda other: (other.rpartition("/")[2] != name, other))
    return Moves(folders, files)


def _lines(tree: Tree, paths: Iterable[str]) -> dict[str, Counter[bytes]]:
    return {
        path: Counter(filter(None, map(bytes.strip, (data or b"").split(b"\n")))) for path, data in tree.read_all(paths)
    }


def _likeness(one: Counter[bytes], other: Counter[bytes]) -> float:
    """The share of the lines of both that they have in common."""
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 1.0
