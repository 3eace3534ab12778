"""A GitHub workflow that lints every change, and keeps a daily history."""

from __future__ import annotations

import re
import shlex

from skill_health.core.errors import UsageError
from skill_health.init_hooks import Source, scalar
from skill_health.text.patterns import lazy

FILE_NAME = ".github/workflows/skill-health.yml"
# Nothing that a shell, YAML or an expression of the workflow language would take for more than a path.
_SAFE = lazy(r"[\w./ -]*", re.ASCII)

_TEXT = """\
# Lints every change, and once a day compares the skills with the days before.
name: skill-health
on:
  push:
    branches: [main, master]
  pull_request:
  schedule:
    - cron: "17 5 * * *"
  workflow_dispatch:
permissions:
  contents: read
jobs:
  lint:
    if: github.event_name == 'push' || github.event_name == 'pull_request'
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v6
        with:
          persist-credentials: false
      - uses: actions/setup-python@v6
        with:
          python-version: "3.13"
{install}
      - run: skill-health lint --format github{where}
  daily:
    if: github.event_name == 'schedule' || github.event_name == 'workflow_dispatch'
    runs-on: ubuntu-latest
    concurrency: skill-health-daily
    outputs:
      reports: ${{{{ steps.reports.outputs.artifact-id }}}}
    steps:
      - uses: actions/checkout@v6
        with:
          persist-credentials: false
      - uses: actions/setup-python@v6
        with:
          python-version: "3.13"
{install}
      - run: skill-health daily{where}
      - name: Say how things are
        if: "!cancelled()"
        run: skill-health report --format md{where} >> "$GITHUB_STEP_SUMMARY"
      - name: Hand the history over
        id: reports
        if: "!cancelled()"
        uses: actions/upload-artifact@v6
        with:
          name: skill-health-reports
          path: {folder}
          if-no-files-found: ignore
  keep:
    # The only job that may write to the repository installs nothing and runs nothing but git.
    needs: daily
    if: "!cancelled() && needs.daily.outputs.reports != ''"
    runs-on: ubuntu-latest
    permissions:
      contents: write
    steps:
      - uses: actions/checkout@v6
      - uses: actions/download-artifact@v7
        with:
          name: skill-health-reports
          path: {folder}
      - name: Keep the history
        run: |
          git config user.name "github-actions[bot]"
          git config user.email "41898282+github-actions[bot]@users.noreply.github.com"
          git add -- {reports}
          if git diff --cached --quiet; then exit 0; fi
          git commit --quiet --message "Skill health of $(date -u +%F)"
          git push
"""
_INSTALL = """\
      - run: python -I -m pip install 'skill-health @ git+{repo}@{rev}'"""
_MISSING = f"""\
      # Fill this in: where skill-health comes from. In place of the step, for a repository that you trust:
      #   - run: python -I -m pip install 'skill-health @ git+https://ADDRESS@COMMIT'
      # or let `skill-health init --workflow --from https://ADDRESS@COMMIT --force` write the whole file.
      - name: Install skill-health
        run: |
          echo "::error::say in {FILE_NAME} where skill-health is installed from"
          exit 1"""


def is_missing(source: Source | None) -> bool:
    """Whether a workflow cannot install from this source, so that the user has to say where from."""
    return source is None or not source.repo.startswith(("https://", "ssh://"))


def workflow(root: str, reports: str, source: Source | None) -> str:
    """The text of the workflow for the collection at `root` (relative to the repository, "" for the whole of it).

    Without a source that GitHub can reach the workflow fails until the user names one: the name of the package alone
    would give the job to whoever registers it. Raises UsageError for names that a workflow cannot carry safely.
    """
    for path in (root, reports):
        if not _SAFE.fullmatch(path) or path.startswith("-"):
            raise UsageError(f"the folder {path!r} cannot stand in a workflow: use letters, digits and hyphens only")
    where = f" {shlex.quote(root)}" if root else ""
    folder = "/".join(part for part in (root, reports) if part)
    install = _MISSING if source is None or is_missing(source) else _INSTALL.format(repo=source.repo, rev=source.rev)
    return _TEXT.format(install=install, where=where, folder=scalar(folder), reports=shlex.quote(folder))
