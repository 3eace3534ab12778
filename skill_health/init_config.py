"""skill-health.toml for a repository: what differs from the defaults, and the few keys worth knowing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable

from skill_health.config.settings import SourceGlobs
from skill_health.init_layout import Layout
from skill_health.registries.sources import expand
from skill_health.text.patterns import lazy

_GLOB = lazy(r"[*?\[\\]")

HEAD = """\
# Settings of skill-health. This file also marks the root of the collection: paths in findings are relative to it.
# What is not set has its default. `skill-health rules` lists the rules, `skill-health explain CODE` shows one.
"""
FAIL_ON = """
# The least severity of a finding that fails a run and a commit: error, warning, info or never.
# fail-on = "error"
"""


def settings(root: str, layout: Layout, profile: str | None, baseline: str) -> str:
    """The text of skill-health.toml. `profile` is None and `baseline` "" where they keep their defaults."""
    parts = [HEAD]
    if profile:
        parts.append(f"\nprofile = {toml(profile)}\n")
    parts.append(FAIL_ON)
    if baseline:
        parts.append(
            f"\n# Findings to live with. The list may only shrink; --grow-baseline lets it grow.\n{entry(baseline)}"
        )
    if layout.tests:
        globs = [f"/{glob(folder)}/" for folder in layout.tests if folder.isprintable()]
        parts.append("\n# Skills below these folders look like test data. Take the mark away to leave them alone.\n")
        parts.append(f"# exclude = {array(globs)}\n")
    if layout.further:
        parts.append("\n[sources]\n")
    for kind, paths in layout.further.items():
        parts.append(f"{kind} = {array(places(root, kind, paths))}\n")
    return "".join(parts)


def entry(baseline: str) -> str:
    """The setting that makes a baseline hold."""
    return f"baseline = {toml(baseline)}\n"


def places(root: str, kind: str, paths: Iterable[str]) -> list[str]:
    """The globs of a kind of registry: those of the default ones that match something here, and these files."""
    usual = [pattern for pattern in getattr(SourceGlobs(), kind) if any(expand(root, pattern))]
    globs = [_source(path) for path in paths]
    if kind == "tasks":
        tops = (os.path.dirname(os.path.dirname(path)) for path in paths)
        globs = [f"{_source(top)}/*/metadata.json".removeprefix("/") for top in tops]
    return list(dict.fromkeys([*usual, *globs]))


def glob(path: str) -> str:
    """A pattern that matches this path only."""
    return _GLOB.sub(lambda match: f"[{match.group()}]" if match.group() != "\\" else "\\\\", path)


def _source(path: str) -> str:
    """A pattern of `sources` that matches this path only: there a name without a wildcard is taken as it is."""
    return "/".join(glob(name) if any(mark in name for mark in "*?[") else name for name in path.split("/"))


def array(values: Iterable[str]) -> str:
    """Texts as a TOML array, one a line where they are many."""
    shown = [toml(value) for value in values]
    line = f"[{', '.join(shown)}]"
    return line if len(line) < 100 else "[\n" + "".join(f"  {value},\n" for value in shown) + "]"


def toml(text: str) -> str:
    """A text as a TOML basic string; it must not hold half of a surrogate pair."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
