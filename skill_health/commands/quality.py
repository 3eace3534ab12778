"""`skill-health quality`: how well is each skill written, and does that go with what it does?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from skill_health.commands.lint import add_options
from skill_health.core.errors import CLEAN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skill_health.documents.quality_report import QualityEffects, QualityOfSkill


@click.command(short_help="Give each skill points for how it is written, of twelve.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--effects",
    "runs",
    multiple=True,
    metavar="RUN",
    help="Compare with the gains of an effectiveness run: its id or folder; may be repeated.",
)
@click.option(
    "--format", "format_", type=click.Choice(["text", "json", "markdown"]), default="text", help="What to print."
)
@add_options("config_file")
def command(paths: tuple[str, ...], runs: tuple[str, ...], format_: str, config_file: str | None) -> int:
    """Give each skill of PATH (default: here) 0 to 3 points for completeness, clarity, specificity and examples.

    Each point follows from signs that are counted, and the patterns of authors are listed that went with gain and with
    loss in SkillsBench. No model is asked, and nothing passes or fails by it. docs/quality.md says how often readers
    agree. With --effects the points, patterns and complexity contracts stand beside what runs have measured.
    """
    from skill_health.documents._record import encode_record
    from skill_health.lint.pipeline import configure, find_readable, prefix
    from skill_health.quality.collection import quality_of_collection, quality_report
    from skill_health.quality.render import quality_blocks
    from skill_health.text.blocks import as_markdown, as_text
    from skill_health.text.terminal import echo

    paths = paths or (".",)
    root, config = configure(paths, config_file, {})
    discovery = find_readable(paths, config, root)
    found = quality_of_collection(discovery.root, (entry for entry in discovery.entries if entry.target))
    report = quality_report(found, _effects(found, runs, config_file) if runs else None)
    if format_ == "json":
        echo(encode_record(report).rstrip("\n"))
    else:
        echo((as_markdown if format_ == "markdown" else as_text)(quality_blocks(report, prefix(root))))
    return CLEAN


def _effects(found: Sequence[QualityOfSkill], runs: tuple[str, ...], config_file: str | None) -> QualityEffects:
    from skill_health.core.extras import STATISTICS, require_modules

    require_modules("quality --effects", STATISTICS)
    from skill_health.effectiveness.commands.report import find
    from skill_health.effectiveness.effects.authoring import gains_of_skills
    from skill_health.effectiveness.effects.build import build_report
    from skill_health.quality.association import associate, costs_of_runs

    reports = [build_report(run.manifest, run.results) for run in (find(each, None, config_file) for each in runs)]
    names = [report.run_id for report in reports]
    simulated = any(report.simulated for report in reports)
    gains = gains_of_skills(model for report in reports for model in report.models)
    return associate(found, gains, names, costs_of_runs(reports), simulated)
