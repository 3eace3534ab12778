"""What `--fix` and `--diff` do: plan in memory until nothing changes any more, then write or show."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from skill_health import ignores
from skill_health.check import FileContext, check_skill, load_skill
from skill_health.core.config import Config
from skill_health.core.corpus import Entry
from skill_health.core.errors import UsageError
from skill_health.core.files import read_bytes, write_bytes
from skill_health.core.registries import Registries
from skill_health.edits import edit_bytes
from skill_health.finish import off_here
from skill_health.rules._api import Edit, Finding, Rule

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
    before: dict[str, bytes] = {entry.path: read_bytes(os.path.join(root, entry.path))[0]}
    now = dict(before)
    for _ in range(_MAX_PASSES):
        context = _Overlay(root, config, registries, now)
        skill = load_skill(entry, now[entry.path], "")
        checked = check_skill(skill, rules, context)
        left, _ = ignores.apply(checked.findings, checked.ignores)
        findings = [f for f in left if f.fix and (unsafe or f.fix.safe) and not off_here(f, config)]
        if not _apply(plan, root, findings, before, now):
            break
    for path in before:
        if now[path] != before[path]:
            plan.changes[path] = (before[path], now[path])


def _apply(
    plan: FixPlan, root: str, findings: Sequence[Finding], before: dict[str, bytes], now: dict[str, bytes]
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
            before[path] = now[path] = read_bytes(os.path.join(root, path))[0]
        changed = edit_bytes(now[path], wanted)
        if changed != now[path]:
            now[path], moved = changed, True
            plan.messages += [
                f"{f.path}:{f.line}: {f.fix.message}" for f in findings if f.fix and f.fix.edits and f.path == path
            ]
    return moved


def write_plan(root: str, plan: FixPlan) -> list[str]:
    """Carry a plan out: (notes on what was left alone). A file that changed since it was planned is not touched."""
    notes = []
    for path, (old, new) in sorted(plan.changes.items()):
        full = os.path.join(root, path)
        if not _inside(root, full):
            notes.append(f"{path}: outside the collection, left alone")
        elif read_bytes(full)[0] != old:
            notes.append(f"{path}: changed meanwhile, left alone")
        else:
            write_bytes(full, new)
    # Files before folders, so that no path goes stale on the way.
    for path, name in sorted(plan.renames, key=lambda rename: (-rename[0].count("/"), rename)):
        source = os.path.join(root, path)
        target = os.path.join(os.path.dirname(source), name)
        if not (_inside(root, source) and _inside(root, target)):
            notes.append(f"{path}: outside the collection, left alone")
        elif os.path.exists(target) and not os.path.samefile(source, target):
            notes.append(f"{path}: {name} exists already, left alone")
        else:
            _rename(source, target)
    return notes


def _inside(root: str, path: str) -> bool:
    real, top = os.path.realpath(path), os.path.realpath(root)
    return real == top or real.startswith(top.rstrip(os.sep) + os.sep)


def _rename(source: str, target: str) -> None:
    try:
        os.rename(source, target)
    except OSError as error:
        raise UsageError(f"cannot rename {source}: {error.strerror}") from error
