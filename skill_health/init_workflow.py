"""A GitHub workflow that lints every change, and keeps a daily history."""

from __future__ import annotations

import re
import shlex

from skill_health.core.errors import UsageError
from skill_health.core.patterns import lazy
from skill_health.init_hooks import Source

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
      - uses: actions/setup-python@v6
        with:
          python-version: "3.13"
      - run: python -I -m pip install {requirement}
      - run: skill-health lint --format github{where}
  daily:
    if: github.event_name == 'schedule' || github.event_name == 'workflow_dispatch'
    runs-on: ubuntu-latest
    concurrency: skill-health-daily
    permissions:
      contents: write
    steps:
      - uses: actions/checkout@v6
      - uses: actions/setup-python@v6
        with:
          python-version: "3.13"
      - run: python -I -m pip install {requirement}
      - run: skill-health daily{where}
      - name: Say how things are
        if: "!cancelled()"
        run: skill-health report --format md{where} >> "$GITHUB_STEP_SUMMARY"
      - name: Keep the history
        if: "!cancelled()"
        run: |
          if [ ! -d {reports} ]; then exit 0; fi
          git config user.name "github-actions[bot]"
          git config user.email "41898282+github-actions[bot]@users.noreply.github.com"
          git add -- {reports}
          if git diff --cached --quiet; then exit 0; fi
          git commit --quiet --message "Skill health of $(date -u +%F)"
          git push
"""


def workflow(root: str, reports: str, source: Source | None, version: str) -> str:
    """The text of the workflow for the collection at `root` (relative to the repository, "" for the whole of it).

    Raises UsageError for names that a workflow cannot carry safely.
    """
    for path in (root, reports):
        if not _SAFE.fullmatch(path) or path.startswith("-"):
            raise UsageError(f"the folder {path!r} cannot stand in a workflow: use letters, digits and hyphens only")
    where = f" {shlex.quote(root)}" if root else ""
    kept = shlex.quote("/".join(part for part in (root, reports) if part))
    requirement = f"skill-health=={version}"
    if source and not source.rev.startswith("v"):
        requirement = f"'skill-health @ git+{source.repo}@{source.rev}'"
    if source is None:
        requirement += "  # from where you install it"
    return _TEXT.format(requirement=requirement, where=where, reports=kept)
