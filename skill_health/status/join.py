"""From a collection and its reports to the joined records: a lint run of now, and the last lines of two histories."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from skill_health.config.settings import Config
from skill_health.core.files import blake2b
from skill_health.discovery.corpus import LEFT_OUT, Entry
from skill_health.discovery.evaluations import eval_material
from skill_health.discovery.plugins import Plugins
from skill_health.documents.daily_run import DailyRun
from skill_health.documents.effect_history import read_effects
from skill_health.lint.baseline import without_known
from skill_health.lint.pipeline import LintResult, lint
from skill_health.lint.readable import require_readable
from skill_health.lint.report import LintReport
from skill_health.status.composed import read_composed
from skill_health.status.judged import read_judged
from skill_health.status.loads import read_loads
from skill_health.status.next_steps import CommandBuilder
from skill_health.status.records import build_records, read_skill_routing, summaries
from skill_health.status.render import CollectionStatus
from skill_health.status.risks import risk_key, with_risks

SKILL = "SKILL.md"
_MOST_FILE, _MOST_ALL = 16 << 20, 64 << 20


def digests_now(root: str, entries: Iterable[Entry], facts: Mapping[str, Mapping[str, Any]]) -> dict[str, str | None]:
    """The digest of each skill by its name; None where a file cannot be read, or two skills share the name.

    `facts` are those of a lint run, by the path of each SKILL.md.
    """
    found: dict[str, str | None] = {}
    skills = summaries(facts)
    for entry in entries:
        if entry.path in skills:
            name = skills[entry.path].name
            found[name] = None if name in found else skill_digest(root, entry, name)
    return found


def skill_digest(root: str, entry: Entry, name: str) -> str | None:
    """The digest of one skill, 32 hexadecimal digits; None where a file of it cannot be read or is too large."""
    folder = os.path.join(root, entry.folder)
    material = eval_material(entry.files)
    given = (path for path in entry.files if not LEFT_OUT & set(path.split("/")) and path not in material)
    named = {path: path for path in given} | {SKILL: entry.file_name}
    try:
        total = blake2b(digest_size=16)
        _add(total, b"n", name.encode())
        left = _MOST_ALL
        for path in sorted(named):
            data, executable = _read(folder, named[path])
            left -= len(data)
            if left < 0:
                return None
            for part in (path.encode(), data, b"x" if executable else b""):
                _add(total, b"f", part)
    except (OSError, UnicodeEncodeError, ValueError):
        return None
    return str(total.hexdigest())


def _add(total: Any, mark: bytes, raw: bytes) -> None:
    total.update(mark + b"%d:" % len(raw) + raw)


def _read(folder: str, path: str) -> tuple[bytes, bool]:
    """The bytes of a regular file and whether it is executable. Raises OSError, or ValueError for a large one."""
    place = folder
    for part in path.split("/"):
        place = os.path.join(place, part)
        if os.path.islink(place):
            raise ValueError("a link")
    handle = os.open(
        os.path.join(folder, path), os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    )
    with os.fdopen(handle, "rb") as stream:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            raise ValueError("not a regular file")
        data = stream.read(_MOST_FILE + 1)
    if len(data) > _MOST_FILE:
        raise ValueError("too large")
    return data, bool(mode & stat.S_IXUSR)


def names_now(root: str, facts: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """What a run of the router may call each skill, by the path of its SKILL.md: the best name first.

    That is the one by which hosts list it, with the plugin's before it, and after it the plain one where no other skill
    has that: runs of earlier versions listed it so. `facts` are those of a lint run.
    """
    plugins = Plugins(root)
    plain = {path: own.name for path, own in summaries(facts).items()}
    listed = {path: plugins.qualify(os.path.dirname(path), name) for path, name in plain.items()}
    often, times = Counter(listed.values()), Counter(plain.values())
    return {
        path: tuple(dict.fromkeys([listed[path]] * (often[listed[path]] == 1) + [name] * (times[name] == 1)))
        for path, name in plain.items()
    }


def texts_now(root: str, facts: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The descriptions of the skills that are listed, by each of their names (see `names_now`)."""
    seen = {path: own for path, own in summaries(facts).items() if not own.hidden}
    names = names_now(root, {path: facts[path] for path in seen})
    return {name: own.description for path, own in seen.items() for name in names[path]}


@dataclass(frozen=True, slots=True)
class JoinedRecords:
    """The records, and the lint run that they rest on.

    `report` leaves out what a baseline knows, `whole` does not. `digests` are those of all skills as they would be
    staged now, by name.
    """

    status: CollectionStatus
    digests: Mapping[str, str | None]
    report: LintReport
    whole: LintReport
    result: LintResult


def read_status(
    paths: Sequence[str], root: str, config: Config, as_of: date, folder: str, jobs: int, use_cache: bool,
    rated: DailyRun | None = None, unrated: tuple[str, ...] = (),
) -> CollectionStatus:  # fmt: skip
    """The records of the skills that `paths` name.

    `folder` holds the reports, `rated` is the last daily run that rated the risks of skills, and `unrated` what is
    damaged of such runs. Raises UsageError as `lint` does, and for a history that cannot be read; whatever the
    histories hold costs a note at most.
    """
    return read_joined(paths, root, config, as_of, folder, jobs, use_cache, rated, unrated).status


def read_joined(
    paths: Sequence[str], root: str, config: Config, as_of: date, folder: str, jobs: int, use_cache: bool,
    rated: DailyRun | None = None, unrated: tuple[str, ...] = (),
) -> JoinedRecords:  # fmt: skip
    """The same together with the lint run behind it, for whoever shows more of it than the records do."""
    whole, result = lint(paths, root, config, as_of, jobs, use_cache, score=True)
    require_readable(result.entries, result.unread)
    report = without_known(whole, root, config)
    routed = read_skill_routing(folder, texts_now(root, result.facts))
    digests = digests_now(root, result.entries, result.facts)
    effects = read_effects(folder, lambda: digests, tuple(digests))
    names = names_now(root, result.facts)
    judged = read_judged(folder, effects)
    composed = read_composed(folder, effects, digests)
    loaded = read_loads(folder, texts_now(root, result.facts))
    found = config.router.found
    records = build_records(report, result, routed, effects, found, names, digests, judged, composed, loaded)
    key = risk_key(root, config, report.version, result.entries, names) if rated else ""
    records, risk = with_risks(records, rated, key)
    problems = (
        *(routed.problems if routed else ()),
        *(effects.problems if effects else ()),
        *judged.problems,
        *composed.problems,
        *loaded.problems,
    )
    notes = (*report.warnings, *problems, *unrated)
    route, effect = routed.lost if routed else "", effects.lost if effects else ""
    lost = {"routing": route, "effect": effect, "verdict": route or effect or composed.lost or loaded.lost}
    place = CommandBuilder(tuple(paths), report.prefix)
    status = CollectionStatus(
        records, routed, effects, place, report.version, report.profile, notes, risk, loaded, lost
    )
    return JoinedRecords(status, digests, report, whole, result)
