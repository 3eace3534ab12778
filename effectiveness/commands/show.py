"""`skill-health effectiveness show`: the trials of a run, one of them in full, or two of them side by side."""

from __future__ import annotations

import os

import click

from skill_health.core.errors import CLEAN
from skill_health.trials.find import STATES


@click.command(short_help="Show the trials of a run, one in full, or two side by side.")
@click.argument("run", metavar="[RUN]", default="last")
@click.argument("trial", metavar="[TRIAL]", default="")
@click.option("--against", metavar="TRIAL", help="Compare it with this one: what differs in steps, checks and files.")
@click.option("--only", type=click.Choice(STATES[:-1]), help="List only the trials that went so.")
@click.option("--out", metavar="DIR", help="Folder of the reports (from the configuration, else reports).")
@click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found.")
def command(
    run: str, trial: str, against: str | None, only: str | None, out: str | None, config_file: str | None
) -> int:
    """Show TRIAL of RUN in full: figures, verifier, changes and every step, with the opening of a skill marked.

    RUN is the id or folder of a run, the last one unless given. TRIAL is a trial's name or folder, or
    TASK/ARM/REPLICATION; without it all are listed. With --against, what begins with "-" is only in that one, and what
    begins with "+" only in TRIAL. Nothing is run and nothing written.
    """
    import sys
    from shutil import get_terminal_size

    from skill_health.bench.run_folder import find_run
    from skill_health.core.errors import UsageError
    from skill_health.discovery.roots import reports_folder
    from skill_health.effectiveness.run.runs import KIND, load_manifest
    from skill_health.lint.pipeline import configure
    from skill_health.text.terminal import echo, speaks_unicode, to_ascii, wants_color
    from skill_health.trials.find import every_trial, find_trial, state_of
    from skill_health.trials.reading import WHOLE, read_trial
    from skill_health.trials.results import read_trials, shelf_of
    from skill_health.trials.side_by_side import compare_trials
    from skill_health.trials.text import list_trials, side_by_side_text, trial_text

    if against and not trial:
        raise UsageError("--against compares with a trial: name that one, too")
    if only and trial:
        raise UsageError("--only is for the list: leave out the trial")
    root, config = configure((os.curdir,), config_file, {})
    folder = find_run(run, reports_folder(out, root, config), KIND)
    load_manifest(folder)
    shelf, runs, name = shelf_of(folder)
    every = every_trial(read_trials(shelf, name, runs))
    color, plain = wants_color(), not speaks_unicode(sys.stdout)
    if not trial:
        chosen = [each for each in every if only in (None, state_of(each))]
        lines = list_trials(chosen, get_terminal_size((140, 24)).columns)
    elif against:
        sides = (read_trial(shelf, find_trial(every, each), WHOLE) for each in (against, trial))
        lines = side_by_side_text(compare_trials(shelf, *sides), color)
    else:
        lines = trial_text(read_trial(shelf, find_trial(every, trial), WHOLE), color)
    for line in lines:
        echo(f"{to_ascii(line) if plain else line}\n")
    return CLEAN
