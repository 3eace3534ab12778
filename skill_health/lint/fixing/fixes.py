"""What `--fix` and `--diff` do: plan in memory until nothing changes any more, then write or show it."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff

import click

from skill_health.config.settings import Config
from skill_health.core.boundary import Boundary
from skill_health.core.errors import UsageError
from skill_health.core.files import is_there, read_small, write_bytes
from skill_health.discovery.corpus import Entry, discover
from skill_health.lint.baseline import drop_known, read_known
from skill_health.lint.check import FileContext, check_skill, load_skill
from skill_health.lint.fixing.edits import edit_bytes
from skill_health.lint.pipeline import graded, off_here
from skill_health.lint.report import LintReport, is_shown
from skill_health.registries.records import Registries, load_registries
from skill_health.rules._api import Edit, Finding
from skill_health.rules._load import rules_with
from skill_health.rules._select import selected
from skill_health.rules.ignores import _comments
from skill_health.text.secrets import redact
from skill_health.text.terminal import clean, paint, wants_color

_MAX_PASSES = 10


@dataclass
class FixPlan:
    """What would change: path -> (bytes before, bytes after), and renames as (path, new name)."""

    changes: dict[str, tuple[bytes, bytes]] = field(default_factory=dict)
    renames: list[tuple[str, str]] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)


class _Overlay(FileContext):
    """Files as they would be after the fixes so far."""

    def __init__(self, boundary: Boundary, config: Config, registries: Registries, texts: Mapping[str, bytes]) -> None:
        super().__init__(boundary.root, config, registries, boundary)
        self.texts = texts

    def small(self, path: str) -> bytes | None:
        """The planned bytes of a file, else those on disk."""
        return self.texts[path] if path in self.texts else super().small(path)


class SkillFixer:
    """What fixes the skills of a collection: its rules, registries and known findings, read once.

    Fixed is what `lint` counts: shown to the user, of this severity or a higher one, and safe unless `unsafe`.
    """

    def __init__(self, boundary: Boundary, config: Config, unsafe: bool = False, severity: str = "info") -> None:
        self.boundary, self.config, self.unsafe, self.severity = boundary, config, unsafe, severity
        self.rules = selected(rules_with(config.custom), config)
        self.registries = load_registries(boundary.root, config.sources)
        self.known = read_known(boundary.root, config)

    def plan(self, entries: Iterable[Entry]) -> FixPlan:
        """Fix every skill in memory, pass after pass, until no fix is left (or ten passes are done)."""
        plan = FixPlan()
        for entry in entries:
            if not entry.problem:
                self._plan_skill(plan, entry)
        return plan

    def _plan_skill(self, plan: FixPlan, entry: Entry) -> None:
        # Of a larger file only the head is read elsewhere, and half a file must not be written.
        data = self.boundary.read_small(entry.path)
        if data is None:
            return
        before: dict[str, bytes] = {entry.path: data}
        now = dict(before)
        for _ in range(_MAX_PASSES):
            found = self.find(entry, now)
            if not _apply(plan, self.boundary, found, before, now):
                break
        for path in before:
            if now[path] != before[path]:
                plan.changes[path] = (before[path], now[path])

    def find(self, entry: Entry, texts: Mapping[str, bytes] | None = None) -> list[Finding]:
        """The findings of a skill to fix, with their fixes; none where it cannot be read whole. `texts` are planned."""
        data = texts.get(entry.path) if texts else self.boundary.read_small(entry.path)
        if data is None or entry.problem:
            return []
        context = _Overlay(self.boundary, self.config, self.registries, texts or {})
        try:
            checked = check_skill(load_skill(entry, data, ""), self.rules, context)
        except (MemoryError, RecursionError):
            return []
        left, _ = _comments.apply(checked.findings, checked.ignores)
        shown = [graded(finding, self.config) for finding in left if not off_here(finding, self.config)]
        fixes = [f for f in drop_known(shown, self.known) if f.fix and (self.unsafe or f.fix.safe)]
        return [finding for finding in fixes if is_shown(finding, self.severity)]


def finding_place(finding: Finding) -> tuple[object, ...]:
    """What tells a finding from the others of a run, with its fix or without."""
    return finding.code, finding.path, finding.line, finding.col, finding.message


def with_fixes(report: LintReport, config: Config, boundary: Boundary) -> LintReport:
    """The report with the fixes of its findings, which a cache does not keep, and the texts that findings are in."""
    owners = {finding.skill for finding in report.findings if finding.fixable}
    fixer = SkillFixer(boundary, config, unsafe=True)
    fixes = {}
    for entry in report.skills:
        if entry.path in owners:
            fixes.update({finding_place(finding): finding.fix for finding in fixer.find(entry)})
    texts = {}
    for path in sorted({finding.path for finding in report.everything()}):
        if data := boundary.read_small(path):
            texts[path] = data.decode("utf-8-sig", "replace")

    def fixed(finding: Finding) -> Finding:
        return finding._replace(fix=fixes.get(finding_place(finding)))

    clones = {fixed(first): others for first, others in report.clones.items()}
    return report._replace(findings=tuple(map(fixed, report.findings)), clones=clones, texts=texts)


def _apply(
    plan: FixPlan, boundary: Boundary, findings: Sequence[Finding], before: dict[str, bytes], now: dict[str, bytes]
) -> bool:
    edits: defaultdict[str, list[Edit]] = defaultdict(list)
    for finding in findings:
        assert finding.fix is not None
        edits[finding.path] += finding.fix.edits
        rename = finding.fix.rename
        if rename and rename not in plan.renames:
            plan.renames.append(rename)
            plan.messages.append(f"{finding.path}: {finding.fix.message}")
    moved = False
    for path, wanted in edits.items():
        if path not in now:
            data = boundary.read_small(path)
            if data is None:
                continue
            before[path] = now[path] = data
        changed = edit_bytes(now[path], wanted)
        if changed != now[path]:
            now[path], moved = changed, True
            plan.messages += [
                f"{f.path}:{f.line}: {f.fix.message}" for f in findings if f.fix and f.fix.edits and f.path == path
            ]
    return moved


def write_plan(root: str, plan: FixPlan) -> list[str]:
    """Carry out a plan and return notes on what was left alone.

    A file that has changed since then is not touched, nor one that would lose what it is in other places: to be written
    whole or not at all, a file is replaced by a new one, which has the old one's owner and permissions, not its links.
    """
    notes = []
    for path, (old, new) in sorted(plan.changes.items()):
        full = os.path.join(root, path)
        if not _inside(root, full):
            notes.append(f"{path}: outside the collection, left alone")
        elif why := _keep_reason(full):
            notes.append(f"{path}: {why}, left alone")
        elif read_small(full) != old:
            notes.append(f"{path}: changed in the meantime, left alone")
        else:
            write_bytes(os.path.realpath(full), new)  # through no link but one that stays inside
    # Files before folders, so that no path goes stale on the way.
    for path, name in sorted(plan.renames, key=lambda rename: (-rename[0].count("/"), rename)):
        source = os.path.join(root, path)
        target = os.path.join(os.path.dirname(source), name)
        if not (_inside(root, source) and _inside(root, target)):
            notes.append(f"{path}: outside the collection, left alone")
        elif not is_there(source, links=False):
            notes.append(f"{path}: gone in the meantime")
        elif is_there(target, links=False) and not _is_same(source, target):
            notes.append(f"{path}: {name} already exists, left alone")
        else:
            _rename(source, target)
    return notes


def _inside(root: str, path: str) -> bool:
    real, top = os.path.realpath(path), os.path.realpath(root)
    return real == top or real.startswith(top.rstrip(os.sep) + os.sep)


def _keep_reason(path: str) -> str:
    """Why a file cannot be replaced without a loss; "" where it can."""
    try:
        state = os.stat(path)
    except OSError:
        return "gone in the meantime"
    if state.st_nlink > 1:
        return f"has {state.st_nlink} hard links, of which --fix would change one"
    user = os.geteuid() if hasattr(os, "geteuid") else 0
    return "belongs to another user" if user and state.st_uid != user else ""


def _is_same(path: str, other: str) -> bool:
    """Whether two names are of one file, as in a file system that ignores case."""
    return os.path.samestat(os.lstat(path), os.lstat(other))


def _rename(source: str, target: str) -> None:
    try:
        os.rename(source, target)
    except OSError as error:
        raise UsageError(f"cannot rename {source}: {error.strerror or error}") from error


def fix(
    paths: Sequence[str], root: str, config: Config, unsafe: bool, show_only: bool, color: str, severity: str = "info"
) -> FixPlan:
    """Fix the skills that were asked for, or print the changes as a unified diff. Returns what was planned."""
    discovery = discover(paths, config, root)
    entries = [entry for entry in discovery.entries if entry.target]
    plan = SkillFixer(Boundary(discovery.root), config, unsafe, severity).plan(entries)
    if show_only:
        for line in diff_lines(plan, wants_color(None, color)):
            click.echo(line, color=True)
        return plan
    for note in write_plan(discovery.root, plan):
        click.echo(f"skill-health: {clean(note)}", err=True)
    for message in plan.messages:
        click.echo(f"fixed {clean(message)}", err=True)
    return plan


def diff_lines(plan: FixPlan, color: bool) -> Iterator[str]:
    """The plan as a unified diff, safe to print; renames first."""
    for path, name in plan.renames:
        yield clean(f"rename {path} -> {name}")
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for path, (old, new) in sorted(plan.changes.items()):
        before, after = (data.decode("utf-8", "replace").splitlines(keepends=False) for data in (old, new))
        if before == after:
            yield clean(f"{path}: line endings or a byte-order mark change")
        for line in unified_diff(before, after, f"a/{path}", f"b/{path}", lineterm=""):
            style = styles.get(line[0])
            shown = clean(redact(line))
            yield paint(shown, style, color) if style else shown
