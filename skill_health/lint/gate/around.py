"""What is found in what skills ship in, in a state of a repository. Nothing is laid out: git answers all questions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from functools import cache
from tempfile import TemporaryDirectory

from skill_health.discovery.ignores import compile_patterns, ignored_within
from skill_health.discovery.listing import may_hold_skills
from skill_health.discovery.material import is_live
from skill_health.discovery.repository_files import is_repository_file
from skill_health.lint.check import CorpusFiles, check_repository
from skill_health.lint.gate.compare import PlacedFinding, marked_text
from skill_health.lint.gate.tree import Tree, TreeBoundary
from skill_health.lint.pipeline import LintSession
from skill_health.rules.repository._repository import Repository


class AroundGate:
    """The same for every state: where the root is below the top, and the settings, of a session.

    `inner` leads from the top of the repository to the root, with a closing slash.
    """

    def __init__(self, session: LintSession, top: str, inner: str, as_of: date) -> None:
        self.session, self.top, self.inner, self.as_of = session, top, inner, as_of

    def check(self, tree: Tree, earlier: Tree | None = None, changed: tuple[str, ...] = ()) -> list[PlacedFinding]:
        """What is found in a state. With an `earlier` one, and what differs since, also that this was not announced."""
        with self._context(tree) as context:
            if earlier is None:
                return self._check(self._repository(tree, context), context)
            inner = tuple(path[len(self.inner) :] for path in changed if path.startswith(self.inner))
            with self._context(earlier) as before:
                repository = self._repository(tree, context, self._repository(earlier, before), inner)
                return self._check(repository, context)

    def _check(self, repository: Repository, context: CorpusFiles) -> list[PlacedFinding]:
        found, _ = self.session.settle(check_repository(repository, context).findings, ())
        read = cache(lambda path: (context.small(path) or b"").decode("utf-8", "replace").split("\n"))
        return [marked_text(each, () if each.source else read(each.path)) for each in found]

    @contextmanager
    def _context(self, tree: Tree) -> Iterator[CorpusFiles]:
        """What answers for a state: the folder is empty, so that whatever is asked about is looked up in the tree."""
        session = self.session
        with TemporaryDirectory(prefix="skill-health-") as folder:
            base = os.path.join(os.path.realpath(folder), os.path.basename(self.top) or "root")
            place = os.path.normpath(os.path.join(base, self.inner))
            os.makedirs(os.path.join(base, ".git"))
            os.makedirs(place, exist_ok=True)
            yield CorpusFiles(place, session.config, session.registries, self.as_of, TreeBoundary(place, tree))

    def _repository(
        self, tree: Tree, context: CorpusFiles, earlier: Repository | None = None, changed: tuple[str, ...] = ()
    ) -> Repository:
        exclude, include = compile_patterns(context.config.exclude), compile_patterns(context.config.include)

        @cache
        def is_searched(folder: str) -> bool:
            return not folder or (may_hold_skills(folder.rpartition("/")[2]) and is_searched(folder.rpartition("/")[0]))

        @cache
        def is_owned(folder: str) -> bool:
            return folder in tree.skills or (bool(folder) and is_owned(folder.rpartition("/")[0]))

        def is_kept(path: str) -> bool:
            inner = path[len(self.inner) :]
            if not path.startswith(self.inner) or not is_searched(inner.rpartition("/")[0]):
                return False
            return is_live(inner, (), include) and not (exclude and ignored_within((exclude,), inner, False))

        files = sorted(
            path[len(self.inner) :]
            for path, file in tree.files.items()
            if not file.is_link
            and not file.is_module
            and is_repository_file(path, is_owned(path.rpartition("/")[0]))
            and is_kept(path)
        )
        folders = sorted(folder[len(self.inner) :] for folder, path in tree.skills.items() if is_kept(path))
        return Repository(tuple(files), tuple(folders), context, earlier, changed)
