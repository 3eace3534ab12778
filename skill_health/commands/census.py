"""`skill-health census`: what does a collection consist of?"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from skill_health.commands.lint import add_options
from skill_health.core.errors import CLEAN, UsageError

if TYPE_CHECKING:
    from skill_health.documents.census_report import CensusReport


@click.command(short_help="Count what a collection consists of: sizes, files, licences, copies, months.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--format", "format_", type=click.Choice(["text", "json", "markdown"]), default="text", help="What to print."
)
@click.option("--charts", metavar="DIR", help="Write its pictures into this folder, too, as SVG (extra report).")
@add_options("config_file")
def command(paths: tuple[str, ...], format_: str, charts: str | None, config_file: str | None) -> int:
    """Count what the skills of PATH (default: here) consist of, beside what SkillsBench found in two million.

    Bytes of SKILL.md and of whole skills, files and their extensions, copies and near copies, declared licences
    and categories, and by the history of git the months in which skills came. Nothing is scored and nothing run.
    """
    from skill_health.core.extras import MODULES, require_modules

    if charts is not None:
        require_modules("census --charts", MODULES["report"])
    from skill_health.census.measure import count_skill, measure
    from skill_health.census.render import census_blocks
    from skill_health.core.boundary import Boundary
    from skill_health.documents._record import encode_record
    from skill_health.lint.pipeline import configure, find_readable
    from skill_health.text.blocks import as_markdown, as_text
    from skill_health.text.terminal import echo

    paths = paths or (".",)
    root, config = configure(paths, config_file, {})
    discovery = find_readable(paths, config, root)
    boundary = Boundary(discovery.root)
    entries = sorted((entry for entry in discovery.entries if entry.target), key=lambda entry: entry.path)
    counted = [count_skill(boundary, entry) for entry in entries]
    skills = [each for each in counted if each is not None]
    copies = sum(len(entry.copies) for entry in entries)
    report = measure(skills, len(entries) - len(skills), copies, _added(discovery.root))
    if format_ == "json":
        echo(encode_record(report).rstrip("\n"))
    else:
        echo((as_markdown if format_ == "markdown" else as_text)(census_blocks(report)))
    if charts is not None:
        _draw(report, charts)
    return CLEAN


def _draw(report: CensusReport, folder: str) -> None:
    from skill_health.bench.command_line import print_lines
    from skill_health.census.charts import census_charts
    from skill_health.core.files import here, write_text
    from skill_health.page.drawing.draw import svg_file

    pictures = list(census_charts(report))
    for picture in pictures:
        write_text(os.path.join(folder, f"{picture.name}.svg"), svg_file(picture))
    print_lines([f"written: {here(folder)}, {len(pictures)} pictures"])


def _added(root: str) -> Mapping[str, str] | None:
    """The months in which the paths below the root came; None outside git, and where the history is not whole."""
    from skill_health.census.measure import read_added
    from skill_health.core.boundary import git_top
    from skill_health.core.git import open_repository

    top = git_top(root)
    if top is None:
        return None
    try:
        found = read_added(open_repository(top))
    except UsageError:
        return None
    below = os.path.relpath(root, top).replace(os.sep, "/")
    lead = "" if below == "." else f"{below}/"
    return (
        None if found is None else {path[len(lead) :]: month for path, month in found.items() if path.startswith(lead)}
    )
