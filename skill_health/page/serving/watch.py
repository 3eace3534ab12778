"""Has anything changed that the page is made of? A mark over the sizes and times of its files, and no content."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from skill_health.config.settings import Config
from skill_health.core.files import blake2b
from skill_health.daily.run import HISTORY as DAILY
from skill_health.discovery.corpus import discover
from skill_health.discovery.roots import find_root
from skill_health.documents.effect_history import HISTORY as EFFECTS
from skill_health.documents.router_history import HISTORY as ROUTER
from skill_health.lint.report import BASELINE
from skill_health.page.asked import PAGE
from skill_health.registries.sources import KINDS, expand

_SETTINGS = ("skill-health.toml", "pyproject.toml", ".gitignore")
_IN_RUN = ("", "report.json", "manifest.json", "results.jsonl")
# Only the runs that the last lines of the histories name are shown; these are more than they can be.
_MOST_RUNS = 200


def mark(paths: Sequence[str], config: Config, folder: str, file: str | None = None, more: Iterable[str] = ()) -> str:
    """A digest that is another one when a skill, a registry, a task, a setting, a history or a report has changed.

    `config` is the one of the last build, `folder` that of the reports, `file` the configuration file that was named;
    `more` is mixed in. Costs a walk over the collection and a look at each file. Raises UsageError where a path that
    was asked for is gone.
    """
    root = find_root(paths)
    found = blake2b(digest_size=16)
    for text in (root, folder, *more):
        found.update(f"{text}\0".encode("utf-8", "surrogateescape"))
    for path in (
        *_settings(root, config, file),
        *_skills(paths, config, root),
        *_beside(root, config),
        *_reports(folder),
    ):
        found.update(f"{path}\0{_state(path)}\0".encode("utf-8", "surrogateescape"))
    return found.hexdigest()


def _settings(root: str, config: Config, file: str | None) -> Iterator[str]:
    names = [*_SETTINGS, config.baseline or BASELINE, config.profile]
    yield from (os.path.join(root, name) for name in names)
    if file:
        yield os.path.abspath(file)


def _skills(paths: Sequence[str], config: Config, root: str) -> Iterator[str]:
    for entry in discover(paths, config, root).entries:
        lead = f"{root}/{entry.folder}/" if entry.folder else f"{root}/"
        yield lead + entry.file_name
        yield from (lead + name for name in entry.files)
        yield from (f"{root}/{copy}" for copy in entry.copies)


def _beside(root: str, config: Config) -> Iterator[str]:
    for kind in KINDS:
        for pattern in getattr(config.sources, kind):
            for path in sorted(expand(root, pattern)):
                yield os.path.join(root, path)
                if kind == "tasks":
                    yield os.path.join(root, os.path.dirname(path), "task.md")


def _reports(folder: str) -> Iterator[str]:
    for name in (DAILY, ROUTER, EFFECTS, PAGE):
        yield os.path.join(folder, name)
    for kind in ("router", "effectiveness"):
        place = os.path.join(folder, kind)
        try:
            runs = sorted(os.listdir(place), reverse=True)[:_MOST_RUNS]
        except OSError:
            continue
        yield from (os.path.join(place, run, name) for run in runs for name in _IN_RUN)


def _state(path: str) -> str:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return ""
    return f"{status.st_mtime_ns} {status.st_size} {status.st_ino} {status.st_mode}"
