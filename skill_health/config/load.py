"""skill-health.toml, or `[tool.skill-health]` of pyproject.toml -> Config, with one clear line for every mistake.

What is accepted follows from the fields of the classes in `settings`; `schemas/config.schema.json` says the same to
editors, and a test compares the two. It is not used here, so that a hook need not import a schema library.
"""

from __future__ import annotations

import os
from typing import Any

from skill_health.config.settings import Config
from skill_health.config.values import Mistake, build, line_of
from skill_health.core.boundary import Boundary
from skill_health.core.errors import UsageError
from skill_health.core.files import read_whole
from skill_health.core.strict_toml import parse_toml

FILE_NAME = "skill-health.toml"
PYPROJECT = "pyproject.toml"
TABLE = ("tool", "skill-health")


def read_config(root: str, file: str | None = None) -> Config:
    """See `config.load_config`. A `file` called pyproject.toml is read as one, any other as skill-health.toml."""
    if file is not None:
        settings = read_settings(file)
        if settings is None:
            raise UsageError(f"{file}: there is no table [{'.'.join(TABLE)}] in it")
        return _config(settings, file, root)
    own, shared = os.path.join(root, FILE_NAME), os.path.join(root, PYPROJECT)
    if _is_lure(own):
        raise UsageError(f"{_shown(own)} is a symbolic link that leads out of the repository: replace it by the file")
    in_own = read_settings(own) if os.path.isfile(own) else None
    in_shared = read_settings(shared) if os.path.isfile(shared) and not _is_lure(shared) else None
    if in_own is not None and in_shared is not None:
        table = f"[{'.'.join(TABLE)}] in {_shown(shared)}"
        raise UsageError(f"two configurations: {_shown(own)} and {table}; keep one of them")
    if in_own is not None:
        return _config(in_own, own, root)
    return _config(in_shared, shared, root) if in_shared is not None else Config()


def holds_settings(folder: str) -> bool:
    """Whether a folder has skill-health.toml or a pyproject.toml that configures skill-health.

    True also for one that is invalid but speaks of it: whoever loads it can then say what is wrong.
    """
    own, shared = os.path.join(folder, FILE_NAME), os.path.join(folder, PYPROJECT)
    if _is_lure(own) or os.path.isfile(own):
        return True
    try:
        return not _is_lure(shared) and os.path.isfile(shared) and read_settings(shared) is not None
    except UsageError:
        return True


def read_settings(path: str) -> dict[str, Any] | None:
    """The settings in a file as TOML has them; None where it is a pyproject.toml without the table.

    Raises UsageError where the file cannot be read or is not TOML.
    """
    text = _text(path)
    shared = os.path.basename(path) == PYPROJECT
    if shared and TABLE[1] not in text:
        return None
    try:
        data = parse_toml(text)
    except ValueError as error:
        what, _, place = str(error).partition(" (at line ")
        position = ":" + place.rstrip(")").replace(", column ", ":") if place else ""
        raise UsageError(f"{_shown(path)}{position}: not valid TOML: {what}") from None
    if not shared:
        return data
    tools = data.get(TABLE[0])
    settings = tools.get(TABLE[1]) if isinstance(tools, dict) else None
    if settings is not None and not isinstance(settings, dict):
        raise UsageError(f"{_shown(path)}: {'.'.join(TABLE)} must be a table")
    return settings


def _config(settings: dict[str, Any], path: str, root: str) -> Config:
    """Settings -> Config, with the file and the line put before what is wrong with them."""
    try:
        source = os.path.relpath(os.path.abspath(path), root).replace(os.sep, "/")
    except ValueError:
        source = os.path.basename(path)
    try:
        return build(settings, source)
    except Mistake as mistake:
        table = TABLE if os.path.basename(path) == PYPROJECT else ()
        line = line_of(_text(path), (*table, *mistake.path))
        place = f"{_shown(path)}:{line}" if line else _shown(path)
        raise UsageError(f"{place}: {mistake}") from None


def _is_lure(path: str) -> bool:
    """Whether a file is a link that leads out of the repository that it is in, to anything or nothing."""
    return os.path.islink(path) and Boundary(os.path.realpath(os.path.dirname(path))).leads_out(os.path.basename(path))


def _text(path: str) -> str:
    """The text of a file without its byte-order mark. Raises UsageError."""
    try:
        return read_whole(path).decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise UsageError(f"cannot read {_shown(path)}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{_shown(path)}: not UTF-8 text (byte {error.start + 1})") from None


def _shown(path: str) -> str:
    """A path as the user would name it: relative if it is below the current directory."""
    try:
        short = os.path.relpath(path)
    except ValueError:
        return path
    return path if short.startswith(os.pardir) else short
