"""`skill-health router curve`: accuracy, false fires, tokens and dollars as the library grows."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from skill_health.bench.command_line import print_lines
from skill_health.core.errors import CLEAN, FINDINGS
from skill_health.core.files import here
from skill_health.core.times import time_option
from skill_health.router.commands._options import collection_options, model_options, run_options
from skill_health.router.commands.run import _take_terms
from skill_health.router.plan.choices import RouterOptions

if TYPE_CHECKING:
    from skill_health.documents.router_curve import RouterCurve


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveOptions(RouterOptions):
    """What a command line says of a curve, besides what it says of its runs."""

    sizes: tuple[int, ...] = ()


def _sizes(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> tuple[int, ...]:
    """Numbers of skills, separated by commas. Raises BadParameter for what is none."""
    found = []
    for text in ",".join(values).split(",") if values else ():
        plain = text.strip().replace("_", "")
        if not (plain.isascii() and plain.isdigit() and 0 < len(plain) < 10 and int(plain)):
            raise click.BadParameter(f"{text.strip()[:40]!r} is no number of skills: write --sizes 50,500,2000")
        found.append(int(plain))
    return tuple(found)


@click.command(short_help="Measure routing as the library grows.")
@collection_options
@click.option(
    "--sizes", multiple=True, callback=_sizes, metavar="LIST",
    help="Skills in each library (10, 20, 50, 100 ... and all).",
)  # fmt: skip
@model_options
@run_options
@click.option("--time", callback=time_option, metavar="ISO", help="Date the curve so (now).")
@click.option("--format", "format_", type=click.Choice(["text", "md", "json"]), default="text", help="What to print.")
def command(paths: tuple[str, ...], **options: Any) -> int:
    """Ask all prompts in nested libraries of growing size, each of which holds the skills that prompts are about.

    The others are drawn by the seed. Each library is a run of its own below router-curve/ in the reports, so that a
    curve which was stopped goes on where it was; caps are over all of them. It writes router-curve.json, of which the
    page and `picture router-curve` have a picture. Exit 1 where the instrument check says that figures are not to be
    trusted.
    """
    from skill_health.core.files import write_text
    from skill_health.discovery.roots import reports_folder
    from skill_health.documents._record import encode_record
    from skill_health.documents.router_curve import CURVE
    from skill_health.router.curve.measure import measure_curve, prepare_curve
    from skill_health.router.plan.choices import choices
    from skill_health.router.plan.prepare import read_inputs, selection_of, short_totals
    from skill_health.router.prompts._load import refuse_bad_records

    given = CurveOptions(paths=paths, **options)
    inputs, train = read_inputs(given)
    print_lines(inputs.notes)
    print_lines(refuse_bad_records(inputs.problems, given.skip_bad))
    reports = reports_folder(given.out, inputs.root, inputs.config)
    time = given.time or datetime.now(UTC)
    curve = prepare_curve(
        inputs, choices(given, inputs.config.router), reports, time,
        sizes=given.sizes, train=train, selection=selection_of(inputs, given), keyless=given.dry_run,
        concurrency=given.concurrency,
    )  # fmt: skip
    print_lines(curve.forecast())
    if given.dry_run:
        print_lines(["dry run: nothing was asked, nothing was written"])
        return CLEAN
    terms = _take_terms(curve.runs[0], given)
    print_lines(short_totals(curve.runs, terms.max_runs, terms.max_usd))
    found = measure_curve(curve, terms, sys.stderr, time)
    path = os.path.join(reports, CURVE)
    write_text(path, encode_record(found))
    click.echo(_rendered(found, given.format_), nl=False)
    print_lines([f"written: {here(path)}"])
    return FINDINGS if any(point.trusted is False for model in found.models for point in model.points) else CLEAN


def _rendered(curve: RouterCurve, format_: str) -> str:
    from skill_health.documents._record import encode_record
    from skill_health.router.curve.document import blocks
    from skill_health.text.blocks import as_markdown, as_text

    if format_ == "json":
        return encode_record(curve)
    return (as_markdown if format_ == "md" else as_text)(blocks(curve))
