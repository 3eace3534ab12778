"""`skill-health router verify`: does what is said of a run follow from its raw files?"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import click

from skill_health.core.errors import CLEAN, FINDINGS

if TYPE_CHECKING:
    from skill_health.bench.reproduce.verify import VerifiedFile
    from skill_health.documents.router_manifest import RouterManifest
    from skill_health.documents.router_result import RoutingResult


@click.command(short_help="Compute a run anew from its raw files, and compare every figure.")
@click.argument("run", metavar="[RUN]", default="last")
@click.option(
    "--out", metavar="DIR", help="Folder of the reports that the run is in (from the configuration, else reports)."
)
@click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found.")
def command(run: str, out: str | None, config_file: str | None) -> int:
    """Verify RUN, the id or folder of a run; the last one unless given. Nothing is asked and nothing written.

    Its hashes are computed from what its manifest lists, its reports and its lines of the history from
    its results, and these from the answers that were kept. Exit 1 where a value differs, with its place
    in the file.
    """
    from skill_health.bench.reproduce.verify import (
        is_sound,
        verified_lines,
    )
    from skill_health.bench.run_folder import find_run
    from skill_health.discovery.roots import reports_folder
    from skill_health.lint.pipeline import configure
    from skill_health.router.runs import ROUTER, load_manifest
    from skill_health.text.terminal import echo

    root, config = configure((os.curdir,), config_file, {})
    folder = find_run(run, reports_folder(out, root, config), ROUTER)
    manifest, files = load_manifest(folder), verify_run(folder)
    echo("".join(f"{line}\n" for line in verified_lines(manifest.run_id, manifest.tool_version, files)))
    return CLEAN if is_sound(files) else FINDINGS


def verify_run(folder: str) -> list[VerifiedFile]:
    """The files of a run, each compared with what follows from the raw ones. Raises UsageError where one is damaged."""
    from skill_health.bench.reproduce.verify import (
        history_beside,
        verify_history,
        verify_manifest,
        verify_reports,
        verify_results,
    )
    from skill_health.bench.run_folder import is_reported, read_checked_manifest
    from skill_health.documents.router_history import HISTORY
    from skill_health.router import reports
    from skill_health.router.history import history_lines
    from skill_health.router.listing import listing_digest
    from skill_health.router.plan.manifest import prompts_digest
    from skill_health.router.report import build_report
    from skill_health.router.runs import OF_ROUTER, ROUTER, load_run

    stored, found = read_checked_manifest(folder, ROUTER), load_run(folder)
    manifest = found.manifest
    with _as_then(folder):
        report = build_report(manifest, found.results, found.check)
    shown = [(skill.shared or skill.name, skill.text) for skill in manifest.catalogue]
    hashes = {"catalogue": listing_digest(shown), "prompts": prompts_digest(manifest.prompts)}
    lines, made_here = history_lines(manifest, report, found.check), manifest.imported is not True
    files = [
        verify_manifest(stored, hashes),
        verify_results(folder, stored, OF_ROUTER),
        _answers(folder, manifest, found.results),
        # What was imported has no reports and no lines of its own.
        *(verify_reports(reports.__name__, folder, report) if made_here or is_reported(folder) else ()),
        verify_history(
            history_beside(folder, HISTORY), lines, lambda line: (line.model,), found.finished and made_here
        ),
    ]
    return [each for each in files if each is not None]


def _as_then(folder: str) -> AbstractContextManager[None]:
    """Computing as when the report of a run was made: with the libraries of statistics, or without.

    Raises UsageError where they were there then and are missing here.
    """
    from skill_health import stats
    from skill_health.core.extras import STATISTICS, require_modules
    from skill_health.core.files import read_head

    try:
        data = read_head(os.path.join(folder, "report.json"), 256 << 20, links=False)
    except OSError:
        return nullcontext()
    if stats.LEFT_OUT.encode() in data:
        return stats.without()
    require_modules("verifying a run whose report has intervals of differences", STATISTICS)
    return nullcontext()


def _answers(folder: str, manifest: RouterManifest, results: Iterable[RoutingResult]) -> VerifiedFile:
    """Whether each scored result of a model is what its last answer says; what is computed here keeps no answers."""
    from skill_health.bench.journal import ATTEMPTS, read_past
    from skill_health.bench.reproduce.verify import VerifiedFile
    from skill_health.documents._record import convert_record
    from skill_health.documents.router_attempt import RoutingAttempt
    from skill_health.router.run.outcome import THOUGHTS, read_attempt
    from skill_health.router.runs import OF_ROUTER
    from skill_health.text.terminal import clean

    ends = read_past(folder, OF_ROUTER.fields, lambda record: True).ends
    listed = {skill.name: skill.shared or skill.name for skill in manifest.catalogue}
    names = [*listed, *listed.values()]
    compared, differs = 0, []
    for result in results:
        if not result.scored or result.key not in ends:
            continue
        compared += 1
        where = clean("/".join(map(str, result.key)))
        try:
            last = convert_record(ends[result.key][-1], RoutingAttempt)
        except ValueError:
            differs.append(f"{where}: its last attempt is damaged")
            continue
        read = read_attempt(last, names, manifest.template.none_allowed, THOUGHTS in result.notes)
        said = tuple(listed.get(name, name) for name in result.ranking)
        kept = tuple(listed.get(name, name) for name in read.answer.ranking)
        if (read.outcome, kept, read.answer.confidence) != (result.status, said, result.confidence):
            differs.append(
                f"{where}: {_told(read.outcome, kept)} was answered, {_told(result.status, said)} is reported"
            )
    return VerifiedFile(ATTEMPTS, compared, tuple(differs), "answer")


def _told(status: str, ranking: tuple[str, ...]) -> str:
    from skill_health.text.near import list_some
    from skill_health.text.terminal import clean

    return clean(f"{status} ({list_some(ranking, 3)})" if ranking else status)
