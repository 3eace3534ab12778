"""One lint run, read from top to bottom: discover, check each skill, check the collection, finish, report.

Pure but for the cache: the same bytes and configuration give the same findings, in any file order and with any number
of processes.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from skill_health import __version__
from skill_health.config.settings import Config, config_with, load_config
from skill_health.core.boundary import Boundary
from skill_health.core.errors import UsageError
from skill_health.core.files import may_be_file
from skill_health.discovery.corpus import Discovery, Entry, UnreadFolder, discover, find_root
from skill_health.discovery.ignores import Patterns, compile_patterns, ignored_within
from skill_health.hosts._layout import read_layout
from skill_health.lint.cache.cache_file import CacheFile
from skill_health.lint.cache.lint_cache import NOTHING, LintCache, StoredCorpus
from skill_health.lint.cache.session_skills import KnownFacts, SessionSkill, SessionSkills, skill_rows
from skill_health.lint.readable import require_readable
from skill_health.lint.report import LintReport
from skill_health.rules._api import Corpus, Finding, Severity, named_by
from skill_health.rules.ignores import _comments

if TYPE_CHECKING:
    from skill_health.executors.shards import Shard
    from skill_health.lint.check import CheckedCorpus, SkillChecker
    from skill_health.registries.records import Registries

# The facts that scores and reports are made of; the others are for the collection-wide rules alone.
_KEPT = ("summary", "LI001", "CL001", "FM029")


class LintResult(NamedTuple):
    """The findings of the skills asked for, sorted, and what else is known of the collection.

    `facts` maps the path of each SKILL.md to what was measured in it, and `registries` are those beside the skills
    (both only where asked for); `ignored` counts the findings that inline comments silenced, `checked` the skills that
    nothing was known of before. `everything` are, where facts were asked for, the findings before comments, exceptions
    and severities of the configuration.
    """

    root: str
    entries: tuple[Entry, ...]
    findings: tuple[Finding, ...]
    facts: dict[str, dict[str, Any]]
    ignored: int
    warnings: tuple[str, ...]
    registries: Registries | None = None
    checked: int = 0
    everything: tuple[Finding, ...] = ()
    unread: tuple[UnreadFolder, ...] = ()


def configure(paths: Sequence[str], file: str | None, overrides: Mapping[str, Any]) -> tuple[str, Config]:
    """The root of the collection that `paths` belong to, and its configuration with the command line's on top."""
    root = find_root(paths)
    told = dict(overrides)
    allowed = bool(told.pop("allow_code", False))
    config = config_with(load_config(root, file), **told)
    if config.custom.python:
        from skill_health.config.custom_code import with_code

        config = with_code(config, root, allowed)
    if config.profile != Config().profile:
        from skill_health.profiles import COMPAT, load_profile

        if config.profile != COMPAT:
            load_profile(config.profile, root)
    if config.hosts:
        from skill_health.hosts._choice import check_hosts

        check_hosts(config)
    return root, config


def lint(
    paths: Sequence[str],
    root: str,
    config: Config,
    as_of: date,
    jobs: int = 0,
    use_cache: bool = True,
    score: bool = False,
    paranoid: bool = False,
    shards: Sequence[str] = (),
) -> tuple[LintReport, LintResult]:
    """Discover, check, report and, where asked for, score. With `paranoid` no file is trusted to be unchanged unread.

    What the files of `shards` hold is not checked again.

    Raises UsageError for a path that does not exist, and where a folder is named and no skill is found.
    """
    discovery = find_skills(paths, config, root)
    result = run(discovery, config, as_of, jobs, use_cache, score, _named_files(paths, root), paranoid, shards)
    report = as_report(result, config)
    if score:
        from skill_health.lint.scores import ScoringRun, score_result

        checked = ScoringRun(paths, discovery, config, as_of, jobs, use_cache, paranoid)
        report = report._replace(scores=score_result(result, checked))
    return report, result


def find_skills(paths: Sequence[str], config: Config, root: str) -> Discovery:
    """The skills that these paths name, and their collection. Raises UsageError, as `lint`."""
    discovery = discover(paths, config, root)
    if not discovery.entries and not discovery.unread and (not paths or any(map(os.path.isdir, paths))):
        raise _none_below(paths, discovery)
    return discovery


def find_readable(paths: Sequence[str], config: Config, root: str) -> Discovery:
    """The same for whoever judges them all. Also raises where none is asked for, or something cannot be read."""
    discovery = find_skills(paths, config, root)
    require_readable(discovery.entries, discovery.unread)
    if not any(entry.target for entry in discovery.entries):
        raise _none_below(paths, discovery)
    return discovery


def _none_below(paths: Sequence[str], discovery: Discovery) -> UsageError:
    notes = "".join(f"; {warning}" for warning in discovery.warnings)
    return UsageError(
        f"no skill below {', '.join(paths)}: a skill is a folder with a SKILL.md (see exclude, .gitignore){notes}"
    )


def run_shard(
    paths: Sequence[str], root: str, config: Config, shard: Shard, file: str, jobs: int = 0, use_cache: bool = True,
    paranoid: bool = False,
) -> tuple[int, int]:  # fmt: skip
    """Check one part of the skills by themselves, and write what was found to a file for the run that merges all parts.

    Returns how many skills this part has, and how many there are. Raises UsageError, as `lint`.
    """
    from skill_health.lint.cache.shards import basis_of, take_skills, write_shard

    discovery, config = find_skills(paths, config, root), with_layout(config, root)
    entries = take_skills(shard, discovery.entries)
    basis = basis_of(root, config)
    with closing(LintSession(discovery, config, use_cache, paranoid, base=basis.base)) as session:
        write_shard(file, shard, basis, session.cache, entries, session.check_skills(entries, jobs))
    return len(entries), sum(entry.target for entry in discovery.entries)


def as_report(result: LintResult, config: Config) -> LintReport:
    """What the formats render of a result."""
    return LintReport(
        __version__, config.profile, tuple(e for e in result.entries if e.target), result.findings,
        prefix=prefix(result.root), ignored=result.ignored, custom=config.custom,
        fail_on=config.fail_on, needs_work=config.needs_work,
        warnings=(*result.warnings, *unrun_code(config, result.root)),
    )  # fmt: skip


def unrun_code(config: Config, root: str) -> list[str]:
    """A line on the custom Python rules that the user has not allowed."""
    if not config.custom.code:
        return []
    from skill_health.config.custom_code import describe_unrun

    return describe_unrun(config, root)


def run(
    discovery: Discovery,
    config: Config,
    as_of: date,
    jobs: int = 0,
    use_cache: bool = True,
    facts: bool = False,
    paths: Sequence[str] = (),
    paranoid: bool = False,
    shards: Sequence[str] = (),
    boundary: Boundary | None = None,
) -> LintResult:
    """Check the skills that were asked for, and report on them as part of their collection.

    Of the other skills no more is read than the collection-wide rules need to judge these. `jobs` is the number of
    worker processes (0: one for each processor when there is enough to do); `facts` asks for the facts of all skills,
    which are all checked then; `paths` are files outside any skill, relative to the root, whose findings are wanted
    too; `paranoid` and `shards` are as in `lint`. A `boundary` says what is in the files; where that is not what they
    have on disk, nothing is kept in the cache. Raises UsageError for a selector that names no rule.
    """
    config = with_layout(config, discovery.root)
    wanted = frozenset(entry.path for entry in discovery.entries if entry.target)
    shown = None if facts or len(wanted) == len(discovery.entries) else wanted.union(paths)
    with closing(LintSession(discovery, config, use_cache and not shards, paranoid, boundary)) as session:
        if shards:
            session.take_shards(shards)
        known = session.find_known(jobs, shown)
        corpus = session.check_corpus(known, as_of, shown)
        around = session.check_repository(as_of, shown)
        every_finding, comments = session.gather(known.asked, [*corpus.findings, *around.findings], set(paths))
        findings, ignored = session.settle(every_finding, comments)
        every = _facts(known.asked) if facts else {}
        if session.complete and boundary is None and session.cache.lacks(corpus, around):
            session.cache.save(known, corpus, around, as_of, shown, session.registries, session.rules)
        registries = session.registries if facts else None
    return LintResult(
        discovery.root,
        discovery.entries,
        tuple(findings),
        every,
        ignored,
        discovery.warnings,
        registries,
        session.checked,
        tuple(every_finding) if facts else (),
        discovery.unread,
    )


def with_layout(config: Config, root: str) -> Config:
    """The configuration with the hosts that the layout of the repository speaks of, where it names none itself."""
    return config if config.hosts else config._replace(layout=read_layout(root))


class LintSession:
    """The steps of a run, and what they share.

    What only a run with something new to check needs is imported when it does: a run that finds
    everything in the cache loads no parser. `complete` is False where a skill could not be checked; `checked` counts
    those that were.
    """

    def __init__(
        self, discovery: Discovery, config: Config, use_cache: bool, paranoid: bool = False,
        boundary: Boundary | None = None, base: str = "",
    ) -> None:  # fmt: skip
        self.discovery, self.config, self.complete, self.checked = discovery, config, True, 0
        cache = LintCache.open(discovery, config, paranoid, boundary) if use_cache else None
        self.cache = cache or LintCache(discovery, base=base, boundary=boundary)

    def take_shards(self, files: Sequence[str]) -> None:
        """Go on from what these files hold. Raises UsageError for one that is not of this run."""
        from skill_health.lint.cache.shards import ShardCache, basis_of

        self.cache = ShardCache(self.discovery, basis_of(self.discovery.root, self.config), files)

    def close(self) -> None:
        """Let go of what the steps shared."""
        self.cache.close()

    def find_known(self, jobs: int, shown: frozenset[str] | None) -> SessionSkills:
        """The skills whose findings are shown (None: all), and the summaries of the others.

        They come from the cache where every input still holds, else from checking.
        """
        entries = [entry for entry in self.discovery.entries if shown is None or entry.path in shown]
        found = self.check_skills(entries, jobs)
        few = len(entries) < len(self.discovery.entries)
        siblings = [entry for entry in self.discovery.entries if entry.path not in found] if few else []
        return SessionSkills(found, self.find_siblings(siblings))

    def check_skills(self, entries: Sequence[Entry], jobs: int) -> dict[str, SessionSkill]:
        """What is found in these skills by themselves, in their order."""
        found: dict[str, SessionSkill] = {}
        unknown = []
        for entry in entries:
            stored = self.cache.find_skill(entry)
            if stored is None:
                unknown.append(entry)
            else:
                found[entry.path] = stored
        if unknown:
            from skill_health.lint.check import check_entries

            self.checked += len(unknown)
            for path, checked in check_entries(unknown, self._checker, jobs, self.cache):
                self.complete = self.complete and bool(checked.state.content)
                found[path] = self.cache.keep_skill(checked)
        return {entry.path: found[entry.path] for entry in entries}

    def find_siblings(self, entries: Iterable[Entry]) -> dict[str, SessionSkill]:
        """The summaries of skills that are not checked, by path; what is not known is read."""
        return {entry.path: self.cache.find_sibling(entry) or self._read_sibling(entry) for entry in entries}

    def _read_sibling(self, entry: Entry) -> SessionSkill:
        return self.cache.keep_sibling(entry, *self._checker.summarize(entry))

    def check_corpus(
        self, known: SessionSkills, as_of: date, shown: frozenset[str] | None
    ) -> CheckedCorpus | StoredCorpus:
        """What the collection-wide rules find of what is shown; from the cache where nothing they see has changed."""
        stored = self.cache.find_corpus(known, as_of, shown)
        if stored is not None:
            return stored
        from skill_health.lint.check import CorpusFiles, check_corpus, summarize_facts

        context = CorpusFiles(self.discovery.root, self.config, self.registries, as_of, self.cache.boundary)
        entries = {entry.path: entry for entry in self.discovery.entries if entry.path in known.siblings}

        def facts_of(path: str) -> Mapping[str, Any]:
            if path in known.asked:
                return KnownFacts(known.asked[path])
            return self.facts_of_sibling(entries[path], known.siblings, context.inputs)

        paths = [entry.path for entry in self.discovery.entries]
        skills = skill_rows(paths, lambda path: summarize_facts(path, facts_of(path)))
        return check_corpus(Corpus(skills, shown, self.discovery.unread), context)

    def check_repository(self, as_of: date, shown: frozenset[str] | None) -> CheckedCorpus | StoredCorpus:
        """What is found in what skills ship in, where that is shown; from the cache where nothing there has changed."""
        around = self.discovery.around
        if not around or (shown is not None and shown.isdisjoint(around)):
            return NOTHING
        stored = self.cache.find_repository()
        if stored is not None:
            return stored
        from skill_health.lint.check import CorpusFiles, check_repository
        from skill_health.rules.repository._repository import Repository

        context = CorpusFiles(self.discovery.root, self.config, self.registries, as_of, self.cache.boundary)
        folders = tuple(entry.folder for entry in self.discovery.entries)
        return check_repository(Repository(around, folders, context), context)

    def facts_of_sibling(
        self, entry: Entry, siblings: dict[str, SessionSkill], inputs: dict[str, str]
    ) -> Mapping[str, Any]:
        """What the collection-wide rules may know of a skill that is not checked; `inputs` takes up what it depends on.

        Its summary is read again where that in the cache is not what was written.
        """
        from skill_health.lint.check import SiblingFacts

        sibling = siblings[entry.path]
        source = sibling.source
        if isinstance(source, CacheFile) and source.summary(entry.path, sibling.state) is None:
            sibling = siblings[entry.path] = self._read_sibling(entry)
        return SiblingFacts(entry, sibling.summary, self._checker, self.cache.find_skill, inputs)

    @functools.cached_property
    def _checker(self) -> SkillChecker:
        from skill_health.lint.check import SkillChecker

        return SkillChecker(self.discovery.root, self.config, self.registries, self.cache.boundary)

    def gather(
        self, skills: Mapping[str, SessionSkill], between: Sequence[Finding], paths: set[str]
    ) -> tuple[list[Finding], list[_comments.Ignore]]:
        """The findings about what was asked for, and the inline comments there.

        `between` are those of more than one skill, and of what skills ship in.
        """
        entries = self.discovery.entries
        wanted = {entry.path for entry in entries if entry.target}
        everything = len(wanted) == len(entries)
        findings = [f for f in between if _asked_for(f, wanted, everything, paths)]
        comments: list[_comments.Ignore] = []
        for path in wanted:
            findings += skills[path].findings
            comments += skills[path].ignores
        return findings, comments

    def settle(self, findings: Sequence[Finding], comments: Sequence[_comments.Ignore]) -> tuple[list[Finding], int]:
        """What comments and exceptions leave of findings, graded and sorted by place; how many comments silenced."""
        left, unused = _comments.apply(findings, comments)
        silenced = len(findings) - len(left)
        ran = [(code, name) for code, name, selected in self.rules if selected]
        left += _comments.report(comments, unused, ran, [(code, name) for code, name, _ in self.rules])
        shown = {graded(f, self.config) for f in left if not off_here(f, self.config)}
        return sorted(shown, key=place), silenced

    @functools.cached_property
    def registries(self) -> Registries:
        """The registries beside the skills, read only when a rule or a report needs them.

        The cache keeps them too, since validating them takes longer than all rules together.
        """
        from skill_health.registries.records import from_json, load_registries

        kept = self.cache.file.part("registries")
        return from_json(kept) if kept else load_registries(self.discovery.root, self.config.sources)

    @functools.cached_property
    def rules(self) -> list[tuple[str, str, bool]]:
        """Code, name and whether selected, of every rule; from the cache where that is known."""
        kept = self.cache.file.part("rules")
        if kept is not None:
            return list(kept)
        from skill_health.rules._load import rules_with
        from skill_health.rules._select import selected

        every = rules_with(self.config.custom)
        chosen = {rule.code for rule in selected(every, self.config)}
        return [(rule.code, rule.name, rule.code in chosen) for rule in every]


def _facts(skills: Mapping[str, SessionSkill]) -> dict[str, dict[str, Any]]:
    every = {}
    for path, skill in skills.items():
        facts = {"summary": skill.summary, **skill.facts}
        every[path] = {key: facts[key] for key in _KEPT if key in facts} | {"measures": skill.measures}
    return every


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
    """Whether the configuration switches this rule off for this path; the last entry that matches wins."""
    off = False
    for entry in config.per_path:
        patterns = _patterns(entry.glob)
        if patterns and ignored_within((patterns,), finding.path, False):
            off = off or named(finding, entry.ignore)
            off = off and not named(finding, entry.select)
    return off


def named(finding: Finding, selectors: tuple[str, ...]) -> bool:
    """Whether one of the selectors means the rule of a finding."""
    return any(named_by(selector, finding.code, finding.rule, finding.family) for selector in selectors)


def graded(finding: Finding, config: Config) -> Finding:
    """The finding with the severity that the configuration gives its rule; the most specific selector wins."""
    if not config.severity:
        return finding
    best = ""
    for selector in config.severity:
        if named(finding, (selector,)) and (selector == finding.code or len(selector) >= len(best)):
            best = selector
    return finding._replace(severity=Severity(config.severity[best])) if best else finding


def _named_files(paths: Sequence[str], root: str) -> list[str]:
    """The named files, relative to the root: a registry among them shows its own findings."""
    real = [os.path.realpath(path) for path in paths]
    return [os.path.relpath(path, root).replace(os.sep, "/") for path in real if may_be_file(path)]


def prefix(root: str) -> str:
    """What leads from the current directory to the root, with a closing slash; "" where it is not below."""
    here = os.path.realpath(os.getcwd())
    if root == here or not root.startswith(here.rstrip(os.sep) + os.sep):
        return ""
    return os.path.relpath(root, here).replace(os.sep, "/") + "/"
