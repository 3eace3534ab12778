"""`skill-health router import`: results of the plan's published runner as a run of ours."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import click

from skill_health.core.errors import CLEAN
from skill_health.core.files import read_whole
from skill_health.router.commands._options import namesakes_options
from skill_health.router.runs import ROUTER


@click.command(short_help="Import results in the plan's published format.")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False))
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--prompts",
    "prompt_files",
    multiple=True,
    metavar="FILE",
    help="The labelled prompts of that run (the registry's).",
)
@click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found.")
@click.option("--out", metavar="DIR", help="Folder of the reports (from the configuration, else reports).")
@click.option("--skip-bad", is_flag=True, help="Skip prompts that cannot be read.")
@namesakes_options
def command(
    folder: str,
    paths: tuple[str, ...],
    prompt_files: tuple[str, ...],
    config_file: str | None,
    out: str | None,
    skip_bad: bool,
    namesakes: str | None,
) -> int:
    """Make a run of DIR, a folder results/<date>-<seed> of the plan's runner, for `report` and `compare`.

    PATH is the collection, as it was listed then, and the prompts are those of the run: labels and names of skills are
    taken from them, and raw answers are read again.
    """
    from skill_health.bench.run_folder import runs_folder
    from skill_health.discovery.roots import reports_folder
    from skill_health.router.inputs import load_inputs
    from skill_health.router.prompts._load import refuse_bad_records
    from skill_health.router.published import import_run, read_folder, write_run
    from skill_health.text.terminal import clean

    plan = read_folder(folder)
    # That runner shows no plugins.
    inputs = load_inputs(
        paths, config_file, prompt_files, "full",
        namesakes=namesakes, plain=True,
    )  # fmt: skip
    lines = refuse_bad_records(inputs.problems, skip_bad)
    files = prompt_files or _sources(inputs.prompts, inputs.root)
    whole, note = _is_fixture(files, plan.about.fixture)
    run = import_run(plan, inputs.prompts, inputs.catalogue, whole)
    place = os.path.join(runs_folder(reports_folder(out, inputs.root, inputs.config), ROUTER), run.manifest.run_id)
    write_run(place, run)
    for line in (*lines, *note, *run.notes):
        click.echo(clean(line), err=True)
    models = len(run.manifest.models)
    click.echo(
        f"imported {len(run.results)} results of {models} model{'s' * (models != 1)} on "
        f"{len(run.manifest.prompts)} prompts: {clean(place)}"
    )
    return CLEAN


def _sources(prompts: Sequence[Any], root: str) -> list[str]:
    """The files that the prompts were read from."""
    return sorted({os.path.join(root, prompt.source.rpartition(":")[0]) for prompt in prompts})


def _is_fixture(files: Sequence[str], recorded: str | None) -> tuple[bool, list[str]]:
    """Whether the run says that its prompts were exactly this file, and what to say where it says otherwise."""
    from hashlib import sha256

    if recorded is None:
        return False, []
    hashes = []
    for file in files:
        try:
            hashes.append(sha256(read_whole(file, 64 << 20)).hexdigest())
        except OSError:
            continue
    if len(files) == 1 and any(each.startswith(recorded) for each in hashes) and len(recorded) >= 8:
        return True, []
    return False, [
        f"the run names other prompts (SHA-256 {recorded[:16]}): labels may have changed since, and prompts without any "
        "result are left out"
    ]
