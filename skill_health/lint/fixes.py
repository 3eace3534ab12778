"""What `--fix` and `--diff` do: plan in memory until nothing changes any more, then write or show it."""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff

import click

from skill_health.config.settings import Config
from skill_health.core.boundary import Boundary
from skill_health.core.errors import UsageError
from skill_health.core.files import read_small, write_bytes
from skill_health.discovery.corpus import Entry, discover
from skill_health.lint.check import FileContext, check_skill, load_skill
from skill_health.lint.pipeline import off_here
from skill_health.registries.records import Registries, load_registries
from skill_health.rules._api import Edit, Finding, Rule
from skill_health.rules._load import all_rules
from skill_health.rules._select import selected
from skill_health.rules.ignores import _comments
from skill_health.skill.model import Span
from skill_health.text.patterns import lazy
from skill_health.text.secrets import redact
from skill_health.text.terminal import clean, paint, wants_color

_LINE = lazy(r"[^\r\n]*(?:\r\n|\r|\n|$)")


def edit_bytes(data: bytes, edits: Iterable[Edit]) -> bytes:
    """Apply edits to a UTF-8 file; of two that overlap only the first is applied.

    Column 0 of line 1 stands for a byte-order mark. A line break in the new text becomes the one that the
    file uses. Bytes that are not UTF-8 are returned as they are, since positions in them mean nothing.
    """
    mark = BOM_UTF8 if data.startswith(BOM_UTF8) else b""
    try:
        text = data[len(mark) :].decode("utf-8")
    except UnicodeDecodeError:
        return data
    starts = [match.start() for match in _LINE.finditer(text)]
    newline = "\r\n" if 0 < text.count("\r\n") >= text.count("\n") - text.count("\r\n") else "\n"
    pieces, done = [], 0
    for edit in sorted(edits, key=lambda e: (e.span.line, e.span.col, e.span.end_line, e.span.end_col, e.text)):
        if (edit.span.line, edit.span.col) == (1, 0):
            mark = b""
            if (edit.span.end_line, edit.span.end_col) <= (1, 1):
                continue
        start, end = _offset(text, starts, edit.span, True), _offset(text, starts, edit.span, False)
        if start < done or end < start:
            continue
        pieces += [text[done:start], edit.text.replace("\r\n", "\n").replace("\n", newline)]
        done = end
    return mark + ("".join(pieces) + text[done:]).encode("utf-8")


def _offset(text: str, starts: list[int], span: Span, first: bool) -> int:
    line, col = (span.line, span.col) if first else (span.end_line or span.line, span.end_col or span.col)
    if line > len(starts):
        return len(text)
    start = starts[line - 1]
    end = starts[line] if line < len(starts) else len(text)
    return min(start + max(0, col - 1), end)


_MAX_PASSES = 10


@dataclass
class FixPlan:
    """What would change: path -> (bytes before, bytes after), and renames as (path, new name)."""

    changes: dict[str, tuple[bytes, bytes]] = field(default_factory=dict)
    renames: list[tuple[str, str]] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)


class _Overlay(FileContext):
    """Files as they would be after the fixes so far."""

    def __init__(self, root: str, config: Config, registries: Registries, texts: Mapping[str, bytes]) -> None:
        super().__init__(root, config, registries)
        self.texts = texts

    def small(self, path: str) -> bytes | None:
        """The planned bytes of a file, else those on disk."""
        return self.texts[path] if path in self.texts else super().small(path)


def plan_fixes(
    root: str, entries: Iterable[Entry], rules: Sequence[Rule], config: Config, registries: Registries, unsafe: bool
) -> FixPlan:
    """Fix every skill in memory, pass after pass, until no fix is left (or ten passes are done)."""
    plan = FixPlan()
    for entry in entries:
        if not entry.problem:
            _plan_skill(plan, root, entry, rules, config, registries, unsafe)
    return plan


def _plan_skill(
    plan: FixPlan, root: str, entry: Entry, rules: Sequence[Rule], config: Config, registries: Registries, unsafe: bool
) -> None:
    # Of a larger file only the head is read elsewhere, and half a file must not be written.
    data = read_small(os.path.join(root, entry.path))
    if data is None:
        return
    before: dict[str, bytes] = {entry.path: data}
    now = dict(before)
    for _ in range(_MAX_PASSES):
        context = _Overlay(root, config, registries, now)
        try:
            checked = check_skill(load_skill(entry, now[entry.path], ""), rules, context)
        except (MemoryError, RecursionError):
            return
        left, _ = _comments.apply(checked.findings, checked.ignores)
        findings = [f for f in left if f.fix and (unsafe or f.fix.safe) and not off_here(f, config)]
        if not _apply(plan, context.boundary, findings, before, now):
            break
    for path in before:
        if now[path] != before[path]:
            plan.changes[path] = (before[path], now[path])


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
        elif not os.path.lexists(source):
            notes.append(f"{path}: gone in the meantime")
        elif os.path.lexists(target) and not _is_same(source, target):
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
        raise UsageError(f"cannot rename {source}: {error.strerror}") from error


def fix(paths: Sequence[str], root: str, config: Config, unsafe: bool, show_only: bool, color: str) -> FixPlan:
    """Fix the skills that were asked for, or print the changes as a unified diff. Returns what was planned."""
    discovery = discover(paths, config, root)
    entries = [entry for entry in discovery.entries if entry.target]
    rules = selected(all_rules(), config)
    plan = plan_fixes(discovery.root, entries, rules, config, load_registries(discovery.root, config.sources), unsafe)
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
