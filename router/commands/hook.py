"""`skill-health router hook`: does a prompt that found its skill still find it with the changed descriptions?"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from skill_health.bench.command_line import listed
from skill_health.core.errors import CLEAN, FINDINGS
from skill_health.router.commands._options import namesakes_options

if TYPE_CHECKING:
    from skill_health.router.records import Prompt


@click.command(short_help="Before a commit: does every prompt still find its skill?")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found.")
@click.option("--prompts", "prompt_files", multiple=True, metavar="FILE", help="Labelled prompts (the registry's).")
@click.option("--models", multiple=True, callback=listed, metavar="LIST", help="Local routers (`router.hook-models`).")
@click.option("--listing", metavar="HOST", help="What is listed: full, or what this host would show.")
@click.option(
    "--since", metavar="REV", default="HEAD", envvar="PRE_COMMIT_FROM_REF", show_envvar=True, show_default=True,
    help="Compare with the commit where the branch left REV.",
)  # fmt: skip
@namesakes_options
@click.option("--max-lost", type=click.IntRange(0), default=0, metavar="N", help="Let N lost prompts pass (0).")
def command(
    files: tuple[str, ...],
    config_file: str | None,
    prompt_files: tuple[str, ...],
    models: tuple[str, ...],
    listing: str | None,
    since: str,
    namesakes: str | None,
    max_lost: int,
) -> int:
    """Compare the listed skills with those of the last commit, and route the labelled prompts over both.

    Exit code 1 where a prompt that routed right no longer does, with the prompt, what now comes first, and the words
    that went. No model and no network: the routers of `router.hook-models` are computed here. FILES are those that the
    commit changes (default: all of the collection here); it is always the whole collection that is compared.
    """
    from skill_health.lint.pipeline import configure
    from skill_health.router.hook import base_of, is_touched, repository_of
    from skill_health.router.inputs import NoPromptsError, with_namesakes

    root, config = configure(files or (os.curdir,), config_file, {})
    config = with_namesakes(config, namesakes)
    repository = repository_of(root)
    commit = base_of(repository, since)
    if commit is None:
        click.echo("nothing to compare with: there is no commit yet")
        return CLEAN
    # pre-commit calls this before every commit, for it passes no deleted file; drafts are in no commit.
    if not is_touched(repository, commit, untracked=bool(files) or "PRE_COMMIT" not in os.environ):
        return CLEAN
    from skill_health.router.compare.comparable import changed_skills
    from skill_health.router.hook import both_catalogues, effect, prompts_of_both, report
    from skill_health.text.terminal import clean

    old, new, discovery = both_catalogues(files, root, config, commit, listing)
    if isinstance(old, str):
        click.echo(f"nothing to compare with: at {clean(since)}, {clean(old)}")
        return CLEAN
    changed = changed_skills(old.shown, new.shown)
    if not changed:
        return CLEAN
    prompts: tuple[Prompt, ...] = ()
    with suppress(NoPromptsError):
        prompts = prompts_of_both(old, new, discovery, config, prompt_files)
    if not prompts:
        click.echo(f"no labelled prompts for {clean(root)}: nothing to check")
        return CLEAN
    specs = models or config.router.hook_models
    effects = [effect(spec, config.router, old, new, prompts) for spec in specs]
    for line in report(changed, effects, since):
        click.echo(line)
    return FINDINGS if any(len(one.lost) > max_lost for one in effects) else CLEAN
