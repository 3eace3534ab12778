"""`skill-health lint`: is each skill well formed, honest about its numbers and free of leaks?"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click

from skill_health.commands._lint import LintOptions, name_flag, run_lint

_DECLARED = get_type_hints(LintOptions, include_extras=True)


def _day(_: click.Context, __: click.Parameter, value: str | None) -> date:
    try:
        return date.fromisoformat(value) if value else date.today()
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not a date like 2026-01-31") from error


def _codes(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def add_options(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that gives a command these options of `lint`, in this order."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed(names):
            function = _make_option(name)(function)
        return function

    return decorate


def _make_option(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option of the command line, from how `LintOptions` declares it: its type says what may stand there."""
    declared, given = get_args(_DECLARED[name])
    told = dict(given)
    flag, limits = told.pop("flag", name_flag(name)), told.pop("range", None)
    kind = get_args(declared)[0] if NoneType in get_args(declared) else declared
    if kind is bool:
        told["is_flag"] = True
    elif get_origin(kind) is tuple:
        told |= {"multiple": True, "callback": _codes}
    elif get_origin(kind) is Literal:
        told["type"] = click.Choice(get_args(kind))
    elif kind is date:
        told["callback"] = _day
    elif limits:
        told["type"] = click.IntRange(*limits) if kind is int else click.FloatRange(*limits)
    if (default := getattr(LintOptions, name)) is not None:
        told["default"] = default
    return click.option(flag, name, **told)


common_options = add_options("no_cache", "jobs", "as_of", "profile", "config_file")
"""The options that every command over a collection has."""


@click.command(short_help="Check skills and print what is wrong with them.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@add_options(*LintOptions.__annotations__)
def command(paths: tuple[str, ...], **options: Any) -> int:
    """Check skills: files, skill folders, collections or whole repositories (default: here)."""
    return run_lint(paths, LintOptions(**options))
