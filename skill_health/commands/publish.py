"""`skill-health publish`: reports to where a job of GitHub or GitLab shows them."""

from __future__ import annotations

import os

import click

from skill_health.core.errors import CLEAN, UsageError


@click.command(short_help="In a job: write one comment on the pull request, and upload SARIF.")
@click.option("--comment", metavar="FILE", help="Markdown for the comment; one that is there already is updated.")
@click.option("--name", default="delta", metavar="WORD", help="Which comment, where a job has several (delta).")
@click.option("--author", metavar="LOGIN", help="Whose comments are ours, with another token (github-actions[bot]).")
@click.option("--sarif", metavar="FILE", help="SARIF to upload to GitHub's code scanning.")
def command(comment: str | None, name: str, author: str | None, sarif: str | None) -> int:
    """Show reports where people review, from a job of GitHub or GitLab. Its environment says which request it is for.

    The token is read from GITHUB_TOKEN (pull-requests: write; for SARIF security-events: write) or GITLAB_TOKEN (api),
    and appears nowhere. In a job of a fork it may only read; what is refused ends with exit code 3.
    """
    from skill_health.core.files import read_whole
    from skill_health.forge.publish import ACTIONS, open_thread, publish_comment, upload_sarif
    from skill_health.text.terminal import echo

    if not comment and not sarif:
        raise UsageError("there is nothing to publish: name a file with --comment or --sarif")
    if not name.isidentifier():
        raise UsageError(f"{name[:40]!r} is no name for a comment: letters, digits and _ only")

    def read(file: str) -> bytes:
        try:
            return read_whole(file, 1 << 28)
        except OSError as error:
            raise UsageError(f"cannot read {file}: {error.strerror or error}") from None

    if sarif:
        upload_sarif(os.environ, read(sarif))
        echo("SARIF uploaded\n", err=True)
    if comment:
        text = read(comment).decode("utf-8", "replace")
        done = publish_comment(open_thread(os.environ, author or ACTIONS), name, text)
        echo(f"comment {done}\n", err=True)
    return CLEAN
