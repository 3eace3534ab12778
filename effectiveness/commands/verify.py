"""`skill-health effectiveness verify`: does what is said of a run follow from its raw files?"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from skill_health.core.errors import CLEAN, FINDINGS
from skill_health.documents._record import OpenRecord

if TYPE_CHECKING:
    from skill_health.bench.reproduce.verify import VerifiedFile
    from skill_health.documents.effect_result import TrialResult


@click.command(short_help="Compute a run anew from its raw files, and compare every figure.")
@click.argument("run", metavar="[RUN]", default="last")
@click.option(
    "--out", metavar="DIR", help="Folder of the reports that the run is in (from the configuration, else reports)."
)
@click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found.")
def command(run: str, out: str | None, config_file: str | None) -> int:
    """Verify RUN, the id or folder of a run; the last one unless given. Nothing is run and nothing written.

    Its hashes are computed from what its manifest lists, its reports and its lines of the history from
    its results, and each result is held against the verdict that was kept of its trial. Exit 1 where a
    value differs, with its place in the file. `rescore` runs the verifiers again.
    """
    from skill_health.bench.reproduce.verify import is_sound, verified_lines
    from skill_health.effectiveness.commands.report import find
    from skill_health.text.terminal import echo

    found = find(run, out, config_file)
    files = verify_run(found.folder)
    echo("".join(f"{line}\n" for line in verified_lines(found.run_id, found.manifest.tool_version, files)))
    return CLEAN if is_sound(files) else FINDINGS


def verify_run(folder: str) -> list[VerifiedFile]:
    """The files of a run, each compared with what follows from the raw ones. Raises UsageError where one is damaged."""
    from skill_health.bench.manifest import digest
    from skill_health.bench.reproduce.verify import (
        history_beside,
        verify_history,
        verify_manifest,
        verify_reports,
        verify_results,
    )
    from skill_health.bench.run_folder import read_checked_manifest
    from skill_health.documents._record import record_values
    from skill_health.documents.effect_history import HISTORY
    from skill_health.effectiveness import reports
    from skill_health.effectiveness.effects.build import build_report
    from skill_health.effectiveness.plan.plan import OF_TRIALS, skills_digest
    from skill_health.effectiveness.run.history import history_lines, history_subject
    from skill_health.effectiveness.run.runs import KIND, load_run

    stored, found = read_checked_manifest(folder, KIND), load_run(folder)
    manifest, report = found.manifest, build_report(found.manifest, found.results)
    tasks = digest([record_values(task) for task in manifest.tasks])
    results = verify_results(folder, stored, OF_TRIALS)
    lines = history_lines(manifest, report, found.results)
    files = [
        verify_manifest(stored, {"tasks": tasks, "skills": skills_digest(manifest.skills)}),
        results,
        _verdicts(folder, found.results),
        *verify_reports(reports.__name__, folder, report),
        verify_history(history_beside(folder, HISTORY), lines, history_subject, not results.differs),
    ]
    return [each for each in files if each is not None]


class _Verdict(OpenRecord, frozen=True, kw_only=True):
    """What of a verdict.json the line of its trial repeats."""

    outcome: str
    reward: float | None = None


def _verdicts(folder: str, results: Iterable[TrialResult]) -> VerifiedFile:
    """Whether each result is the verdict that was kept of its trial; what a judge decides later is no part of that."""
    from skill_health.bench.reproduce.verify import VerifiedFile
    from skill_health.core.files import read_small
    from skill_health.documents._record import decode_record
    from skill_health.effectiveness.run.runs import TRIALS
    from skill_health.effectiveness.trial.files import VERDICT
    from skill_health.text.terminal import clean
    from skill_health.trials.results import way_to

    compared, differs = 0, []
    for result in results:
        way = way_to(result.folder, "", "")[2:]
        data = read_small(os.path.join(folder, *way, VERDICT)) if way[:1] == (TRIALS,) else None
        if data is None:
            continue
        try:
            verdict = decode_record(data, _Verdict)
        except ValueError:
            differs.append(f"{clean(result.folder)}/{VERDICT}: it is damaged")
            continue
        if verdict.outcome != "unjudged":
            compared += 1
            kept, said = (verdict.outcome, verdict.reward), (result.outcome, result.reward)
            if kept != said:
                differs.append(f"{clean(result.folder)}: {_told(*kept)} is kept, {_told(*said)} is reported")
    return VerifiedFile(f"{TRIALS}/*/{VERDICT}", compared, tuple(differs), "verdict")


def _told(outcome: str, reward: float | None) -> str:
    from skill_health.text.terminal import clean

    return clean(outcome) if reward is None else f"{clean(outcome)} ({reward:g})"
