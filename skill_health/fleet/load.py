"""The file of a fleet -> its repositories and waivers, with one clear line for every mistake."""

from __future__ import annotations

import os
import re
from datetime import date, datetime
from typing import Any

from skill_health.config.load import read_settings
from skill_health.config.values import line_of
from skill_health.core.errors import UsageError
from skill_health.core.files import here, read_whole
from skill_health.discovery.ignores import compile_patterns
from skill_health.documents._record import convert_record
from skill_health.documents.fleet_file import FleetFile, GivenWaiver, ListedRepository
from skill_health.fleet.remotes import check_address

_PLACE = re.compile(r"[^.\[\]]+|\[\d+\]")
_OUTSIDE = re.compile(r"[/\\~]|[A-Za-z]:|(?:.*[/\\])?\.\.(?:[/\\]|$)")
Place = tuple[str | int, ...]


def load_fleet(file: str) -> FleetFile:
    """The fleet that a file lists. Raises UsageError, naming the file and mostly the line of what is wrong in it."""
    values = read_settings(file)
    try:
        fleet = convert_record(_plain(values), FleetFile)
    except ValueError as error:
        where, _, what = str(error).partition(": ")
        places = _places(where) if what else ()
        raise _mistake(file, places, str(error)) from None
    seen: dict[str, int] = {}
    for at, each in enumerate(fleet.repository):
        first = seen.setdefault(each.name.casefold(), at)
        if first != at:
            raise _mistake(file, ("repository", at, "name"), f"a second repository is called {each.name}")
        if problem := _repository_problem(each):
            raise _mistake(file, ("repository", at), f"{each.name}: {problem}")
    for at, waiver in enumerate(fleet.waiver):
        if problem := _waiver_problem(waiver):
            raise _mistake(file, ("waiver", at), problem)
    return fleet


def _plain(value: Any) -> Any:
    """Values of TOML as those of JSON: a day is written as text."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value.isoformat() if isinstance(value, date) and not isinstance(value, datetime) else value


def _repository_problem(listed: ListedRepository) -> str:
    if bool(listed.path) == bool(listed.address):
        return "it needs either a path or an address"
    if listed.branch and listed.path:
        return "a branch goes with an address; at a path what is checked out counts"
    if _OUTSIDE.match(listed.folder) or not listed.folder.isprintable():
        return f"its folder must be a path inside the repository, not {listed.folder!r}"
    if listed.branch.endswith((".lock", "/", ".")) or ".." in listed.branch or "//" in listed.branch:
        return f"{listed.branch!r} is no name of a branch"
    try:
        if listed.address:
            check_address(listed.address)
    except UsageError as error:
        return str(error)
    return ""


def _waiver_problem(waiver: GivenWaiver) -> str:
    try:
        date.fromisoformat(waiver.until)
    except ValueError:
        return f"until: {waiver.until!r} is no day of the calendar"
    for name in ("repository", "skill"):
        if compile_patterns((getattr(waiver, name),)) is None:
            return f"{name}: {getattr(waiver, name)!r} is a pattern that matches nothing"
    return ""


def _places(where: str) -> Place:
    return tuple(int(part[1:-1]) if part[0] == "[" else part for part in _PLACE.findall(where))


def _mistake(file: str, place: Place, what: str) -> UsageError:
    text = read_whole(file).decode("utf-8-sig", "replace")
    line = line_of(text, place) if place else None
    return UsageError(f"{here(file)}{f':{line}' if line else ''}: {what}")


def place_of(file: str, path: str) -> str:
    """A path of the file as an absolute one."""
    return os.path.join(os.path.dirname(os.path.abspath(file)), os.path.expanduser(path))
