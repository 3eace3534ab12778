"""The findings that a change makes: in what it touches, and wherever else it breaks something.

Only skills that the change can matter to are checked, in both states and with the configuration of today: those it
touches, and those that mention what is gone. Nothing is looked at where nothing of ours has changed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date
from functools import cache, cached_property
from itertools import pairwise
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from skill_health.config.settings import Config
from skill_health.core.boundary import git_top, upward
from skill_health.core.files import is_there, read_small
from skill_health.discovery.corpus import Discovery, Entry, discover
from skill_health.discovery.globs import glob_matcher
from skill_health.discovery.listing import is_skill_name, may_hold_skills
from skill_health.discovery.repository_files import is_repository_file
from skill_health.discovery.roots import skill_above
from skill_health.lint.cache.lint_cache import NOTHING, LintCache
from skill_health.lint.cache.session_skills import KnownFacts, SessionSkills
from skill_health.lint.gate.changes import ChangeSet
from skill_health.lint.gate.compare import PlacedFinding, is_broken_reference, list_new, marked_text, mentions
from skill_health.lint.gate.moves import Moves, find_moves
from skill_health.lint.gate.tree import FileChange, Tree, TreeBoundary
from skill_health.lint.pipeline import LintSession, named, place, with_layout
from skill_health.lint.report import BASELINE
from skill_health.registries.records import Registries, load_registries
from skill_health.registries.sources import KINDS
from skill_health.rules._api import Corpus, Finding, Severity
from skill_health.text.patterns import lazy

_TEXTS = (".md", ".mdx", ".markdown")
_MOST_ROUNDS = 3
# Of two skills of one name hosts load one, or neither.
_SAME_NAME = "duplicate-name"
_NAME = lazy(rb"(?m)^name:[ \t]*[\"']?([^\s\"'#][^\n\"'#]*?)[\"']?[ \t\r]*$")
_ANCHOR = lazy(rb"(?:^ {0,3}#|\b(?:id|name)=)")
_PLACEHOLDER = lazy(r"\{\w+\}")
_UNDERLINE = lazy(rb" {0,3}(?:=+|-+)\s*")


class GateResult(NamedTuple):
    """What is new, each with what caused it ("" where that is the line itself), and how much is not.

    `entries` are the skills that were looked at, `since` says what they were compared with, `hidden` counts what is new
    but less severe than what was asked for.
    """

    since: str
    new: tuple[tuple[Finding, str], ...] = ()
    older: int = 0
    baselined: int = 0
    entries: tuple[Entry, ...] = ()
    hidden: int = 0


class Gate:
    """What is common to all states: where, by which settings, as of when, and how the skills are checked.

    `inner` leads from the top of the repository to the root, with a closing slash.
    """

    def __init__(self, root: str, config: Config, as_of: date, jobs: int = 0, use_cache: bool = True) -> None:
        self.root, self.as_of, self.jobs, self.use_cache = root, as_of, jobs, use_cache
        self.config = with_layout(config, root)
        self.top = top = git_top(root) or root
        self.inner = "" if root == top else os.path.relpath(root, top).replace(os.sep, "/") + "/"

    def judge(self, changes: ChangeSet) -> GateResult:
        """What is new in the collection. Raises UsageError where git fails."""
        # Since a revision whatever a plugin holds may matter to its version.
        if changes.is_staged and not all(any(map(self._may_matter, each)) for each in changes.every):
            return GateResult(changes.since)
        with closing(_Comparison(self, changes.tree, changes.every, changes.is_staged)) as comparison:
            return comparison.result(changes.since)

    def judge_back(self, changes: ChangeSet) -> GateResult:
        """What the change takes away: findings of the earlier state without a partner in the later one.

        Of a merge it is the first of the earlier states. Raises UsageError, as `judge`.
        """
        backwards = [change.swapped() for change in changes.every[0]]
        earlier = changes.tree.changed(backwards)
        with closing(_Comparison(self, earlier, [backwards], staged=True, rated=False)) as comparison:
            return comparison.result(changes.since)

    def _may_matter(self, change: FileChange) -> bool:
        """Whether a change can be one of a skill, of a registry, or of something that a skill refers to."""
        path = change.path
        if change.is_module:
            return False
        if change.new is None or change.new.is_link or path.lower().endswith(_TEXTS):
            return True
        if not path.startswith(self.inner):
            return False
        if self.is_registry(path) or is_repository_file(path):
            return True
        place = os.path.join(self.root, path[len(self.inner) :])
        return skill_above(os.path.dirname(place), self.root) is not None

    def is_registry(self, path: str) -> bool:
        """Whether a path, relative to the top, is that of a registry, in the folder of a task, or for custom rules."""
        sources = self.config.sources
        globs = [glob for kind in KINDS for glob in getattr(sources, kind)]
        globs += [f"{folder}/**" for glob in sources.tasks if (folder := glob.rpartition("/")[0])]
        globs += self._asked
        inner = path[len(self.inner) :]
        return path.startswith(self.inner) and any(m(inner) for glob in globs if (m := glob_matcher(glob, True)))

    @cached_property
    def _asked(self) -> list[str]:
        """Globs of the files of the repository that custom rules look at."""
        rules = self.config.custom.rules
        return [_PLACEHOLDER.sub("*", path.lstrip("/")) for rule in rules for path in rule.repository_files]


class _State(NamedTuple):
    """What was found in one state, the skills that were looked at, their facts, and what was found between skills."""

    findings: list[PlacedFinding]
    entries: tuple[Entry, ...]
    facts: Mapping[str, Mapping[str, Any]] = {}
    between: tuple[Finding, ...] = ()


class _Comparison:
    """One later state, and what it has otherwise than each earlier one.

    Unless `rated`, what a change breaks is no worse than the same where it has long been so.
    """

    def __init__(
        self, gate: Gate, head: Tree, every: Sequence[Sequence[FileChange]], staged: bool, rated: bool = True
    ) -> None:
        self.gate, self.head, self.every, self.staged, self.rated = gate, head, every, staged, rated
        self.bases = [head.changed(change.swapped() for change in changes) for changes in every]
        self.moves = [find_moves(base, head, changes) for base, changes in zip(self.bases, every, strict=True)]
        self.whole = any(map(self._needs_all, (change for changes in every for change in changes)))
        self._only_edits = not self.whole and all(each.old and each.new for changes in every for each in changes)

    def close(self) -> None:
        """Let go of what was found."""
        if "_session" in self.__dict__:
            self._session.close()

    def result(self, since: str) -> GateResult:
        """Check what can have changed, and once more where a finding is about a skill that was not looked at."""
        folders = set() if self.whole else self._touched()
        result = GateResult(since)
        for _ in range(_MOST_ROUNDS):
            if not folders and not self.whole:
                break
            result, more = self._compare(folders, since)
            if more <= folders:
                break
            folders |= more
        return self._with_repository(result)

    def _with_repository(self, result: GateResult) -> GateResult:
        """The result with what is new in what the skills ship in, where the change can matter to that."""
        if not any(self._may_matter_around(change) for changes in self.every for change in changes):
            return result
        from skill_health.lint.gate.around import AroundGate

        around = AroundGate(self._session, self.gate.top, self.gate.inner, self.gate.as_of)
        kept: dict[str, Finding] | None = None
        older = 0
        for base, moves, changes in zip(self.bases, self.moves, self.every, strict=True):
            paths = tuple(change.path for change in changes)
            new = around.check(self.head) if self.staged else around.check(self.head, base, paths)
            new = self._without_known(new)
            worse = list_new(self._without_known(around.check(base)), new, moves) if new else []
            older += len(new) - len(worse)
            kept = {f.key: f for f in worse if kept is None or f.key in kept}
        found = [(each, self._cause(each)) for each in map(self._graded, (kept or {}).values())]
        every = sorted((*result.new, *found), key=lambda each: place(each[0]))
        return result._replace(new=tuple(every), older=result.older + older)

    def _may_matter_around(self, change: FileChange) -> bool:
        """Whether a change can be one of what skills ship in, or of what that names."""
        path = change.path
        if change.is_module or not path.startswith(self.gate.inner):
            return False
        if change.new is None or is_repository_file(path) or (change.old is None and is_skill_name(path[-8:])):
            return True
        moded = change.old is not None and change.old.is_executable and not change.new.is_executable
        # Any content of a plugin makes a version necessary.
        return moded or not self.staged

    def _needs_all(self, change: FileChange) -> bool:
        """Whether a change may matter to every skill: that of a registry, or of a link, which may lead to skills."""
        if self.gate.is_registry(change.path) or any(file and file.is_link for file in (change.old, change.new)):
            return True
        # A skill that is only found through a link has the path of the link.
        folders = change.path.removeprefix(self.gate.inner).split("/")[:-1]
        return not all(map(may_hold_skills, folders)) and bool(self.head.links)

    def _touched(self) -> set[str]:
        """The folders of the skills that differ from every earlier state, or mention what each of them had."""
        folders: set[str] | None = None
        for base, moves, changes in zip(self.bases, self.moves, self.every, strict=True):
            found = self._touched_since(base, moves, changes)
            folders = found if folders is None else folders & found
        return folders or set()

    def _touched_since(self, base: Tree, moves: Moves, changes: Sequence[FileChange]) -> set[str]:
        skills = {*base.skills, *self.head.skills}
        below: dict[str, list[str]] = {}
        for folder in skills:
            for above in upward(folder):
                below.setdefault(above, []).append(folder)
        found: set[str] = set()
        paths = {change.path for change in changes if not change.is_module}
        # A skill holds what a link in it leads to.
        ways = {way for path in paths for way in upward(path)} - {""}
        paths |= {link for link in self.head.links if self.head.resolve(link) in ways}
        for path in paths:
            owner = next((above for above in upward(path.rpartition("/")[0]) if above in skills), None)
            if owner is not None:
                found.update(above for above in upward(owner) if above in skills)
                found.update(below.get(owner, ()))
        # Copies stand for each other while they are the same.
        names = {folder.rpartition("/")[2] for folder in found}
        found |= {folder for folder in skills if folder.rpartition("/")[2] in names}
        terms = list(self.gone(base, changes))
        return found | self._mentioning([term for term, _ in terms], found) if terms else found

    def gone(self, base: Tree, changes: Sequence[FileChange]) -> Iterator[tuple[str, str]]:
        """What a text elsewhere may call something by that is there no longer, and the path that it had."""
        edited = [c.path for c in changes if c.old and c.new and c.path.lower().endswith(_TEXTS) and not c.is_module]
        before, after = dict(base.read_all(edited)), dict(self.head.read_all(edited))
        for path in edited:
            if _anchors(before[path] or b"") - _anchors(after[path] or b""):
                yield _seen_from_outside(path, base), path
        left = [c.path for c in changes if c.new is None and c.path in base.skills.values()]
        before.update(base.read_all(left))
        for path in (*edited, *left):
            name = _name_of(before[path]) if path in base.skills.values() else ""
            if name and name != _name_of(after.get(path)):
                yield name, path
        for change in changes:
            for path in upward(change.path) if change.new is None and not change.is_module else ():
                if path and path not in self.head.files and path not in self.head.folders:
                    yield _seen_from_outside(path, base), path

    def _mentioning(self, terms: Iterable[str], known: set[str]) -> set[str]:
        """The other skills in whose texts one of the terms stands, as it is or as in an address."""
        from urllib.parse import quote

        written = {form for term in terms for form in (term, quote(term)) if term}
        pattern = re.compile(b"|".join(re.escape(os.fsencode(term)) for term in sorted(written, key=len, reverse=True)))
        found = set()
        for entry in self._siblings:
            folder = self._inner(entry.folder)
            if folder not in known:
                texts = (entry.path, *(f"{entry.folder}/{name}".lstrip("/") for name in entry.files))
                paths = (path for path in texts if path.lower().endswith(_TEXTS))
                if any(pattern.search(read_small(os.path.join(self.gate.root, path)) or b"") for path in paths):
                    found.add(folder)
        return found

    @cached_property
    def _session(self) -> LintSession:
        """What is known of the skills on disk; only those that the change does not touch are taken from it."""
        discovery = discover((self.gate.root,), self.gate.config, self.gate.root)
        return LintSession(discovery, self.gate.config, self.gate.use_cache)

    @property
    def _siblings(self) -> Iterator[Entry]:
        """The skills on disk that are in the later state too."""
        for entry in self._session.discovery.entries:
            if self._inner(entry.path) in self.head.files or self._inner(entry.path).startswith(self.head.modules):
                yield entry

    def _inner(self, path: str) -> str:
        """A path relative to the root as one relative to the top."""
        return (self.gate.inner + path).rstrip("/")

    def _compare(self, folders: set[str], since: str) -> tuple[GateResult, set[str]]:
        entries = [e for e in self._siblings if not self.whole and self._inner(e.folder) not in folders]
        siblings = self._session.find_siblings(entries)
        with_facts = {each.path: self._session.facts_of_sibling(each, siblings, {}) for each in entries}
        state = self._check(self.head, folders, with_facts)
        left = self._without_known(state.findings)
        baselined, older = len(state.findings) - len(left), 0
        for base, moves in zip(self.bases, self.moves, strict=True):
            if not left:
                break
            between = {finding.code for finding in state.between}
            # A comment that silences nothing may silence one of these.
            needed = any(each.finding.code in between or each.finding.family == "ignores" for each in left)
            before = self._check(base, folders, with_facts if needed else None, state)
            worse = {id(finding) for finding in list_new(self._without_known(before.findings), left, moves)}
            older += sum(id(each.finding) not in worse for each in left)
            left = [each for each in left if id(each.finding) in worse]
        session = self._session
        if self.gate.use_cache and session.cache.lacks(NOTHING):
            known = SessionSkills({}, siblings)
            session.cache.save(known, NOTHING, NOTHING, self.gate.as_of, None, session.registries, session.rules)
        findings = [self._graded(each.finding) for each in left]
        more = {self._inner(f.skill.rpartition("/")[0]) for f in findings if f.skill}
        result = GateResult(since, tuple((f, self._cause(f)) for f in findings), older, baselined, state.entries)
        return result, more if not self.whole else set()

    def _without_known(self, placed: list[PlacedFinding]) -> list[PlacedFinding]:
        """The findings that the baseline does not know."""
        if not self.gate.config.baseline and not is_there(os.path.join(self.gate.root, BASELINE)):
            return placed
        from skill_health.lint.baseline import drop_known, read_known

        known = read_known(self.gate.root, self.gate.config)
        left = {id(each) for each in drop_known([each.finding for each in placed], known)}
        return [each for each in placed if id(each.finding) in left]

    def _check(
        self,
        tree: Tree,
        folders: set[str],
        siblings: Mapping[str, Mapping[str, Any]] | None,
        later: _State | None = None,
    ) -> _State:
        """What is found in the skills in these folders and, where the facts of the others are given, between skills.

        What was found between skills in the `later` state holds if nothing differs of what is looked at for it.
        """
        from skill_health.lint.check import CorpusFiles, SkillChecker, check_corpus, check_entries, summarize_facts

        gate = self.gate
        with TemporaryDirectory(prefix="skill-health-") as folder:
            # A skill in the root is called as its folder is.
            base = os.path.join(os.path.realpath(folder), os.path.basename(gate.top) or "root")
            place = os.path.normpath(os.path.join(base, gate.inner))
            os.makedirs(os.path.join(base, ".git"))
            os.makedirs(place, exist_ok=True)
            wanted = cache(lambda above: self._is_wanted(above, folders))
            tree.lay_out(base, lambda path: wanted(path.rpartition("/")[0]))
            found = discover((place,), gate.config, place).entries
            entries = tuple(e for e in found if self.whole or self._inner(e.folder) in folders)
            registries = load_registries(place, gate.config.sources) if self.whole else self._session.registries
            checker = SkillChecker(place, gate.config, registries, TreeBoundary(place, tree))
            with closing(LintCache(Discovery(place, entries))) as aside:
                checked = {p: aside.keep_skill(s) for p, s in check_entries(entries, checker, gate.jobs, aside)}
                own = {path: dict(KnownFacts(skill)) for path, skill in checked.items()}
            findings = [each for skill in checked.values() for each in skill.findings]
            between: tuple[Finding, ...] = ()
            if later is not None and siblings is not None and own == later.facts and self._only_edits:
                between = later.between
            elif siblings is not None:
                facts = dict(sorted({**siblings, **own}.items()))
                shown = None if self.whole else frozenset(checked).union(_paths_of(registries))
                corpus = Corpus(tuple(summarize_facts(path, known) for path, known in facts.items()), shown)
                context = CorpusFiles(place, gate.config, registries, gate.as_of, checker.boundary)
                between = check_corpus(corpus, context).findings
            comments = [each for skill in checked.values() for each in skill.ignores]
            settled, _ = self._session.settle([*findings, *between], comments)
            read = cache(lambda path: (checker.boundary.read_small(path) or b"").decode("utf-8", "replace").split("\n"))
            placed = [marked_text(each, () if each.source else read(each.path)) for each in settled]
            return _State(placed, entries, own, between)

    def _is_wanted(self, above: str, folders: set[str]) -> bool:
        """Whether the files in a folder are laid out."""
        if not f"{above}/".startswith(self.gate.inner):
            return False
        return self.whole or any(each in folders for each in upward(above))

    def _graded(self, finding: Finding) -> Finding:
        """What leads nowhere or has another's name since this change is an error, unless the configuration rates it."""
        config = self.gate.config
        breaks = is_broken_reference(finding) or finding.rule == _SAME_NAME
        if not self.rated or not breaks or finding.severity is Severity.INFO:
            return finding
        if not any(named(finding, (selector,)) for selector in config.severity):
            return finding._replace(severity=Severity.ERROR)
        return finding

    def _cause(self, finding: Finding) -> str:
        """What was changed elsewhere that a finding comes from, where that can be told."""
        said = f"{finding.message} {finding.source}"
        own = self._inner(finding.path)
        for base, moves, changes in zip(self.bases, self.moves, self.every, strict=True):
            for name, path in self.gone(base, changes):
                if path != own and any(mentions(said, each) for each in (name, path.rpartition("/")[2])):
                    now = moves.follow(path)
                    if now != path:
                        return f"{path} is now {now}"
                    return f"{path} is gone" if path not in self.head.files else f"{path} has changed"
            paths = {change.path: change for change in changes}
            if own not in paths:
                for other in map(self._inner, finding.also):
                    if other in paths:
                        return f"{other} {'has changed' if paths[other].old else 'is new'}"
        return ""


def _seen_from_outside(path: str, tree: Tree) -> str:
    """What every text has that refers to a path from outside its skill: the end of it, from the skill's folder on."""
    owner = next((above for above in upward(path) if above and above in tree.skills), "")
    return path[len(owner.rpartition("/")[0]) :].lstrip("/") if owner else path.rpartition("/")[2]


def _anchors(data: bytes) -> set[bytes]:
    """The lines of a text that something can link to."""
    lines = data.split(b"\n")
    under = {line for line, below in pairwise(lines) if _UNDERLINE.fullmatch(below)}
    return under | {line for line in lines if _ANCHOR.search(line)}


def _name_of(data: bytes | None) -> str:
    found = _NAME.search(data or b"")
    return found[1].decode("utf-8", "replace") if found else ""


def _paths_of(registries: Registries) -> set[str]:
    """The files that records stand in."""
    kinds = (registries.claims, registries.mechanisms, registries.activation, registries.prompts, registries.tasks)
    return {record.path for records in (*kinds, registries.bad) for record in records or ()}
