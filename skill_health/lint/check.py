"""One skill -> its findings, its facts, and everything outside its own file that they depend on; then all together.

Many skills are checked in as many processes as pay off.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from typing import Any, NamedTuple

from skill_health.config.settings import Config
from skill_health.core.boundary import INSIDE, OUTSIDE, Boundary
from skill_health.core.files import blake2b
from skill_health.core.forks import map_forked, processors
from skill_health.discovery.corpus import Entry
from skill_health.lint.cache.lint_cache import LintCache, answer, content_digest, digest
from skill_health.lint.cache.session_skills import PackedSkill, SessionSkill
from skill_health.lint.fixing.edits import takes_effect
from skill_health.lint.readable import read_entry
from skill_health.registries.records import Registries
from skill_health.rules._api import Corpus, Finding, Hit, Rule, SkillSummary
from skill_health.rules._hosts import name_hosts
from skill_health.rules._load import rules_with
from skill_health.rules._select import selected
from skill_health.rules.ignores._comments import Ignore, read_ignores
from skill_health.rules.repository._repository import Repository
from skill_health.skill.decode import decode
from skill_health.skill.markdown import parse_document
from skill_health.skill.measure import Measures, measure
from skill_health.skill.model import Document, Skill, Span
from skill_health.skill.parse import parse_head, parse_skill, unreadable
from skill_health.text.patterns import lazy
from skill_health.text.secrets import redact

_PARALLEL_FROM = 48
_CHUNK = 12
# The rules whose facts the score is made of, whatever was selected (see `scores`).
SCORED = ("LI001", "CL001", "FM029")
_DIGITS = lazy(r"\d+")
_EXCERPT = 240


class CheckedSkill(NamedTuple):
    """What is known of one skill after its rules ran.

    `inputs` maps each question about a file to its answer; `content` is the digest of the bytes that were checked.
    """

    findings: tuple[Finding, ...]
    facts: dict[str, Any]
    measures: Measures
    ignores: tuple[Ignore, ...]
    inputs: dict[str, str]
    content: str = ""


class CheckedCorpus(NamedTuple):
    """What the collection-wide rules found, and the files it depends on, as in `CheckedSkill`."""

    findings: tuple[Finding, ...]
    inputs: dict[str, str]


class SkillChecker:
    """Checks one skill after another; a forked worker takes it over as it is."""

    def __init__(self, root: str, config: Config, registries: Registries, boundary: Boundary | None = None) -> None:
        self.root, self.config, self.registries = root, config, registries
        self.boundary = boundary or Boundary(root)
        every = rules_with(config.custom)
        self.rules = selected(every, config)
        self.collectors = tuple(r for r in every if r.collect and (r in self.rules or r.code in SCORED))

    def check(self, entry: Entry) -> CheckedSkill:
        """Read a skill and run its rules."""
        data, problem = read_entry(self.boundary, entry)
        try:
            return self._check(load_skill(entry, data, problem))._replace(content=content_digest(data, problem))
        except (MemoryError, RecursionError):
            return self.give_up(entry)

    def give_up(self, entry: Entry) -> CheckedSkill:
        """What is found in a skill that cannot be checked. It has no `content`, as another try may succeed."""
        return self._check(load_skill(entry, b"", "uncheckable"))

    def _check(self, skill: Skill) -> CheckedSkill:
        context = FileContext(self.root, self.config, self.registries, self.boundary)
        return check_skill(skill, self.rules, context, self.collectors)

    def summarize(self, entry: Entry) -> tuple[str, dict[str, Any]]:
        """The digest of a SKILL.md and its summary, for which no more than its frontmatter is parsed."""
        data, problem = read_entry(self.boundary, entry)
        return content_digest(data, problem), summary_of(load_head(entry, data, problem))


class SiblingFacts(Mapping[str, Any]):
    """The facts of a skill that is not checked: its summary, and what a rule asks for, collected when it does.

    `recall` finds a skill that was checked before, or None. `inputs` takes up what the facts depend on, as in
    `CheckedSkill`, SKILL.md included.
    """

    def __init__(
        self,
        entry: Entry,
        summary: Mapping[str, Any],
        checker: SkillChecker,
        recall: Callable[[Entry], SessionSkill | None],
        inputs: dict[str, str],
    ) -> None:
        self.entry, self.checker, self.recall, self.inputs = entry, checker, recall, inputs
        self.known: dict[str, Any] = {"summary": summary}
        self._recalled = False
        self._read: tuple[Skill, FileContext] | None = None

    def __getitem__(self, key: str) -> Any:
        if key not in self.known:
            self._collect(key)
        return self.known[key]

    def _collect(self, key: str) -> None:
        rule = next((rule for rule in self.checker.collectors if rule.code == key), None)
        if rule is None or rule.collect is None:
            raise KeyError(key)
        if not self._recalled:
            self._recalled = True
            question = "whole:" + self.entry.path
            self.inputs[question] = answer(self.checker.boundary, question)
            if (stored := self.recall(self.entry)) is not None:
                self.known = {**stored.facts, **self.known}
                self.inputs.update(stored.record.inputs)
        if key not in self.known:
            skill, context = self._read = self._read or self._load()
            self.known[key] = rule.collect(skill, context)
            self.inputs.update(context.inputs)

    def _load(self) -> tuple[Skill, FileContext]:
        checker = self.checker
        skill = load_head(self.entry, *read_entry(checker.boundary, self.entry))
        return skill, FileContext(checker.root, checker.config, checker.registries, checker.boundary)

    def __iter__(self) -> Iterator[str]:
        return iter(self.known)

    def __len__(self) -> int:
        return len(self.known)


class _Worker(NamedTuple):
    """What a forked worker takes over as it is."""

    checker: SkillChecker
    cache: LintCache

    def check(self, entry: Entry) -> PackedSkill:
        return self.cache.pack_skill(entry, self.checker.check(entry))

    def give_up(self, entry: Entry) -> PackedSkill:
        return self.cache.pack_skill(entry, self.checker.give_up(entry))


_worker: _Worker | None = None


def check_entries(
    entries: Sequence[Entry], checker: SkillChecker, jobs: int, cache: LintCache
) -> Iterator[tuple[str, PackedSkill]]:
    """Check skills, in as many processes as pay off: (path of SKILL.md, what was found), in the order given.

    A skill that kills the process that checks it has that as its finding; the others are checked. Few skills, or one
    process, are checked in this one: what can kill is bounded before it is parsed, and a process more is felt.
    """
    worker = _Worker(checker, cache)
    jobs = jobs or processors()
    # What is made here is small, acyclic and lives to the end of the run.
    gc.disable()
    if jobs == 1 or len(entries) < _PARALLEL_FROM or not hasattr(os, "fork"):
        for entry in entries:
            yield entry.path, worker.check(entry)
        return
    # The forked workers share what is loaded; nothing of it will be collected.
    gc.freeze()
    yield from zip((entry.path for entry in entries), _check_in_pools(worker, entries, jobs), strict=True)


def _check_in_pools(worker: _Worker, entries: Sequence[Entry], jobs: int) -> Iterator[PackedSkill]:
    """Check skills in worker processes; where one of them dies, smaller and smaller pools find out of which skill."""
    from concurrent.futures.process import BrokenProcessPool

    waiting = [entries]
    while waiting:
        batch, done = waiting.pop(), 0
        workers = min(jobs, -(-len(batch) // _CHUNK))
        try:
            for checked in map_forked(_check, batch, workers, _CHUNK, partial(_begin, worker)):
                done += 1
                yield checked
        except BrokenProcessPool:
            left = batch[done:]
            if len(left) == 1:
                yield worker.give_up(left[0])
            else:
                # What was at work when it died is near the front.
                first = min(len(left) // 2, _CHUNK * workers)
                waiting += [left[first:], left[:first]]


def _begin(worker: _Worker) -> None:
    global _worker
    _worker = worker
    gc.disable()


def _check(entry: Entry) -> PackedSkill:
    assert _worker is not None
    return _worker.check(entry)


class FileContext:
    """Answers the questions of rules about files, and remembers the answers as inputs of the result."""

    def __init__(self, root: str, config: Config, registries: Registries, boundary: Boundary | None = None) -> None:
        self.root, self.config, self.registries = root, config, registries
        self.boundary = boundary or Boundary(root)
        self.inputs: dict[str, str] = {}
        self._texts: dict[str, str | None] = {}
        self._documents: dict[str, Document | None] = {}

    def exists(self, path: str) -> bool:
        """Whether something is there, under exactly this name, in the repository."""
        return self._find(path) == INSIDE

    def leads_out(self, path: str) -> bool:
        """Whether a path leads out of the repository, by itself or through a link."""
        return self._find(path) == OUTSIDE

    def _find(self, path: str) -> str:
        question = "exists:" + path
        if question not in self.inputs:
            self.inputs[question] = answer(self.boundary, question)
        return self.inputs[question]

    def read(self, path: str) -> str | None:
        """The decoded text of a file up to 1 MiB; None where it is missing, larger or binary."""
        if path not in self._texts:
            data = self.small(path)
            self.inputs["read:" + path] = digest(data)
            self._texts[path] = None if data is None or b"\0" in data[:8000] else decode(data)[0]
        return self._texts[path]

    def content(self, path: str) -> bytes | None:
        """The bytes of a file up to 1 MiB; None where it is missing or larger."""
        data = self.small(path)
        self.inputs["read:" + path] = digest(data)
        return data

    def is_executable(self, path: str) -> bool:
        """Whether a file may be run by its name."""
        question = "runs:" + path
        if question not in self.inputs:
            self.inputs[question] = answer(self.boundary, question)
        return bool(self.inputs[question])

    def small(self, path: str) -> bytes | None:
        """The bytes of a file up to 1 MiB, or None."""
        return self.boundary.read_small(path)

    def document(self, path: str) -> Document | None:
        """The parsed Markdown of a file, or None."""
        if path not in self._documents:
            text = self.read(path)
            self._documents[path] = None if text is None else parse_document(tuple(text.split("\n")))
        return self._documents[path]


def load_skill(entry: Entry, data: bytes, problem: str) -> Skill:
    """Parse the skill of an entry from its bytes; `problem` is the kind of defect that kept them from being read."""
    if problem:
        return unreadable(entry.path, problem, entry.files)._replace(outside=entry.outside)
    return parse_skill(data, entry.path, entry.folder_name, entry.files)._replace(outside=entry.outside)


def load_head(entry: Entry, data: bytes, problem: str) -> Skill:
    """The skill as `load_skill` has it, but its Markdown is parsed only if it is looked at."""
    if problem:
        return unreadable(entry.path, problem, entry.files)
    return parse_head(data, entry.path, entry.folder_name, entry.files)


def summary_of(skill: Skill) -> dict[str, Any]:
    """What every collection-wide rule may know of a skill, as JSON."""
    spans = {}
    for key in ("name", "description"):
        entry = skill.field(key)
        span = entry.span if entry else Span(1, 1)
        spans[f"{key}_span"] = [span.line, span.col, span.end_line, span.end_col]
    flag = skill.field("disable-model-invocation")
    return {
        "name": skill.name,
        "description": skill.description,
        "hidden": bool(flag and flag.value is True),
        "digest": digest(f"{skill.name}\0{skill.description}".encode("utf-8", "replace")),
        **spans,
    }


def check_skill(
    skill: Skill, rules: Sequence[Rule], context: FileContext, collectors: Sequence[Rule] = ()
) -> CheckedSkill:
    """Run the per-skill rules, and collect the facts that others need."""
    findings: list[Finding] = []
    facts: dict[str, Any] = {"summary": summary_of(skill)}
    hits = [(rule, hit) for rule in rules if rule.check is not None for hit in rule.check(skill, context)]
    for rule, hit in name_hosts(hits, skill, context.config):
        findings += as_findings(rule, (hit,), skill, context)
    for rule in collectors:
        if rule.collect is not None:
            facts[rule.code] = rule.collect(skill, context)
    return CheckedSkill(tuple(findings), facts, measure(skill), read_ignores(skill), context.inputs)


def as_findings(rule: Rule, hits: Iterable[Hit], skill: Skill | None, context: Any) -> list[Finding]:
    """Give each hit its rule, its path, its source line and its content key."""
    return [_finding(rule, hit, skill, context) for hit in hits]


def _finding(rule: Rule, hit: Hit, skill: Skill | None, context: Any) -> Finding:
    path = hit.path if hit.path is not None else skill.path if skill else ""
    span, source = hit.span, ""
    if not rule.redact:
        if skill is not None and path == skill.path:
            lines: Sequence[str] = skill.lines
        else:
            lines = (context.read(path) or "").split("\n") if path else ()
        if 0 < span.line <= len(lines):
            # Another rule may point at the very line that holds a credential.
            source = redact(lines[span.line - 1][: max(_EXCERPT, span.col + 120)])
    owner = skill.path if skill else path if path.lower().endswith("skill.md") else ""
    stable = "\0".join((rule.code, path, source.strip(), _DIGITS.sub("#", hit.message)))
    key = blake2b(stable.encode("utf-8", "replace"), digest_size=8).hexdigest()
    # A fix of what is only half read, or not UTF-8, changes nothing.
    fix = hit.fix if hit.fix is not None and takes_effect(hit.fix, context.small(path)) else None
    return Finding(
        rule.code, rule.name, rule.family, hit.severity or rule.severity, path, span.line, max(1, span.col), span.end_line,
        span.end_col, hit.message, _sentence(hit.help), source, owner, key, fix, fix is not None, hit.also,
        hit.hosts, fix is not None and fix.safe,
    )  # fmt: skip


def _sentence(help_: str) -> str:
    first = help_.split(" ", 1)[0]
    text = help_[:1].upper() + help_[1:] if first.isalpha() else help_
    return text if not text or text[-1] in ".!?:`)" else text + "."


class CorpusFiles(FileContext):
    """The context of collection-wide rules: files, and the day that claims are judged at."""

    def __init__(
        self, root: str, config: Config, registries: Registries, as_of: date, boundary: Boundary | None = None
    ) -> None:
        super().__init__(root, config, registries, boundary)
        self.as_of = as_of


def check_corpus(corpus: Corpus, context: CorpusFiles) -> CheckedCorpus:
    """Run the collection-wide rules over a collection; of what it does not show, findings may be missing."""
    findings: list[Finding] = []
    for rule in selected(rules_with(context.config.custom), context.config):
        if rule.check_corpus is not None:
            hits = (hit for hit in rule.check_corpus(corpus, context) if _is_shown(hit, corpus))
            findings += as_findings(rule, hits, None, context)
    return CheckedCorpus(tuple(findings), context.inputs)


def check_repository(repository: Repository, context: CorpusFiles) -> CheckedCorpus:
    """Run the rules about what skills ship in."""
    findings: list[Finding] = []
    for rule in selected(rules_with(context.config.custom), context.config):
        if rule.check_repository is not None:
            findings += as_findings(rule, rule.check_repository(repository), None, context)
    return CheckedCorpus(tuple(findings), context.inputs)


def _is_shown(hit: Hit, corpus: Corpus) -> bool:
    # What could not be searched may hold anything, also what is asked for.
    return corpus.shows(hit.path or "", *hit.also) or hit.path in dict(corpus.unread)


def summarize_facts(path: str, facts: Mapping[str, Any]) -> SkillSummary:
    """A skill as the collection-wide rules see it, by its facts."""
    own = facts["summary"]
    return SkillSummary(
        path, path.rpartition("/")[0], own["name"], own["description"], Span(*own["name_span"]),
        Span(*own["description_span"]), own["digest"], own["hidden"], facts,
    )  # fmt: skip
