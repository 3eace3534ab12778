"""`skill-health picture`: one picture of the page as a file, for a README."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from skill_health.commands.lint import common_options
from skill_health.core.errors import CLEAN, UsageError
from skill_health.core.files import is_there

_ENDINGS = (".png", ".svg")
_HEAD = 8
"""How many bytes all pictures of a format begin with."""


@click.command(short_help="Write one picture of the page as PNG or SVG.")
@click.argument("name", required=False, metavar="[NAME]")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--skill", metavar="NAME", help="Write a picture of one skill, given by name or path.")
@click.option("--output", metavar="FILE", help="File to write, ending in .png or .svg (NAME.png).")
@click.option("--dark", is_flag=True, help="Use the colours for a dark background.")
@click.option("--scale", type=click.FloatRange(0.25, 8), default=2.0, help="Scale of a PNG (2).")
@click.option("--list", "list_", is_flag=True, help="List the pictures; all arguments are then paths.")
@click.option("--reports", metavar="DIR", help="Folder of the reports (from the configuration, else reports).")
@common_options
def command(
    name: str | None,
    paths: tuple[str, ...],
    skill: str | None,
    output: str | None,
    dark: bool,
    scale: float,
    list_: bool,
    **options: Any,
) -> int:
    """Write the picture of this name; without a name, list all pictures that there is data for."""
    from skill_health.page.pictures._load import collection_pictures, skill_pictures
    from skill_health.page.request import PageOptions, asked, page_of, skill_path
    from skill_health.text.terminal import clean, echo

    if list_:
        name, paths = None, (*((name,) if name else ()), *paths)
    file = output or f"{name}.png"
    if not file.lower().endswith(_ENDINGS):
        raise UsageError(f"cannot write {file}: its name must end with .png or .svg")
    given = PageOptions(**options)
    page = page_of(asked(paths, given), given)
    path = skill_path(page, skill) if skill else None
    pictures = collection_pictures(page) if path is None else skill_pictures(page, path)
    if name is None:
        width = max((len(each.name) for each in pictures), default=0)
        echo("".join(f"{each.name:{width}}  {clean(' '.join(each.title.split()))}\n" for each in pictures))
        return CLEAN
    _write(_named(pictures, name), file, dark, scale)
    echo(f"written: {clean(file)}\n")
    return CLEAN


def _named(pictures: Sequence[Any], name: str) -> Any:
    """The picture of this name. Raises UsageError, with the nearest name, where there is none."""
    from skill_health.text.near import nearest

    for each in pictures:
        if each.name == name:
            return each
    if is_there(name):
        hint = "to list those of a folder: skill-health picture --list PATH"
    elif near := nearest(name, [each.name for each in pictures]):
        hint = f"did you mean {near}?"
    else:
        hint = "skill-health picture --list names those that there is data for"
    raise UsageError(f"there is no picture {name!r}: {hint}")


def _write(picture: Any, file: str, dark: bool, scale: float) -> None:
    from skill_health.core.files import check, write_bytes

    try:
        from skill_health.page.drawing.draw import png, svg_file

        drawn = svg_file(picture, dark).encode() if file.lower().endswith(".svg") else png(picture, scale, dark)
    except ImportError as error:
        from skill_health.core.extras import tell_missing

        raise UsageError(tell_missing("a picture", "report", error.name or "")) from error
    check(file, drawn[:_HEAD])
    write_bytes(file, drawn)
