"""Paths -> report: what `lint`, `daily` and the hooks have in common."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from skill_health import __version__
from skill_health.core.config import Config, config_with, load_config
from skill_health.core.corpus import Discovery, discover, find_root
from skill_health.core.errors import UsageError
from skill_health.engine import LintResult, run
from skill_health.formats._api import Report


def configure(paths: Sequence[str], file: str | None, overrides: Mapping[str, Any]) -> tuple[str, Config]:
    """The root of the collection that `paths` belong to, and its configuration with the command line's on top."""
    root = find_root(paths)
    config = config_with(load_config(root, file), **overrides)
    if config.profile != Config().profile:
        from skill_health.profiles import COMPAT, load_profile

        if config.profile != COMPAT:
            load_profile(config.profile, root)
    return root, config


def lint(
    paths: Sequence[str],
    root: str,
    config: Config,
    as_of: date,
    jobs: int = 0,
    use_cache: bool = True,
    score: bool = False,
) -> tuple[Report, LintResult]:
    """Discover, check and, where asked for, score.

    Raises UsageError for a path that does not exist, and where a folder is named and no skill is found.
    """
    discovery = discover(paths, config, root)
    if not discovery.entries and (not paths or any(map(os.path.isdir, paths))):
        where = ", ".join(paths)
        raise UsageError(f"no skill below {where}: a skill is a folder with a SKILL.md (see exclude, .gitignore)")
    result = run(discovery, config, as_of, jobs, use_cache, score, _outside(paths, discovery))
    report = Report(
        __version__, config.profile, tuple(e for e in result.entries if e.target), result.findings,
        prefix=prefix(root), ignored=result.ignored, warnings=result.warnings,
    )  # fmt: skip
    if score:
        from skill_health.scores import score_result

        report = report._replace(scores=score_result(result, config))
    return report, result


def _outside(paths: Sequence[str], discovery: Discovery) -> list[str]:
    """The named files, relative to the root: a registry among them shows its own findings."""
    real = [os.path.realpath(path) for path in paths]
    return [os.path.relpath(path, discovery.root).replace(os.sep, "/") for path in real if os.path.isfile(path)]


def prefix(root: str) -> str:
    """What leads from the current directory to the root, with a closing slash; "" where it is not below."""
    here = os.path.realpath(os.getcwd())
    if root == here or not root.startswith(here.rstrip(os.sep) + os.sep):
        return ""
    return os.path.relpath(root, here).replace(os.sep, "/") + "/"
