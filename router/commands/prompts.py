"""`skill-health router prompts`: are the labelled prompts fit to measure with, and which of them are sealed?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from skill_health.core.errors import CLEAN, FINDINGS, UsageError
from skill_health.core.files import file_state, is_stream, is_there
from skill_health.router.commands._options import collection_options
from skill_health.router.plan.choices import RouterOptions

if TYPE_CHECKING:
    from skill_health.router.inputs import RouterInputs
    from skill_health.router.records import Prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions(RouterOptions):
    """What a command line says of an audit, besides where the prompts are."""

    write_split: str | None = None
    shares: tuple[float, ...] | None = None
    force: bool = False


def _shares(_: click.Context, __: click.Parameter, value: str | None) -> tuple[float, ...] | None:
    try:
        found = tuple(float(part) for part in value.split(",")) if value else None
    except ValueError:
        found = ()
    if found is not None and (
        len(found) != 3 or not all(0 <= share < float("inf") for share in found) or not sum(found)
    ):
        raise click.BadParameter(f"{value!r} is not three shares like 50,20,30")
    return found


@click.command(short_help="Audit the labelled prompts, and split them into train, validation and sealed test.")
@collection_options
@click.option("--write-split", metavar="FILE", help="Write the prompts with families and splits, as JSON lines.")
@click.option("--shares", callback=_shares, metavar="A,B,C", help="Shares of train, validation and test (50,20,30).")
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Seed of the split (from the configuration, else 1).")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", help="What to print.")
def command(paths: tuple[str, ...], **options: Any) -> int:
    """Say what the labelled prompts of a collection cover and what is wrong with them: exit 1 on errors or bad records.

    Prompts that already have a split keep it, and prompts of one family stay together.
    """
    from skill_health.router.audit import as_json, as_text, audit
    from skill_health.router.inputs import load_inputs
    from skill_health.router.prompts._load import count_reasons
    from skill_health.text.terminal import wants_color

    given = AuditOptions(paths=paths, **options)
    target = given.write_split
    kept = target if target and not is_stream(target) else ""
    before = file_state(kept)
    if target:
        _may_write(target, given)
    inputs = load_inputs(
        given.paths, given.config_file, given.prompt_files, "full", prompt_ids=given.prompt_ids,
        skills=given.skills, splits=given.split, namesakes=given.namesakes,
        field_map=given.field_map,
    )  # fmt: skip
    problems = () if given.skip_bad else inputs.problems
    prompts = _split(inputs, given) if target else inputs.prompts
    found = audit(prompts, inputs.catalogue, inputs.config.limits)
    notes = inputs.notes
    if given.skip_bad and inputs.problems:
        notes = (*notes, *count_reasons(inputs.problems))
    if given.format_ == "json":
        click.echo(as_json(found, inputs.problems, notes), nl=False)
    else:
        color = wants_color()
        click.echo(as_text(found, problems, notes, color), nl=False, color=color)
    torn = any(remark.kind == "family-spans-splits" for remark in found.remarks)
    obstacle = "a family is torn apart" if torn else "there are bad records" if problems else ""
    if kept and inputs.problems and is_there(kept):
        # The file may be the only one that has them.
        obstacle = "there are bad records"
    if kept and not obstacle and file_state(kept) != before:
        raise UsageError(f"{kept} has changed meanwhile: nothing is written; run this again")
    if target:
        _write(target, prompts, obstacle)
    return FINDINGS if obstacle or problems or found.failed else CLEAN


def _may_write(target: str, given: AuditOptions) -> None:
    if given.prompt_ids or given.skills or given.split:
        raise UsageError("--write-split splits all prompts together: take --prompt-ids, --skills and --split away")
    if is_there(target, links=False) and not is_stream(target) and not given.force:
        raise UsageError(f"{target} is there already: name another file, or add --force to write over it")


def _split(inputs: RouterInputs, given: AuditOptions) -> tuple[Prompt, ...]:
    from skill_health.router.splits import SHARES, assign, with_families

    seed = inputs.config.router.seed if given.seed is None else given.seed
    shares = dict(zip(SHARES, given.shares, strict=True)) if given.shares else SHARES
    return assign(with_families(inputs.prompts), seed, shares)


def _write(target: str, prompts: tuple[Prompt, ...], obstacle: str) -> None:
    from skill_health.core.files import write_text
    from skill_health.router.audit import prompt_line
    from skill_health.text.terminal import clean

    if obstacle:
        click.echo(f"{clean(target)} is not written: {obstacle}", err=True)
        return
    write_text(target, "".join(map(prompt_line, prompts)))
    click.echo(f"written: {clean(target)} ({len(prompts)} prompts)", err=True)
