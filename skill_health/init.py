"""Setting a repository up: which files to write, decided before any is written."""

from __future__ import annotations

import os
import tomllib
from typing import NamedTuple

from skill_health import init_hooks, init_workflow
from skill_health.config.load import FILE_NAME, PYPROJECT, holds_settings
from skill_health.config.settings import Config, load_config
from skill_health.config.values import build
from skill_health.core.errors import UsageError
from skill_health.discovery.corpus import discover, find_root
from skill_health.discovery.roots import git_top, is_certain, resolve
from skill_health.init_config import entry, settings
from skill_health.init_layout import Layout, look
from skill_health.lint.fixtures import count
from skill_health.lint.report import BASELINE
from skill_health.registries.records import load_registries

_FILL_IN = "it fails until it says where skill-health is installed from: fill that in, or give --from ADDRESS@COMMIT"


class Wanted(NamedTuple):
    """What the user asked for. `profile` is None for the default one, `source` where none is named."""

    profile: str | None = None
    workflow: bool = False
    baseline: bool = False
    force: bool = False
    source: str | None = None


class Step(NamedTuple):
    """One file: its place, the text to write, and what happens to it.

    `action` is write, replace, extend or keep; with keep nothing is written, and `add` are the lines that a user may
    add by hand. `text` is None for the baseline, which only a run can fill. `note` says what the file still needs.
    """

    place: str
    action: str
    text: str | None = ""
    why: str = ""
    add: str = ""
    note: str = ""


class Plan(NamedTuple):
    """What to do, and what it rests on.

    `root` is that of the collection, `top` that of the repository; `skills` and `records` say how many there are;
    `config` are the settings as they will be.
    """

    root: str
    top: str
    layout: Layout
    skills: int
    records: str
    steps: tuple[Step, ...]
    config: Config


def plan(path: str, wanted: Wanted) -> Plan:
    """Decide what to write for the collection that the folder `path` belongs to; nothing is written.

    Raises UsageError where there is no such folder or no skill below it, for a wrong profile or configuration, and
    where a file to write is a folder or leads out of the repository.
    """
    place, is_folder = resolve(path)
    if not is_folder:
        raise UsageError(f"{path} is a file: name the folder to set up")
    root = find_root([path])
    root = root if is_certain(root) else place
    top = git_top(root) or root
    _check_profile(wanted.profile, root)
    known = load_config(root)
    discovery = discover((root,), known, root)
    if not discovery.entries:
        raise UsageError(f"no skill below {root}: a skill is a folder with a SKILL.md (see exclude, .gitignore)")
    layout = look(discovery)
    steps = [_settings_step(root, layout, wanted, known)]
    config = build(tomllib.loads(steps[0].text or ""), FILE_NAME) if steps[0].action != "keep" else known
    source = init_hooks.parse_source(wanted.source) if wanted.source else init_hooks.installed_source()
    records = count(load_registries(root, config.sources))
    lines = init_hooks.lines(source, bool(records))
    steps.append(_hooks_step(os.path.join(top, init_hooks.FILE_NAME), lines, wanted.force))
    if wanted.workflow:
        inner = os.path.relpath(root, top).replace(os.sep, "/") if root != top else ""
        text = init_workflow.workflow(inner, config.daily.reports, source)
        step = _whole(os.path.join(top, init_workflow.FILE_NAME), text, wanted.force)
        missing = init_workflow.is_missing(source) and step.action != "keep"
        steps.append(step._replace(note=_FILL_IN if missing else ""))
    if wanted.baseline:
        steps.append(_whole(os.path.join(root, config.baseline or BASELINE), None, wanted.force))
    for step in steps:
        _check_place(step, top)
    return Plan(root, top, layout, len(discovery.entries), records, tuple(steps), config)


def _settings_step(root: str, layout: Layout, wanted: Wanted, known: Config) -> Step:
    profile = wanted.profile or known.profile
    baseline = known.baseline or (BASELINE if wanted.baseline else "")
    text = settings(root, layout, profile if profile != Config().profile else None, baseline)
    place = os.path.join(root, FILE_NAME)
    add = f'profile = "{wanted.profile}"\n' if wanted.profile not in (None, known.profile) else ""
    add += entry(BASELINE) if wanted.baseline and not known.baseline else ""
    if holds_settings(root) and not os.path.isfile(place):
        return Step(os.path.join(root, PYPROJECT), "keep", why="holds the settings already", add=add)
    step = _whole(place, text, wanted.force)
    return step._replace(add=add) if step.action == "keep" and step.why != "is up to date" else step


def _hooks_step(place: str, lines: list[str], force: bool) -> Step:
    if not os.path.lexists(place):
        return Step(place, "write", init_hooks.new_file(lines))
    text = _read(place)
    found = init_hooks.has_hook(text)
    if found:
        return Step(place, "keep", why="has the hook already")
    longer = init_hooks.joined(text, lines) if force else None
    if longer is not None:
        return Step(place, "extend", longer)
    why = "is there already" if found is False else "cannot be read as a pre-commit configuration"
    why += ": nothing can be added to it safely" if force else ""
    return Step(place, "keep", why=why, add="".join(f"  {line}\n" for line in lines))


def _whole(place: str, text: str | None, force: bool) -> Step:
    """Write a file that is not there; replace one that is there only where that is wanted and changes anything."""
    if not os.path.lexists(place):
        return Step(place, "write", text)
    if text is not None and os.path.isfile(place) and _read(place) == text:
        return Step(place, "keep", why="is up to date")
    return Step(place, "replace", text) if force else Step(place, "keep", why="is there already")


def _read(place: str) -> str:
    try:
        with open(place, encoding="utf-8", errors="surrogateescape", newline="") as file:
            return file.read()
    except OSError as error:
        raise UsageError(f"cannot read {place}: {error.strerror}") from None


def _check_place(step: Step, top: str) -> None:
    """Raise UsageError where writing here would reach outside the repository, or hit a folder."""
    if step.action == "keep":
        return
    real, base = os.path.realpath(step.place), os.path.realpath(top)
    if not real.startswith(base.rstrip(os.sep) + os.sep):
        raise UsageError(f"{step.place} leads out of the repository (to {real}): nothing is written")
    if os.path.isdir(step.place):
        raise UsageError(f"{step.place} is a folder: nothing is written")


def _check_profile(profile: str | None, root: str) -> None:
    from skill_health.profiles import COMPAT, load_profile

    if profile is not None and profile != COMPAT:
        load_profile(profile, root)
