"""One run over a collection: which skills the cache still knows, which must be checked, what they say together."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from skill_health import __version__, cache, records
from skill_health.check import FileContext, as_findings, probe
from skill_health.core.config import Config, config_digest
from skill_health.core.corpus import Discovery, Entry
from skill_health.core.parse import read_bytes
from skill_health.core.registries import Registries, load_registries
from skill_health.core.skill import Span
from skill_health.core.sources import digest, read_sources
from skill_health.rules._api import Corpus, Finding, Summary
from skill_health.rules._load import rules_stamp


class CorpusFiles(FileContext):
    """The context of collection-wide rules: files, and the day that claims are judged at."""

    def __init__(self, root: str, config: Config, registries: Registries, as_of: date) -> None:
        super().__init__(root, config, registries)
        self.as_of = as_of


@dataclass
class Session:
    """The state of a run. `records` maps the path of each SKILL.md to its record (see `records`)."""

    discovery: Discovery
    config: Config
    name: str
    base: str
    stored: dict[str, Any]
    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    corpus: dict[str, Any] = field(default_factory=dict)
    changed: bool = False
    _registries: Registries | None = None

    @classmethod
    def open(cls, discovery: Discovery, config: Config, use_cache: bool) -> Session:
        """Begin a run: what the cache holds for this collection, rule set and configuration is at hand."""
        registries = digest(read_sources(discovery.root, config.sources))
        base = _digest(__version__, rules_stamp(), config_digest(config), registries)
        name = _digest(discovery.root, base)
        return cls(discovery, config, name, base, cache.load(name) if use_cache else {})

    def close(self) -> None:
        """Keep what this run learned, where anything is new."""
        old = self.stored.get("skills", {})
        if self.changed or old.keys() != self.records.keys():
            cache.save(self.name, {"skills": self.records, "corpus": self.corpus, "rules": self.rules_table()})

    def registries(self) -> Registries:
        """The registries beside the skills, read once and only when a rule or a report needs them."""
        if self._registries is None:
            self._registries = load_registries(self.discovery.root, self.config.sources)
        return self._registries

    def rules_table(self) -> list[list[Any]]:
        """Code, name, family, default and whether selected, of every rule; from the cache where it is known."""
        table = self.stored.get("rules")
        if table is None:
            from skill_health.rules._load import all_rules
            from skill_health.select import selected

            on = {rule.code for rule in selected(all_rules(), self.config)}
            table = [[r.code, r.name, r.family, r.default, r.code in on] for r in all_rules()]
        return list(table)

    def check(self, jobs: int) -> None:
        """Fill `records`: from the cache where every input still holds, else by checking."""
        old = self.stored.get("skills", {})
        dirty = []
        for entry in self.discovery.entries:
            record = old.get(entry.path)
            data, problem = (b"", entry.problem) if entry.problem else read_bytes(self.full(entry.path))
            if record and record["key"] == key_of(self.base, entry, data, problem) and self.holds(record["inputs"]):
                self.records[entry.path] = record
            else:
                dirty.append(entry)
        if dirty:
            from skill_health.workers import check_entries

            self.changed = True
            self.records.update(check_entries(self, dirty, jobs))

    def full(self, path: str) -> str:
        """The path on this machine."""
        return os.path.join(self.discovery.root, path)

    def holds(self, inputs: dict[str, str]) -> bool:
        """Whether every file that was looked at still is what it was."""
        root = self.discovery.root
        return all(probe(root, question) == answer for question, answer in inputs.items())

    def check_corpus(self, as_of: date) -> list[Finding]:
        """The findings of the collection-wide rules; from the cache where nothing they see has changed."""
        paths = sorted(self.records)
        seen = [part for path in paths for part in (path, self.records[path]["facts"])]
        key = _digest(self.base, as_of.isoformat(), *seen)
        known = self.stored.get("corpus", {})
        if known.get("key") == key and self.holds(known["inputs"]):
            self.corpus = known
            return [records.unpack(values) for values in known["findings"]]
        from skill_health.rules._load import all_rules
        from skill_health.select import selected

        self.changed = True
        context = CorpusFiles(self.discovery.root, self.config, self.registries(), as_of)
        corpus = Corpus(tuple(_summary(path, json.loads(self.records[path]["facts"])) for path in paths))
        findings: list[Finding] = []
        for rule in selected(all_rules(), self.config):
            if rule.check_corpus is not None:
                findings += as_findings(rule, rule.check_corpus(corpus, context), None, context)
        self.corpus = {"key": key, "inputs": context.inputs, "findings": [records.pack(f) for f in findings]}
        return findings


def key_of(base: str, entry: Entry, data: bytes, problem: str) -> str:
    """What a record of one skill is valid for: rule set, configuration, place, folder listing and bytes."""
    head = "\0".join((base, entry.path, entry.folder_name, problem, *entry.files))
    return hashlib.blake2b(head.encode("utf-8", "surrogateescape") + b"\0\0" + data, digest_size=16).hexdigest()


def _digest(*parts: str) -> str:
    joined = "\0".join(parts).encode("utf-8", "surrogateescape")
    return hashlib.blake2b(joined, digest_size=16).hexdigest()


def _summary(path: str, facts: dict[str, Any]) -> Summary:
    own = facts["summary"]
    return Summary(
        path, path.rpartition("/")[0], own["name"], own["description"], Span(*own["name_span"]),
        Span(*own["description_span"]), own["digest"], own["hidden"], facts,
    )  # fmt: skip
