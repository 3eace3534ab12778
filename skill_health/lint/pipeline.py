"""One lint run, from the paths that a user names to findings: discover, check each skill, check the collection, finish.

Pure but for the cache: the same bytes and configuration give the same findings, in any file order and with any number
of processes.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from skill_health import __version__
from skill_health.config.settings import Config, config_digest, config_with, load_config
from skill_health.core.errors import UsageError
from skill_health.core.files import blake2b, read_bytes
from skill_health.discovery.corpus import Discovery, Entry, discover, find_root
from skill_health.discovery.ignores import Patterns, compile_patterns, ignored_within
from skill_health.lint import cache
from skill_health.lint.cache import digest_of, hold
from skill_health.lint.report import LintReport
from skill_health.registries.sources import digest, read_sources
from skill_health.rules._api import Finding, Severity, named_by
from skill_health.rules._stamp import rules_stamp
from skill_health.rules.ignores import _comments

if TYPE_CHECKING:
    from skill_health.registries.records import Registries


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
            from skill_health.registries.records import from_json, load_registries

            kept = self.stored.get("registries")
            self._registries = from_json(kept) if kept else load_registries(self.discovery.root, self.config.sources)
        return self._registries

    def rules_table(self) -> list[list[Any]]:
        """Code, name, family, default and whether selected, of every rule; from the cache where it is known."""
        table = self.stored.get("rules")
        if table is None:
            from skill_health.rules._load import all_rules
            from skill_health.rules._select import selected

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
            from skill_health.lint.workers import check_entries

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
            return [cache.unpack(values) for values in known["findings"]]

        self.changed = True
        from skill_health.lint.check import check_corpus

        findings, inputs = check_corpus(self, as_of)
        self.corpus = {"key": key, "inputs": inputs, "findings": [cache.pack(f) for f in findings]}
        return findings


def key_of(base: str, entry: Entry, data: bytes, problem: str) -> str:
    """What a record of one skill is valid for: rule set, configuration, place, folder listing and bytes."""
    head = "\0".join((base, entry.path, entry.folder_name, problem, *entry.files))
    return blake2b(head.encode("utf-8", "surrogateescape") + b"\0\0" + data, digest_size=16).hexdigest()


def finish(session: LintSession, corpus_findings: list[Finding], paths: set[str]) -> tuple[list[Finding], int]:
    """The findings to show, sorted by place, and how many inline comments silenced."""
    entries = session.discovery.entries
    wanted = {entry.path for entry in entries if entry.target}
    everything = len(wanted) == len(entries)
    findings = [f for f in corpus_findings if _asked_for(f, wanted, everything, paths)]
    comments = []
    for path in wanted:
        findings += [cache.unpack(values) for values in session.records[path]["findings"]]
        comments += cache.ignores_of(session.records[path])
    left, unused = _comments.apply(findings, comments)
    silenced = len(findings) - len(left)
    table = session.rules_table()
    ran = [(code, name) for code, name, _, _, on in table if on]
    left += _comments.report(comments, unused, ran, [(code, name) for code, name, *_ in table])
    shown = [graded(f, session.config) for f in left if not off_here(f, session.config)]
    return sorted(set(shown), key=place), silenced


def _asked_for(finding: Finding, wanted: set[str], everything: bool, paths: set[str]) -> bool:
    if everything or finding.path in paths or finding.skill in wanted:
        return True
    return any(path in wanted for path in finding.also)


def place(f: Finding) -> tuple[str, int, int, str, str]:
    """What findings are sorted by."""
    return f.path, f.line, f.col, f.code, f.message


@functools.cache
def _patterns(glob: str) -> Patterns | None:
    return compile_patterns((glob,))


def off_here(finding: Finding, config: Config) -> bool:
    """Whether the configuration switches this rule off for this path; the last entry that says so counts."""
    off = False
    for entry in config.per_path:
        patterns = _patterns(entry.glob)
        if patterns and ignored_within((patterns,), finding.path, False):
            off = off or _named(finding, entry.ignore)
            off = off and not _named(finding, entry.select)
    return off


def _named(finding: Finding, selectors: tuple[str, ...]) -> bool:
    return any(named_by(selector, finding.code, finding.rule, finding.family) for selector in selectors)


def graded(finding: Finding, config: Config) -> Finding:
    """The finding with the severity that the configuration gives its rule; the narrowest selector counts."""
    if not config.severity:
        return finding
    best = ""
    for selector in config.severity:
        if _named(finding, (selector,)) and (selector == finding.code or len(selector) >= len(best)):
            best = selector
    return finding._replace(severity=Severity(config.severity[best])) if best else finding


# The facts that scores and reports are made of; the others are for the collection-wide rules alone.
_KEPT = ("summary", "LI001", "CL001")


class LintResult(NamedTuple):
    """The findings of the skills asked for, sorted, and what else is known of the collection.

    `facts` maps the path of each SKILL.md to what was measured in it (empty unless asked for); `ignored`
    counts the findings that inline comments silenced; `copies` maps a skill to its unchecked copies.
    """

    root: str
    entries: tuple[Entry, ...]
    findings: tuple[Finding, ...]
    facts: dict[str, dict[str, Any]]
    ignored: int
    warnings: tuple[str, ...]
    registries: Registries | None = None


def run(
    discovery: Discovery,
    config: Config,
    as_of: date,
    jobs: int = 0,
    use_cache: bool = True,
    facts: bool = False,
    paths: Sequence[str] = (),
) -> LintResult:
    """Check every skill of the collection and report on those that were asked for.

    `jobs` is the number of worker processes (0: one for each processor when there is enough to do);
    `facts` asks for the facts of all skills; `paths` are files outside any skill, relative to the root,
    whose findings are wanted too. Raises UsageError for a selector that names no rule.
    """
    session = LintSession.open(discovery, config, use_cache)
    session.check(jobs)
    corpus_findings = session.check_corpus(as_of)
    if use_cache:
        session.close()
    findings, ignored = finish(session, corpus_findings, set(paths))
    every = {}
    if facts:
        import json

        for entry in discovery.entries:
            record = session.records[entry.path]
            known = json.loads(record["facts"])
            every[entry.path] = {key: known[key] for key in _KEPT if key in known} | {
                "measures": json.loads(record["measures"])
            }
    return LintResult(
        discovery.root, discovery.entries, tuple(findings), every, ignored, discovery.warnings,
        session.registries() if facts else None,
    )  # fmt: skip


def configure(paths: Sequence[str], file: str | None, overrides: Mapping[str, Any]) -> tuple[str, Config]:
    """The root of the collection that `paths` belong to, and its configuration with the command line's on top."""
    root = find_root(paths)
    config = config_with(load_config(root, file), **overrides)
    if config.profile != Config().profile:
        from skill_health.profiles import COMPAT, load_profile

        if config.profile != COMPAT:
            load_profile(config.profile, root)
    return root, config


def lint(
    paths: Sequence[str],
    root: str,
    config: Config,
    as_of: date,
    jobs: int = 0,
    use_cache: bool = True,
    score: bool = False,
) -> tuple[LintReport, LintResult]:
    """Discover, check and, where asked for, score.

    Raises UsageError for a path that does not exist, and where a folder is named and no skill is found.
    """
    discovery = discover(paths, config, root)
    if not discovery.entries and (not paths or any(map(os.path.isdir, paths))):
        where = ", ".join(paths)
        raise UsageError(f"no skill below {where}: a skill is a folder with a SKILL.md (see exclude, .gitignore)")
    result = run(discovery, config, as_of, jobs, use_cache, score, _outside(paths, discovery))
    report = LintReport(
        __version__, config.profile, tuple(e for e in result.entries if e.target), result.findings,
        prefix=prefix(root), ignored=result.ignored, warnings=result.warnings,
    )  # fmt: skip
    if score:
        from skill_health.lint.scores import score_result

        report = report._replace(scores=score_result(result, config))
    return report, result


def _outside(paths: Sequence[str], discovery: Discovery) -> list[str]:
    """The named files, relative to the root: a registry among them shows its own findings."""
    real = [os.path.realpath(path) for path in paths]
    return [os.path.relpath(path, discovery.root).replace(os.sep, "/") for path in real if os.path.isfile(path)]


def prefix(root: str) -> str:
    """What leads from the current directory to the root, with a closing slash; "" where it is not below."""
    here = os.path.realpath(os.getcwd())
    if root == here or not root.startswith(here.rstrip(os.sep) + os.sep):
        return ""
    return os.path.relpath(root, here).replace(os.sep, "/") + "/"
