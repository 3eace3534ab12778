"""`skill-health effectiveness export`: the trials of a run in the form of another tool."""

from __future__ import annotations

import os

import click

from skill_health.core.errors import CLEAN
from skill_health.core.files import is_there
from skill_health.effectiveness.exports import export_names


@click.command(short_help="Write the trials of a run in the form of another tool.")
@click.argument("run", metavar="[RUN]", default="last")
@click.option("--format", "format_", type=click.Choice(export_names()), required=True, help="The form.")
@click.option("--out", metavar="DIR", required=True, help="The folder to write, a new or an empty one.")
@click.option("--reports", metavar="DIR", help="Folder of the reports (from the configuration, else reports).")
@click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found.")
def command(run: str, format_: str, out: str, reports: str | None, config_file: str | None) -> int:
    """Export RUN, the id or folder of a run, the last one unless given.

    With `atif` there is one trajectory a trial in the Agent Trajectory Interchange Format, with the result of the trial
    in it. With `inspect` there is one log a model and arm, which `inspect view` and `inspect log` of inspect_ai open.
    The same run gives the same bytes.
    """
    from collections import Counter

    from skill_health.bench.command_line import print_lines
    from skill_health.bench.run_folder import find_run
    from skill_health.core.errors import UsageError
    from skill_health.core.files import here, write_bytes
    from skill_health.discovery.roots import reports_folder
    from skill_health.effectiveness.exports import load_export
    from skill_health.effectiveness.exports._api import ExportGap
    from skill_health.effectiveness.run.runs import KIND, load_run
    from skill_health.lint.pipeline import configure
    from skill_health.text.terminal import clean, echo
    from skill_health.trials.find import every_trial
    from skill_health.trials.reading import WHOLE, read_trial
    from skill_health.trials.results import read_trials, shelf_of

    root, config = configure((os.curdir,), config_file, {})
    found = load_run(find_run(run, reports_folder(reports, root, config), KIND))
    shelf, runs, name = shelf_of(found.folder)
    trials = every_trial(read_trials(shelf, name, runs))
    if not trials:
        raise UsageError(f"{here(found.folder)} has no trials to export")
    if is_there(out, links=False) and (not os.path.isdir(out) or os.listdir(out)):
        raise UsageError(f"{out} is not an empty folder: name another --out")
    counted: Counter[str] = Counter()
    gaps: dict[str, list[str]] = {}
    for each in load_export(format_).export(found, trials, lambda trial: read_trial(shelf, trial, WHOLE)):
        if isinstance(each, ExportGap):
            gaps.setdefault(each.why, []).append(each.trial)
            continue
        write_bytes(os.path.join(out, each.name), each.data)
        counted.update(files=1, trials=each.trials)
    print_lines(
        clean(f"note: {len(some):,} trial{'s' * (len(some) > 1)} {why[:300]} (such as {some[0]})")
        for why, some in gaps.items()
    )
    echo(clean(f"written: {here(out)}, {counted['files']:,} files of {counted['trials']:,} trials") + "\n")
    return CLEAN
