"""`skill-health effectiveness merge`: the shards of a run or a judging, as the one that they are parts of."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from skill_health.bench.command_line import finish, merge_options

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.command(short_help="Put the shards of a run or a judging together, and report.")
@merge_options
def command(shards: tuple[str, ...], out: str | None, config_file: str | None, format_: str) -> int:
    """Put together what `effectiveness run --shard K/N` or `effectiveness judge --shard K/N` made on several machines.

    Each SHARD is the folder of one part. What comes of them has the results, the trials and the report of
    one that was made whole; a judging goes to the run that it is of. Shards of different runs, missing
    ones and results that are there twice are refused. What has no result is asked for by --resume.
    """
    from skill_health.core.extras import STATISTICS, require_modules

    require_modules("effectiveness merge", STATISTICS)
    from skill_health.bench.journal import read_manifest
    from skill_health.bench.run_folder import folder_named
    from skill_health.discovery.roots import reports_folder
    from skill_health.effectiveness.commands.run import print_outcome
    from skill_health.effectiveness.run.conduct import merge
    from skill_health.effectiveness.run.runs import KIND
    from skill_health.lint.pipeline import configure

    root, config = configure((os.curdir,), config_file, {})
    reports = reports_folder(out, root, config)
    first = read_manifest(folder_named(shards[0]))
    if first.get("kind") == KIND:
        return print_outcome(merge(shards, reports), format_)
    return _merge_judging(shards, str(first.get("kind")), str(first.get("of_run")), reports, format_)


def _merge_judging(shards: Sequence[str], kind: str, run: str, reports: str, format_: str) -> int:
    from skill_health.bench.run_folder import find_run
    from skill_health.documents._record import encode_record
    from skill_health.effectiveness.judge.pairs.markdown import pairs_to_markdown
    from skill_health.effectiveness.judge.pairs.prepare import OF_PAIRS
    from skill_health.effectiveness.judge.pairs.report import write_pair_report
    from skill_health.effectiveness.judge.prepare import OF_JUDGING
    from skill_health.effectiveness.judge.run import merge_judging, write_judged
    from skill_health.effectiveness.judge.scores.markdown import to_markdown
    from skill_health.effectiveness.run.runs import KIND

    folder = find_run(run, reports, KIND)
    pairs = kind == OF_PAIRS.name
    ended = merge_judging(
        shards, OF_PAIRS if pairs else OF_JUDGING, folder, write_pair_report if pairs else write_judged
    )
    if format_ == "json":
        return finish(ended, encode_record(ended.report), False)
    return finish(ended, (pairs_to_markdown if pairs else to_markdown)(ended.report), False)
