"""`skill-health draft contract`: the numbers of a skill's complexity contract, from what a run has measured."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from skill_health.core.errors import CLEAN

if TYPE_CHECKING:
    from skill_health.documents.effect_result import TrialResult
    from skill_health.effectiveness.run.runs import EffectRun

LEAST = 5
"""Trials from which a contract is drafted."""


@click.command(short_help="Draft complexity contracts from a finished effectiveness run.")
@click.argument("run", metavar="[RUN]", default="last")
@click.option(
    "--out", metavar="DIR", help="Folder of the reports that the run is in (from the configuration, else reports)."
)
@click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found.")
def command(run: str, out: str | None, config_file: str | None) -> int:
    """Print, for each skill that RUN is about, the numbers that its frontmatter could promise.

    They hold for nine of ten scored trials in which the skill was offered. Where a skill applies, and what to do where
    that is too much, only its author knows: these lines are left to be written. Nothing is written to a file.
    """
    from skill_health.effectiveness.commands.report import find
    from skill_health.text.terminal import clean, echo

    echo("".join(f"{clean(line)}\n" for line in draft_contracts(find(run, out, config_file))))
    return CLEAN


def draft_contracts(run: EffectRun) -> Iterator[str]:
    """The lines of each skill: a contract, or why there is none."""
    from skill_health.effectiveness.records import TARGET
    from skill_health.skill.contract import APPLIES, CALLS, FALLBACK, TOKENS

    tasks = {task.id: task.target_skills for task in run.manifest.tasks}
    if any(model.simulated for model in run.manifest.models):
        yield "# agents of this run are simulated: what they took says nothing about any model"
    skills = sorted({skills[0] for skills in tasks.values() if skills and len(skills) == 1})
    for skill in skills:
        trials = [
            each for each in run.results if each.arm == TARGET and each.scored and tasks.get(each.task_id) == (skill,)
        ]
        counted = [
            (each.tool_calls, tokens)
            for each in trials
            if each.tool_calls is not None and (tokens := tokens_of(each)) is not None
        ]
        if len(counted) < LEAST:
            yield f"# {skill}: not testable, {len(counted)} trials with known calls and tokens, {LEAST} are needed"
            continue
        yield f"# {skill}: nine of ten of {len(counted)} trials took no more"
        yield "metadata:"
        yield f'  {CALLS}: "{_reach([calls for calls, _ in counted])}"'
        yield f'  {TOKENS}: "{_reach([tokens for _, tokens in counted])}"'
        yield f"  # {APPLIES}: say what the skill is for, and nothing beyond"
        yield f"  # {FALLBACK}: say what to do where that is too much"


def tokens_of(result: TrialResult) -> int | None:
    """The tokens that a trial read and wrote; None where nobody says."""
    usage = result.usage
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    return usage.input_tokens + usage.output_tokens


def _reach(values: list[int]) -> int:
    """The least value that nine of ten do not exceed (nearest rank), and at least 1."""
    ordered = sorted(values)
    return max(1, ordered[math.ceil(len(ordered) * 9 / 10) - 1])
