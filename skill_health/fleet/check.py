"""One repository -> what is known of it: a lint run with its own configuration, as a daily run would have it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import NamedTuple

from msgspec import json, structs

from skill_health.bench.durable import locked
from skill_health.config.load import describe_refused
from skill_health.core.boundary import Boundary, git_top
from skill_health.core.errors import SkillHealthError, UsageError
from skill_health.core.files import blake2b, here, is_folder
from skill_health.core.strict_json import escape_surrogates
from skill_health.daily.today import TodayRun, check_today
from skill_health.discovery.changes import read_revision
from skill_health.discovery.corpus import Entry
from skill_health.discovery.ignores import Patterns, compile_patterns, ignored, ignored_within
from skill_health.discovery.roots import relative, stay_inside
from skill_health.documents._record import decode_record
from skill_health.documents.fleet_file import FleetFile
from skill_health.documents.fleet_state import FleetSkill, FleetState, KeptFinding
from skill_health.fleet.remotes import copy_commit
from skill_health.fleet.seen import FoundRepository, address_source, config_of
from skill_health.fleet.sketch import draw_sketch, pack_sketch
from skill_health.lint.baseline import without_known
from skill_health.lint.cache.cache_folder import own_folder
from skill_health.lint.pipeline import configure, lint
from skill_health.lint.readable import require_readable
from skill_health.lint.report import LintReport
from skill_health.status.join import skill_digest

_MESSAGE = 300
PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
_WORD = re.compile(r"(?:\\.|[^\s\\])+")
_MOST_OWNERS = 20
_LONGEST = 100


@dataclass(frozen=True, slots=True)
class FleetTask:
    """How repositories are linted: for which fleet, at which time, by how many processes."""

    fleet: FleetFile
    file: str
    profile: str
    as_of: date
    time: str
    jobs: int
    use_cache: bool


def check_repository(task: FleetTask, found: FoundRepository) -> FleetState:
    """Lint a repository, one at an address in a copy of ours. Raises SkillHealthError where that cannot be done."""
    listed = found.listed
    if not listed.address:
        return _check(task, found, found.place)
    name = blake2b(f"{listed.address}\0{listed.branch}".encode(), digest_size=16).hexdigest()
    parent = own_folder("fleet")
    if parent is None:
        raise UsageError(
            "there is no folder of yours alone for copies of repositories: name one in SKILL_HEALTH_CACHE_DIR"
        )
    folder = os.path.join(parent, name)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    with locked(folder):
        commit = copy_commit(listed.address, listed.branch, folder)
        if found.seen and commit != found.commit:
            # The branch has moved meanwhile.
            found = replace(
                found, commit=commit, seen=structs.replace(found.seen, source=address_source(listed.address, commit))
            )
        return _check(task, found, os.path.join(folder, "tree"))


def _check(task: FleetTask, found: FoundRepository, place: str) -> FleetState:
    listed, seen = found.listed, found.seen
    assert seen is not None
    top = git_top(place) or place
    path = stay_inside(os.path.join(place, listed.folder), place) if listed.folder else place
    if not is_folder(path):
        raise UsageError(f"there is no folder {listed.folder} in it")
    named = config_of(task.fleet, listed, task.file)
    try:
        root, config = configure((path,), named or None, {"profile": task.profile} if task.profile else {})
        report, result = lint((path,), root, config, task.as_of, task.jobs, task.use_cache, score=True)
        require_readable(result.entries, result.unread)
        left = without_known(report, root, config)
    except SkillHealthError as error:
        raise type(error)(_placeless(str(error), place)) from None
    revision = read_revision(root, git_top(root), _own(root, found.reports))
    asked = os.path.relpath(path, root).replace(os.sep, "/")
    today = check_today(left, result, config, task.as_of, task.time, (asked,), revision)
    claims = result.registries is not None and result.registries.claims is not None
    notes = (*report.warnings, *describe_refused(config), *filter(None, [revision.note]))
    state = FleetState(
        schema="skill-health/fleet-state/1",
        seen=structs.replace(seen, day=task.as_of.isoformat() if claims else ""),
        run=today.line,
        skills=dict(_skills(left, root, top, listed.owner)),
        findings=tuple(_findings(left, today)),
        configured=(listed.config or task.fleet.config) if named else config.source,
        fail_on=config.fail_on,  # type: ignore[arg-type]
        needs_work=config.needs_work,  # type: ignore[arg-type]
        ignored=report.ignored,
        baselined=left.baselined,
        notes=tuple(escape_surrogates(_placeless(note, place)) for note in notes),
    )
    # As it will be read again: what was a whole number may be read as a fraction, and is written otherwise then.
    return decode_record(json.encode(state), FleetState)


def _placeless(text: str, place: str) -> str:
    """A message without the folder of the repository: that of a copy tells nobody anything."""
    return text.replace(here(place) + os.sep, "").replace(place + os.sep, "")


def _own(root: str, reports: str) -> list[str]:
    inside = relative(reports, root)
    return [inside] if inside else []


def _skills(report: LintReport, root: str, top: str, owner: str) -> Iterator[tuple[str, FleetSkill]]:
    lines = read_owners(Boundary(top))
    inner = relative(root, top) or ""
    boundary = Boundary(root)
    for entry in report.skills:
        yield escape_surrogates(entry.path), _skill(entry, root, boundary, _owners(lines, inner, entry.path, owner))


def _owners(lines: tuple[OwnedPattern, ...], inner: str, path: str, owner: str) -> tuple[str, ...]:
    found = find_owners(lines, f"{inner}/{path}" if inner else path)
    owners = found if found is not None else (owner,) if owner else ()
    return tuple(dict.fromkeys(map(escape_surrogates, owners)))


def _skill(entry: Entry, root: str, boundary: Boundary, owners: tuple[str, ...]) -> FleetSkill:
    data = None if entry.problem else boundary.read_small(entry.path)
    if data is None:
        return FleetSkill(text=None, whole=None, sketch="", passages=0, owners=owners)
    sketch = draw_sketch(data.decode("utf-8", "replace"))
    return FleetSkill(
        text=blake2b(data, digest_size=16).hexdigest(), whole=skill_digest(root, entry, ""), sketch=pack_sketch(sketch),
        passages=sketch.total, owners=owners,
    )  # fmt: skip


def _findings(report: LintReport, today: TodayRun) -> Iterator[KeptFinding]:
    keys = {
        id(each): (skill, key) for skill, own in today.findings.items() for key, some in own.items() for each in some
    }
    for finding in report.findings:
        skill, key = keys[id(finding)]
        yield KeptFinding(
            skill=skill, key=key, severity=finding.severity.value, code=finding.code, rule=finding.rule,
            family=finding.family, path=escape_surrogates(finding.path), line=finding.line,
            message=escape_surrogates(_cut(finding.message)),
        )  # fmt: skip


def _cut(text: str) -> str:
    return text if len(text) <= _MESSAGE else text[: _MESSAGE - 1] + "…"


class OwnedPattern(NamedTuple):
    """A line: whose the files are that it matches. One that ends in /* does not reach below a folder."""

    patterns: Patterns
    owners: tuple[str, ...]
    shallow: bool


def read_owners(boundary: Boundary) -> tuple[OwnedPattern, ...]:
    """The lines of the CODEOWNERS of a repository whose boundary begins at its top; () where there is none.

    The last pattern that matches decides, as GitHub says (docs.github.com, "About code owners", read 2026-11).
    Sections of GitLab are passed over, as are lines that GitHub does not know either: those with `!` or `[`.
    """
    for place in PLACES:
        data = boundary.read_small(place)
        if data is not None:
            return tuple(filter(None, map(_line, data.decode("utf-8", "replace").splitlines())))
    return ()


def _line(text: str) -> OwnedPattern | None:
    # A backslash keeps the space or the # after it in the pattern.
    words = _WORD.findall(text)
    if not words or words[0][0] in "#![^":
        return None
    pattern = words[0]
    compiled = compile_patterns((pattern,))
    owners: list[str] = []
    for word in words[1:]:
        if word.startswith("#"):
            break
        owners.append(word[:_LONGEST])
    return OwnedPattern(compiled, tuple(owners[:_MOST_OWNERS]), pattern.endswith("/*")) if compiled else None


def find_owners(lines: Sequence[OwnedPattern], path: str) -> tuple[str, ...] | None:
    """Who answers for a path, relative to the top; () where a line says nobody, None where no line speaks of it."""
    for line in reversed(lines):
        stack = (line.patterns,)
        name = path.rpartition("/")[2]
        if ignored(stack, path, name, False) if line.shallow else ignored_within(stack, path, False):
            return line.owners
    return None
