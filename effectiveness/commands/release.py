"""`skill-health effectiveness release`: a finished run as a folder to publish."""

from __future__ import annotations

import click

from skill_health.core.errors import CLEAN


@click.command(short_help="Write a finished run to a folder to publish, without secrets, with hashes and a card.")
@click.argument("run", metavar="RUN")
@click.argument("folder", metavar="DIR")
@click.option(
    "--out", metavar="DIR", help="Folder of the reports that the run is in (from the configuration, else reports)."
)
@click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found.")
def command(run: str, folder: str, out: str | None, config_file: str | None) -> int:
    """Write RUN, the id or folder of a run or `last`, to the new folder DIR, which every command reads back.

    It must follow from its raw files (`verify`), and still do so when credentials, home folders and
    e-mail addresses in it are masked. What cannot be searched, such as kept workspaces, is left out. README.md
    says what is in it, SHA256SUMS has the hash of each file.
    """
    from skill_health.bench.command_line import print_lines
    from skill_health.bench.reproduce.release import DescribedRun, release_lines, write_release
    from skill_health.documents.effect_history import HISTORY
    from skill_health.effectiveness.commands.report import find
    from skill_health.effectiveness.commands.verify import verify_run
    from skill_health.effectiveness.run.runs import KIND

    found = find(run, out, config_file)
    manifest, sandbox = found.manifest, found.manifest.sandbox
    agents = [
        f"{each.spec}{f' {each.version}' if each.version else ''}{' (simulated: says nothing about any model)' if each.simulated else ''}"
        for each in manifest.models
    ]
    about = DescribedRun(
        KIND,
        found.run_id,
        [
            ("made", f"{manifest.created} by skill-health {manifest.tool_version}"),
            ("collection", f"commit {manifest.commit or 'not known'}{', with further changes' if manifest.dirty else ''}"),
            ("agents", ", ".join(agents)),
            ("tried", f"{len(manifest.tasks):,} tasks in {len(manifest.arms)} arms ({', '.join(manifest.arms)}), {manifest.replications} times"),
            ("skills", f"{len(manifest.skills):,}"),
            ("sandbox", f"{sandbox.name} {sandbox.version}, network {sandbox.network}"),
            ("seed", f"{manifest.seed}"),
            ("prices", manifest.price_table or "not known"),
            ("results", f"{len(found.results):,}, {sum(each.scored for each in found.results):,} of them scored"),
        ],
    )  # fmt: skip
    print_lines(release_lines(folder, write_release(found.folder, HISTORY, folder, about, verify_run)))
    return CLEAN
