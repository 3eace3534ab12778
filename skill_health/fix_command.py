"""`lint --fix` and `lint --diff`: plan, then write or show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import unified_diff

import click

from skill_health.core.config import Config
from skill_health.core.console import clean, paint, wants_color
from skill_health.core.corpus import discover
from skill_health.core.registries import load_registries
from skill_health.core.secrets import redact
from skill_health.fixes import FixPlan, plan_fixes, write_plan
from skill_health.rules._load import all_rules
from skill_health.select import selected


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
