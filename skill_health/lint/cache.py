"""A persistent cache of what was found in each skill: one file per collection, rule set and configuration.

A file is replaced as a whole, so concurrent runs never see half of one. It begins with an index, which says of each
skill what its SKILL.md was when it was read and where its records are; a record is decoded only when it is asked for,
and used only if its digest is right, its types are, and its key, which covers every input, still matches. Whether an
input is unchanged is judged as git judges it: by size, times and inode, unless the file is too young for its times to
tell. Nothing else packs findings: without a cache they stay as the rules made them.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from skill_health import __version__
from skill_health.config.settings import Config, Daily, config_digest
from skill_health.core.boundary import Boundary
from skill_health.core.files import blake2b, read_bytes
from skill_health.discovery.corpus import Discovery, Entry
from skill_health.lint.cache_folder import line_sum, name_of, read_cached, write_cached
from skill_health.registries.sources import digest as sources_digest
from skill_health.registries.sources import read_sources
from skill_health.rules._api import Finding, Severity
from skill_health.rules.ignores._comments import Ignore

if TYPE_CHECKING:
    from skill_health.lint.check import CheckedCorpus, CheckedSkill
    from skill_health.registries.records import Registries
    from skill_health.skill.measure import Measures

_MAGIC = b"skill-health lint cache 4 "
# A file younger than this when it was read may change again without a change of its times: FAT counts in two seconds.
SETTLED_NS = 2 * 10**9
_MOST_CORPORA = 16


class CachedSkill(NamedTuple):
    """All that is stored of one skill: what `states` says of its `inputs` was so when it was `taken` (ns)."""

    key: str
    taken: int
    states: str
    findings: list[list[Any]]
    ignores: list[list[Any]]
    inputs: dict[str, str]
    facts: str
    measures: str


class CachedCorpus(NamedTuple):
    """What the collection-wide rules found, and on what that depends, as in `CachedSkill`."""

    key: str
    taken: int
    states: str
    findings: list[list[Any]]
    inputs: dict[str, str]


class SkillState(NamedTuple):
    """The index of one skill. `state` is what its SKILL.md was when it was `taken` (ns), and `content` its digest.

    `summary` and `record` are the numbers of lines (0: none), `facts` is the digest of the facts in the record.
    """

    taken: int
    state: str
    content: str
    summary: int
    summary_sum: str
    record: int
    record_sum: str
    facts: str


class StoredSkill:
    """A `CheckedSkill` as the cache holds it; each part is unpacked when it is asked for, since few runs need all."""

    def __init__(self, record: CachedSkill) -> None:
        self.record = record

    @property
    def findings(self) -> list[Finding]:
        """Its findings, without their fixes."""
        return [unpack(values) for values in self.record.findings]

    @property
    def ignores(self) -> list[Ignore]:
        """Its inline comments."""
        return [Ignore(tuple(codes), *rest) for codes, *rest in self.record.ignores]

    @property
    def facts(self) -> dict[str, Any]:
        """What the collection-wide rules know of it."""
        return dict(json.loads(self.record.facts))

    @property
    def measures(self) -> Measures:
        """What was counted in it."""
        from skill_health.skill.measure import measures_from

        return measures_from(json.loads(self.record.measures))


class StoredCorpus:
    """A `CheckedCorpus` as the cache holds it."""

    def __init__(self, record: CachedCorpus) -> None:
        self.record = record

    @property
    def findings(self) -> list[Finding]:
        """The findings of the collection-wide rules."""
        return [unpack(values) for values in self.record.findings]


class CacheFile:
    """The lines of one file: the index, and the records as they stand there. An unusable file has none.

    The digest of the index covers the name of the file: under another name it is no cache.
    """

    def __init__(self, name: str, data: bytes | None) -> None:
        self.skills: dict[str, SkillState] = {}
        self.corpora: list[tuple[str, int, str]] = []
        self.parts: dict[str, tuple[int, str]] = {}
        self.lines = data.split(b"\n") if data and data.startswith(_MAGIC) else [b"", b""]
        if len(self.lines) > 1 and self.lines[0] == _MAGIC + line_sum(name, self.lines[1]).encode():
            self._read(_decoded(self.lines[1]))

    def _read(self, index: Any) -> None:
        if not isinstance(index, dict):
            return
        skills, corpora, parts = index.get("skills"), index.get("corpora"), index.get("parts")
        if not (isinstance(skills, dict) and isinstance(corpora, list) and isinstance(parts, dict)):
            return
        if not all(type(values) is list and [*map(type, values)] == _STATE_TYPES for values in skills.values()):
            return
        if not all(type(values) is list and [*map(type, values)] == [str, int, str] for values in corpora):
            return
        if not all(type(values) is list and [*map(type, values)] == [int, str] for values in parts.values()):
            return
        self.skills = {path: SkillState(*values) for path, values in skills.items()}
        self.corpora = [(key, number, known) for key, number, known in corpora]
        self.parts = {name: (number, known) for name, (number, known) in parts.items()}

    def line(self, name: str, number: int, known: str) -> bytes | None:
        """A record as it stands in the file; None if that is not what was written under this name."""
        if not 1 < number < len(self.lines):
            return None
        return self.lines[number] if line_sum(name, self.lines[number]) == known else None

    def part(self, name: str) -> Any:
        """What is stored once for the whole collection; None where there is nothing."""
        line = self.line(name, *self.parts.get(name, (0, "")))
        return None if line is None else _decoded(line)

    def skill(self, path: str) -> CachedSkill | None:
        """All that is stored of a skill."""
        known = self.skills.get(path)
        line = self.line("skill:" + path, known.record, known.record_sum) if known else None
        values: Any = None if line is None else _decoded(line)
        if known is None or not _are_typed(values, _SKILL_TYPES):
            return None
        record = CachedSkill(*values)
        sound = _are_findings(record.findings) and _are_answers(record.inputs) and _are_ignores(record.ignores)
        return record if sound and digest(record.facts.encode()) == known.facts else None

    def summary(self, path: str) -> dict[str, Any] | None:
        """The summary of a skill, by itself."""
        known = self.skills.get(path)
        line = self.line("summary:" + path, known.summary, known.summary_sum) if known else None
        values = None if line is None else _decoded(line)
        return values if _is_summary(values) else None

    def corpus(self, key: str) -> CachedCorpus | None:
        """What is stored of the collection under this key."""
        for each, number, known in self.corpora:
            line = self.line("corpus:" + key, number, known) if each == key else None
            values: Any = None if line is None else _decoded(line)
            if _are_typed(values, _CORPUS_TYPES) and values[0] == key:
                record = CachedCorpus(*values)
                return record if _are_findings(record.findings) and _are_answers(record.inputs) else None
        return None


class CacheWriter:
    """Collects the lines of a new file, each with the digest that a reader holds it against."""

    def __init__(self) -> None:
        self.lines: list[bytes] = [b"", b""]
        self.skills: dict[str, SkillState] = {}
        self.corpora: list[tuple[str, int, str]] = []
        self.parts: dict[str, tuple[int, str]] = {}

    def add(self, name: str, line: bytes) -> tuple[int, str]:
        """Add a record: the number of its line and its digest."""
        self.lines.append(line)
        return len(self.lines) - 1, line_sum(name, line)

    def copy(self, file: CacheFile, number: int, known: str) -> tuple[int, str]:
        """Add a record of another file as it is; whoever reads it will hold it against its digest."""
        if not 1 < number < len(file.lines):
            return 0, ""
        self.lines.append(file.lines[number])
        return len(self.lines) - 1, known

    def data(self, name: str) -> bytes:
        """The bytes of the file of this name."""
        self.lines[1] = encoded({"skills": self.skills, "corpora": self.corpora, "parts": self.parts})
        self.lines[0] = _MAGIC + line_sum(name, self.lines[1]).encode()
        return b"\n".join(self.lines)


class LintCache:
    """What is stored of one collection, under one rule set and configuration; one without a name is empty.

    `paranoid` trusts the state of no file and reads them all.
    """

    def __init__(self, discovery: Discovery, name: str = "", base: str = "", paranoid: bool = False) -> None:
        self.discovery, self.name, self.base, self.paranoid = discovery, name, base, paranoid
        self.boundary = Boundary(discovery.root)
        # Whatever changes after this moment is too young for its times to tell.
        self.taken = time.time_ns()
        self.file = CacheFile(name, read_cached(name) if name else None)
        self._states: dict[str, tuple[str, int]] = {}
        self._contents: dict[str, str] = {}
        self._summaries: dict[str, Mapping[str, Any]] = {}
        self._aged: dict[str, CachedSkill] = {}
        self._encoded: dict[str, str] = {}
        self._trusted: set[str] = set()
        self._changed = False

    @classmethod
    def open(cls, discovery: Discovery, config: Config, paranoid: bool = False) -> LintCache:
        """The cache of a collection under this rule set and configuration."""
        registries = sources_digest(read_sources(discovery.root, config.sources))
        # What these say is applied to the findings, or decides which skills there are.
        plain = config._replace(baseline="", fail_on="", fail_under=0.0, exclude=(), include=(), daily=Daily())
        base = digest_of(__version__, rules_stamp(), config_digest(plain), registries)
        return cls(discovery, name_of(digest_of(discovery.root), base), base, paranoid)

    def content(self, entry: Entry) -> str:
        """The digest of a SKILL.md, which is read only where its state does not tell."""
        if entry.path not in self._contents:
            self._contents[entry.path] = self._content(entry)
        return self._contents[entry.path]

    def _content(self, entry: Entry) -> str:
        if entry.problem:
            return entry.problem
        known = self.file.skills.get(entry.path)
        if known is not None and self._unchanged((entry.path,), known.taken, known.state):
            self._trusted.add(entry.path)
            return known.content
        found = content_digest(*read_entry(self.discovery.root, entry))
        if known is not None and known.content == found and self._is_settled((entry.path,), self.taken):
            self._changed = True
        return found

    def find_skill(self, entry: Entry) -> StoredSkill | None:
        """What is stored of a skill, if every input still is what it was."""
        known = self.file.skills.get(entry.path)
        if known is None or not known.record or known.content != self.content(entry):
            return None
        record = self.file.skill(entry.path)
        if record is None or record.key != self._key(entry, known.content):
            return None
        if self._unchanged(_files_of(record.inputs), record.taken, record.states):
            return StoredSkill(record)
        if not self._hold(record.inputs):
            return None
        if self._is_settled(_files_of(record.inputs), self.taken):
            states = self._states_of(_files_of(record.inputs))
            self._aged[entry.path] = record = record._replace(taken=self.taken, states=states)
        return StoredSkill(record)

    def has_summary(self, entry: Entry) -> bool:
        """Whether the summary of a skill is stored, and its SKILL.md still is what it was."""
        known = self.file.skills.get(entry.path)
        return known is not None and known.content == self.content(entry) and bool(known.summary)

    def find_summary(self, entry: Entry) -> Mapping[str, Any] | None:
        """The summary of a skill, if its SKILL.md still is what it was."""
        return self._summaries.get(entry.path) or (self.file.summary(entry.path) if self.has_summary(entry) else None)

    def keep_summary(self, entry: Entry, content: str, summary: Mapping[str, Any]) -> None:
        """Remember the summary of a skill that was not checked, and the digest of what it was read from."""
        self._contents[entry.path] = content
        self._summaries[entry.path] = summary
        self._changed = True

    def find_corpus(
        self, skills: Mapping[str, CheckedSkill | StoredSkill], as_of: date, shown: frozenset[str] | None
    ) -> StoredCorpus | None:
        """What the collection-wide rules found, if nothing they see has changed. `shown` is as in `save`."""
        record = self.file.corpus(self._corpus_key(skills, as_of, shown)) if self.file.corpora else None
        if record is None:
            return None
        if not self._unchanged(_files_of(record.inputs), record.taken, record.states) and not self._hold(record.inputs):
            return None
        return StoredCorpus(record)

    def lacks(self, skills: Mapping[str, CheckedSkill | StoredSkill], corpus: CheckedCorpus | StoredCorpus) -> bool:
        """Whether there is something to save."""
        if not self.name:
            return False
        known = isinstance(corpus, StoredCorpus) and all(isinstance(skill, StoredSkill) for skill in skills.values())
        return not known or self._changed or bool(self._aged)

    def save(
        self,
        skills: Mapping[str, CheckedSkill | StoredSkill],
        corpus: CheckedCorpus | StoredCorpus,
        as_of: date,
        shown: frozenset[str] | None,
        registries: Registries,
        rules: Sequence[tuple[str, str, bool]],
    ) -> None:
        """Add what this run knows to what is stored; skills that it did not look for stay, if they still exist.

        `shown` are the files whose findings were wanted; None means all.
        """
        new = CacheWriter()
        paths = {entry.path for entry in self.discovery.entries}
        for path, known in self.file.skills.items():
            if path not in paths and os.path.lexists(os.path.join(self.discovery.root, path)):
                new.skills[path] = self._copied(new, known)
        for entry in self.discovery.entries:
            self._add(new, entry, skills.get(entry.path))
        if not isinstance(corpus, StoredCorpus):
            key = self._corpus_key(skills, as_of, shown)
            states = self._states_of(_files_of(corpus.inputs))
            found = [pack(finding) for finding in corpus.findings]
            line = encoded(CachedCorpus(key, self.taken, states, found, corpus.inputs))
            new.corpora.append((key, *new.add("corpus:" + key, line)))
        fresh = {key for key, _, _ in new.corpora}
        for key, number, known_sum in self.file.corpora:
            if key not in fresh and len(new.corpora) < _MOST_CORPORA:
                new.corpora.append((key, *new.copy(self.file, number, known_sum)))
        for name, value in (("registries", registries._asdict()), ("rules", rules)):
            new.parts[name] = new.add(name, encoded(value))
        write_cached(self.name, new.data(self.name))

    def _copied(self, new: CacheWriter, known: SkillState) -> SkillState:
        summary = new.copy(self.file, known.summary, known.summary_sum)
        record = new.copy(self.file, known.record, known.record_sum)
        return SkillState(known.taken, known.state, known.content, *summary, *record, known.facts)

    def _add(self, new: CacheWriter, entry: Entry, skill: CheckedSkill | StoredSkill | None) -> None:
        path, known = entry.path, self.file.skills.get(entry.path)
        if skill is None or isinstance(skill, StoredSkill):
            content = self.content(entry)
            if known is None or known.content != content:
                known = None
        else:
            content, known = skill.content, None
        if known is not None and path in self._trusted:
            taken, state = known.taken, known.state
        else:
            taken, state = self.taken, "" if entry.problem else self._states_of((path,))
        if known is not None and path not in self._summaries and path not in self._aged:
            new.skills[path] = self._copied(new, known._replace(taken=taken, state=state))
            return
        summary = self._summaries.get(path)
        record: tuple[int, str] = (0, "")
        facts = ""
        if isinstance(skill, StoredSkill):
            record, facts = new.add("skill:" + path, encoded(skill.record)), digest(skill.record.facts.encode())
            summary = skill.facts["summary"]
        elif skill is not None:
            packed = self._packed(entry, skill)
            record, facts = new.add("skill:" + path, encoded(packed)), digest(packed.facts.encode())
            summary = skill.facts["summary"]
        elif known is not None:
            record = new.copy(self.file, known.record, known.record_sum)
            facts = known.facts
        if summary is not None:
            new.skills[path] = SkillState(
                taken, state, content, *new.add("summary:" + path, encoded(summary)), *record, facts
            )

    def _packed(self, entry: Entry, skill: CheckedSkill) -> CachedSkill:
        """One skill as the cache stores it. The facts stay encoded, since most runs do not need them."""
        return CachedSkill(
            self._key(entry, skill.content),
            self.taken,
            self._states_of(_files_of(skill.inputs)),
            [pack(finding) for finding in skill.findings],
            [[list(i.codes), i.first, i.last, i.reason, i.path, i.line, i.col] for i in skill.ignores],
            skill.inputs,
            self._facts(entry.path, skill),
            compact(skill.measures._asdict()),
        )

    def _key(self, entry: Entry, content: str) -> str:
        """What the record of one skill is valid for: rule set, configuration, place, folder listing and bytes."""
        return digest_of(self.base, entry.path, entry.folder_name, content, *entry.files, "outside", *entry.outside)

    def _corpus_key(
        self, skills: Mapping[str, CheckedSkill | StoredSkill], as_of: date, shown: frozenset[str] | None
    ) -> str:
        seen = [part for entry in self.discovery.entries for part in (entry.path, self._seen(entry, skills))]
        wanted = ("all",) if shown is None else ("of", *sorted(shown))
        unread = [part for folder in self.discovery.unread for part in folder]
        return digest_of(self.base, as_of.isoformat(), *wanted, "", *seen, "unread", *unread)

    def _seen(self, entry: Entry, skills: Mapping[str, CheckedSkill | StoredSkill]) -> str:
        """What changes when the collection-wide rules see another thing of a skill."""
        skill = skills.get(entry.path)
        known, summary = self.file.skills.get(entry.path), self._summaries.get(entry.path)
        if isinstance(skill, StoredSkill) and known is not None:
            return known.facts
        if skill is not None:
            return digest(self._facts(entry.path, skill).encode())
        kept = summary is None and known is not None
        seen = known.summary_sum if kept and known else line_sum("summary:" + entry.path, encoded(summary))
        return digest_of(seen, *entry.files)

    def _facts(self, path: str, skill: CheckedSkill | StoredSkill) -> str:
        if path not in self._encoded:
            self._encoded[path] = compact(skill.facts)
        return self._encoded[path]

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
            found = self._states[path] = state_of(os.path.join(self.discovery.root, path))
        return found

    def _hold(self, inputs: Mapping[str, str]) -> bool:
        """Whether every question about a file still has the same answer."""
        return all(answer(self.boundary, question) == known for question, known in inputs.items())


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
    SKILL.md.
    """
    kind, _, path = question.partition(":")
    match kind:
        case "whole":
            place = os.path.join(boundary.root, path)
            return "outside" if boundary.leads_out(path) else content_digest(*read_bytes(place))
        case "exists":
            return boundary.find(path)
    return digest(boundary.read_small(path))


def digest(data: bytes | None) -> str:
    """A short digest of a file's bytes; "" for no file."""
    return "" if data is None else blake2b(data, digest_size=12).hexdigest()


def digest_of(*parts: str) -> str:
    """A digest over texts, in order."""
    joined = "\0".join(parts).encode("utf-8", "surrogateescape")
    return blake2b(joined, digest_size=16).hexdigest()


def read_entry(root: str, entry: Entry) -> tuple[bytes, str]:
    """The bytes of a SKILL.md, and "" or the kind of defect that kept them from being read."""
    return (b"", entry.problem) if entry.problem else read_bytes(os.path.join(root, entry.path))


def content_digest(data: bytes, problem: str) -> str:
    """A digest of what was read of a file: its bytes, or what kept them from being read."""
    return problem or digest(data)


# The rooms whose code can change a finding: those that may stand below a rule, and this one.
STAMPED = (
    "text", "core", "stats", "config", "skill", "discovery", "registries", "profiles", "rules", "score", "lint",
)  # fmt: skip


def rules_stamp() -> str:
    """What identifies this very set of rules, without loading it: names, sizes and times of our own source files."""
    package = os.path.dirname(os.path.dirname(__file__))
    stamps = []
    for room in STAMPED:
        for folder, folders, files in os.walk(os.path.join(package, room)):
            folders[:] = sorted(f for f in folders if f != "__pycache__")
            for name in sorted(files):
                if name.endswith((".py", ".json", ".toml")):
                    info = os.stat(f"{folder}/{name}")
                    stamps.append(f"{folder[len(package) :]}/{name} {info.st_size} {info.st_mtime_ns}")
    return "\n".join(stamps)


def encoded(value: Any) -> bytes:
    """A value as one line of JSON."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()


def compact(value: Any) -> str:
    """A value as JSON without blanks."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def _decoded(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


_SEVERITIES = {severity.value: severity for severity in Severity}
_STATE_TYPES = [int, str, str, int, str, int, str, str]
_SKILL_TYPES = [str, int, str, list, list, dict, str, str]
_CORPUS_TYPES = [str, int, str, list, dict]
_FINDING_TYPES = [str, str, str, str, str, int, int, int, int, str, str, str, str, str, bool, list]
_IGNORE_TYPES = [list, int, int, str, str, int, int]
_SUMMARY_TYPES = {
    "name": str, "description": str, "hidden": bool, "digest": str, "name_span": list, "description_span": list,
}  # fmt: skip


def _are_typed(values: Any, types: list[type]) -> bool:
    return type(values) is list and [*map(type, values)] == types


def _are_findings(found: list[Any]) -> bool:
    return all(_are_typed(each, _FINDING_TYPES) and each[3] in _SEVERITIES and _are_texts(each[15]) for each in found)


def _are_ignores(found: list[Any]) -> bool:
    return all(_are_typed(each, _IGNORE_TYPES) and _are_texts(each[0]) for each in found)


def _are_answers(inputs: dict[str, Any]) -> bool:
    return _are_texts(inputs.values())


def _are_texts(values: Iterable[Any]) -> bool:
    return all(type(value) is str for value in values)


def _is_summary(found: Any) -> bool:
    if type(found) is not dict or {key: type(value) for key, value in found.items()} != _SUMMARY_TYPES:
        return False
    return all(_are_typed(found[key], [int] * 4) for key in ("name_span", "description_span"))


def pack(f: Finding) -> list[Any]:
    """A finding as a JSON list; its fix is not kept, only that there is one."""
    return [
        f.code, f.rule, f.family, f.severity.value, f.path, f.line, f.col, f.end_line, f.end_col, f.message, f.help,
        f.source, f.skill, f.key, f.fixable, list(f.also),
    ]  # fmt: skip


def unpack(values: Sequence[Any]) -> Finding:
    """The reverse of `pack`."""
    *rest, fixable, also = values
    rest[3] = _SEVERITIES[rest[3]]
    return Finding._make([*rest, None, fixable, tuple(also)])
