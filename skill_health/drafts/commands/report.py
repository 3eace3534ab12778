"""`skill-health draft report`: how many drafts were accepted unchanged, edited or rejected, and why."""

from __future__ import annotations

import click

from skill_health.core.errors import CLEAN


@click.command(short_help="Say how many drafts were accepted unchanged, edited or rejected, and why.")
@click.argument("path", default=".", metavar="[PATH]")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", help="What to print.")
def command(path: str, format_: str) -> int:
    """Count the drafts of a collection by what made them and what became of them, with the reasons of rejections."""
    from skill_health.discovery.roots import find_root
    from skill_health.documents._record import encode_record
    from skill_health.documents.prompt_draft import PromptDraft
    from skill_health.documents.proposal_draft import ProposalDraft
    from skill_health.documents.task_draft import TaskDraft
    from skill_health.drafts.report import build_draft_report, report_text
    from skill_health.drafts.store import read_drafts

    root = find_root((path,))
    prompts, proposals, tasks = (read_drafts(root, kind) for kind in (PromptDraft, ProposalDraft, TaskDraft))
    drafts = (*prompts.drafts, *proposals.drafts, *tasks.drafts)
    report = build_draft_report(drafts, (*prompts.problems, *proposals.problems, *tasks.problems))
    click.echo(encode_record(report) if format_ == "json" else report_text(report), nl=False)
    return CLEAN
