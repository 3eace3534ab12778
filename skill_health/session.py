"""One run over a collection: which skills the cache still knows, which must be checked, what they say together."""

from __future__ import annotations

import os
from datetime import date
from typing import TYPE_CHECKING, Any

from skill_health import __version__, cache, records
from skill_health.core.config import Config, config_digest
from skill_health.core.corpus import Discovery, Entry
from skill_health.core.digests import blake2b
from skill_health.core.files import read_bytes
from skill_health.core.sources import digest, read_sources
from skill_health.inputs import digest_of, hold
from skill_health.rules._api import Finding
from skill_health.rules._stamp import rules_stamp

if TYPE_CHECKING:
    from skill_health.core.registries import Registries


class LintSession:
    """The state of a run. `records` maps the path of each SKILL.md to its record (see `records`).

    What only a run with something new to check needs is imported when it does: a run that finds all in the
    cache loads no parser.
    """

    def __init__(self, discovery: Discovery, config: Config, name: str, base: str, stored: dict[str, Any]) -> None:
        self.discovery, self.config, self.name, self.base, self.stored = discovery, config, name, base, stored
        self.records: dict[str, dict[str, Any]] = {}
        self.corpus: dict[str, Any] = {}
        self.changed = False
        self._registries: Registries | None = None

    @classmethod
    def open(cls, discovery: Discovery, config: Config, use_cache: bool) -> LintSession:
        """Begin a run: what the cache holds for this collection, rule set and configuration is at hand."""
        registries = digest(read_sources(discovery.root, config.sources))
        stamp = rules_stamp() if use_cache else ""
        base = digest_of(__version__, stamp, config_digest(config), registries)
        name = digest_of(discovery.root, base)
        return cls(discovery, config, name, base, cache.load(name) if use_cache else {})

    def close(self) -> None:
        """Keep what this run learned, where anything is new."""
        old = self.stored.get("skills", {})
        if self.changed or old.keys() != self.records.keys():
            kept = {"registries": self.registries()._asdict(), "rules": self.rules_table()}
            cache.save(self.name, {"skills": self.records, "corpus": self.corpus, **kept})

    def registries(self) -> Registries:
        """The registries beside the skills, read once and only when a rule or a report needs them.

        They are kept too, since holding them against their schemas takes longer than all rules together; the
        name of what is stored covers their bytes.
        """
        if self._registries is None:
            from skill_health.core.registries import from_json, load_registries

            kept = self.stored.get("registries")
            self._registries = from_json(kept) if kept else load_registries(self.discovery.root, self.config.sources)
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
        return hold(self.discovery.root, inputs)

    def check_corpus(self, as_of: date) -> list[Finding]:
        """The findings of the collection-wide rules; from the cache where nothing they see has changed."""
        paths = sorted(self.records)
        seen = [part for path in paths for part in (path, self.records[path]["facts"])]
        key = digest_of(self.base, as_of.isoformat(), *seen)
        known = self.stored.get("corpus", {})
        if known.get("key") == key and self.holds(known["inputs"]):
            self.corpus = known
            return [records.unpack(values) for values in known["findings"]]
        from skill_health.corpus_check import check_corpus

        self.changed = True
        findings, inputs = check_corpus(self, as_of)
        self.corpus = {"key": key, "inputs": inputs, "findings": [records.pack(f) for f in findings]}
        return findings


def key_of(base: str, entry: Entry, data: bytes, problem: str) -> str:
    """What a record of one skill is valid for: rule set, configuration, place, folder listing and bytes."""
    head = "\0".join((base, entry.path, entry.folder_name, problem, *entry.files))
    return blake2b(head.encode("utf-8", "surrogateescape") + b"\0\0" + data, digest_size=16).hexdigest()
