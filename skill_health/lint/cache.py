"""A persistent cache of what was found in each skill: one file per collection, rule set and configuration.

A file is replaced as a whole, so concurrent runs never see half of one; an entry is used only if its key,
which covers every input, still matches. The oldest files are deleted when there are too many. Nothing else packs
findings: without a cache they stay as the rules made them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from skill_health import __version__
from skill_health.config.settings import Config, config_digest
from skill_health.core.boundary import Boundary
from skill_health.core.files import blake2b, read_bytes, replace_file
from skill_health.discovery.corpus import Discovery, Entry
from skill_health.registries.sources import digest as sources_digest
from skill_health.registries.sources import read_sources
from skill_health.rules._api import Finding, Severity
from skill_health.rules.ignores._comments import Ignore

if TYPE_CHECKING:
    from skill_health.lint.check import CheckedCorpus, CheckedSkill
    from skill_health.registries.records import Registries
    from skill_health.skill.measure import Measures


class StoredSkill:
    """A `CheckedSkill` as the cache holds it; each part is unpacked when it is asked for, since few runs need all."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.record = record

    @property
    def findings(self) -> list[Finding]:
        """Its findings, without their fixes."""
        return [unpack(values) for values in self.record["findings"]]

    @property
    def ignores(self) -> list[Ignore]:
        """Its inline comments."""
        return [Ignore(tuple(codes), *rest) for codes, *rest in self.record["ignores"]]

    @property
    def facts(self) -> dict[str, Any]:
        """What the collection-wide rules know of it."""
        return dict(json.loads(self.record["facts"]))

    @property
    def measures(self) -> Measures:
        """What was counted in it."""
        from skill_health.skill.measure import measures_from

        return measures_from(json.loads(self.record["measures"]))


class StoredCorpus:
    """A `CheckedCorpus` as the cache holds it."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.record = record

    @property
    def findings(self) -> list[Finding]:
        """The findings of the collection-wide rules."""
        return [unpack(values) for values in self.record["findings"]]


class LintCache:
    """What is stored of one collection, under one rule set and configuration; one without a name is empty."""

    def __init__(self, discovery: Discovery, name: str = "", base: str = "") -> None:
        self.discovery, self.name, self.base = discovery, name, base
        self.stored = load(name) if name else {}
        self.boundary = Boundary(discovery.root)
        self._entries = {entry.path: entry for entry in discovery.entries}
        self._packed: dict[str, dict[str, Any]] = {}

    @classmethod
    def open(cls, discovery: Discovery, config: Config) -> LintCache:
        """The cache of a collection under this rule set and configuration."""
        registries = sources_digest(read_sources(discovery.root, config.sources))
        base = digest_of(__version__, rules_stamp(), config_digest(config), registries)
        return cls(discovery, digest_of(discovery.root, base), base)

    def find_skill(self, entry: Entry) -> StoredSkill | None:
        """What is stored of a skill, if every input still is what it was."""
        record = self.stored.get("skills", {}).get(entry.path)
        if record is None:
            return None
        key = self._key(entry, content_digest(*read_entry(self.discovery.root, entry)))
        return StoredSkill(record) if record["key"] == key and self._hold(record["inputs"]) else None

    def find_corpus(self, skills: Mapping[str, CheckedSkill | StoredSkill], as_of: date) -> StoredCorpus | None:
        """What the collection-wide rules found, if nothing they see has changed."""
        record = self.stored.get("corpus")
        if record is None or record["key"] != self._corpus_key(skills, as_of) or not self._hold(record["inputs"]):
            return None
        return StoredCorpus(record)

    def lacks(self, skills: Mapping[str, CheckedSkill | StoredSkill], corpus: CheckedCorpus | StoredCorpus) -> bool:
        """Whether there is something to save."""
        if not self.name:
            return False
        known = isinstance(corpus, StoredCorpus) and all(isinstance(skill, StoredSkill) for skill in skills.values())
        return not known or self.stored["skills"].keys() != skills.keys()

    def save(
        self,
        skills: Mapping[str, CheckedSkill | StoredSkill],
        corpus: CheckedCorpus | StoredCorpus,
        as_of: date,
        registries: Registries,
        rules: Sequence[tuple[str, str, bool]],
    ) -> None:
        """Replace what is stored by what this run knows."""
        if isinstance(corpus, StoredCorpus):
            together = corpus.record
        else:
            found = [pack(finding) for finding in corpus.findings]
            together = {"key": self._corpus_key(skills, as_of), "inputs": corpus.inputs, "findings": found}
        save(self.name, {
            "skills": {path: self._record(path, skill) for path, skill in skills.items()},
            "corpus": together, "registries": registries._asdict(), "rules": rules,
        })  # fmt: skip

    def _record(self, path: str, skill: CheckedSkill | StoredSkill) -> Mapping[str, Any]:
        if isinstance(skill, StoredSkill):
            return skill.record
        if path not in self._packed:
            self._packed[path] = pack_skill(self._key(self._entries[path], skill.content), skill)
        return self._packed[path]

    def _key(self, entry: Entry, content: str) -> str:
        """What the record of one skill is valid for: rule set, configuration, place, folder listing and bytes."""
        return digest_of(self.base, entry.path, entry.folder_name, content, *entry.files, "outside", *entry.outside)

    def _corpus_key(self, skills: Mapping[str, CheckedSkill | StoredSkill], as_of: date) -> str:
        seen = [part for path, skill in skills.items() for part in (path, self._record(path, skill)["facts"])]
        unread = [part for folder in self.discovery.unread for part in folder]
        return digest_of(self.base, as_of.isoformat(), *seen, "unread", *unread)

    def _hold(self, inputs: Mapping[str, str]) -> bool:
        """Whether every question about a file still has the same answer."""
        return all(answer(self.boundary, question) == known for question, known in inputs.items())


def answer(boundary: Boundary, question: str) -> str:
    """Answer `exists:PATH` or `read:PATH` (relative to the root) by a string that changes when the file does."""
    kind, _, path = question.partition(":")
    return boundary.find(path) if kind == "exists" else digest(boundary.read_small(path))


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


_MAX_FILES = 64
_MAX_BYTES = 256 << 20
FORMAT = 3


def directory() -> str:
    """Where the cache lives: SKILL_HEALTH_CACHE_DIR, else the user's cache folder."""
    own = os.environ.get("SKILL_HEALTH_CACHE_DIR")
    if own:
        return own
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "skill-health")


def load(name: str) -> dict[str, Any]:
    """The content of one cache file; {} where it is missing, damaged or of another format."""
    try:
        with open(os.path.join(directory(), name + ".json"), "rb") as file:
            blob = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
        return {}
    return blob if isinstance(blob, dict) and blob.get("format") == FORMAT else {}


def save(name: str, blob: dict[str, Any]) -> None:
    """Replace one cache file. A cache that cannot be written is no reason to fail."""
    folder = directory()
    try:
        os.makedirs(folder, exist_ok=True)
        data = json.dumps({"format": FORMAT, **blob}, ensure_ascii=True).encode()
        replace_file(os.path.join(folder, name + ".json"), data, private=True)
        _prune(folder)
    except OSError:
        return


def _prune(folder: str) -> None:
    with os.scandir(folder) as entries:
        files = sorted(((e.stat().st_mtime_ns, e.stat().st_size, e.path) for e in entries if e.is_file()), reverse=True)
    total = 0
    for n, (_, size, path) in enumerate(files):
        total += size
        if n >= _MAX_FILES or total > _MAX_BYTES:
            os.unlink(path)


_SEVERITIES = {severity.value: severity for severity in Severity}


def pack_skill(key: str, skill: CheckedSkill) -> dict[str, Any]:
    """One skill as the cache stores it. The facts stay encoded, since most runs do not need them."""
    return {
        "key": key,
        "findings": [pack(finding) for finding in skill.findings],
        "facts": json.dumps(skill.facts, ensure_ascii=True, separators=(",", ":")),
        "measures": json.dumps(skill.measures._asdict(), ensure_ascii=True, separators=(",", ":")),
        "ignores": [[list(i.codes), i.first, i.last, i.reason, i.path, i.line, i.col] for i in skill.ignores],
        "inputs": skill.inputs,
    }


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
