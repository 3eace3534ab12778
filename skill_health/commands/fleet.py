"""`skill-health fleet`: many repositories, one record."""

from __future__ import annotations

import os
import sys
import time as clock
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import click

from skill_health.commands.lint import add_options
from skill_health.core.times import time_option

if TYPE_CHECKING:
    from skill_health.fleet.run import FleetOutcome

_GATES = ("new-errors", "new-warnings", "errors", "warnings", "never")
RECORD, SUMMARY, PAGE = "skill-health-fleet.json", "skill-health-fleet.md", "index.html"


@click.command(short_help="Check many repositories: one history and one page over all.")
@click.argument("file", metavar="FILE")
@click.option("--reports", metavar="DIR", help="Folder of the reports (from the file, else reports/fleet beside it).")
@click.option("--fail-on", type=click.Choice(_GATES), help="What fails the run (from the file, else new-errors).")
@click.option(
    "--format", "format_", type=click.Choice(["text", "json", "md"]), default="text", help="What to print (text)."
)
@click.option(
    "--time",
    callback=time_option,
    metavar="ISO",
    help="Time to record for the run; claims and waivers are judged as of that day (now).",
)
@click.option("--no-page", is_flag=True, help="Write no page.")
@click.option(
    "--no-script", is_flag=True, help="Write everything into the HTML of the page, for reading without a script."
)
@add_options("no_cache", "jobs", "as_of", "profile")
@click.pass_context
def command(
    ctx: click.Context, /, file: str, reports: str | None, fail_on: str | None, format_: str, time: datetime | None,
    no_page: bool, no_script: bool, as_of: date, jobs: int, no_cache: bool, profile: str | None,
) -> int:  # fmt: skip
    """Lint the repositories that a file lists, and say what is new, who answers for it, and what they share.

    Each has its own configuration. What has not changed since the last run is not linted again: one call of git tells.
    Writes the record (skill-health-fleet.json), a summary, a page and one line of skill-health-fleet-history.jsonl.

    Exit codes: 0 clean, 1 the gate fails, 2 a mistake in the call or the file, 3 a repository could not be checked.
    """
    from skill_health.bench.durable import locked
    from skill_health.core.errors import UsageError
    from skill_health.core.files import make_folder
    from skill_health.documents.fleet_file import FleetGate
    from skill_health.fleet.check import FleetTask
    from skill_health.fleet.load import load_fleet, place_of
    from skill_health.fleet.run import run_fleet
    from skill_health.fleet.states import append_run
    from skill_health.text.terminal import clean, echo

    fleet = load_fleet(file)
    folder = os.path.abspath(reports) if reports else place_of(file, fleet.reports)
    if time and ctx.get_parameter_source("as_of") is click.core.ParameterSource.DEFAULT:
        as_of = time.date()
    began = f"{time or datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    task = FleetTask(fleet, file, profile or "", as_of, began, jobs, not no_cache)
    gate = FleetGate(fail_on) if fail_on else fleet.fail_on
    try:
        make_folder(folder)
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror or error}") from None
    with locked(folder):
        outcome = run_fleet(
            task, folder, gate, clock.time_ns(), lambda name: echo(f"linting {clean(name)}\n", err=True)
        )
        written = _write(outcome, folder, no_page, no_script)
        # A verdict that nobody could read is not taken for one that was.
        _show(outcome, written, format_)
        append_run(outcome.line, outcome.earlier, folder)
    return outcome.exit_code


def _write(outcome: FleetOutcome, folder: str, no_page: bool, no_script: bool) -> list[str]:
    """Write the record, the summary and the page. Returns the lines that say so."""
    from skill_health.core.errors import UsageError
    from skill_health.core.files import here, write_text
    from skill_health.documents._record import encode_record
    from skill_health.fleet.render import fleet_blocks
    from skill_health.text.blocks import as_markdown

    told, files = [], {RECORD: encode_record(outcome.run), SUMMARY: as_markdown(fleet_blocks(outcome.run))}
    for name, text in files.items():
        write_text(os.path.join(folder, name), text)
    if not no_page:
        from skill_health.fleet.page.html import render_fleet

        try:
            text = render_fleet(outcome.run, (*outcome.earlier, outcome.line), plain=no_script)
        except UsageError as error:
            # The record is what the run is about: a library that is missing must not cost it.
            told.append(f"no page: {error}")
        else:
            write_text(os.path.join(folder, PAGE), text)
            files[PAGE] = text
    return [f"written: {', '.join(here(os.path.join(folder, name)) for name in files)}", *told]


def _show(outcome: FleetOutcome, written: list[str], format_: str) -> None:
    from skill_health.documents._record import encode_record
    from skill_health.fleet.render import fleet_blocks
    from skill_health.text.blocks import as_markdown, as_text
    from skill_health.text.terminal import clean, echo

    blocks = fleet_blocks(outcome.run)
    echo(
        encode_record(outcome.run) if format_ == "json" else as_markdown(blocks) if format_ == "md" else as_text(blocks)
    )
    for line in written:
        echo(clean(line) + "\n", err=format_ != "text")
    for reason in outcome.run.reasons if format_ != "text" else ():
        echo(clean(f"fleet: {reason}") + "\n", err=True)
    if sys.stdout is not None:
        sys.stdout.flush()
