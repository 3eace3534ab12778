"""`skill-health router release`: a finished run as a folder to publish."""

from __future__ import annotations

import os

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
    e-mail addresses in it are masked. What cannot be searched, such as files that are no text, is left out. README.md
    says what is in it, SHA256SUMS has the hash of each file.
    """
    from skill_health.bench.command_line import print_lines
    from skill_health.bench.reproduce.release import DescribedRun, release_lines, write_release
    from skill_health.bench.run_folder import find_run
    from skill_health.discovery.roots import reports_folder
    from skill_health.documents.router_history import HISTORY
    from skill_health.lint.pipeline import configure
    from skill_health.router.commands.verify import verify_run
    from skill_health.router.runs import ROUTER, load_run
    from skill_health.text.numbers import count

    root, config = configure((os.curdir,), config_file, {})
    place = find_run(run, reports_folder(out, root, config), ROUTER)
    found = load_run(place)
    manifest, template = found.manifest, found.manifest.template
    named = sorted({f"{each.model} as {each.resolved_model}" for each in found.results if each.resolved_model})
    about = DescribedRun(
        ROUTER,
        found.run_id,
        [
            ("made", f"{manifest.created} by skill-health {manifest.tool_version}"),
            ("collection", f"commit {manifest.commit or 'not known'}{', with further changes' if manifest.dirty else ''}"),
            ("models", ", ".join(f"{each.spec} ({each.kind}, {count(each.replications, 'replication')})" for each in manifest.models)),
            ("identifiers that servers named", ", ".join(named) or "none"),
            ("asked", f"{len(manifest.prompts):,} labelled prompts over {len(manifest.catalogue):,} skills"),
            ("template", f"{template.name} {template.version or ''}, mode {manifest.mode}, listing {manifest.listing}, seed {manifest.seed}"),
            ("prices", manifest.price_table or "not known"),
            ("results", f"{len(found.results):,}, {sum(each.scored for each in found.results):,} of them answers"),
        ],
    )  # fmt: skip
    print_lines(release_lines(folder, write_release(place, HISTORY, folder, about, verify_run)))
    return CLEAN
