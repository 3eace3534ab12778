"""`skill-health badge`: the answer to one question, as a badge for a README."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from skill_health.commands.lint import common_options
from skill_health.core.errors import CLEAN

if TYPE_CHECKING:
    from skill_health.page.badge import What

_HEAD = 16
"""How many characters all badges of a format begin with."""


@click.command(short_help="Make a badge: SVG, or JSON for a shields endpoint.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--skill", metavar="NAME", help="Make the badge of one skill, given by name or path.")
@click.option(
    "--what",
    type=click.Choice(["health", "routing", "effect", "verdict"]),
    default="health",
    help="The question it answers (health).",
)
@click.option("--format", "format_", type=click.Choice(["svg", "json"]), default="svg", help="What to make (svg).")
@click.option("--output", metavar="FILE", help="Write it to a file instead of the terminal.")
@click.option("--reports", metavar="DIR", help="Folder of the reports (from the configuration, else reports).")
@common_options
def command(
    paths: tuple[str, ...], skill: str | None, what: What, format_: str, output: str | None, **options: Any
) -> int:
    """Make a badge that says how a collection, or one skill, does.

    Health is checked now; routing and effect are read from the histories of the last runs. What is not known is grey,
    and the result of a simulated run is marked as such.
    """
    from skill_health.core.files import check, write_text
    from skill_health.page.badge import badge, endpoint, svg
    from skill_health.page.request import PageOptions, asked, page_of, skill_path
    from skill_health.text.terminal import clean, echo

    given = PageOptions(**options)
    page = page_of(asked(paths, given), given)
    made = badge(page, what, skill_path(page, skill) if skill else None)
    text = svg(made) if format_ == "svg" else endpoint(made)
    if output:
        check(output, text[:_HEAD].encode())
        write_text(output, text)
        echo(f"written: {clean(output)}\n", err=True)
    else:
        echo(text)
    return CLEAN
