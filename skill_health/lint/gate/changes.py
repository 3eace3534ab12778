"""What has changed: what is staged since the commit before, or the work tree since it left a revision."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from functools import cached_property

from skill_health.config.load import holds_settings
from skill_health.core.boundary import git_top
from skill_health.core.errors import UsageError
from skill_health.core.files import read_small
from skill_health.core.git import GitRepository, StoredFile, open_repository
from skill_health.discovery.changes import list_changes
from skill_health.lint.gate.tree import ON_DISK, FileChange, Tree

_FILE, _PROGRAM, _LINK = b"100644", b"100755", b"120000"


class ChangeSet:
    """What a later state has otherwise than each of the earlier ones that it follows.

    `since` says in words what these are. Of a merge there are several, and what stood in one of them is not new.
    `is_staged` tells a commit that is being made from a work tree.
    """

    def __init__(
        self, repository: GitRepository, every: Sequence[Sequence[FileChange]], since: str, tree: Tree | None = None
    ) -> None:
        self.repository, self.every, self.since, self._tree = repository, every, since, tree
        self.is_staged = tree is None

    @cached_property
    def tree(self) -> Tree:
        """The later state."""
        return self._tree or Tree(self.repository, self.repository.list_index())

    def list_roots(self, root: str) -> list[str]:
        """A root and the folders below it with settings of their own in which anything has changed."""
        folders = {os.path.dirname(change.path) for changes in self.every for change in changes}
        found = {root}
        for folder in folders:
            place = os.path.normpath(os.path.join(self.repository.top, folder))
            while place.startswith(root.rstrip(os.sep) + os.sep):
                if holds_settings(place):
                    found.add(place)
                    break
                place = os.path.dirname(place)
        return sorted(found)


def read_staged(folder: str) -> ChangeSet | None:
    """What is staged since the last commit; None where nothing is, and no commit is being made.

    Raises UsageError outside a git repository, and where git fails.
    """
    repository = _open(folder)
    head = repository.find_head()
    changes = _staged(repository, head)
    # Git says in a hook which index will be committed; it may hold nothing but another message.
    if not changes and not os.environ.get("GIT_INDEX_FILE"):
        return None
    merged = [commit for name in _merge_heads(repository) if (commit := repository.find_commit(name))]
    every = [changes, *(_staged(repository, commit) for commit in merged)]
    since = "both sides of the merge" if merged else "the last commit"
    return ChangeSet(repository, every, since if head else "nothing")


def read_since(folder: str, revision: str) -> ChangeSet:
    """The work tree since the commit where it left a revision. Raises UsageError where there is no such commit."""
    repository = _open(folder)
    try:
        commit = repository.resolve_commit(revision)
    except UsageError as error:
        shallow = repository.run("rev-parse", "--is-shallow-repository").output.strip() == b"true"
        hint = ", and this clone is shallow: fetch more of it (in a workflow: fetch-depth: 0)" if shallow else ""
        raise UsageError(f"{error}{hint}") from None
    head = repository.find_head()
    left = repository.ask("merge-base", commit, head, missing=1).decode("ascii").strip() if head else ""
    files = repository.list_tree(left or commit)
    changes = list(_on_disk(repository, files, left or commit))
    return ChangeSet(repository, [changes], revision, Tree(repository, files).changed(changes))


def _open(folder: str) -> GitRepository:
    top = git_top(folder)
    if top is None:
        raise UsageError(f"{folder} is in no git repository: there is no earlier state to compare with")
    return open_repository(top)


def _staged(repository: GitRepository, commit: str) -> list[FileChange]:
    """What is staged against a commit ("": against nothing)."""
    if commit:
        return [FileChange(*each) for each in repository.list_staged(commit)]
    return [FileChange(path, None, file) for path, file in repository.list_index().items()]


def _merge_heads(repository: GitRepository) -> Iterator[str]:
    """The commits that are being merged into the current one."""
    data = read_small(os.path.join(repository.folder, "MERGE_HEAD")) or b""
    yield from data.decode("ascii", "replace").split()


def _on_disk(repository: GitRepository, base: dict[str, StoredFile], commit: str) -> Iterator[FileChange]:
    """What the work tree, untracked files included, has otherwise than a commit with these files."""
    changed = set()
    for path in list_changes(repository, commit):
        try:
            mode = os.lstat(os.path.join(repository.top, path)).st_mode
        except (FileNotFoundError, NotADirectoryError):
            mode = 0
        except OSError as error:
            raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
        kept = stat.S_ISREG(mode) or stat.S_ISLNK(mode)
        plain = _PROGRAM if mode & stat.S_IXUSR and os.name != "nt" else _FILE
        new = StoredFile(_LINK if stat.S_ISLNK(mode) else plain, ON_DISK) if kept else None
        changed.add(path)
        if new is not None or path in base:
            yield FileChange(path, base.get(path), new)
    for path, file in base.items():
        if file.is_executable and path not in changed and os.name != "nt" and _lost_mode(repository.top, path):
            yield FileChange(path, file, StoredFile(_FILE, file.oid))


def _lost_mode(top: str, path: str) -> bool:
    try:
        mode = os.lstat(os.path.join(top, path)).st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) and not mode & 0o111
