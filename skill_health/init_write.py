"""Carrying out what `init` decided, and saying what was done."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from datetime import date

from skill_health.core.files import here, write_text
from skill_health.discovery.roots import git_top
from skill_health.init import Plan, Step
from skill_health.text.terminal import clean

REASON = "found when skill-health was set up"
DONE = {"write": "wrote", "replace": "replaced", "extend": "added the hook to"}
PLANNED = {"write": "would write", "replace": "would replace", "extend": "would add the hook to"}
MAX_GROUPS = 6


def found(plan: Plan) -> Iterator[str]:
    """What the repository holds, in a few lines."""
    groups = plan.layout.groups
    number, copies = plan.skills + plan.layout.copies, plan.layout.copies
    once = f", {copies} of them copies of others and checked once" if copies else ""
    yield f"found {number} skill{'s' * (number != 1)}{once}:"
    for group in groups[:MAX_GROUPS]:
        yield clean(f"  {group.skills:4} in {group.folder or '.'}/ ({group.kind})")
    if len(groups) > MAX_GROUPS:
        rest = groups[MAX_GROUPS:]
        yield f"  {sum(group.skills for group in rest):4} in {len(rest)} more folders"
    if plan.records:
        yield f"found registries: {plan.records}"
    if plan.layout.unnamed:
        yield f"{plan.layout.unnamed} more registries have names that no configuration can hold"
    for folder in plan.layout.own:
        yield clean(f"{folder}/ has a configuration of its own: run skill-health there for its settings to hold")


def carry_out(plan: Plan, dry_run: bool) -> Iterator[str]:
    """Write the files, and say so; with `dry_run` only say it, and show what would stand in them."""
    for step in plan.steps:
        if step.action == "keep":
            yield clean(f"left alone: {here(step.place)} {step.why}") + ("; add to it:" if step.add else "")
            yield from (f"  {clean(line)}" for line in step.add.splitlines())
            continue
        details = [f"{_lines_of(step.place)} lines before"] if step.action == "replace" else []
        if step.text is None:
            details.insert(0, f"{_baseline(plan, step, dry_run)} findings to live with")
        elif not dry_run:
            write_text(step.place, step.text)
        detail = f" ({'; '.join(details)})" if details else ""
        yield clean(f"{(PLANNED if dry_run else DONE)[step.action]} {here(step.place)}{detail}")
        if step.note:
            yield f"  {step.note}"
        if dry_run:
            yield from (f"  | {clean(line)}".rstrip() for line in (step.text or "").splitlines())


def following(plan: Plan) -> Iterator[str]:
    """The next two commands, for the shell."""
    cwd = os.path.realpath(os.curdir)
    where = "" if cwd == plan.root else f" {_quoted(here(plan.root))}"
    yield f"skill-health lint{where}"
    enter = "" if cwd == plan.top or git_top(cwd) == plan.top else f"cd {_quoted(here(plan.top))} && "
    yield f"{enter}{'' if git_top(plan.top) else 'git init && '}pre-commit install"


def _baseline(plan: Plan, step: Step, dry_run: bool) -> int:
    """Record today's findings, unless it is a dry run. Returns how many there are."""
    from skill_health.config.settings import config_with
    from skill_health.lint.baseline import with_baseline
    from skill_health.lint.pipeline import lint

    name = os.path.relpath(step.place, plan.root)
    config = config_with(plan.config, baseline="")
    report, _ = lint((plan.root,), plan.root, config, date.today())
    if not dry_run:
        # Known entries keep their reasons; the file that is replaced is the one that is read.
        with_baseline(report, plan.root, config_with(config, baseline=name), REASON, True)
    return len(report.findings)


def _lines_of(place: str) -> int:
    with open(place, "rb") as file:
        return sum(1 for _ in file)


def _quoted(text: str) -> str:
    return clean(shlex.quote(text))
