"""What `init` does: which files to write, decided before any is written, then writing them and saying so."""

from __future__ import annotations

import os
import shlex
import tomllib
from collections.abc import Iterator
from datetime import date
from typing import Literal, NamedTuple

from skill_health.config.load import FILE_NAME, PYPROJECT, holds_settings
from skill_health.config.settings import Config, load_config
from skill_health.config.values import build
from skill_health.core.boundary import git_top
from skill_health.core.errors import UsageError
from skill_health.core.files import here, is_there, kind_of, read_each_line, read_whole, write_text
from skill_health.discovery.corpus import find_root
from skill_health.discovery.roots import is_certain, resolve
from skill_health.init import texts
from skill_health.init.survey import RepositorySurvey, survey_repository
from skill_health.lint.fixtures import count
from skill_health.lint.pipeline import find_readable
from skill_health.lint.readable import require_readable
from skill_health.lint.report import BASELINE
from skill_health.registries.records import load_registries
from skill_health.text.terminal import clean

_FILL_IN = "it fails until it says where skill-health is installed from: fill that in, or give --from ADDRESS@COMMIT"
_REASON = "found when skill-health was set up"
_DONE = {"write": "wrote", "replace": "replaced", "extend": "added the hook to"}
_PLANNED = {"write": "would write", "replace": "would replace", "extend": "would add the hook to"}
_MAX_GROUPS = 6


class SetupOptions(NamedTuple):
    """What the user asked for. `profile` is None for the default one, `source` where none is named."""

    profile: str | None = None
    workflow: bool = False
    baseline: bool = False
    force: bool = False
    source: str | None = None


class SetupFile(NamedTuple):
    """One file: its place, the text to write, and what happens to it.

    `action` is write, replace, extend or keep; with keep nothing is written, and `add` are the lines that a user may
    add by hand. `text` is None for the baseline, which only a run can fill. `note` says what the file still needs, and
    `choices` why it is as it is.
    """

    place: str
    action: Literal["write", "replace", "extend", "keep"]
    text: str | None = ""
    why: str = ""
    add: str = ""
    note: str = ""
    choices: tuple[str, ...] = ()


class SetupPlan(NamedTuple):
    """What to do, and what it is based on.

    `root` is that of the collection, `top` that of the repository; `skills` and `records` say how many there are;
    `config` are the settings as they will be.
    """

    root: str
    top: str
    survey: RepositorySurvey
    skills: int
    records: str
    files: tuple[SetupFile, ...]
    config: Config


def plan_setup(path: str, options: SetupOptions) -> SetupPlan:
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
    _check_profile(options.profile, root)
    known = load_config(root)
    discovery = find_readable((root,), known, root)
    survey = survey_repository(discovery)
    source = texts.parse_source(options.source) if options.source else texts.installed_source()
    files = [_plan_settings(root, survey, options, known, source)]
    config = build(tomllib.loads(files[0].text or ""), FILE_NAME) if files[0].action != "keep" else known
    records = count(load_registries(root, config.sources))
    lines = texts.list_hook_lines(source, bool(records))
    hooks = _plan_hooks(os.path.join(top, texts.HOOKS_FILE), lines, options.force)
    files.append(hooks._replace(choices=tuple(_explain_hooks(source, records))))
    if options.workflow:
        inner = os.path.relpath(root, top).replace(os.sep, "/") if root != top else ""
        text = texts.format_workflow(inner, config.daily.reports, source)
        file = _plan_whole(os.path.join(top, texts.WORKFLOW_FILE), text, options.force)
        missing = not texts.is_reachable(source) and file.action != "keep"
        files.append(file._replace(note=_FILL_IN if missing else "", choices=_WORKFLOW_CHOICES))
    if options.baseline:
        files.append(_plan_whole(os.path.join(root, config.baseline or BASELINE), None, options.force))
    for file in files:
        _check_place(file, top)
    return SetupPlan(root, top, survey, len(discovery.entries), records, tuple(files), config)


def _explain_settings(survey: RepositorySurvey, source: texts.PackageSource | None) -> Iterator[str]:
    """Why the settings are as they are."""
    yield "errors fail a run and a commit, warnings do not: see fail-on"
    if survey.further:
        yield f"[sources] names registries at places where they are not looked for: {', '.join(survey.further)}"
    if survey.tests:
        yield "skills that look like test data are checked; a line to leave them out is there, commented out"
    if address := texts.schema_address(source):
        yield f"its first line has editors check it: {address}"
    else:
        yield "without a schema line for editors: --from https://github.com/OWNER/NAME@COMMIT says where there is one"


def _explain_hooks(source: texts.PackageSource | None, records: str) -> Iterator[str]:
    """Why the hooks are as they are."""
    yield "skill-health refuses what a commit makes worse; what is there already passes"
    if records:
        yield "skill-health-fixtures checks the registries that were found"
    if source:
        yield f"pre-commit installs it from {source.repo} at {source.rev[:12]}"
    else:
        yield "it runs the skill-health that is installed; --from ADDRESS@COMMIT has pre-commit install one"


_WORKFLOW_CHOICES = (
    "pull requests fail for what they make worse, pushes for what is there",
    "it may read only, but for one job, which keeps the history and runs nothing but git",
)


def _plan_settings(
    root: str, survey: RepositorySurvey, options: SetupOptions, known: Config, source: texts.PackageSource | None
) -> SetupFile:
    profile = options.profile or known.profile
    baseline = known.baseline or (BASELINE if options.baseline else "")
    text = texts.format_settings(root, survey, profile if profile != Config().profile else None, baseline, source)
    place = os.path.join(root, FILE_NAME)
    add = f'profile = "{options.profile}"\n' if options.profile not in (None, known.profile) else ""
    add += texts.format_baseline(BASELINE) if options.baseline and not known.baseline else ""
    if holds_settings(root) and not os.path.isfile(place):
        return SetupFile(os.path.join(root, PYPROJECT), "keep", why="already holds the settings", add=add)
    file = _plan_whole(place, text, options.force)._replace(choices=tuple(_explain_settings(survey, source)))
    return file._replace(add=add) if file.action == "keep" and file.why != "is up to date" else file


def _plan_hooks(place: str, lines: list[str], force: bool) -> SetupFile:
    if not is_there(place, links=False):
        return SetupFile(place, "write", texts.format_hooks(lines))
    text = _read(place)
    found = texts.uses_our_hooks(text)
    if found:
        return SetupFile(place, "keep", why="already has the hook")
    longer = texts.insert_hooks(text, lines) if force else None
    if longer is not None:
        return SetupFile(place, "extend", longer)
    why = "already exists" if found is False else "cannot be read as a pre-commit configuration"
    why += ": nothing can be added to it safely" if force else ""
    return SetupFile(place, "keep", why=why, add="".join(f"  {line}\n" for line in lines))


def _plan_whole(place: str, text: str | None, force: bool) -> SetupFile:
    """Write a file that is not there; replace one that is there only where that is wanted and changes anything."""
    if not is_there(place, links=False):
        return SetupFile(place, "write", text)
    if text is not None and os.path.isfile(place) and _read(place) == text:
        return SetupFile(place, "keep", why="is up to date")
    return SetupFile(place, "replace", text) if force else SetupFile(place, "keep", why="already exists")


def _read(place: str) -> str:
    try:
        return read_whole(place).decode("utf-8", "surrogateescape")
    except OSError as error:
        raise UsageError(f"cannot read {place}: {error.strerror or error}") from None


def _check_place(file: SetupFile, top: str) -> None:
    """Raise UsageError where writing here would reach outside the repository, or hit what is no file."""
    if file.action == "keep":
        return
    real, base = os.path.realpath(file.place), os.path.realpath(top)
    if not real.startswith(base.rstrip(os.sep) + os.sep):
        raise UsageError(f"{file.place} leads out of the repository (to {real}): nothing is written")
    if os.path.isdir(file.place):
        raise UsageError(f"{file.place} is a folder: nothing is written")
    if kind_of(file.place) in ("other", "unknown"):
        raise UsageError(f"{file.place} is not a regular file that can be written to: nothing is written")


def _check_profile(profile: str | None, root: str) -> None:
    from skill_health.profiles import COMPAT, load_profile

    if profile is not None and profile != COMPAT:
        load_profile(profile, root)


def describe_repository(plan: SetupPlan) -> Iterator[str]:
    """What the repository holds, in a few lines."""
    groups = plan.survey.groups
    number, copies = plan.skills + plan.survey.copies, plan.survey.copies
    once = f", {copies} of them copies, which are checked once" if copies else ""
    yield f"found {number} skill{'s' * (number != 1)}{once}:"
    for group in groups[:_MAX_GROUPS]:
        yield clean(f"  {group.skills:4} in {group.folder or '.'}/ ({group.kind})")
    if len(groups) > _MAX_GROUPS:
        rest = groups[_MAX_GROUPS:]
        yield f"  {sum(group.skills for group in rest):4} in {len(rest)} more folders"
    if plan.records:
        yield f"found registries: {plan.records}"
    if plan.survey.unnamed:
        yield f"{plan.survey.unnamed} more registries have names that no configuration can hold"
    for folder in plan.survey.own:
        yield clean(f"{folder}/ has a configuration of its own: run skill-health there for it to apply")


def carry_out(plan: SetupPlan, dry_run: bool) -> Iterator[str]:
    """Write the files, and say so; with `dry_run` only say it, and show what would stand in them."""
    for file in plan.files:
        if file.action == "keep":
            yield clean(f"left alone: {here(file.place)} {file.why}") + ("; add to it:" if file.add else "")
            yield from (f"  {clean(line)}" for line in file.add.splitlines())
            continue
        details = [f"{_count_lines(file.place)} lines before"] if file.action == "replace" else []
        if file.text is None:
            details.insert(0, f"{_record_baseline(plan, file, dry_run)} findings to live with")
        elif not dry_run:
            write_text(file.place, file.text)
        detail = f" ({'; '.join(details)})" if details else ""
        yield clean(f"{(_PLANNED if dry_run else _DONE)[file.action]} {here(file.place)}{detail}")
        yield from (f"  {clean(line)}" for line in (file.note, *file.choices) if line)
        if dry_run:
            yield from (f"  | {clean(line)}".rstrip() for line in (file.text or "").splitlines())


def suggest_commands(plan: SetupPlan) -> Iterator[str]:
    """The next two commands, for the shell."""
    cwd = os.path.realpath(os.curdir)
    where = "" if cwd == plan.root else f" {_quote_shell(here(plan.root))}"
    yield f"skill-health lint{where}"
    enter = "" if cwd == plan.top or git_top(cwd) == plan.top else f"cd {_quote_shell(here(plan.top))} && "
    yield f"{enter}{'' if git_top(plan.top) else 'git init && '}pre-commit install"


def _record_baseline(plan: SetupPlan, file: SetupFile, dry_run: bool) -> int:
    """Record today's findings, unless it is a dry run. Returns how many there are."""
    from skill_health.config.settings import config_with
    from skill_health.lint.baseline import rewrite_baseline
    from skill_health.lint.pipeline import lint

    name = os.path.relpath(file.place, plan.root)
    config = config_with(plan.config, baseline="")
    report, result = lint((plan.root,), plan.root, config, date.today(), score=True)
    require_readable(result.entries, result.unread)
    if not dry_run:
        # Known entries keep their reasons; the file that is replaced is the one that is read.
        rewrite_baseline(report, plan.root, config_with(config, baseline=name), _REASON, True)
    return len(report.findings)


def _count_lines(place: str) -> int:
    try:
        return sum(1 for _ in read_each_line(place))
    except OSError as error:
        raise UsageError(f"cannot read {place}: {error.strerror or error}") from None


def _quote_shell(text: str) -> str:
    return clean(shlex.quote(text))
