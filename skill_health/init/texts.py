"""The text of each file that `init` writes: skill-health.toml, .pre-commit-config.yaml and a GitHub workflow."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeGuard

from skill_health.config.settings import SourceGlobs
from skill_health.core.errors import UsageError
from skill_health.init.survey import RepositorySurvey
from skill_health.registries.sources import expand
from skill_health.text.patterns import lazy

HOOKS_FILE = ".pre-commit-config.yaml"
# The same as in .pre-commit-hooks.yaml, for a skill-health that came from no repository that we know of.
HOOKS = {
    "skill-health": (
        "entry: skill-health lint --staged",
        "always_run: true",
        "pass_filenames: false",
        "verbose: true",
    ),
    "skill-health-fixtures": (
        "entry: skill-health fixtures",
        r"files: (?i)^(?!-)(.*/)?(SKILL\.md|skill-health\.toml|[^/]*\.jsonl|metadata\.json|(task|instruction)\.md)$",
    ),
}
_PLAIN = lazy(r"[A-Za-z0-9/.][\w./:@+~=-]*(?<!:)")
# Nothing that a shell, YAML, pip or git would take for more than a part of an address; no user's password.
_ADDRESS = lazy(r"(?:https|file|ssh)://(?:[A-Za-z0-9_.-]+@)?[A-Za-z0-9._~/:+-]+", re.ASCII)
_COMMIT = lazy(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# What YAML takes for the end of a line besides the usual two.
_OTHER_BREAKS = ("\r", "\x85", "\u2028", "\u2029")
_GITHUB = lazy(r"https://github\.com/([A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+?)(?:\.git)?/?")
_SCHEMA = "skill_health/core/schemas/config.schema.json"
WORKFLOW_FILE = ".github/workflows/skill-health.yml"
# Nothing that a shell, YAML or an expression of the workflow language would take for more than a path.
_SAFE = lazy(r"[\w./ -]*", re.ASCII)
_GLOB = lazy(r"[*?\[\\]")

_HEAD = """\
# Settings of skill-health. This file also marks the root of the collection: paths in findings are relative to it.
# Settings left out have their defaults. `skill-health rules` lists the rules, `skill-health explain CODE` shows one.
"""
_FAIL_ON = """
# The lowest severity of a finding that fails a run or a commit: error, warning, info or never.
# fail-on = "error"
"""
_WORKFLOW = """\
# Lints every change, and once a day compares the skills with earlier days.
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
      - uses: actions/checkout@d23441a48e516b6c34aea4fa41551a30e30af803 # v6.1.0
        with:
          persist-credentials: false
          fetch-depth: 0
      - uses: actions/setup-python@ece7cb06caefa5fff74198d8649806c4678c61a1 # v6.3.0
        with:
          python-version: "3.13"
{install}
      - if: github.event_name == 'push'
        run: skill-health lint --format github{where}
      # A pull request fails for what it makes worse, not for what was there.
      - if: github.event_name == 'pull_request'
        env:
          BASE: origin/${{{{ github.base_ref }}}}
        run: skill-health lint --format github --new-since "$BASE"{where}
  daily:
    if: github.event_name == 'schedule' || github.event_name == 'workflow_dispatch'
    runs-on: ubuntu-latest
    concurrency: skill-health-daily
    outputs:
      reports: ${{{{ steps.reports.outputs.artifact-id }}}}
    steps:
      - uses: actions/checkout@d23441a48e516b6c34aea4fa41551a30e30af803 # v6.1.0
        with:
          persist-credentials: false
      - uses: actions/setup-python@ece7cb06caefa5fff74198d8649806c4678c61a1 # v6.3.0
        with:
          python-version: "3.13"
{install}
      - run: skill-health daily{where}
      - name: Write a summary
        if: "!cancelled()"
        run: skill-health report --format md{where} >> "$GITHUB_STEP_SUMMARY"
      - name: Pass on the history
        id: reports
        if: "!cancelled()"
        uses: actions/upload-artifact@b7c566a772e6b6bfb58ed0dc250532a479d7789f # v6.0.0
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
      - uses: actions/checkout@d23441a48e516b6c34aea4fa41551a30e30af803 # v6.1.0
      - uses: actions/download-artifact@37930b1c2abaa49bbe596cd826c3c89aef350131 # v7.0.0
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
# The commit holds the locks, so that it says what every package is, down to its bytes.
_INSTALL = """\
      - name: Install skill-health
        run: |
          git clone --quiet --no-checkout -- '{repo}' "$RUNNER_TEMP/skill-health"
          cd "$RUNNER_TEMP/skill-health"
          git checkout --quiet --detach '{rev}'
          python -I -m pip install --require-hashes --only-binary :all: -r locks/build.txt -r locks/base.txt
          python -I -m pip install --no-deps --no-index --no-build-isolation ."""
_MISSING = f"""\
      # Fill this in: where skill-health comes from. For a repository that you trust,
      # `skill-health init --workflow --from https://ADDRESS@COMMIT --force` writes the whole file.
      - name: Install skill-health
        run: |
          echo "::error::say in {WORKFLOW_FILE} where skill-health is installed from"
          exit 1"""


def schema_address(source: PackageSource | None) -> str:
    """Where editors find the schema of the settings; "" where nothing is known to serve it.

    A path would hold on one machine only, and a copy in the repository would be out of date with the next version.
    """
    found = _GITHUB.fullmatch(source.repo) if source else None
    return f"https://raw.githubusercontent.com/{found[1]}/{source.rev}/{_SCHEMA}" if found and source else ""


def format_settings(
    root: str, survey: RepositorySurvey, profile: str | None, baseline: str, source: PackageSource | None = None
) -> str:
    """The text of skill-health.toml. `profile` is None and `baseline` "" where they keep their defaults.

    The first line names the schema as Taplo's directives do, which Even Better TOML and others read, too.
    """
    address = schema_address(source)
    parts = [f"#:schema {address}\n" if address else "", _HEAD]
    if profile:
        parts.append(f"\nprofile = {quote_toml(profile)}\n")
    parts.append(_FAIL_ON)
    if baseline:
        parts.append(
            f"\n# Findings to live with. The list may only shrink; --grow-baseline lets it grow.\n{format_baseline(baseline)}"
        )
    if survey.tests:
        globs = [f"/{escape_glob(folder)}/" for folder in survey.tests if folder.isprintable()]
        parts.append("\n# Skills below these folders look like test data. Uncomment the next line to leave them out.\n")
        parts.append(f"# exclude = {_quote_array(globs)}\n")
    if survey.further:
        parts.append("\n[sources]\n")
    for kind, paths in survey.further.items():
        parts.append(f"{kind} = {_quote_array(_list_globs(root, kind, paths))}\n")
    return "".join(parts)


def format_baseline(baseline: str) -> str:
    """The setting that makes a baseline hold."""
    return f"baseline = {quote_toml(baseline)}\n"


def _list_globs(root: str, kind: str, paths: Iterable[str]) -> list[str]:
    """The globs of a kind of registry: those of the default ones that match something here, and these files."""
    usual = [pattern for pattern in getattr(SourceGlobs(), kind) if any(expand(root, pattern))]
    globs = [_escape_source(path) for path in paths]
    if kind == "tasks":
        tops = (os.path.dirname(os.path.dirname(path)) for path in paths)
        globs = [f"{_escape_source(top)}/*/metadata.json".removeprefix("/") for top in tops]
    return list(dict.fromkeys([*usual, *globs]))


def escape_glob(path: str) -> str:
    """A pattern that matches this path only."""
    return _GLOB.sub(lambda match: f"[{match.group()}]" if match.group() != "\\" else "\\\\", path)


def _escape_source(path: str) -> str:
    """A pattern of `sources` that matches this path only: there a name without a wildcard is taken as it is."""
    return "/".join(escape_glob(name) if any(mark in name for mark in "*?[") else name for name in path.split("/"))


def _quote_array(values: Iterable[str]) -> str:
    """Texts as a TOML array, one a line where they are many."""
    shown = [quote_toml(value) for value in values]
    line = f"[{', '.join(shown)}]"
    return line if len(line) < 100 else "[\n" + "".join(f"  {value},\n" for value in shown) + "]"


def quote_toml(text: str) -> str:
    """A text as a TOML basic string; it must not hold half of a surrogate pair."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


class PackageSource(NamedTuple):
    """A git repository that holds our package and .pre-commit-hooks.yaml, and the tag or commit to use."""

    repo: str
    rev: str


def parse_source(text: str) -> PackageSource:
    """ADDRESS@COMMIT as a source: a git URL and a full commit, which nobody can move. Raises UsageError."""
    repo, _, rev = text.rpartition("@")
    if not _ADDRESS.fullmatch(repo):
        raise UsageError(
            f"{text[:200]!r} is not ADDRESS@COMMIT with the https://, ssh:// or file:// address of a git repository of "
            "skill-health, without a password"
        )
    if not _COMMIT.fullmatch(rev):
        raise UsageError(f"{rev[:200]!r} is not a full commit (40 digits): `git rev-parse HEAD` in a clone prints it")
    return PackageSource(repo, rev)


def read_source(direct_url: str | None) -> PackageSource | None:
    """Where the installed version came from; None where that was no commit of a git repository.

    `direct_url` is the direct_url.json of the installation (PEP 610).
    """
    try:
        origin = json.loads(direct_url or "{}")
        vcs = origin["vcs_info"]
        return parse_source(f"{origin['url']}@{vcs['commit_id']}") if vcs["vcs"] == "git" else None
    except (ValueError, KeyError, TypeError, UsageError):
        return None


def installed_source() -> PackageSource | None:
    """See `read_source`, for the distribution that runs."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return read_source(distribution("skill-health").read_text("direct_url.json"))
    except PackageNotFoundError:
        return None


def list_hook_lines(source: PackageSource | None, fixtures: bool) -> list[str]:
    """The entry of `repos` with our hooks; `fixtures` asks for the second one."""
    ids = [name for name in HOOKS if fixtures or name != "skill-health-fixtures"]
    if source:
        head = [f"- repo: {quote_yaml(source.repo)}", f"  rev: {quote_yaml(source.rev)}", "  hooks:"]
        return head + [f"    - id: {name}" for name in ids]
    # No repository is known that it came from: what is installed is what runs.
    text = ["- repo: local  # runs the skill-health installed where the commit is made", "  hooks:"]
    for name in ids:
        own = [f"name: {name}", "language: system", *HOOKS[name], "require_serial: true"]
        text += [f"    - id: {name}", *(f"      {line}" for line in own)]
    return text


def quote_yaml(text: str) -> str:
    """A text as a YAML scalar, quoted where it must be."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text)


def format_hooks(entry: list[str]) -> str:
    """A .pre-commit-config.yaml with nothing but our hooks."""
    return "repos:\n" + "".join(f"  {line}\n" for line in entry)


def uses_our_hooks(text: str) -> bool | None:
    """Whether a .pre-commit-config.yaml uses one of our hooks; None where it cannot be read as one."""
    document = _load_hooks(text)
    if document is None:
        return None
    lists = [repo.get("hooks") for repo in document["repos"] if isinstance(repo, dict)]
    hooks = [hook for hooks in lists if isinstance(hooks, list) for hook in hooks if isinstance(hook, dict)]
    return any(isinstance(key := hook.get("id"), str) and key.startswith("skill-health") for hook in hooks)


def insert_hooks(text: str, entry: list[str]) -> str | None:
    """The file with our entry as the last of `repos`, nothing else changed; None where that cannot be done safely.

    The lines are inserted into the text, and what it then means is compared. ruamel.yaml's round trip would write the
    whole file anew: of 33 public ones it changes further lines in 13, whatever indentation it is told, since it knows
    one for all lists, and neither lists in brackets over several lines nor strings that go on after a backslash.
    """
    import yaml

    before = _load_hooks(text)
    if not before or not before["repos"] or any(mark in text.replace("\r\n", "\n") for mark in _OTHER_BREAKS):
        return None
    if any(isinstance(token, yaml.AnchorToken) for token in yaml.scan(text, Loader=yaml.SafeLoader)):
        return None
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    values = node.value if isinstance(node, yaml.MappingNode) else []
    sequence = next((value for key, value in values if key.value == "repos"), None)
    if not isinstance(sequence, yaml.SequenceNode) or sequence.flow_style:
        return None
    rows = text.split("\n")
    end = min(len(rows), sequence.end_mark.line + (1 if sequence.end_mark.column else 0))
    while end > 0 and (not rows[end - 1].strip() or rows[end - 1].lstrip().startswith("#")):
        end -= 1
    indent = " " * sequence.start_mark.column
    ending = "\r" if rows[0].endswith("\r") else ""
    after = "\n".join(rows[:end] + [f"{indent}{line}{ending}" for line in entry] + (rows[end:] or [""]))
    wanted = yaml.safe_load("\n".join(entry))
    return after if _load_hooks(after) == {**before, "repos": before["repos"] + wanted} else None


def _load_hooks(text: str) -> dict[str, Any] | None:
    """The mapping with a list `repos` that a text is; None for anything else."""
    import yaml

    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        # PyYAML lets some of these escape for values whose tag does not fit them, such as `!!int ""`.
        return None
    return document if isinstance(document, dict) and isinstance(document.get("repos"), list) else None


def is_reachable(source: PackageSource | None) -> TypeGuard[PackageSource]:
    """Whether a workflow can install from this source; where it cannot, the user has to say where from."""
    return source is not None and source.repo.startswith(("https://", "ssh://"))


def format_workflow(root: str, reports: str, source: PackageSource | None) -> str:
    """The text of the workflow for the collection at `root` (relative to the repository, "" for the whole of it).

    Without a source that GitHub can reach the workflow fails until the user names one: the name of the package alone
    would give the job to whoever registers it. Raises UsageError for names that a workflow cannot carry safely.
    """
    for path in (root, reports):
        if not _SAFE.fullmatch(path) or path.startswith("-"):
            raise UsageError(f"the folder {path!r} cannot stand in a workflow: use letters, digits and hyphens only")
    where = f" {shlex.quote(root)}" if root else ""
    folder = "/".join(part for part in (root, reports) if part)
    install = _INSTALL.format(repo=source.repo, rev=source.rev) if is_reachable(source) else _MISSING
    return _WORKFLOW.format(install=install, where=where, folder=quote_yaml(folder), reports=shlex.quote(folder))
