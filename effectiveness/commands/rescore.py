"""`skill-health effectiveness rescore`: verify a run again from its kept workspaces, without any agent."""

from __future__ import annotations

import os

import click

from skill_health.core.errors import CLEAN, FINDINGS
from skill_health.effectiveness.commands._options import network_options


@click.command(short_help="Verify kept workspaces again with today's verifiers, without any agent.")
@click.argument("run", metavar="RUN")
@click.option("--tasks", "task_paths", multiple=True, metavar="PATH", help="The tasks (those of the configuration).")
@click.option("--write", is_flag=True, help="Replace the results and the report of the run.")
@click.option(
    "--sandbox", metavar="NAME", help="bubblewrap, docker, podman, harbor:PROVIDER, or none (the first that works)."
)
@network_options
@click.option(
    "--concurrency", type=click.IntRange(1, 256), metavar="N", help="Concurrent verifications (one for each processor)."
)
@click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found.")
@click.option("--out", metavar="DIR", help="Folder of the reports (from the configuration, else reports).")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", help="What to print.")
def command(
    run: str,
    task_paths: tuple[str, ...],
    write: bool,
    sandbox: str | None,
    network: str | None,
    hosts: tuple[str, ...],
    concurrency: int | None,
    config_file: str | None,
    out: str | None,
    format_: str,
) -> int:
    """Verify the trials of RUN, the id or folder of a run or `last`, again; exit 1 where a result changes.

    Each verifier runs as in a trial, in a sandbox, over the workspace that was kept when its agent had ended. A trial
    without a kept workspace stays as it is, and so does one that the verifier could not judge. What only a reader can
    decide, `effectiveness judge` has judged again, by other judges too.
    """
    import asyncio
    import json

    from skill_health.bench.command_line import print_lines
    from skill_health.bench.durable import locked
    from skill_health.bench.run_folder import find_run
    from skill_health.core.errors import AbortedError, UsageError
    from skill_health.discovery.roots import reports_folder
    from skill_health.effectiveness.run.rescore import as_json, as_text, replace_results, rescore, verified_now
    from skill_health.effectiveness.run.runs import KIND, load_run
    from skill_health.effectiveness.sandbox._load import back_end, pick
    from skill_health.effectiveness.tasks._load import load_tasks
    from skill_health.effectiveness.workspace.images import drop_copies, network_choice, place_tasks
    from skill_health.effectiveness.workspace.scripts import ScriptOptions
    from skill_health.lint.pipeline import configure
    from skill_health.text.terminal import echo

    click.get_current_context().call_on_close(drop_copies)
    root, config = configure((os.curdir,), config_file, {})
    folder = find_run(run, reports_folder(out, root, config), KIND)
    if task_paths:
        tasks = load_tasks(task_paths, root).tasks
    else:
        from skill_health.effectiveness.plan.inputs import load_inputs

        tasks = load_inputs((), (), config_file, skip_namesakes=True).tasks
    image = config.effectiveness.image
    name = pick(sandbox or None, image, own=any(task.contained for task in tasks))
    chosen = back_end(name)
    granted = network_choice(network, hosts, config.effectiveness)
    tasks = place_tasks(tasks, name, image, granted, lambda line: print_lines([line])).tasks
    with locked(folder):
        kept = load_run(folder)
        results, manifest = kept.results, kept.manifest
        if not results:
            raise UsageError(f"{folder} has no results yet")
        if manifest.sandbox.network != str(granted):
            print_lines(
                [f"note: the run's network was {manifest.sandbox.network}, and here it is {granted}: see --network"]
            )
        by_id = {task.id: task for task in tasks}
        trials = asyncio.run(
            rescore(folder, results, by_id, ScriptOptions(chosen, image, concurrency or os.cpu_count() or 1))
        )
        changed = any(trial.word == "changed" for trial in trials)
        written = write and (changed or verified_now(manifest, trials) != manifest)
        if written:
            try:
                replace_results(folder, manifest, trials)
            except OSError as error:
                raise AbortedError(f"cannot write to {folder}: {error.strerror or error}") from error
    if format_ == "json":
        echo(json.dumps(as_json(trials, written), indent=2, sort_keys=True) + "\n")
    else:
        echo(as_text(trials, written))
    return FINDINGS if any(trial.word in ("changed", "failed") for trial in trials) else CLEAN
