"""A persistent cache of what was found in each skill: one file per collection, rule set and configuration.

A file is replaced as a whole, so concurrent runs never see half of one. A record is used only if its digest is right,
its types are, and its key, which covers every input, still matches. Whether an input is unchanged is judged as git
judges it: by size, times and inode, unless the file is too young for its times to tell.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from skill_health import __version__
from skill_health.config.settings import Config, Daily, config_digest
from skill_health.core.boundary import Boundary
from skill_health.core.files import MAX_BYTES, blake2b, is_there, read_limited
from skill_health.discovery.corpus import Discovery, Entry
from skill_health.lint.cache.cache_file import CacheFile, CacheWriter
from skill_health.lint.cache.cache_folder import name_of, write_cached
from skill_health.lint.cache.records import (
    CorpusFindings,
    SkillFindings,
    SkillLines,
    SkillState,
    decoded,
    encoded,
    pack,
    pack_ignore,
    read_record,
    read_state,
    read_summary,
    unpack,
    unpack_found,
)
from skill_health.lint.cache.session_skills import PackedSkill, SessionSkill, SessionSkills
from skill_health.lint.cache.spool import Spool
from skill_health.lint.readable import read_entry
from skill_health.registries.sources import digest as sources_digest
from skill_health.registries.sources import read_sources
from skill_health.rules._api import Finding

if TYPE_CHECKING:
    from skill_health.lint.check import CheckedCorpus, CheckedSkill
    from skill_health.registries.records import Registries

# A file younger than this when it was read may change again without a change of its times: FAT counts in two seconds.
SETTLED_NS = 2 * 10**9
_MOST_CORPORA = 16
_MOST_STATES = 4_096


class StoredCorpus:
    """A `CheckedCorpus` as the cache holds it."""

    def __init__(self, record: CorpusFindings) -> None:
        self.record = record

    @property
    def findings(self) -> list[Finding]:
        """The findings of the collection-wide rules."""
        return [unpack(values) for values in self.record.findings]


NOTHING = StoredCorpus(CorpusFindings("", 0, "", [], {}))
"""What stands for findings that nobody asked for."""


class LintCache:
    """What is stored of one collection, under one rule set and configuration; one without a name is empty.

    It also keeps what this run finds, saved or not. `paranoid` trusts the state of no file and reads them all.
    """

    def __init__(
        self,
        discovery: Discovery,
        name: str = "",
        base: str = "",
        paranoid: bool = False,
        boundary: Boundary | None = None,
    ) -> None:
        self.discovery, self.name, self.base, self.paranoid = discovery, name, base, paranoid
        self.boundary = boundary or Boundary(discovery.root)
        # Whatever changes after this moment is too young for its times to tell.
        self.taken = time.time_ns()
        self.file = CacheFile(name)
        self.spool = Spool()
        self._states: dict[str, tuple[str, int]] = {}
        self._changed = False

    @classmethod
    def open(
        cls, discovery: Discovery, config: Config, paranoid: bool = False, boundary: Boundary | None = None
    ) -> LintCache:
        """The cache of a collection under this rule set and configuration."""
        base = digest_of(__version__, rules_stamp(), *settings_of(discovery.root, config))
        return cls(discovery, name_of(digest_of(discovery.root), base), base, paranoid, boundary)

    def close(self) -> None:
        """Let go of the files: what this run knows can no longer be read."""
        self.file.close()
        self.spool.close()

    def find_skill(self, entry: Entry) -> SessionSkill | None:
        """What is stored of a skill, if every input still is what it was."""
        file, stored = self._stored(entry.path)
        state, line = self._current(entry, stored)
        lines = file.lines(entry.path, state) if state is not None and state.record else None
        record = read_record(lines.record) if lines and read_summary(lines.summary) else None
        if state is None or lines is None or record is None or record.key != self.key(entry, state.content):
            return None
        files = _files_of(record.inputs)
        known = SessionSkill(line, file, *unpack_found(record))
        if self._unchanged(files, record.taken, record.states):
            return known
        if not self._hold(record.inputs):
            return None
        if self.name and self._is_settled(files, self.taken):
            self._changed = True
            record = record._replace(taken=self.taken, states=self._states_of(files))
            lines = lines._replace(record=encoded(record))
            known.line, known.source = self._put_aside(placed(state, entry.path, lines), b"".join(lines)), self.spool
        return known

    def find_sibling(self, entry: Entry) -> SessionSkill | None:
        """What is stored of a skill that was not asked for, if its SKILL.md still is what it was."""
        file, stored = self._stored(entry.path)
        state, line = self._current(entry, stored)
        return None if state is None or not state.summary else SessionSkill(line, file)

    def _stored(self, path: str) -> tuple[CacheFile, bytes]:
        """The file that may know of a skill, and what it says of its state; b"" for nothing."""
        return self.file, self.file.skills.get(encoded(path), b"") if self.file.skills else b""

    def _current(self, entry: Entry, line: bytes) -> tuple[SkillState | None, bytes]:
        """Where the lines of a skill are, if its SKILL.md, read only where its state does not tell, is what it was.

        The state comes with the line that says so.
        """
        known = read_state(line) if line else None
        if known is None or (entry.problem and entry.problem != known.content):
            return None, b""
        if entry.problem or self._unchanged((entry.path,), known.taken, known.state):
            return known, line
        if content_digest(*read_entry(self.boundary, entry)) != known.content:
            return None, b""
        if self.name and self._is_settled((entry.path,), self.taken):
            self._changed = True
            known = known._replace(taken=self.taken, state=self._states_of((entry.path,)))
            line = encoded(known)
        return known, line

    def pack_skill(self, entry: Entry, skill: CheckedSkill) -> PackedSkill:
        """A skill that was checked, as this run keeps it and the next one finds it."""
        found = tuple(f._replace(fix=None) if f.fix else f for f in skill.findings)
        record = SkillFindings("", 0, "", [], [], {}, skill.measures._asdict())
        if self.base:
            record = SkillFindings(
                self.key(entry, skill.content), self.taken, self._states_of(_files_of(skill.inputs)),
                [*map(pack, found)], [*map(pack_ignore, skill.ignores)], skill.inputs, record.measures,
            )  # fmt: skip
        facts = dict(skill.facts)
        lines = SkillLines(encoded(facts.pop("summary")), encoded(facts), encoded(record))
        return PackedSkill(found, skill.ignores, self._state_as_read(entry, skill.content, lines), b"".join(lines))

    def keep_skill(self, skill: PackedSkill) -> SessionSkill:
        """Remember what was found in a skill."""
        self._changed = True
        return SessionSkill(self._put_aside(skill.state, skill.lines), self.spool, skill.findings, skill.ignores)

    def keep_sibling(self, entry: Entry, content: str, summary: Mapping[str, Any]) -> SessionSkill:
        """Remember the summary of a skill that was not checked, and the digest of what it was read from."""
        self._changed = True
        lines = SkillLines(encoded(summary), b"", b"")
        return SessionSkill(self._put_aside(self._state_as_read(entry, content, lines), lines.summary), self.spool)

    def _state_as_read(self, entry: Entry, content: str, lines: SkillLines) -> SkillState:
        state = self._states_of((entry.path,)) if self.name and not entry.problem else ""
        return placed(SkillState(self.taken, state, content), entry.path, lines)

    def _put_aside(self, state: SkillState, lines: bytes) -> bytes:
        return encoded(state._replace(at=self.spool.add(lines)))

    def find_corpus(self, known: SessionSkills, as_of: date, shown: frozenset[str] | None) -> StoredCorpus | None:
        """What the collection-wide rules found, if nothing they see has changed. `shown` is as in `save`."""
        return self._find_between(self._corpus_key(known, as_of, shown)) if self.file.corpora else None

    def find_repository(self) -> StoredCorpus | None:
        """What was found in what skills ship in, if nothing there has changed."""
        return self._find_between(self._repository_key()) if self.file.corpora else None

    def _find_between(self, key: str) -> StoredCorpus | None:
        record = self.file.corpus(key)
        if record is None:
            return None
        if not self._unchanged(_files_of(record.inputs), record.taken, record.states) and not self._hold(record.inputs):
            return None
        return StoredCorpus(record)

    def lacks(self, *found: CheckedCorpus | StoredCorpus) -> bool:
        """Whether there is something to save."""
        return bool(self.name) and (self._changed or not all(isinstance(each, StoredCorpus) for each in found))

    def save(
        self,
        known: SessionSkills,
        corpus: CheckedCorpus | StoredCorpus,
        around: CheckedCorpus | StoredCorpus,
        as_of: date,
        shown: frozenset[str] | None,
        registries: Registries,
        rules: Sequence[tuple[str, str, bool]],
    ) -> None:
        """Add what this run knows to what is stored; skills that it did not look for stay, if they still exist.

        `around` is what was found in what they ship in. `shown` are the files whose findings were wanted, None: all.
        """
        new = CacheWriter()
        parts = {"registries": registries._asdict(), "rules": rules}

        def records() -> Iterator[bytes]:
            yield from self._write_skills(new, known)
            fresh: dict[str, CheckedCorpus] = {}
            if not isinstance(corpus, StoredCorpus):
                fresh[self._corpus_key(known, as_of, shown)] = corpus
            if not isinstance(around, StoredCorpus):
                fresh[self._repository_key()] = around
            yield from self._write_corpora(new, fresh)
            yield from (new.part(name, encoded(value)) for name, value in parts.items())
            # Where a file that is open cannot be replaced, it must not be.
            self.file.close()

        write_cached(self.name, new.chunks(self.name, records()))

    def _write_skills(self, new: CacheWriter, known: SessionSkills) -> Iterator[bytes]:
        for path, skill in (*known.asked.items(), *known.siblings.items()):
            yield new.skill(path, skill.state, skill.lines)
        for key, line in self.file.skills.items():
            path = decoded(key)
            state = read_state(line) if type(path) is str and not known.holds(path) else None
            if state is not None and is_there(os.path.join(self.discovery.root, path), links=False):
                yield new.skill(path, state, self.file.read(state.at, state.length))

    def _write_corpora(self, new: CacheWriter, fresh: Mapping[str, CheckedCorpus]) -> Iterator[bytes]:
        for key, corpus in fresh.items():
            states = self._states_of(_files_of(corpus.inputs))
            packed = [pack(finding) for finding in corpus.findings]
            yield new.corpus(key, encoded(CorpusFindings(key, self.taken, states, packed, corpus.inputs)))
        others = [place for place in self.file.corpora if place[0] not in fresh]
        for key, at, length, digest_ in others[: _MOST_CORPORA - len(fresh)]:
            yield new.corpus(key, self.file.read(at, length), digest_)

    def key(self, entry: Entry, content: str) -> str:
        """What the record of one skill is valid for: rule set, configuration, place, folder listing and bytes."""
        return digest_of(self.base, entry.path, entry.folder_name, content, *entry.files, "outside", *entry.outside)

    def _corpus_key(self, known: SessionSkills, as_of: date, shown: frozenset[str] | None) -> str:
        wanted = ("all",) if shown is None else ("of", *sorted(shown))
        unread = (part for folder in self.discovery.unread for part in folder)
        seen = (part for entry in self.discovery.entries for part in self._seen(entry, known))
        return digest_of(self.base, as_of.isoformat(), *wanted, "", *unread, "", *seen)

    def _repository_key(self) -> str:
        folders = (entry.folder for entry in self.discovery.entries)
        return digest_of(self.base, "around", *self.discovery.around, "", *folders)

    def _seen(self, entry: Entry, known: SessionSkills) -> Iterator[str]:
        """What changes when the collection-wide rules see another thing of a skill."""
        state = known.find(entry.path).state
        yield entry.path
        yield state.summary_sum
        if entry.path in known.asked:
            yield state.facts_sum
        else:
            yield from entry.files

    def _unchanged(self, files: Iterable[str], taken: int, states: str) -> bool:
        """Whether files are in the states that were taken at this time, by what the file system says of them."""
        files = tuple(files)
        return not self.paranoid and self._states_of(files) == states and self._is_settled(files, taken)

    def _is_settled(self, files: Iterable[str], taken: int) -> bool:
        """Whether no file was so young at this time that it could have changed again within the same tick."""
        return all(self._state(path)[1] + SETTLED_NS < taken for path in files)

    def _states_of(self, files: Iterable[str]) -> str:
        return digest_of(*(self._state(path)[0] for path in files))

    def _state(self, path: str) -> tuple[str, int]:
        """What the file system says of a file that changes with its content, and when that last changed (ns)."""
        found = self._states.get(path)
        if found is None:
            if len(self._states) >= _MOST_STATES:
                self._states.clear()
            text = self.boundary.unsaved(path)
            on_disk = text is None
            found = state_of(os.path.join(self.discovery.root, path)) if on_disk else (f"unsaved {digest(text)}", 0)
            self._states[path] = found
        return found

    def _hold(self, inputs: Mapping[str, str]) -> bool:
        """Whether every question about a file still has the same answer."""
        return all(answer(self.boundary, question) == known for question, known in inputs.items())


def settings_of(root: str, config: Config) -> tuple[str, str]:
    """Digests of the settings and of the registries that what is found in a skill depends on."""
    # What these say is applied to the findings, or decides which skills there are.
    plain = config._replace(
        baseline="", fail_on="", needs_work="", fail_under=0.0, exclude=(), include=(), daily=Daily()
    )
    return config_digest(plain), sources_digest(read_sources(root, config.sources))


def state_of(path: str) -> tuple[str, int]:
    """What changes with the content of a file, like git's index: size, times and inode; and the later of its times.

    Of a folder, and of a link on the way to what it leads to, it is which one it is.
    """
    try:
        own, status = os.lstat(path), os.stat(path)
    except (OSError, ValueError):
        return "", 0
    link = f"{own.st_ino} {own.st_ctime_ns} " if stat.S_ISLNK(own.st_mode) else ""
    if stat.S_ISDIR(status.st_mode):
        return f"{link}folder {status.st_ino}", own.st_ctime_ns if link else 0
    state = f"{link}{status.st_mode} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"
    return state, max(status.st_mtime_ns, status.st_ctime_ns, own.st_ctime_ns)


def _files_of(inputs: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(question.partition(":")[2] for question in inputs)


def answer(boundary: Boundary, question: str) -> str:
    """Answer a question about a path relative to the root by a string that changes when the file does.

    `exists:PATH` asks whether something is there, `read:PATH` what is in a file of up to 1 MiB, `whole:PATH` in a
    SKILL.md, `runs:PATH` whether it is executable.
    """
    kind, _, path = question.partition(":")
    match kind:
        case "whole":
            return "outside" if boundary.leads_out(path) else content_digest(*boundary.read_skill(path))
        case "exists":
            return boundary.find(path)
        case "runs":
            return "yes" if boundary.is_executable(path) else ""
    return digest(boundary.read_small(path))


def digest(data: bytes | None) -> str:
    """A short digest of a file's bytes; "" for no file."""
    return "" if data is None else blake2b(data, digest_size=12).hexdigest()


def digest_of(*parts: str) -> str:
    """A digest over texts, in order."""
    joined = "\0".join(parts).encode("utf-8", "surrogateescape")
    return blake2b(joined, digest_size=16).hexdigest()


def placed(state: SkillState, path: str, lines: SkillLines) -> SkillState:
    """The state with the sizes and digests of these lines, which have no place yet."""
    sizes = len(lines.summary), len(lines.facts), len(lines.record)
    return SkillState(state.taken, state.state, state.content, 0, *sizes, *lines.digests(path))


def content_digest(data: bytes, problem: str) -> str:
    """A digest of what was read of a file: its bytes, or what kept them from being read."""
    return problem or digest(data)


# The rooms whose code can change a finding: those that may stand below a rule, and this one.
STAMPED = (
    "text", "core", "executors", "stats", "config", "skill", "hosts", "discovery", "registries", "profiles", "rules", "score",
    "lint",
)  # fmt: skip


def rules_stamp() -> str:
    """What identifies this very set of rules here, without loading it: names, sizes and times of our source files."""
    stamps = []
    for name, path in _sources():
        info = os.stat(path)
        stamps.append(f"{name} {info.st_size} {info.st_mtime_ns}")
    return "\n".join(stamps)


def rules_digest() -> str:
    """What identifies this set of rules on any machine: the digests of our source files."""
    stamps = []
    for name, path in _sources():
        stamps.append(f"{name} {digest(read_limited(path, MAX_BYTES))}")
    return digest_of(*stamps)


def _sources() -> Iterator[tuple[str, str]]:
    """The name and the path of each of our files that can change a finding."""
    package = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    for room in STAMPED:
        for folder, folders, files in os.walk(os.path.join(package, room)):
            folders[:] = sorted(f for f in folders if f != "__pycache__")
            for name in sorted(files):
                if name.endswith((".py", ".json", ".toml")):
                    yield f"{folder[len(package) :]}/{name}".replace(os.sep, "/"), f"{folder}/{name}"
