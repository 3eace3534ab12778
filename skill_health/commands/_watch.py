"""`lint --watch`: the same again whenever a file of the collection changes."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from skill_health.commands._lint import LintOptions, name_flag
from skill_health.core.errors import SkillHealthError, UsageError
from skill_health.discovery.corpus import discover
from skill_health.lint.cache.lint_cache import state_of
from skill_health.lint.pipeline import configure
from skill_health.lint.report import BASELINE
from skill_health.registries.sources import read_sources
from skill_health.text.terminal import clean, echo

_INTERVAL = 1.0
_OTHERS = ("fix", "diff", "add_ignore", "write_baseline", "staged", "new_since", "changed", "output")
_SETTINGS = ("skill-health.toml", "pyproject.toml", ".gitignore", BASELINE)
_CLEAR = "\x1b[H\x1b[2J\x1b[3J"


def watch(
    paths: Sequence[str], options: LintOptions, overrides: Mapping[str, object], check: Callable[[], object]
) -> None:
    """Check, and check again after each change, until interrupted. What fails is said, and does not end it.

    A terminal is cleared before each run; anything else gets one report after the other.
    """
    if given := [name_flag(name) for name in _OTHERS if getattr(options, name)]:
        raise UsageError(f"{given[0]} happens once, and --watch goes on: choose one")
    while True:
        before = _snapshot(paths, options, overrides)
        if sys.stdout.isatty():
            echo(_CLEAR)
        try:
            check()
        except SkillHealthError as error:
            echo(f"skill-health: error: {clean(' '.join(str(error).split()))}\n", err=True)
        sys.stdout.flush()
        # A check leaves the collector off, as it is made for runs that end.
        gc.enable()
        while _snapshot(paths, options, overrides) == before:
            wait()


def wait() -> None:
    """Leave the machine to others for a while."""
    time.sleep(_INTERVAL)


def _snapshot(paths: Sequence[str], options: LintOptions, overrides: Mapping[str, object]) -> object:
    """What changes when a skill, a bundled file, a registry or a setting does."""
    try:
        root, config = configure(paths, options.config_file, overrides)
        discovery = discover(paths, config, root)
    except (SkillHealthError, OSError) as error:
        # The settings may be what cannot be read: they still change when somebody corrects them.
        named = [options.config_file or "", *_settings_above(paths)]
        return str(error), tuple(state_of(path) for path in named if path)
    files = [options.config_file or "", config.baseline, *_SETTINGS]
    for entry in discovery.entries:
        files += [entry.path, *(f"{entry.folder}/{name}".lstrip("/") for name in entry.files)]
    states = tuple(state_of(os.path.join(root, path)) for path in files if path)
    return discovery, states, read_sources(root, config.sources)


def _settings_above(paths: Sequence[str]) -> list[str]:
    folders = {os.path.realpath(path) for path in paths}
    found = []
    for folder in sorted(folders):
        while True:
            found += [os.path.join(folder, name) for name in _SETTINGS]
            above = os.path.dirname(folder)
            if above == folder:
                break
            folder = above
    return found
